"""Clusters of waiting times and other positive numbers, under Gamma priors on their rates.

The predictive is a Lomax density with the same power in every column, so a row costs one factor per column
and one logarithm per chair, as with the diagonal Gaussian.
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from mapdp.compiled.exact import accumulate, added, several
from mapdp.compiled.jit import inlined
from mapdp.compiled.lanes import LANES, load, spread, store
from mapdp.compiled.special import log, log_of_product, log_rising, times
from mapdp.data import checks
from mapdp.data.checks import Names
from mapdp.families import verbs
from mapdp.families.base import SCALE_HINT, Family, Parameters
from mapdp.families.columns import SumColumns, Sums, gathered, keeps_sums, no_levels, plain_sums

_REACH = 1e30  # times the prior rate: eight such factors, of many rows each, can still be multiplied


class ExponentialPrior(NamedTuple):
    """Hyperparameters in the form the verbs read."""

    shape: float
    rate: np.ndarray  # (D,)
    log_rates: float  # sum over columns of log rate


class ExponentialBank(NamedTuple):
    """The statistics and cached predictives of all chairs."""

    prior: ExponentialPrior
    n: np.ndarray  # (K,) rows
    sum_high: np.ndarray  # (D, K) exact sum of x ...
    sum_low: np.ndarray  # (D, K) ... and what its first part lost
    inverse_rate: np.ndarray  # (D, K) one over the posterior rate
    power: np.ndarray  # (K,) posterior shape + 1
    constant: np.ndarray  # (K,) log density at 0
    constant_without: np.ndarray  # (K,) the same for one row fewer, its numbers still in the rate


class WaitingPrior(NamedTuple):
    """Hyperparameters of columns in a mixed table."""

    place: np.ndarray  # (D,) cell of a row
    first: np.ndarray  # (D + 1,) zeros: nothing is kept for small counts
    shape: np.ndarray  # (D,)
    rate: np.ndarray  # (D,)


@keeps_sums
class WaitingColumns(SumColumns):
    """Columns of waiting times; there is no second sum.

    Cached: one over the posterior rate (`width`), power and log density at 0.
    """


@dataclasses.dataclass(frozen=True, eq=False)
class Exponential(Family):
    """Columns of positive numbers that fall off exponentially, independent within a cluster.

    Parameters
    ----------
    shape : float
        Shape of the Gamma prior of a cluster's rate.
    rate : array of shape (D,)
        Rate of that prior, in units of the column.

    Examples
    --------
    >>> family = Exponential(shape=1.0, rate=[1.0])
    >>> round(float(np.exp(family.log_marginal([[1.0]]))), 6)  # 1 / (1 + x)^2
    0.25
    """

    columns_type = WaitingColumns

    shape: float
    rate: np.ndarray

    def __post_init__(self) -> None:
        checks.positive("shape", self.shape, "1.0 is a vague prior.")
        hint = "the mean of the column is a good start."
        object.__setattr__(self, "rate", checks.positive_vector("rate", self.rate, hint))

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0) -> Self:
        """Shape 1, and the mean of each column as the rate.

        `scale` multiplies the mean that a cluster is expected to have.
        """
        mean = _checked(np.asarray(X, dtype=np.float64), None).mean(axis=0)
        return cls(1.0, checks.positive("scale", scale, SCALE_HINT) * np.where(mean > 0.0, mean, 1.0))

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return len(self.rate)

    def encode(self, X: np.ndarray, names: Names = None) -> np.ndarray:
        """Check that no cell is negative, or so large beside the prior that a product overflows."""
        reach = np.minimum(_REACH * self.rate, checks.LARGEST_SQUARED)
        rule = f"Exponential columns must be at most {_REACH:.0e} times their prior rate"
        hint = "family=Exponential makes a prior from the rows; a single such number may stand for missing."
        checks.within(_checked(X, names), 0.0, reach, rule, hint, names)
        return np.ascontiguousarray(X, dtype=np.float64)

    def new_bank(self, capacity: int) -> ExponentialBank:
        """Return the arrays of a bank with `capacity` chairs."""
        row, table = (capacity,), (self.n_features, capacity)
        prior = ExponentialPrior(float(self.shape), self.rate, float(np.log(self.rate).sum()))
        shapes = [row, table, table, table, row, row, row]
        return ExponentialBank(prior, *[np.zeros(shape) for shape in shapes])

    @classmethod
    def column_prior(cls, columns: Sequence[Self], place: np.ndarray) -> WaitingPrior:
        """Return the prior of such columns in a mixed table."""
        return WaitingPrior(place, no_levels(place), *gathered(columns, "shape", "rate"))

    def sums(self, bank: ExponentialBank, k: int) -> Sums:
        """Return the statistics of chair k, column by column."""
        return plain_sums(bank.n[k], bank.sum_high[:, k])

    def updated(self, sums: Sums) -> Self:
        """Return the posterior after cells with these sums, as a prior; all columns have as many cells."""
        return dataclasses.replace(self, shape=self.shape + float(sums.n[0]), rate=self.rate + sums.total)

    def summary(self) -> dict[str, np.ndarray]:
        """Return mean and variance of the predictive (infinite where the shape is too small)."""
        room, more = self.shape - 1.0, self.shape - 2.0
        mean = self.rate / room if room > 0.0 else np.full_like(self.rate, np.inf)
        variance = mean**2 * self.shape / more if more > 0.0 else np.full_like(self.rate, np.inf)
        return {"mean": mean, "variance": variance}

    def sample_parameters(self, n: int, rng: np.random.Generator) -> Parameters:
        """Draw the means of n clusters."""
        return (self.rate / rng.gamma(self.shape, size=(n, self.n_features)),)

    def sample_rows(self, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
        """Draw one row for each drawn cluster."""
        return rng.exponential(parameters[0])


def _checked(X: np.ndarray, names: Names) -> np.ndarray:
    checks.finite(X, names)
    hint = "use DiagonalGaussian for numbers of both signs."
    checks.every_cell(X, X >= 0, "Exponential columns must not be negative", hint, names)
    return X


@verbs.clear.on(ExponentialBank)
def clear(bank, k):
    bank.n[k] = 0.0
    for j in range(bank.sum_high.shape[0]):
        bank.sum_high[j, k] = bank.sum_low[j, k] = 0.0


@verbs.insert.on(ExponentialBank)
def insert(bank, k, x, scratch):
    bank.n[k] += 1.0
    for j in range(x.shape[0]):
        accumulate(bank.sum_high, bank.sum_low, j, k, x[j], 0.0)


@verbs.remove.on(ExponentialBank)
def remove(bank, k, x, scratch):
    bank.n[k] -= 1.0
    for j in range(x.shape[0]):
        accumulate(bank.sum_high, bank.sum_low, j, k, -x[j], 0.0)


@verbs.pour.on(ExponentialBank)
def pour(bank, k, other, j, times, scratch):
    bank.n[k] += times * other.n[j]
    for d in range(bank.sum_high.shape[0]):
        total, lost = several(other.sum_high[d, j], other.sum_low[d, j], times)
        accumulate(bank.sum_high, bank.sum_low, d, k, total, lost)


@inlined
def _log_growth(bank, k):
    """Return the sum over columns of log(posterior rate / prior rate)."""
    exponent, product = 0.0, 1.0
    for j in range(bank.sum_high.shape[0]):
        exponent, product = times(exponent, product, 1.0 + bank.sum_high[j, k] / bank.prior.rate[j], j)
    return log_of_product(exponent, product)


@verbs.refresh.on(ExponentialBank)
def refresh(bank, k):
    n_features, shape = bank.sum_high.shape[0], bank.prior.shape + bank.n[k]
    for j in range(n_features):
        bank.inverse_rate[j, k] = 1.0 / (bank.prior.rate[j] + bank.sum_high[j, k])
    rates = bank.prior.log_rates + _log_growth(bank, k)
    bank.power[k] = shape + 1.0
    bank.constant[k] = n_features * log(shape) - rates
    bank.constant_without[k] = 0.0
    if bank.n[k] > 1.0:
        bank.constant_without[k] = n_features * log(shape - 1.0) - rates


@verbs.log_predictive.on(ExponentialBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    for k in range(0, n_chairs, LANES):
        exponent, product = spread(0.0), spread(1.0)
        for j in range(x.shape[0]):
            factor = 1.0 + x[j] * load(bank.inverse_rate[j], k)
            exponent, product = times(exponent, product, factor, j)
        density = load(bank.constant, k) - load(bank.power, k) * log_of_product(exponent, product)
        store(scores, k, load(scores, k) + density)


@verbs.log_leave_one_out.on(ExponentialBank)
def log_leave_one_out(bank, k, x, scratch):
    exponent, product = 0.0, 1.0
    for j in range(x.shape[0]):
        s, _ = added(bank.sum_high[j, k], bank.sum_low[j, k], -x[j], 0.0)
        kept = (bank.prior.rate[j] + s) * bank.inverse_rate[j, k]
        exponent, product = times(exponent, product, kept, j)
    return bank.constant_without[k] + (bank.power[k] - 2.0) * log_of_product(exponent, product)


@inlined
def log_evidence(shape, n, log_rates, log_growth, n_columns):
    """Return the log marginal density of n rows; log_rates and log_growth are sums over columns."""
    return n_columns * log_rising(shape, n) - n * log_rates - (shape + n) * log_growth


@verbs.log_marginal.on(ExponentialBank)
def log_marginal(bank, k):
    prior, n_columns = bank.prior, bank.sum_high.shape[0]
    return log_evidence(prior.shape, bank.n[k], prior.log_rates, _log_growth(bank, k), n_columns)


@verbs.second_of_cell.on(WaitingColumns)
def second_of_cell(bank, j, v):
    return 0.0, 0.0


@inlined
def lomax(prior, j, s, n):
    """Return one over the rate, power and log density at 0 of the predictive of column j."""
    shape, rate = prior.shape[j] + n, prior.rate[j] + s
    return 1.0 / rate, shape + 1.0, log(shape / rate)


@verbs.refresh_column.on(WaitingColumns)
def refresh_column(bank, j, k):
    inverse_rate, power, peak = lomax(bank.prior, j, bank.sum_high[j, k], bank.n[j, k])
    bank.width[j, k], bank.power[j, k], bank.constant[j, k] = inverse_rate, power, peak


@verbs.score_cell.on(WaitingColumns)
def score_cell(bank, j, v, n_chairs, scores):
    inverse_rate, power, peak = bank.width[j], bank.power[j], bank.constant[j]
    for k in range(0, n_chairs, LANES):
        fall = load(power, k) * log(1.0 + load(inverse_rate, k) * v)
        store(scores, k, load(scores, k) + (load(peak, k) - fall))


@verbs.log_density_of_cell.on(WaitingColumns)
def log_density_of_cell(bank, j, v, s, e, q, r, n):
    inverse_rate, power, peak = lomax(bank.prior, j, s, n)
    return peak - power * log(1.0 + inverse_rate * v)


@verbs.log_marginal_of_column.on(WaitingColumns)
def log_marginal_of_column(bank, j, k):
    shape, rate = bank.prior.shape[j], bank.prior.rate[j]
    log_growth = log((rate + bank.sum_high[j, k]) / rate)
    return log_evidence(shape, bank.n[j, k], log(rate), log_growth, 1.0)
