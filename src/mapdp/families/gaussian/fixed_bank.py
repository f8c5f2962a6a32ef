"""The bank of Gaussian clusters of known variance.

A row's score is its squared distance to the posterior mean, in units of the known variance, and nothing
else depends on the row. The statistics are those of the Gaussian with one variance per column, so that
squares about a mean far from the prior mean keep their digits.
"""

from typing import NamedTuple

import numpy as np

from mapdp.compiled.exact import added, two_product
from mapdp.compiled.jit import inlined
from mapdp.compiled.lanes import LANES, load, spread, store
from mapdp.families import verbs
from mapdp.families.gaussian import diagonal_bank as diagonal
from mapdp.families.gaussian.normal import log_evidence, log_peak
from mapdp.families.gaussian.student import inverse_of, squares_about_posterior


class FixedPrior(NamedTuple):
    """Hyperparameters in the form the verbs read."""

    strength: float
    precision: np.ndarray  # (D,) one over the variance
    log_variances: float  # sum over columns of log variance


class FixedGaussianBank(NamedTuple):
    """The statistics and cached predictives of all chairs; rows are measured from the prior mean."""

    prior: FixedPrior
    n: np.ndarray  # (K,) rows
    sum_high: np.ndarray  # (D, K) exact sum of x ...
    sum_low: np.ndarray  # (D, K) ... and what its first part lost
    second_high: np.ndarray  # (D, K) exact sum of x^2
    second_low: np.ndarray  # (D, K)
    mean: np.ndarray  # (D, K) posterior mean
    weight: np.ndarray  # (K,) c / (2 (c + 1))
    constant: np.ndarray  # (K,) log density at the mean


verbs.clear.on(FixedGaussianBank)(diagonal.clear)
verbs.insert.on(FixedGaussianBank)(diagonal.insert)
verbs.remove.on(FixedGaussianBank)(diagonal.remove)
verbs.pour.on(FixedGaussianBank)(diagonal.pour)


@verbs.refresh.on(FixedGaussianBank)
def refresh(bank, k):
    strength = bank.prior.strength + bank.n[k]
    for j in range(bank.mean.shape[0]):
        bank.mean[j, k] = bank.sum_high[j, k] / strength
    bank.weight[k] = 0.5 * strength / (strength + 1.0)
    bank.constant[k] = log_peak(strength, bank.prior.log_variances, bank.mean.shape[0])


@verbs.log_predictive.on(FixedGaussianBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    for k in range(0, n_chairs, LANES):
        distance = spread(0.0)
        for j in range(x.shape[0]):
            residual = x[j] - load(bank.mean[j], k)
            distance += bank.prior.precision[j] * (residual * residual)
        density = load(bank.constant, k) - load(bank.weight, k) * distance
        store(scores, k, load(scores, k) + density)


@verbs.log_leave_one_out.on(FixedGaussianBank)
def log_leave_one_out(bank, k, x, scratch):
    strength = bank.prior.strength + bank.n[k]
    distance = 0.0
    for j in range(x.shape[0]):
        residual = x[j] - bank.mean[j, k]
        distance += bank.prior.precision[j] * (residual * residual)
    # Without the row the mean is strength / (strength - 1) times as far from it.
    peak = log_peak(strength - 1.0, bank.prior.log_variances, x.shape[0])
    return peak - 0.5 * strength / (strength - 1.0) * distance


@inlined
def squares_of_chair(bank, k):
    """Return the squares of chair k about its posterior mean, in units of the variance."""
    n, total = bank.n[k], 0.0
    inverse_n = inverse_of(n)
    for j in range(bank.mean.shape[0]):
        s, e, q, r = bank.sum_high[j, k], bank.sum_low[j, k], bank.second_high[j, k], bank.second_low[j, k]
        squares = squares_about_posterior(bank.prior.strength, s, e, q, r, n, inverse_n)
        total += bank.prior.precision[j] * squares
    return total


@inlined
def squares_without(bank, k, x):
    """Return the same as if row x had left chair k."""
    others, total = bank.n[k] - 1.0, 0.0
    inverse_others = inverse_of(others)
    for j in range(x.shape[0]):
        square, lost = two_product(x[j], x[j])
        s, e = added(bank.sum_high[j, k], bank.sum_low[j, k], -x[j], 0.0)
        q, r = added(bank.second_high[j, k], bank.second_low[j, k], -square, -lost)
        squares = squares_about_posterior(bank.prior.strength, s, e, q, r, others, inverse_others)
        total += bank.prior.precision[j] * squares
    return total


@verbs.log_marginal.on(FixedGaussianBank)
def log_marginal(bank, k):
    prior, squares = bank.prior, squares_of_chair(bank, k)
    return log_evidence(prior.strength, bank.n[k], prior.log_variances, squares, bank.mean.shape[0])
