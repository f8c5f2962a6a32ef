"""Clusters of yes/no columns, under Beta priors: a Categorical whose two levels are 0 and 1."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mapdp.data import checks
from mapdp.data.checks import Names
from mapdp.data.sparse import SparseRows, is_sparse
from mapdp.families.base import SCALE_HINT, Parameters
from mapdp.families.columns import Sums, gathered
from mapdp.families.levels.family import LevelFamily

_RULE = "Bernoulli columns must be 0 or 1"


@dataclasses.dataclass(frozen=True, eq=False)
class Bernoulli(LevelFamily):
    """Columns of zeros and ones, independent within a cluster.

    Parameters
    ----------
    success, failure : arrays of shape (D,)
        Pseudo-counts of ones and of zeros: the two parameters of a Beta prior.

    Examples
    --------
    >>> family = Bernoulli(success=[1.0], failure=[1.0])
    >>> round(float(np.exp(family.log_predictive([1], [[1], [1]]))), 6)  # Laplace: (2 + 1) / (2 + 2)
    0.75
    """

    success: np.ndarray
    failure: np.ndarray

    def __post_init__(self) -> None:
        success = checks.positive_vector("success", self.success, "1.0 is a flat prior.")
        failure = checks.positive_vector("failure", self.failure, "1.0 is a flat prior.")
        success, failure = (np.array(a) for a in np.broadcast_arrays(success, failure))
        object.__setattr__(self, "success", success)
        object.__setattr__(self, "failure", failure)

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0) -> Self:
        """One pseudo-count in all, shared as ones and zeros are in the data, each counted once more.

        `scale` is that pseudo-count: smaller values look for purer clusters. X may be a sparse matrix.
        """
        n_rows, n_ones = _ones_of(X)
        weight = checks.positive("scale", scale, SCALE_HINT)
        ones = (n_ones + 1.0) / (n_rows + 2.0)
        return cls(success=weight * ones, failure=weight * (1.0 - ones))

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return len(self.success)

    def encode(self, X: np.ndarray, names: Names = None) -> np.ndarray:
        """Check that all cells are 0 or 1."""
        return np.ascontiguousarray(_checked(X, names), dtype=np.float64)

    @property
    def pseudo_counts(self) -> list[np.ndarray]:
        """Return the pseudo-counts of 0 and 1 of each column."""
        return list(np.stack([self.failure, self.success], axis=1))

    def with_pseudo_counts(self, weights: Sequence[np.ndarray]) -> Self:
        """Return the family with other pseudo-counts."""
        failure, success = np.array(weights).T
        return type(self)(success, failure)

    @classmethod
    def joined(cls, columns: Sequence[Self]) -> Self:
        """Return one-column families as one."""
        return cls(*gathered(columns, "success", "failure"))

    def updated(self, sums: Sums) -> Self:
        """Return the posterior after cells with these tallies, as a prior."""
        zeros, ones = np.array(sums.tallies).T
        return dataclasses.replace(self, success=self.success + ones, failure=self.failure + zeros)

    def summary(self) -> dict[str, Any]:
        """Return mean and variance of the predictive, and the probabilities of 0 and 1."""
        mean = self.success / (self.success + self.failure)
        probability = [np.array([1.0 - one, one]) for one in mean]
        return {"mean": mean, "variance": mean * (1.0 - mean), "probability": probability}

    def sample_parameters(self, n: int, rng: np.random.Generator) -> Parameters:
        """Draw the probabilities of a one for n clusters."""
        return (rng.beta(self.success, self.failure, size=(n, self.n_features)),)

    def sample_rows(self, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
        """Draw one row for each drawn cluster."""
        return (rng.random(parameters[0].shape) < parameters[0]).astype(np.float64)


def _ones_of(X: Any) -> tuple[int, np.ndarray]:
    """Return how many rows there are, and how many ones in each column."""
    if is_sparse(X):
        rows = checked_ones(SparseRows.of(X))
        return len(rows), rows.column_sums
    cells = _checked(np.asarray(X, dtype=np.float64), None)
    return len(cells), cells.sum(axis=0)


def checked_ones(rows: SparseRows) -> SparseRows:
    """Return the rows of a sparse matrix, or raise where a cell is neither 0 nor 1."""
    rows.check_finite()
    rows.check_cells(rows.value == 1.0, _RULE, "X.astype(bool) keeps which cells are there.")
    return rows


def _checked(X: np.ndarray, names: Names) -> np.ndarray:
    checks.finite(X, names)
    hint = "use Categorical for more than two values."
    checks.every_cell(X, (X == 0) | (X == 1), _RULE, hint, names)
    return X
