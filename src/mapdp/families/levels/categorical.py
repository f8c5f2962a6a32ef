"""Clusters of columns that take one of a few values, under Dirichlet priors."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mapdp.data import checks
from mapdp.data.checks import Names
from mapdp.families.base import SCALE_HINT, Parameters
from mapdp.families.columns import Sums
from mapdp.families.levels.codes import as_codes, from_codes, sampled_codes
from mapdp.families.levels.family import LevelFamily

_LEAST = 1e-30  # pseudo-count


@dataclasses.dataclass(frozen=True, eq=False)
class Categorical(LevelFamily):
    """Columns with unordered values, independent within a cluster.

    Parameters
    ----------
    levels : sequence of arrays
        The values that each column may take.
    concentration : sequence of arrays
        Pseudo-counts of those values, positive.

    Examples
    --------
    >>> family = Categorical(levels=[[0, 1, 2]], concentration=[[1.0, 1.0, 1.0]])
    >>> round(float(np.exp(family.log_predictive([2], [[2], [2], [0]]))), 6)  # (2 + 1) / (3 + 3)
    0.5
    """

    levels: Sequence[np.ndarray]
    concentration: Sequence[np.ndarray]

    def __post_init__(self) -> None:
        levels = tuple(np.asarray(level) for level in self.levels)
        if any(level.ndim != 1 or level.dtype.kind not in "fiub" for level in levels):
            raise ValueError(
                f"levels must be lists of numbers, one for each column, got {levels!r}. "
                "Hint: leave family at None to have words read as categories."
            )
        hint = "1.0 for each value is a flat prior."
        weights = tuple(checks.positive_vector("concentration", c, hint) for c in self.concentration)
        if [len(level) for level in levels] != [len(weight) for weight in weights]:
            raise ValueError(
                f"concentration must match levels, got {[len(w) for w in weights]} pseudo-counts for "
                f"{[len(level) for level in levels]} values. Hint: one number per value of a column."
            )
        if any(len(np.unique(level)) < len(level) for level in levels):
            raise ValueError(f"levels must not repeat within a column, got {levels!r}.")
        if any(weight.min() < _LEAST for weight in weights):
            raise ValueError(f"concentration must be at least {_LEAST}, got less. Hint: {hint}")
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "concentration", weights)

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0) -> Self:
        """Take each column's values from the data, with half a pseudo-count for each on average.

        Frequent values get more of it: the prior mean is the frequency in the data, each value counted
        once more than it occurs. `scale` multiplies the pseudo-counts: smaller values look for purer
        clusters.
        """
        half = 0.5 * checks.positive("scale", scale, SCALE_HINT)
        columns = [np.unique(column, return_counts=True) for column in np.asarray(X).T]
        weights = [half * len(n) * (n + 1.0) / (n + 1.0).sum() for _, n in columns]
        return cls([values for values, _ in columns], weights)

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return len(self.levels)

    def _spread(self, n_features: int) -> Self:
        return type(self)(list(self.levels) * n_features, list(self.concentration) * n_features)

    def column(self, j: int) -> Self:
        """Return this family for column j alone."""
        return type(self)([self.levels[j]], [self.concentration[j]])

    @property
    def pseudo_counts(self) -> list[np.ndarray]:
        """Return the pseudo-counts of the levels of each column."""
        return list(self.concentration)

    def with_pseudo_counts(self, weights: Sequence[np.ndarray]) -> Self:
        """Return the family with other pseudo-counts."""
        return dataclasses.replace(self, concentration=weights)

    @classmethod
    def joined(cls, columns: Sequence[Self]) -> Self:
        """Return one-column families as one."""
        return cls([one.levels[0] for one in columns], [one.concentration[0] for one in columns])

    def updated(self, sums: Sums) -> Self:
        """Return the posterior after cells with these tallies, as a prior."""
        weights = [prior + tally for prior, tally in zip(self.concentration, sums.tallies, strict=True)]
        return dataclasses.replace(self, concentration=weights)

    def encode(self, X: np.ndarray, names: Names = None) -> np.ndarray:
        """Replace each value by its place among the levels of its column."""
        return as_codes(X, self.levels, names)

    def decode(self, X: np.ndarray) -> np.ndarray:
        """Replace places among the levels by the levels."""
        return from_codes(X, self.levels)

    def summary(self) -> dict[str, Any]:
        """Return the probability of each level, and the most probable level."""
        probability = [weight / weight.sum() for weight in self.concentration]
        mode = [values[np.argmax(p)] for values, p in zip(self.levels, probability, strict=True)]
        return {"probability": probability, "mode": np.array(mode)}

    def sample_parameters(self, n: int, rng: np.random.Generator) -> Parameters:
        """Draw the level probabilities of n clusters, one array per column."""
        return tuple(rng.dirichlet(weight, size=n) for weight in self.concentration)

    def sample_rows(self, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
        """Draw one row of codes for each drawn cluster."""
        return sampled_codes(parameters, rng)
