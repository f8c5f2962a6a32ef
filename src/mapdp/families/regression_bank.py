"""The bank of regression lines: sums of products, and for each chair the posterior of its coefficients.

A row is a 1, its features and its target, all near zero. Posterior variances of coefficients come from
inverting the sums of products in place, chair by chair; a score is then a quadratic form in the features.
"""

from typing import NamedTuple

import numpy as np

from mapdp.compiled.jit import inlined
from mapdp.compiled.lanes import LANES, load, spread, store
from mapdp.compiled.special import LOG_PI, log, log_gamma_half_step, log_one_plus, log_rising
from mapdp.families import verbs


class RegressionPrior(NamedTuple):
    """Hyperparameters in the form the verbs read."""

    strength: float
    shape: float
    rate: float


class RegressionBank(NamedTuple):
    """The statistics and cached predictives of all chairs; P is the number of coefficients."""

    prior: RegressionPrior
    n: np.ndarray  # (K,) rows
    products: np.ndarray  # (P, P, K) sums of products of features
    with_target: np.ndarray  # (P, K) sums of products of features and target
    squares: np.ndarray  # (K,) sum of squares of the target
    variance: np.ndarray  # (P, P, K) posterior variance of the coefficients, beside the noise
    mean: np.ndarray  # (P, K) posterior mean of the coefficients
    rate: np.ndarray  # (K,) posterior rate of the noise
    log_det: np.ndarray  # (K,) of the posterior precision beside the prior's
    constant: np.ndarray  # (K,) of the log predictive


def new_regression_bank(prior: RegressionPrior, n_coefficients: int, capacity: int) -> RegressionBank:
    """Return the arrays of a bank."""
    p, k = n_coefficients, capacity
    shapes = (k, (p, p, k), (p, k), k, (p, p, k), (p, k), k, k, k)
    return RegressionBank(prior, *[np.zeros(shape) for shape in shapes])


@inlined
def _add(bank, k, x, sign):
    n_coefficients = x.shape[0] - 1
    y = x[n_coefficients]
    bank.n[k] += sign
    bank.squares[k] += sign * y * y
    for i in range(n_coefficients):
        bank.with_target[i, k] += sign * x[i] * y
        for j in range(n_coefficients):
            bank.products[i, j, k] += sign * x[i] * x[j]


@verbs.clear.on(RegressionBank)
def clear(bank, k):
    bank.n[k] = bank.squares[k] = 0.0
    for i in range(bank.mean.shape[0]):
        bank.with_target[i, k] = 0.0
        for j in range(bank.mean.shape[0]):
            bank.products[i, j, k] = 0.0


@verbs.insert.on(RegressionBank)
def insert(bank, k, x, scratch):
    _add(bank, k, x, 1.0)


@verbs.remove.on(RegressionBank)
def remove(bank, k, x, scratch):
    _add(bank, k, x, -1.0)


@verbs.pour.on(RegressionBank)
def pour(bank, k, other, j, times, scratch):
    bank.n[k] += times * other.n[j]
    bank.squares[k] += times * other.squares[j]
    for a in range(bank.mean.shape[0]):
        bank.with_target[a, k] += times * other.with_target[a, j]
        for b in range(bank.mean.shape[0]):
            bank.products[a, b, k] += times * other.products[a, b, j]


@inlined
def _invert(matrix, k):
    """Invert a positive definite matrix in place (Gauss and Jordan); return the log of its determinant."""
    size, log_det = matrix.shape[0], 0.0
    for p in range(size):
        pivot = matrix[p, p, k]
        log_det += log(pivot)
        for i in range(size):
            if i != p:
                factor = matrix[i, p, k] / pivot
                for j in range(size):
                    if j != p:
                        matrix[i, j, k] -= factor * matrix[p, j, k]
                matrix[i, p, k] = -factor
        for j in range(size):
            if j != p:
                matrix[p, j, k] /= pivot
        matrix[p, p, k] = 1.0 / pivot
    return log_det


@verbs.refresh.on(RegressionBank)
@inlined
def refresh(bank, k):
    prior, size, explained = bank.prior, bank.mean.shape[0], 0.0
    for i in range(size):
        for j in range(size):
            bank.variance[i, j, k] = bank.products[i, j, k]
        bank.variance[i, i, k] += prior.strength
    bank.log_det[k] = _invert(bank.variance, k) - size * log(prior.strength)
    for i in range(size):
        bank.mean[i, k] = 0.0
        for j in range(size):
            bank.mean[i, k] += bank.variance[i, j, k] * bank.with_target[j, k]
        explained += bank.mean[i, k] * bank.with_target[i, k]
    bank.rate[k] = prior.rate + 0.5 * max(bank.squares[k] - explained, 0.0)
    shape = prior.shape + 0.5 * bank.n[k]
    bank.constant[k] = log_gamma_half_step(shape) - 0.5 * (LOG_PI + log(2.0 * bank.rate[k]))


@verbs.log_predictive.on(RegressionBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    size = bank.mean.shape[0]
    for k in range(0, n_chairs, LANES):
        gap, wider = spread(x[size]), spread(1.0)
        for i in range(size):
            gap -= load(bank.mean[i], k) * x[i]
            for j in range(size):
                wider += load(bank.variance[i, j], k) * (x[i] * x[j])
        power = load(bank.n, k) * 0.5 + (bank.prior.shape + 0.5)
        far = gap * gap / (wider * load(bank.rate, k) * 2.0)
        density = load(bank.constant, k) - log(wider) * 0.5 - power * log_one_plus(far)
        store(scores, k, load(scores, k) + density)


@verbs.log_leave_one_out.on(RegressionBank)
def log_leave_one_out(bank, k, x, scratch):
    size, leverage = bank.mean.shape[0], 0.0
    gap = x[size]
    for i in range(size):
        gap -= bank.mean[i, k] * x[i]
        for j in range(size):
            leverage += bank.variance[i, j, k] * (x[i] * x[j])
    rest = 1.0 - leverage  # the row's gap from the line of the others is gap / rest
    shape = bank.prior.shape + 0.5 * (bank.n[k] - 1.0)
    rate = max(bank.rate[k] - 0.5 * gap * gap / rest, bank.prior.rate)
    far = gap * gap / (rest * rate * 2.0)
    constant = log_gamma_half_step(shape) - 0.5 * (LOG_PI + log(2.0 * rate))
    return constant + 0.5 * log(rest) - (shape + 0.5) * log_one_plus(far)


@verbs.log_marginal.on(RegressionBank)
def log_marginal(bank, k):
    refresh(bank, k)
    prior, half = bank.prior, 0.5 * bank.n[k]
    shape = prior.shape + half
    evidence = log_rising(prior.shape, half) + prior.shape * log(prior.rate) - shape * log(bank.rate[k])
    return evidence - 0.5 * bank.log_det[k] - half * (LOG_PI + log(2.0))
