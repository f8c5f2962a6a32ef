"""Knows Gaussian clusters with one variance per column, under a Normal-Gamma prior.

The one idea: the predictive is a product of Student t densities, and a sum of logs is the log of a
product, so a chair costs two multiplications and an addition per column and one logarithm per row.
"""

import dataclasses
from typing import NamedTuple, Self

import numpy as np

from mapdp import checks, family
from mapdp._jit import inlined
from mapdp._lanes import LANES, load, spread, store
from mapdp.exact import accumulate, added, several, squares_about_mean, two_product
from mapdp.families.cells import BELL, Cell, Sums
from mapdp.family import SCALE_HINT, Located, Parameters
from mapdp.moments import column_moments
from mapdp.special import LOG_2PI, log, log_gamma_half_step, log_of_product, log_rising, times

_SPENT = 1e-4  # below this share of the rate, what remains without a row is worked out exactly


class Prior(NamedTuple):
    """Hyperparameters in the form the verbs read."""

    strength: float
    shape: float
    rate: np.ndarray  # (D,)
    inverse_rate: np.ndarray  # (D,)
    log_rates: float  # sum over columns of log rate


class DiagonalGaussianBank(NamedTuple):
    """What the clusters know; rows are measured from the prior mean."""

    prior: Prior
    n: np.ndarray  # (K,) rows
    sum_high: np.ndarray  # (D, K) exact sum of x ...
    sum_low: np.ndarray  # (D, K) ... and what its first part lost
    square_high: np.ndarray  # (D, K) exact sum of x^2
    square_low: np.ndarray  # (D, K)
    mean: np.ndarray  # (D, K) posterior mean m
    rate: np.ndarray  # (D, K) posterior rate b
    weight: np.ndarray  # (D, K) c / (2 b (c + 1))
    power: np.ndarray  # (K,) a + 1/2
    constant: np.ndarray  # (K,) log density at the mean
    constant_without: np.ndarray  # (K,) the same for one row fewer, but for what that does to b


@dataclasses.dataclass(frozen=True, eq=False)
class DiagonalGaussian(Located):
    """Gaussian clusters with independent columns; the Normal-Gamma prior of the paper.

    Parameters
    ----------
    mean : array of shape (D,)
        Prior mean of a cluster's centre (m0).
    strength : float
        How many rows the prior mean is worth (c0).
    shape : float
        Shape of the Gamma prior of the precision (a0).
    rate : array of shape (D,)
        Rate of that Gamma prior, in squared units of the column (b0).

    Examples
    --------
    >>> family = DiagonalGaussian(mean=[0.0], strength=1.0, shape=1.0, rate=[1.0])
    >>> round(family.log_marginal([[0.0]]), 6)  # a Student t with 2 degrees of freedom, scale sqrt 2
    -1.386294
    """

    mean: np.ndarray
    strength: float
    shape: float
    rate: np.ndarray

    def __post_init__(self) -> None:
        mean = checks.real_vector("mean", self.mean)
        rate = checks.positive_vector("rate", self.rate, "the variance of the column is a good start.")
        mean, rate = (np.array(a) for a in np.broadcast_arrays(mean, rate))
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "rate", rate)
        checks.positive("strength", self.strength, "10 / N lets centres roam the data.")
        checks.positive("shape", self.shape, "try 1.0.")

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0) -> Self:
        """Choose the paper's prior for real data: sample mean, 10 / N, 1, sample variance.

        `scale` multiplies the standard deviation that a cluster is expected to have. A column that does not
        vary gets the rate 1; the partition does not depend on that value.
        """
        mean, variance = column_moments(np.asarray(X))
        rate = np.where(variance > 0, checks.positive("scale", scale, SCALE_HINT) ** 2 * variance, 1.0)
        return cls(mean=mean, strength=10.0 / len(X), shape=1.0, rate=rate)

    def new_bank(self, capacity: int) -> DiagonalGaussianBank:
        """Return the arrays of a bank with `capacity` chairs."""
        log_rates = float(np.log(self.rate).sum())
        prior = Prior(float(self.strength), float(self.shape), self.rate, 1.0 / self.rate, log_rates)
        n, *vectors = np.zeros((4, capacity))
        return DiagonalGaussianBank(prior, n, *np.zeros((7, self.n_features, capacity)), *vectors)

    def posterior(self, bank: DiagonalGaussianBank, k: int) -> Self:
        """Return the family whose prior is what chair k knows."""
        return dataclasses.replace(
            self,
            mean=self.mean + bank.mean[:, k],
            strength=self.strength + bank.n[k],
            shape=self.shape + 0.5 * bank.n[k],
            rate=bank.rate[:, k],
        )

    @property
    def cell(self) -> Cell:
        """Return the prior of the one column."""
        return Cell(BELL, (float(self.strength), float(self.shape), float(self.rate[0])))

    def sums(self, bank: DiagonalGaussianBank, k: int) -> list[Sums]:
        """Return what each column of chair k knows."""
        squares = bank.square_high[:, k]
        return [Sums(bank.n[k], *column) for column in zip(bank.sum_high[:, k], squares, strict=True)]

    def learned(self, sums: Sums) -> Self:
        """Return the family of one column after n cells."""
        strength = self.strength + sums.n
        squares = max(sums.second - sums.total**2 / strength, 0.0)  # the prior's pull is in it
        return dataclasses.replace(
            self,
            mean=self.mean + sums.total / strength,
            strength=strength,
            shape=self.shape + 0.5 * sums.n,
            rate=self.rate + 0.5 * squares,
        )

    def summary(self) -> dict[str, np.ndarray]:
        """Return mean and variance of the predictive (infinite where shape <= 1)."""
        spread = self.rate * (self.strength + 1.0) / self.strength
        variance = spread / (self.shape - 1.0) if self.shape > 1.0 else np.full_like(spread, np.inf)
        return {"mean": self.mean, "variance": variance}

    def sample_parameters(self, n: int, rng: np.random.Generator) -> Parameters:
        """Draw centres and variances of n clusters."""
        variance = self.rate / rng.gamma(self.shape, size=(n, self.n_features))
        return rng.normal(self.mean, np.sqrt(variance / self.strength)), variance

    def sample_rows(self, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
        """Draw one row for each drawn cluster."""
        mean, variance = parameters
        return rng.normal(mean, np.sqrt(variance))


@family.clear.on(DiagonalGaussianBank)
def clear(bank, k):
    bank.n[k] = 0.0
    for j in range(bank.mean.shape[0]):
        bank.sum_high[j, k] = bank.sum_low[j, k] = 0.0
        bank.square_high[j, k] = bank.square_low[j, k] = 0.0


@inlined
def _add(bank, j, k, number, lost, square, square_lost):
    """Add to the exact sums of column j on chair k."""
    accumulate(bank.sum_high, bank.sum_low, j, k, number, lost)
    accumulate(bank.square_high, bank.square_low, j, k, square, square_lost)


@family.insert.on(DiagonalGaussianBank)
def insert(bank, k, x):
    bank.n[k] += 1.0
    for j in range(bank.mean.shape[0]):
        square, lost = two_product(x[j], x[j])
        _add(bank, j, k, x[j], 0.0, square, lost)


@family.remove.on(DiagonalGaussianBank)
def remove(bank, k, x):
    bank.n[k] -= 1.0
    for j in range(bank.mean.shape[0]):
        square, lost = two_product(x[j], x[j])
        _add(bank, j, k, -x[j], 0.0, -square, -lost)


@family.pour.on(DiagonalGaussianBank)
def pour(bank, k, other, j, times):
    bank.n[k] += times * other.n[j]
    for d in range(bank.mean.shape[0]):
        total, lost = several(other.sum_high[d, j], other.sum_low[d, j], times)
        square, square_lost = several(other.square_high[d, j], other.square_low[d, j], times)
        _add(bank, d, k, total, lost, square, square_lost)


@inlined
def _growth(bank, j, s, e, square, square_lost, n, inverse_n):
    """Return b / b0 from exact sums over n rows (paper, eq. for b_k, with m0 as the origin)."""
    spread = squares_about_mean(s, e, square, square_lost, n, inverse_n)
    strength = bank.prior.strength
    pull = strength / (strength + n) * s * (s * inverse_n)
    return 1.0 + 0.5 * (spread + pull) * bank.prior.inverse_rate[j]


@family.refresh.on(DiagonalGaussianBank)
def refresh(bank, k):
    n = bank.n[k]
    strength, shape = bank.prior.strength + n, bank.prior.shape + 0.5 * n
    inverse_n, inverse_strength = 1.0 / max(n, 1.0), 1.0 / strength
    half_width = 0.5 * strength / (strength + 1.0)
    exponent, product = 0.0, 1.0
    for j in range(bank.mean.shape[0]):
        growth = _growth_of(bank, j, k, inverse_n)
        bank.mean[j, k] = bank.sum_high[j, k] * inverse_strength
        bank.rate[j, k] = bank.prior.rate[j] * growth
        bank.weight[j, k] = half_width / bank.rate[j, k]
        exponent, product = times(exponent, product, growth, j)
    bank.power[k] = shape + 0.5
    _refresh_constants(bank, k, strength, shape, log_of_product(exponent, product))


@inlined
def _growth_of(bank, j, k, inverse_n):
    """Return b / b0 of column j on chair k."""
    s, e = bank.sum_high[j, k], bank.sum_low[j, k]
    return _growth(bank, j, s, e, bank.square_high[j, k], bank.square_low[j, k], bank.n[k], inverse_n)


@inlined
def _refresh_constants(bank, k, strength, shape, log_growth):
    """Work out the log densities at the centre of chair k, with all its rows and with one fewer."""
    n_features, half_step = bank.mean.shape[0], log_gamma_half_step(shape)
    half_rates = 0.5 * (bank.prior.log_rates + log_growth)
    bank.constant[k] = n_features * _level(strength, half_step) - half_rates
    bank.constant_without[k] = 0.0
    if bank.n[k] > 1.0:  # gamma(a) / gamma(a - 1/2) and gamma(a + 1/2) / gamma(a) make a - 1/2 together
        others = _level(strength - 1.0, log(shape - 0.5) - half_step)
        bank.constant_without[k] = n_features * others - half_rates


@inlined
def _level(strength, half_step):
    """Return the log density of a one-column Student t at its centre, for rate 1."""
    return half_step + 0.5 * log(strength / (strength + 1.0)) - 0.5 * LOG_2PI


@family.log_predictive.on(DiagonalGaussianBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    mean, weight = bank.mean, bank.weight
    n_features = mean.shape[0]
    for k in range(0, n_chairs, LANES):
        exponent, product = spread(0.0), spread(1.0)
        for j in range(n_features):
            residual = x[j] - load(mean[j], k)
            factor = 1.0 + load(weight[j], k) * (residual * residual)
            exponent, product = times(exponent, product, factor, j)
        density = load(bank.constant, k) - load(bank.power, k) * log_of_product(exponent, product)
        store(scores, k, load(scores, k) + density)


@family.log_leave_one_out.on(DiagonalGaussianBank)
def log_leave_one_out(bank, k, x):
    strength = bank.prior.strength + bank.n[k]
    wider = (strength + 1.0) / (strength - 1.0)
    exponent, product = 0.0, 1.0
    for j in range(bank.mean.shape[0]):
        residual = x[j] - bank.mean[j, k]
        kept = 1.0 - wider * bank.weight[j, k] * (residual * residual)
        if kept < _SPENT:
            kept = _rate_without(bank, j, k, x[j]) / bank.rate[j, k]
        exponent, product = times(exponent, product, kept, j)
    return bank.constant_without[k] + (bank.power[k] - 1.0) * log_of_product(exponent, product)


@inlined
def _rate_without(bank, j, k, number):
    """Return b of chair k without one of its rows, from the exact sums."""
    square, lost = two_product(number, number)
    s, e = added(bank.sum_high[j, k], bank.sum_low[j, k], -number, 0.0)
    q, r = added(bank.square_high[j, k], bank.square_low[j, k], -square, -lost)
    others = bank.n[k] - 1.0
    return bank.prior.rate[j] * _growth(bank, j, s, e, q, r, others, 1.0 / others)


@family.log_marginal.on(DiagonalGaussianBank)
def log_marginal(bank, k):
    n, shape, strength = bank.n[k], bank.prior.shape, bank.prior.strength
    exponent, product = 0.0, 1.0
    inverse_n = 1.0 / max(n, 1.0)
    for j in range(bank.mean.shape[0]):
        exponent, product = times(exponent, product, _growth_of(bank, j, k, inverse_n), j)
    rates = -0.5 * n * bank.prior.log_rates - (shape + 0.5 * n) * log_of_product(exponent, product)
    level = log_rising(shape, 0.5 * n) - 0.5 * log((strength + n) / strength) - 0.5 * n * LOG_2PI
    return rates + bank.mean.shape[0] * level
