"""Knows clusters of ordered categories: small, medium, large.

The one idea: within a cluster the levels follow a bell curve whose place and width are unknown. A grid of
both is summed over, so the marginal is exact, neighbours lend each other weight, and a cluster may still
sit on one level.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp

from mapdp import checks
from mapdp.checks import Names
from mapdp.families import cells
from mapdp.families.categorical import as_codes, from_codes, sampled_codes
from mapdp.families.cells import ORDERED, Cell, CellBank, Sums
from mapdp.family import SCALE_HINT, Bank, Family, Parameters

_NARROWEST = 0.3  # width of a curve, in steps between levels: all but on one level
_ANYWHERE = 0.01  # share of a curve's weight that is spread over all levels: a slip of the pen


@dataclasses.dataclass(frozen=True, eq=False)
class Ordered(Family):
    """Columns of levels in order, independent within a cluster.

    Parameters
    ----------
    levels : sequence of arrays
        The values that each column may take, in their order.
    width : float, default 1.0
        Multiplies the widths of the curves that a cluster may follow.
    log_weights : sequence of arrays, default None
        Log prior probability of each curve of each column; None means that all are equally probable.

    Examples
    --------
    >>> family = Ordered([[1, 2, 3, 4, 5]])
    >>> seen = [[5], [5], [4]]
    >>> family.log_predictive([3], seen) > family.log_predictive([1], seen)  # 3 is nearer to what was seen
    True
    """

    levels: Sequence[np.ndarray]
    width: float = 1.0
    log_weights: Sequence[np.ndarray] | None = None

    def __post_init__(self) -> None:
        levels = [checks.real_vector("levels", level) for level in self.levels]
        if not levels or any(len(np.unique(level)) < len(level) for level in levels):
            raise ValueError(f"levels must name each value of a column once, got {levels!r}.")
        checks.positive("width", self.width, SCALE_HINT)
        weights = self.log_weights
        if weights is None:
            weights = [np.zeros(len(curves_over(len(level), self.width))) for level in levels]
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "log_weights", [w - logsumexp(w) for w in weights])

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0) -> Self:
        """Take each column's values from the data, in rising order; all curves are equally probable.

        `scale` multiplies the widths of the curves.
        """
        return cls([np.unique(column) for column in np.asarray(X, dtype=np.float64).T], scale)

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return len(self.levels)

    def _spread(self, n_features: int) -> Self:
        return type(self)(list(self.levels) * n_features, self.width, list(self._weights()) * n_features)

    def _weights(self) -> Sequence[np.ndarray]:
        return self.log_weights  # type: ignore[return-value]

    def column(self, j: int) -> Self:
        """Return this family for column j alone."""
        return type(self)([self.levels[j]], self.width, [self._weights()[j]])

    @property
    def cell(self) -> Cell:
        """Return the prior of the one column."""
        curves = curves_over(len(self.levels[0]), self.width)
        return Cell(ORDERED, (), np.zeros(len(self.levels[0])), curves, self._weights()[0])

    def learned(self, sums: Sums) -> Self:
        """Return the family of one column after a tally of levels."""
        likelihood = np.log(curves_over(len(self.levels[0]), self.width)) @ sums.tally
        return type(self)(self.levels, self.width, [self._weights()[0] + likelihood])

    def encode(self, X: np.ndarray, names: Names = None) -> np.ndarray:
        """Replace each value by its place among the levels of its column."""
        return as_codes(X, self.levels, names)

    def decode(self, X: np.ndarray) -> np.ndarray:
        """Replace places among the levels by the levels."""
        return from_codes(X, self.levels)

    @functools.cached_property
    def _prior(self) -> cells.Prior:
        return cells.make_prior([self.column(j).cell for j in range(self.n_features)])

    def new_bank(self, capacity: int) -> Bank:
        """Return the arrays of a bank with `capacity` chairs."""
        return cells.make_bank(self._prior, capacity)

    def sums(self, bank: CellBank, k: int) -> list[Sums]:
        """Return what each column of chair k knows."""
        return cells.sums_of(bank, k)

    def posterior(self, bank: CellBank, k: int) -> Self:
        """Return the family whose prior is what chair k knows."""
        learned = [self.column(j).learned(sums) for j, sums in enumerate(self.sums(bank, k))]
        return type(self)(self.levels, self.width, [one._weights()[0] for one in learned])

    def summary(self) -> dict[str, Any]:
        """Return the probability of each level, and the most probable level."""
        probability = [
            np.exp(weights) @ curves_over(len(level), self.width)
            for level, weights in zip(self.levels, self._weights(), strict=True)
        ]
        mode = [level[np.argmax(p)] for level, p in zip(self.levels, probability, strict=True)]
        return {"probability": probability, "mode": np.array(mode)}

    def sample_parameters(self, n: int, rng: np.random.Generator) -> Parameters:
        """Draw the level probabilities of n clusters, one array per column."""
        return tuple(
            curves_over(len(level), self.width)[rng.choice(len(weights), size=n, p=np.exp(weights))]
            for level, weights in zip(self.levels, self._weights(), strict=True)
        )

    def sample_rows(self, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
        """Draw one row of codes for each drawn cluster."""
        return sampled_codes(parameters, rng)


def curves_over(n_levels: int, width: float) -> np.ndarray:
    """Return the curves over so many levels: places half a step apart, widths that double."""
    places = np.arange(0.0, n_levels - 0.75, 0.5)
    widths = width * _NARROWEST * 2.0 ** np.arange(np.ceil(np.log2(n_levels / _NARROWEST)))
    gap = np.arange(n_levels) - places[:, None]
    bells = np.exp(-0.5 * (gap / widths[:, None, None]) ** 2).reshape(-1, n_levels)
    return (1.0 - _ANYWHERE) * bells / bells.sum(axis=1, keepdims=True) + _ANYWHERE / n_levels
