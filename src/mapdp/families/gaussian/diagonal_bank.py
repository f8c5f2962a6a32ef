"""The bank of Gaussian clusters with one variance per column.

The predictive is a product of Student t densities, and a sum of logs is the log of a product, so a chair
costs two multiplications and an addition per column and one logarithm per row.
"""

from typing import NamedTuple

import numpy as np

from mapdp.compiled.exact import added, several, two_product
from mapdp.compiled.jit import inlined
from mapdp.compiled.lanes import LANES, load, spread, store
from mapdp.compiled.special import log, log_gamma_half_step, log_of_product, times
from mapdp.families import verbs
from mapdp.families.columns import add_sums
from mapdp.families.gaussian.student import growth, log_evidence, log_peak

_SPENT = 1e-4  # below this share of the rate, what remains without a row is worked out exactly


class DiagonalPrior(NamedTuple):
    """Hyperparameters in the form the verbs read."""

    strength: float
    shape: float
    rate: np.ndarray  # (D,)
    inverse_rate: np.ndarray  # (D,)
    blur: np.ndarray  # (D,) what rounding adds to the rate for each cell
    log_rates: float  # sum over columns of log rate


class DiagonalGaussianBank(NamedTuple):
    """The statistics and cached predictives of all chairs; rows are measured from the prior mean."""

    prior: DiagonalPrior
    n: np.ndarray  # (K,) rows
    sum_high: np.ndarray  # (D, K) exact sum of x ...
    sum_low: np.ndarray  # (D, K) ... and what its first part lost
    second_high: np.ndarray  # (D, K) exact sum of x^2
    second_low: np.ndarray  # (D, K)
    mean: np.ndarray  # (D, K) posterior mean m
    inverse_rate: np.ndarray  # (D, K) one over the posterior rate b
    weight: np.ndarray  # (D, K) c / (2 (b + blur) (c + 1))
    power: np.ndarray  # (K,) a + 1/2
    constant: np.ndarray  # (K,) log density at the mean
    constant_without: np.ndarray  # (K,) the same for one row fewer, but for what that does to b


@verbs.clear.on(DiagonalGaussianBank)
def clear(bank, k):
    bank.n[k] = 0.0
    for j in range(bank.mean.shape[0]):
        bank.sum_high[j, k] = bank.sum_low[j, k] = 0.0
        bank.second_high[j, k] = bank.second_low[j, k] = 0.0


@verbs.insert.on(DiagonalGaussianBank)
def insert(bank, k, x, scratch):
    bank.n[k] += 1.0
    for j in range(bank.mean.shape[0]):
        square, lost = two_product(x[j], x[j])
        add_sums(bank, j, k, x[j], 0.0, square, lost)


@verbs.remove.on(DiagonalGaussianBank)
def remove(bank, k, x, scratch):
    bank.n[k] -= 1.0
    for j in range(bank.mean.shape[0]):
        square, lost = two_product(x[j], x[j])
        add_sums(bank, j, k, -x[j], 0.0, -square, -lost)


@verbs.pour.on(DiagonalGaussianBank)
def pour(bank, k, other, j, times, scratch):
    bank.n[k] += times * other.n[j]
    for d in range(bank.mean.shape[0]):
        total, lost = several(other.sum_high[d, j], other.sum_low[d, j], times)
        square, square_lost = several(other.second_high[d, j], other.second_low[d, j], times)
        add_sums(bank, d, k, total, lost, square, square_lost)


@verbs.refresh.on(DiagonalGaussianBank)
def refresh(bank, k):
    n = bank.n[k]
    strength, shape = bank.prior.strength + n, bank.prior.shape + 0.5 * n
    inverse_n, inverse_strength = 1.0 / max(n, 1.0), 1.0 / strength
    half_width = 0.5 * strength / (strength + 1.0)
    exponent, product, wider_exponent, wider_product = 0.0, 1.0, 0.0, 1.0
    for j in range(bank.mean.shape[0]):
        larger = _growth_of(bank, j, k, inverse_n)
        bank.mean[j, k] = bank.sum_high[j, k] * inverse_strength
        bank.inverse_rate[j, k] = inverse_rate = bank.prior.inverse_rate[j] / larger
        wider = 1.0 + bank.prior.blur[j] * inverse_rate
        bank.weight[j, k] = half_width * inverse_rate / wider
        exponent, product = times(exponent, product, larger, j)
        wider_exponent, wider_product = times(wider_exponent, wider_product, wider, j)
    bank.power[k] = shape + 0.5
    log_wider = log_of_product(wider_exponent, wider_product)
    _refresh_constants(bank, k, strength, shape, log_of_product(exponent, product), log_wider)


@inlined
def _growth_of(bank, j, k, inverse_n):
    """Return b / b0 of column j on chair k."""
    s, e, q, r = bank.sum_high[j, k], bank.sum_low[j, k], bank.second_high[j, k], bank.second_low[j, k]
    prior = bank.prior
    return growth(prior.strength, prior.inverse_rate[j], prior.blur[j], s, e, q, r, bank.n[k], inverse_n)


@inlined
def _refresh_constants(bank, k, strength, shape, log_growth, log_wider):
    """Work out the log densities at the centre of chair k, with all its rows and with one fewer.

    `log_growth` is the log of b / b0, `log_wider` that of (b + blur) / b, both summed over columns.
    """
    n_features, half_step = bank.mean.shape[0], log_gamma_half_step(shape)
    half_rates = 0.5 * (bank.prior.log_rates + log_growth)
    peaks = n_features * log_peak(half_step, strength / (strength + 1.0))
    bank.constant[k] = peaks - half_rates - (shape + 0.5) * log_wider
    bank.constant_without[k] = 0.0
    if bank.n[k] > 1.0:  # gamma(a) / gamma(a - 1/2) and gamma(a + 1/2) / gamma(a) make a - 1/2 together
        others = log_peak(log(shape - 0.5) - half_step, (strength - 1.0) / strength)
        bank.constant_without[k] = n_features * others - half_rates


@verbs.log_predictive.on(DiagonalGaussianBank)
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


@verbs.log_leave_one_out.on(DiagonalGaussianBank)
def log_leave_one_out(bank, k, x, scratch):
    strength = bank.prior.strength + bank.n[k]
    half = 0.5 * strength / (strength - 1.0)
    exponent, product = 0.0, 1.0
    for j in range(bank.mean.shape[0]):
        residual = x[j] - bank.mean[j, k]
        kept = 1.0 - (half * (residual * residual) + bank.prior.blur[j]) * bank.inverse_rate[j, k]
        if kept < _SPENT:
            kept = _rate_without(bank, j, k, x[j]) * bank.inverse_rate[j, k]
        exponent, product = times(exponent, product, kept, j)
    return bank.constant_without[k] + (bank.power[k] - 1.0) * log_of_product(exponent, product)


@inlined
def _rate_without(bank, j, k, number):
    """Return b of chair k without one of its rows, from the exact sums."""
    square, lost = two_product(number, number)
    s, e = added(bank.sum_high[j, k], bank.sum_low[j, k], -number, 0.0)
    q, r = added(bank.second_high[j, k], bank.second_low[j, k], -square, -lost)
    prior, others = bank.prior, bank.n[k] - 1.0
    inverse = 1.0 / others
    larger = growth(prior.strength, prior.inverse_rate[j], prior.blur[j], s, e, q, r, others, inverse)
    return prior.rate[j] * larger


@verbs.log_marginal.on(DiagonalGaussianBank)
def log_marginal(bank, k):
    prior, n = bank.prior, bank.n[k]
    exponent, product = 0.0, 1.0
    inverse_n = 1.0 / max(n, 1.0)
    for j in range(bank.mean.shape[0]):
        exponent, product = times(exponent, product, _growth_of(bank, j, k, inverse_n), j)
    log_growth, n_columns = log_of_product(exponent, product), bank.mean.shape[0]
    return log_evidence(prior.strength, prior.shape, n, prior.log_rates, log_growth, n_columns)
