"""The bank of Gaussian clusters with a full covariance matrix.

Statistics are exact sums of cells and of their products. The Cholesky factor of a chair's posterior scale
follows from them when it is refreshed; a score is one triangular solve, done for all chairs at once. Where
numbers are rounded, each row adds the rounding error's variance to the scale. Then the scale that a new
row would make, and the one that a row would leave, have factors of their own; else all three are one array.
"""

from typing import NamedTuple

import numpy as np

from mapdp.compiled.exact import accumulate, added, product_of, products_about_means, several, two_product
from mapdp.compiled.jit import called, inlined
from mapdp.compiled.lanes import LANES, load, spread, store
from mapdp.compiled.linalg import factorise, factorise_exactly, squared_length
from mapdp.compiled.special import LOG_PI, log, log_rising
from mapdp.families import verbs
from mapdp.families.gaussian.student import inverse_of

# A squared pivot below this share of its squares about the prior mean has lost digits that matter: then the
# factor is worked out from exact sums.
_THIN = 1e-8
_SPENT = 1e-4  # below this share of the determinant, what remains without a row is worked out exactly


class GaussianPrior(NamedTuple):
    """Hyperparameters in the form the verbs read."""

    strength: float
    dof: float
    scale: np.ndarray  # (D, D)
    pivots: np.ndarray  # (D,) diagonal of its Cholesky factor
    log_det: float  # of the scale
    rounding: np.ndarray  # (D,) variance of the rounding error, which each row adds to the scale
    is_rounded: int  # 1 where columns have a resolution, else 0


class GaussianScratch(NamedTuple):
    """Working space."""

    lanes: np.ndarray  # (D, LANES) residuals of a row from the means of several chairs
    vector: np.ndarray  # (D,) residuals from one mean
    factor: np.ndarray  # (D, D, 1) of one scale
    pivot_low: np.ndarray  # (D, 1)


class GaussianBank(NamedTuple):
    """The statistics and cached predictives of all chairs; rows are measured from the prior mean."""

    prior: GaussianPrior
    n: np.ndarray  # (K,) rows
    sum_high: np.ndarray  # (D, K) exact sum of x ...
    sum_low: np.ndarray  # (D, K) ... and what its first part lost
    product_high: np.ndarray  # (D, D, K) exact sum of xx', lower triangle
    product_low: np.ndarray  # (D, D, K)
    factor: np.ndarray  # (D, D, K) Cholesky factor of the posterior scale
    wider: np.ndarray  # (D, D, K) that of the scale with the rounding of one more row
    narrower: np.ndarray  # (D, D, K) that of the scale with the rounding of one row fewer
    mean: np.ndarray  # (D, K) posterior mean
    inverse_pivot: np.ndarray  # (D, K) one over the diagonal of `wider`
    pivot_low: np.ndarray  # (D, K) what the diagonal of a factor loses to rounding, where that matters
    weight: np.ndarray  # (K,) c / (c + 1)
    power: np.ndarray  # (K,) (dof + 1) / 2
    constant: np.ndarray  # (K,) log density at the mean
    constant_without: np.ndarray  # (K,) the same for one row fewer, but for what that does to the scale


@verbs.clear.on(GaussianBank)
def clear(bank, k):
    bank.n[k] = 0.0
    for i in range(bank.mean.shape[0]):
        bank.sum_high[i, k] = bank.sum_low[i, k] = 0.0
        for j in range(i + 1):
            bank.product_high[i, j, k] = bank.product_low[i, j, k] = 0.0


@called
def _add_row(bank, k, x, sign):
    """Add a row to the exact sums of chair k (+1) or take it off (-1)."""
    bank.n[k] += sign
    for i in range(x.shape[0]):
        accumulate(bank.sum_high, bank.sum_low, i, k, sign * x[i], 0.0)
        for j in range(i + 1):
            product, lost = two_product(sign * x[i], x[j])
            accumulate(bank.product_high[i], bank.product_low[i], j, k, product, lost)


@verbs.insert.on(GaussianBank)
def insert(bank, k, x, scratch):
    _add_row(bank, k, x, 1.0)


@verbs.remove.on(GaussianBank)
def remove(bank, k, x, scratch):
    _add_row(bank, k, x, -1.0)


@verbs.pour.on(GaussianBank)
def pour(bank, k, other, j, times, scratch):
    bank.n[k] += times * other.n[j]
    for i in range(bank.mean.shape[0]):
        more, lost = several(other.sum_high[i, j], other.sum_low[i, j], times)
        accumulate(bank.sum_high, bank.sum_low, i, k, more, lost)
        for p in range(i + 1):
            more, lost = several(other.product_high[i, p, j], other.product_low[i, p, j], times)
            accumulate(bank.product_high[i], bank.product_low[i], p, k, more, lost)


@called
def _scale_of(bank, k, i, j, n, x, y):
    """Return cell (i, j) of chair k's posterior scale, exactly, as if cells x and y had left n rows."""
    prior, inverse_n = bank.prior, inverse_of(n)
    a, a_low = added(bank.sum_high[i, k], bank.sum_low[i, k], -x, 0.0)
    b, b_low = added(bank.sum_high[j, k], bank.sum_low[j, k], -y, 0.0)
    product, lost = two_product(-x, y)
    product, lost = added(bank.product_high[i, j, k], bank.product_low[i, j, k], product, lost)
    high, low = products_about_means(a, a_low, b, b_low, product, lost, n, inverse_n)
    high, low = added(high, low, prior.scale[i, j], 0.0)
    product, lost = product_of(a, a_low, b, b_low)
    product, lost = several(product, lost, prior.strength / (prior.strength + n) * inverse_n)
    return added(high, low, product, lost)


@called
def _rebuild(bank, k, n_rounded, factor):
    """Work out the factor of chair k's posterior scale with the rounding of `n_rounded` rows."""
    prior, d = bank.prior, bank.mean.shape[0]
    share = 1.0 / (prior.strength + bank.n[k])
    for i in range(d):
        for j in range(i + 1):
            pull = bank.sum_high[i, k] * share * bank.sum_high[j, k]
            factor[i, j, k] = prior.scale[i, j] + (bank.product_high[i, j, k] - pull)
        factor[i, i, k] += n_rounded * prior.rounding[i]
    factorise(factor, factor, k, prior.pivots)
    for i in range(d):
        if not factor[i, i, k] * factor[i, i, k] > _THIN * bank.product_high[i, i, k]:
            _rebuild_exactly(bank, k, n_rounded, factor)
            break


@called
def _rebuild_exactly(bank, k, n_rounded, factor):
    """Do the same from exact sums, whose second parts stand above the diagonal meanwhile."""
    prior, d = bank.prior, bank.mean.shape[0]
    for i in range(d):
        for j in range(i + 1):
            high, low = _scale_of(bank, k, i, j, bank.n[k], 0.0, 0.0)
            if i == j:
                high, low = added(high, low, n_rounded * prior.rounding[i], 0.0)
                bank.pivot_low[i, k] = low
            else:
                factor[j, i, k] = low
            factor[i, j, k] = high
    factorise_exactly(factor, bank.pivot_low, k, prior.pivots)


@verbs.refresh.on(GaussianBank)
def refresh(bank, k):
    n, d = bank.n[k], bank.mean.shape[0]
    strength, dof = bank.prior.strength + n, bank.prior.dof + n
    _rebuild(bank, k, n, bank.factor)
    if bank.prior.is_rounded:
        _rebuild(bank, k, n + 1.0, bank.wider)
        _rebuild(bank, k, max(n - 1.0, 0.0), bank.narrower)
    for i in range(d):
        bank.mean[i, k] = bank.sum_high[i, k] / strength
        bank.inverse_pivot[i, k] = 1.0 / bank.wider[i, i, k]
    log_det = log_det_of(bank.factor, k)
    bank.weight[k] = strength / (strength + 1.0)
    bank.power[k] = 0.5 * (dof + 1.0)
    fall = bank.power[k] * log_det_of(bank.wider, k) - 0.5 * dof * log_det
    bank.constant[k] = _level(strength, dof, d) - fall
    bank.constant_without[k] = 0.0
    if n >= 1.0:
        rise = 0.5 * (dof - 1.0) * log_det_of(bank.narrower, k) - 0.5 * dof * log_det
        bank.constant_without[k] = _level(strength - 1.0, dof - 1.0, d) + rise


@inlined
def log_det_of(factor, k):
    """Return the log determinant of the matrix that has this factor."""
    total = 0.0
    for i in range(factor.shape[0]):
        total += 2.0 * log(factor[i, i, k])
    return total


@inlined
def _level(strength, dof, d):
    """Return the log density of the predictive Student t at its centre, for a unit scale."""
    gammas = log_rising(0.5 * (dof + 1.0 - d), 0.5 * d)
    return gammas + 0.5 * d * (log(strength / (strength + 1.0)) - LOG_PI)


@verbs.log_predictive.on(GaussianBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    mean, factor, inverse_pivot = bank.mean, bank.wider, bank.inverse_pivot
    for k in range(0, n_chairs, LANES):
        length = spread(0.0)
        for i in range(x.shape[0]):
            residual = x[i] - load(mean[i], k)
            for j in range(i):
                residual -= load(factor[i, j], k) * load(scratch.lanes[j], 0)
            residual *= load(inverse_pivot[i], k)
            store(scratch.lanes[i], 0, residual)
            length += residual * residual
        density = load(bank.constant, k) - load(bank.power, k) * log(1.0 + load(bank.weight, k) * length)
        store(scores, k, load(scores, k) + density)


@verbs.log_leave_one_out.on(GaussianBank)
def log_leave_one_out(bank, k, x, scratch):
    work, strength = scratch.vector, bank.prior.strength + bank.n[k]
    for i in range(x.shape[0]):
        work[i] = x[i] - bank.mean[i, k]
    # The matrix determinant lemma: this is |scale without the row| / |scale without its rounding|.
    kept = 1.0 - strength / (strength - 1.0) * squared_length(bank.narrower, k, work)
    if kept > _SPENT:
        log_kept = log(kept)
    else:
        log_kept = _log_det_without(bank, k, x, scratch) - log_det_of(bank.narrower, k)
    return bank.constant_without[k] + (bank.power[k] - 1.0) * log_kept


@called
def _log_det_without(bank, k, x, scratch):
    """Return the log determinant of the posterior scale of chair k without one of its rows, exactly."""
    prior, others = bank.prior, bank.n[k] - 1.0
    for i in range(x.shape[0]):
        for j in range(i + 1):
            high, low = _scale_of(bank, k, i, j, others, x[i], x[j])
            if i == j:
                high, low = added(high, low, others * prior.rounding[i], 0.0)
                scratch.pivot_low[i, 0] = low
            else:
                scratch.factor[j, i, 0] = low
            scratch.factor[i, j, 0] = high
    factorise_exactly(scratch.factor, scratch.pivot_low, 0, prior.pivots)
    return log_det_of(scratch.factor, 0)


@verbs.log_marginal.on(GaussianBank)
def log_marginal(bank, k):
    _rebuild(bank, k, bank.n[k], bank.factor)
    n, d, strength, dof = bank.n[k], bank.mean.shape[0], bank.prior.strength, bank.prior.dof
    total = 0.5 * dof * bank.prior.log_det - 0.5 * (dof + n) * log_det_of(bank.factor, k)
    total -= 0.5 * d * (n * LOG_PI + log((strength + n) / strength))
    for i in range(d):
        total += log_rising(0.5 * (dof - i), 0.5 * n)
    return total
