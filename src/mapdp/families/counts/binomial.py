"""Counts of successes among a fixed number of trials, under Beta priors on their chance."""

from typing import Self

import numpy as np

from mapdp.data import checks
from mapdp.data.checks import Names
from mapdp.families.base import SCALE_HINT, Parameters
from mapdp.families.counts.trials import Trials, checked_counts


class Binomial(Trials):
    """Columns of successes among a fixed number of trials, independent within a cluster.

    Parameters
    ----------
    success, failure : arrays of shape (D,)
        Pseudo-counts: the two parameters of a Beta prior.
    trials : array of shape (D,)
        Number of trials of a cell.

    Examples
    --------
    >>> family = Binomial(success=[1.0], failure=[1.0], trials=[4])
    >>> round(float(np.exp(family.log_marginal([[2]]))), 6)  # all five counts are equally probable
    0.2
    """

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0) -> Self:
        """The largest count of a column is its number of trials; one pseudo-count, shared as in the data.

        `scale` is that pseudo-count: smaller values look for purer clusters.
        """
        X = checked_counts(np.asarray(X, dtype=np.float64), None)
        trials = np.maximum(X.max(axis=0), 1.0)
        share = (X.sum(axis=0) + 1.0) / (len(X) * trials + 2.0)
        weight = checks.positive("scale", scale, SCALE_HINT)
        return cls(weight * share, weight * (1.0 - share), trials)

    def encode(self, X: np.ndarray, names: Names = None) -> np.ndarray:
        """Check that all cells are counts up to the number of trials."""
        rows = np.ascontiguousarray(checked_counts(X, names), dtype=np.float64)
        hint = "raise trials, or use Poisson for counts without a limit."
        checks.every_cell(rows, rows <= self.trials, "Binomial columns must not exceed trials", hint, names)
        return rows

    def _counted(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        zero, one = np.zeros(self.n_features), np.ones(self.n_features)
        return np.stack([zero, one]), np.stack([self.trials, -one]), np.stack([self.trials + 1.0, -one])

    def _most(self) -> float:
        return float(self.trials[0]) + 1.0

    def summary(self) -> dict[str, np.ndarray]:
        """Return mean and variance of the predictive."""
        both = self.success + self.failure
        chance = self.success / both
        spread_ = self.trials * chance * (1.0 - chance) * (both + self.trials) / (both + 1.0)
        return {"mean": self.trials * chance, "variance": spread_}

    def sample_rows(self, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
        """Draw one row for each drawn cluster."""
        return rng.binomial(self.trials.astype(np.int64), parameters[0]).astype(np.float64)
