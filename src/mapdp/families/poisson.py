"""Knows clusters of counts, under Gamma priors on their Poisson rates.

The one idea: the predictive is a negative binomial; what does not depend on the count is summed over
columns once per change of a chair, so a cell that holds 0 costs nothing to score.
"""

import dataclasses
from typing import NamedTuple, Self

import numpy as np

from mapdp import checks, family
from mapdp._jit import inlined
from mapdp._lanes import LANES, load, spread, store
from mapdp.checks import Names
from mapdp.families.cells import COUNT, REMEMBERED, Cell, Sums
from mapdp.family import SCALE_HINT, Family, Parameters
from mapdp.special import log, log_of_parts, log_rising, parted

_FEW = 16.0  # a count up to this is scored as a product of factors, a larger one by gamma functions


class Prior(NamedTuple):
    """Hyperparameters in the form the verbs read."""

    shape: np.ndarray  # (D,)
    rate: np.ndarray  # (D,)


class PoissonBank(NamedTuple):
    """What the clusters know."""

    prior: Prior
    n: np.ndarray  # (K,) rows
    total: np.ndarray  # (D, K) sum of the counts
    log_factorials: np.ndarray  # (K,) sum of log x!
    shape: np.ndarray  # (D, K) posterior shape
    per_count: np.ndarray  # (D, K) 1 / (posterior rate + 1)
    per_count_without: np.ndarray  # (D, K) the same for one row fewer, per count that it takes with it
    constant: np.ndarray  # (K,) log probability of a row of zeros
    constant_without: np.ndarray  # (K,) the same for one row fewer, its counts still in the shape


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
        shapes = [column, table, column, table, table, table, column, column]
        return PoissonBank(Prior(self.shape, self.rate), *[np.zeros(shape) for shape in shapes])

    def posterior(self, bank: PoissonBank, k: int) -> Self:
        """Return the family whose prior is what chair k knows."""
        return dataclasses.replace(self, shape=bank.shape[:, k], rate=self.rate + bank.n[k])

    @property
    def cell(self) -> Cell:
        """Return the prior of the one column."""
        return Cell(COUNT, (float(self.shape[0]), float(self.rate[0])), np.zeros(REMEMBERED))

    def sums(self, bank: PoissonBank, k: int) -> list[Sums]:
        """Return what each column of chair k knows, but for factorials."""
        return [Sums(bank.n[k], total) for total in bank.total[:, k]]

    def learned(self, sums: Sums) -> Self:
        """Return the family of one column after n cells."""
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
    return X


@inlined
def _log_factorials(x):
    """Return the sum of log x! over the columns of a row."""
    total, exponent, product = 0.0, 0.0, 1.0
    for j in range(x.shape[0]):
        if x[j] > _FEW:
            total += log_rising(1.0, x[j])
        elif x[j] > 1.0:
            exponent, product = _rising(exponent, product, 1.0, 1.0, x[j])
    return total + log_of_parts(exponent, product)


@family.clear.on(PoissonBank)
def clear(bank, k):
    bank.n[k] = 0.0
    bank.log_factorials[k] = 0.0
    for j in range(bank.total.shape[0]):
        bank.total[j, k] = 0.0


@inlined
def _count(bank, k, x, sign):
    """Add a row to the totals of chair k (+1) or take it off (-1)."""
    bank.n[k] += sign
    bank.log_factorials[k] += sign * _log_factorials(x)
    for j in range(x.shape[0]):
        bank.total[j, k] += sign * x[j]


@family.insert.on(PoissonBank)
def insert(bank, k, x):
    _count(bank, k, x, 1.0)


@family.remove.on(PoissonBank)
def remove(bank, k, x):
    _count(bank, k, x, -1.0)


@family.pour.on(PoissonBank)
def pour(bank, k, other, j, times):
    bank.n[k] += times * other.n[j]
    bank.log_factorials[k] += times * other.log_factorials[j]
    for d in range(bank.total.shape[0]):
        bank.total[d, k] += times * other.total[d, j]


@family.refresh.on(PoissonBank)
def refresh(bank, k):
    constant, constant_without = 0.0, 0.0
    for j in range(bank.total.shape[0]):
        shape = bank.prior.shape[j] + bank.total[j, k]
        rate = bank.prior.rate[j] + bank.n[k]
        bank.shape[j, k] = shape
        bank.per_count[j, k] = 1.0 / (rate + 1.0)
        constant += shape * log(rate / (rate + 1.0))
        bank.per_count_without[j, k] = 0.0
        if bank.n[k] > 1.0:
            bank.per_count_without[j, k] = 1.0 / (rate - 1.0)
            constant_without += shape * log((rate - 1.0) / rate)
    bank.constant[k] = constant
    bank.constant_without[k] = constant_without


@inlined
def _rising(exponent, product, shape, per_count, count):
    """Multiply a running product by gamma(shape + count) / gamma(shape) per_count^count."""
    for i in range(int(count)):
        product *= (shape + float(i)) * per_count
    e, product = parted(product)
    return exponent + e, product


@family.log_predictive.on(PoissonBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    shared = _log_factorials(x)
    for k in range(0, n_chairs, LANES):
        total = load(scores, k) + (load(bank.constant, k) - shared)
        exponent, product = spread(0.0), spread(1.0)
        for j in range(x.shape[0]):
            shape, per_count = load(bank.shape[j], k), load(bank.per_count[j], k)
            if x[j] > _FEW:
                total += log_rising(shape, x[j]) + x[j] * log(per_count)
            elif x[j] > 0.0:
                exponent, product = _rising(exponent, product, shape, per_count, x[j])
        store(scores, k, total + log_of_parts(exponent, product))


@family.log_leave_one_out.on(PoissonBank)
def log_leave_one_out(bank, k, x):
    total = bank.constant_without[k] - _log_factorials(x)
    exponent, product = 0.0, 1.0
    for j in range(x.shape[0]):
        if x[j] > 0.0:
            shape, per_count = bank.shape[j, k] - x[j], bank.per_count_without[j, k]
            if x[j] > _FEW:
                total += log_rising(shape, x[j]) + x[j] * log(per_count)
            else:
                exponent, product = _rising(exponent, product, shape, per_count, x[j])
    return total + log_of_parts(exponent, product)


@family.log_marginal.on(PoissonBank)
def log_marginal(bank, k):
    total = -bank.log_factorials[k]
    for j in range(bank.total.shape[0]):
        shape, rate = bank.prior.shape[j], bank.prior.rate[j]
        total += log_rising(shape, bank.total[j, k])
        total += shape * log(rate / (rate + bank.n[k])) - bank.total[j, k] * log(rate + bank.n[k])
    return total
