"""Clusters of counts, under Gamma priors on their Poisson rates."""

import dataclasses
from collections.abc import Sequence
from typing import Self

import numpy as np

from mapdp.data import checks
from mapdp.data.checks import Names
from mapdp.families.base import SCALE_HINT, Family, Parameters
from mapdp.families.columns import Sums, beginnings, exact_sums, gathered, plain_sums
from mapdp.families.counts.poisson_bank import (
    PoissonBank,
    PoissonColumns,
    PoissonColumnsPrior,
    PoissonPrior,
)
from mapdp.families.counts.small_counts import KEPT


@dataclasses.dataclass(frozen=True, eq=False)
class Poisson(Family):
    """Columns of counts, independent within a cluster.

    Parameters
    ----------
    shape, rate : arrays of shape (D,)
        The Gamma prior of a cluster's mean count; its mean is shape / rate.

    Examples
    --------
    >>> family = Poisson(shape=[1.0], rate=[1.0])
    >>> round(float(np.exp(family.log_marginal([[2]]))), 6)  # geometric: 1 / 2^3
    0.125
    """

    columns_type = PoissonColumns
    has_units = False

    shape: np.ndarray
    rate: np.ndarray

    def __post_init__(self) -> None:
        shape = checks.positive_vector("shape", self.shape, "1.0 is a vague prior.")
        rate = checks.positive_vector("rate", self.rate, "shape divided by the mean count.")
        shape, rate = (np.array(a) for a in np.broadcast_arrays(shape, rate))
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "rate", rate)

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0) -> Self:
        """Shape 1, and the rate that makes the prior mean the sample mean (half a count added).

        `scale` multiplies both: smaller values let the clusters' mean counts differ more.
        """
        total = _checked(np.asarray(X, dtype=np.float64), None).sum(axis=0)
        weight = checks.positive("scale", scale, SCALE_HINT)
        return cls(shape=np.full(len(total), weight), rate=weight * len(X) / (total + 0.5))

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return len(self.shape)

    def encode(self, X: np.ndarray, names: Names = None) -> np.ndarray:
        """Check that all cells are counts."""
        return np.ascontiguousarray(_checked(X, names), dtype=np.float64)

    def new_bank(self, capacity: int) -> PoissonBank:
        """Return the arrays of a bank with `capacity` chairs."""
        column, table = (capacity,), (self.n_features, capacity)
        shapes = [column, table, table, column, column, table, table, table, column, column]
        return PoissonBank(PoissonPrior(self.shape, self.rate), *[np.zeros(shape) for shape in shapes])

    @classmethod
    def column_prior(cls, columns: Sequence[Self], place: np.ndarray) -> PoissonColumnsPrior:
        """Return the prior of such columns in a mixed table."""
        first = beginnings([KEPT] * len(place))
        return PoissonColumnsPrior(place, first, *gathered(columns, "shape", "rate"))

    def sums(self, bank: PoissonBank, k: int) -> Sums:
        """Return the statistics of chair k, column by column, but for factorials."""
        return plain_sums(bank.n[k], bank.total_high[:, k])

    def all_sums(self, bank: PoissonBank, k: int) -> Sums:
        """Return the same with the factorials of all columns, which stand in the first one."""
        is_first, lost = np.arange(self.n_features) == 0, bank.total_low[:, k]
        factorials = (-bank.factorials_high[k] * is_first, -bank.factorials_low[k] * is_first)
        return exact_sums(np.full(self.n_features, bank.n[k]), bank.total_high[:, k], lost, *factorials)

    def updated(self, sums: Sums) -> Self:
        """Return the posterior after cells with these sums, as a prior."""
        return dataclasses.replace(self, shape=self.shape + sums.total, rate=self.rate + sums.n)

    def summary(self) -> dict[str, np.ndarray]:
        """Return mean and variance of the predictive."""
        mean = self.shape / self.rate
        return {"mean": mean, "variance": mean * (1.0 + 1.0 / self.rate)}

    def sample_parameters(self, n: int, rng: np.random.Generator) -> Parameters:
        """Draw the mean counts of n clusters."""
        return (rng.gamma(self.shape, 1.0 / self.rate, size=(n, self.n_features)),)

    def sample_rows(self, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
        """Draw one row for each drawn cluster."""
        return rng.poisson(parameters[0]).astype(np.float64)


def _checked(X: np.ndarray, names: Names) -> np.ndarray:
    checks.finite(X, names)
    hint = "use DiagonalGaussian for measurements."
    rule = "Poisson columns must be whole numbers from 0 up"
    checks.every_cell(X, (X >= 0) & (np.floor(X) == X), rule, hint, names)
    checks.exact_counts(X, names)
    return X
