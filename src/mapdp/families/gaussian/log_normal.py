"""Clusters of positive numbers whose logarithms are Gaussian: incomes, durations, concentrations."""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from mapdp.compiled.lanes import LANES, load, store
from mapdp.data import checks
from mapdp.data.checks import Names
from mapdp.families import verbs
from mapdp.families.base import Bank, Family
from mapdp.families.columns import SumColumns, Sums, gathered, keeps_sums, no_levels, sums_of
from mapdp.families.gaussian import student
from mapdp.families.gaussian.diagonal import DiagonalGaussian


class LogNormalPrior(NamedTuple):
    """Hyperparameters of columns."""

    place: np.ndarray  # (D,) cell of a row
    first: np.ndarray  # (D + 1,) zeros: nothing is kept for small counts
    strength: np.ndarray  # (D,)
    shape: np.ndarray  # (D,)
    rate: np.ndarray  # (D,)
    blur: np.ndarray  # (D,) what rounding adds to the rate for each cell
    mean: np.ndarray  # (D,) of the logarithm


@keeps_sums
class LogNormalColumns(SumColumns):
    """Columns of logarithms; a cell's density is that of the number itself."""


class LogNormal(DiagonalGaussian):
    """Columns of positive numbers whose logarithms are Gaussian, independent within a cluster.

    Parameters
    ----------
    mean, strength, shape, rate
        The Normal-Gamma prior of `DiagonalGaussian`, for the logarithms.

    Examples
    --------
    >>> family = LogNormal(mean=[0.0], strength=1.0, shape=1.0, rate=[1.0])
    >>> round(family.log_marginal([[np.e]]), 6)  # of its logarithm, 1, less the logarithm
    -2.72101
    """

    columns_type: ClassVar[Any] = LogNormalColumns

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0) -> Self:
        """Choose the prior of `DiagonalGaussian.empirical`, for the logarithms."""
        return super().empirical(np.log(_checked(np.asarray(X, dtype=np.float64), None)), scale)

    @classmethod
    def column_prior(cls, columns: Sequence[Self], place: np.ndarray) -> LogNormalPrior:  # type: ignore[override]
        """Return the prior of such columns, alone or in a mixed table."""
        names = ("strength", "shape", "rate", "blur", "mean")
        return LogNormalPrior(place, no_levels(place), *gathered(columns, *names))

    def new_bank(self, capacity: int) -> Bank:
        """Return the arrays of a bank with `capacity` chairs."""
        return Family.new_bank(self, capacity)

    def sums(self, bank: Bank, k: int) -> Sums:
        """Return the statistics of chair k, column by column."""
        return sums_of(bank, k)

    def encode(self, X: np.ndarray, names: Names = None) -> np.ndarray:
        """Take logarithms."""
        return np.log(_checked(X, names))

    def decode(self, X: np.ndarray) -> np.ndarray:
        """Turn logarithms back into numbers."""
        return np.exp(X)


def _checked(X: np.ndarray, names: Names) -> np.ndarray:
    checks.finite(X, names)
    hint = "use DiagonalGaussian, or Exponential where zeros occur."
    checks.every_cell(X, X > 0, "LogNormal columns must be positive", hint, names)
    return X


verbs.second_of_cell.on(LogNormalColumns)(student.square_of_cell)
verbs.refresh_column.on(LogNormalColumns)(student.refresh_column)


@verbs.score_cell.on(LogNormalColumns)
def score_cell(bank, j, v, n_chairs, scores):
    student.score_cell(bank, j, v, n_chairs, scores)
    log_x = v + bank.prior.mean[j]
    for k in range(0, n_chairs, LANES):
        store(scores, k, load(scores, k) - log_x)


@verbs.log_density_of_cell.on(LogNormalColumns)
def log_density_of_cell(bank, j, v, s, e, q, r, n):
    return student.log_density_of_cell(bank, j, v, s, e, q, r, n) - (v + bank.prior.mean[j])


@verbs.log_marginal_of_column.on(LogNormalColumns)
def log_marginal_of_column(bank, j, k):
    logs = bank.sum_high[j, k] + bank.n[j, k] * bank.prior.mean[j]
    return student.log_marginal_of_column(bank, j, k) - logs
