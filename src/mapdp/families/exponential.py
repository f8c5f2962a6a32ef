"""Knows clusters of waiting times and other positive numbers, under Gamma priors on their rates.

The one idea: the predictive is a Lomax density with the same power in every column, so a row costs one
factor per column and one logarithm per chair, as with the diagonal Gaussian.
"""

import dataclasses
from typing import NamedTuple, Self

import numpy as np

from mapdp import checks, family
from mapdp._jit import inlined
from mapdp._lanes import LANES, load, spread, store
from mapdp.checks import Names
from mapdp.exact import accumulate, added, several
from mapdp.families.cells import WAIT, Cell, Sums
from mapdp.family import SCALE_HINT, Family, Parameters
from mapdp.special import log, log_of_product, log_rising, times


class Prior(NamedTuple):
    """Hyperparameters in the form the verbs read."""

    shape: float
    rate: np.ndarray  # (D,)
    log_rates: float  # sum over columns of log rate


class ExponentialBank(NamedTuple):
    """What the clusters know."""

    prior: Prior
    n: np.ndarray  # (K,) rows
    sum_high: np.ndarray  # (D, K) exact sum of x ...
    sum_low: np.ndarray  # (D, K) ... and what its first part lost
    inverse_rate: np.ndarray  # (D, K) one over the posterior rate
    power: np.ndarray  # (K,) posterior shape + 1
    constant: np.ndarray  # (K,) log density at 0
    constant_without: np.ndarray  # (K,) the same for one row fewer, its numbers still in the rate


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
        """Check that no cell is negative."""
        return np.ascontiguousarray(_checked(X, names), dtype=np.float64)

    def new_bank(self, capacity: int) -> ExponentialBank:
        """Return the arrays of a bank with `capacity` chairs."""
        row, table = (capacity,), (self.n_features, capacity)
        prior = Prior(float(self.shape), self.rate, float(np.log(self.rate).sum()))
        shapes = [row, table, table, table, row, row, row]
        return ExponentialBank(prior, *[np.zeros(shape) for shape in shapes])

    def posterior(self, bank: ExponentialBank, k: int) -> Self:
        """Return the family whose prior is what chair k knows."""
        return dataclasses.replace(self, shape=self.shape + bank.n[k], rate=1.0 / bank.inverse_rate[:, k])

    @property
    def cell(self) -> Cell:
        """Return the prior of the one column."""
        return Cell(WAIT, (float(self.shape), float(self.rate[0])))

    def sums(self, bank: ExponentialBank, k: int) -> list[Sums]:
        """Return what each column of chair k knows."""
        return [Sums(bank.n[k], total) for total in bank.sum_high[:, k]]

    def learned(self, sums: Sums) -> Self:
        """Return the family of one column after n cells."""
        return dataclasses.replace(self, shape=self.shape + sums.n, rate=self.rate + sums.total)

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


@family.clear.on(ExponentialBank)
def clear(bank, k):
    bank.n[k] = 0.0
    for j in range(bank.sum_high.shape[0]):
        bank.sum_high[j, k] = bank.sum_low[j, k] = 0.0


@family.insert.on(ExponentialBank)
def insert(bank, k, x):
    bank.n[k] += 1.0
    for j in range(x.shape[0]):
        accumulate(bank.sum_high, bank.sum_low, j, k, x[j], 0.0)


@family.remove.on(ExponentialBank)
def remove(bank, k, x):
    bank.n[k] -= 1.0
    for j in range(x.shape[0]):
        accumulate(bank.sum_high, bank.sum_low, j, k, -x[j], 0.0)


@family.pour.on(ExponentialBank)
def pour(bank, k, other, j, times):
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


@family.refresh.on(ExponentialBank)
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


@family.log_predictive.on(ExponentialBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    for k in range(0, n_chairs, LANES):
        exponent, product = spread(0.0), spread(1.0)
        for j in range(x.shape[0]):
            factor = 1.0 + x[j] * load(bank.inverse_rate[j], k)
            exponent, product = times(exponent, product, factor, j)
        density = load(bank.constant, k) - load(bank.power, k) * log_of_product(exponent, product)
        store(scores, k, load(scores, k) + density)


@family.log_leave_one_out.on(ExponentialBank)
def log_leave_one_out(bank, k, x):
    exponent, product = 0.0, 1.0
    for j in range(x.shape[0]):
        s, _ = added(bank.sum_high[j, k], bank.sum_low[j, k], -x[j], 0.0)
        kept = (bank.prior.rate[j] + s) * bank.inverse_rate[j, k]
        exponent, product = times(exponent, product, kept, j)
    return bank.constant_without[k] + (bank.power[k] - 2.0) * log_of_product(exponent, product)


@family.log_marginal.on(ExponentialBank)
def log_marginal(bank, k):
    n, shape = bank.n[k], bank.prior.shape
    rates = -n * bank.prior.log_rates - (shape + n) * _log_growth(bank, k)
    return rates + bank.sum_high.shape[0] * log_rising(shape, n)
