"""Knows what clusters with a full covariance keep: a Cholesky factor that follows each row."""

import math
from typing import NamedTuple

import numpy as np

from mapdp import family
from mapdp._jit import inlined
from mapdp._lanes import LANES, load, spread, store
from mapdp.linalg import factorise, rank_one, squared_length
from mapdp.special import LOG_PI, log, log_rising


class Prior(NamedTuple):
    """Hyperparameters in the form the verbs read."""

    strength: float
    dof: float
    scale: np.ndarray  # (D, D)
    factor: np.ndarray  # (D, D) its Cholesky factor
    pivots: np.ndarray  # (D,) diagonal of the factor
    log_det: float  # of the scale
    work: np.ndarray  # (D,) a vector that the verbs may spoil


class GaussianBank(NamedTuple):
    """What the clusters know; rows are measured from the prior mean."""

    prior: Prior
    n: np.ndarray  # (K,) rows
    centre: np.ndarray  # (D, K) mean of the rows
    scatter: np.ndarray  # (D, D, K) sum of (x - centre)(x - centre)', lower triangle
    factor: np.ndarray  # (D, D, K) Cholesky factor of the posterior scale
    mean: np.ndarray  # (D, K) posterior mean
    inverse_pivot: np.ndarray  # (D, K) one over the factor's diagonal
    weight: np.ndarray  # (K,) c / (c + 1)
    log_det: np.ndarray  # (K,) of the posterior scale
    power: np.ndarray  # (K,) (dof + 1) / 2
    constant: np.ndarray  # (K,) log density at the mean
    constant_without: np.ndarray  # (K,) the same for one row fewer, up to the scale


@family.clear.on(GaussianBank)
def clear(bank, k):
    bank.n[k] = 0.0
    for i in range(bank.mean.shape[0]):
        bank.centre[i, k] = 0.0
        for j in range(i + 1):
            bank.scatter[i, j, k] = 0.0
            bank.factor[i, j, k] = bank.prior.factor[i, j]


@inlined
def _shift(bank, k, x, sign):
    """Move centre and scatter of chair k by one row that comes (+1) or goes (-1)."""
    n, work = bank.n[k], bank.prior.work
    for i in range(x.shape[0]):
        work[i] = x[i] - bank.centre[i, k]
    for i in range(x.shape[0]):
        for j in range(i + 1):
            bank.scatter[i, j, k] += sign * n / (n + sign) * work[i] * work[j]
    for i in range(x.shape[0]):
        bank.centre[i, k] += sign * work[i] / (n + sign)
    bank.n[k] = n + sign


@inlined
def _turn(bank, k, x, sign):
    """Follow the same row with the factor of the posterior scale."""
    strength, work = bank.prior.strength + bank.n[k], bank.prior.work
    scale = np.sqrt(strength / (strength + sign))
    for i in range(x.shape[0]):
        work[i] = scale * (x[i] - bank.n[k] / strength * bank.centre[i, k])
    rank_one(bank.factor, k, work, sign, bank.prior.pivots)


@family.insert.on(GaussianBank)
def insert(bank, k, x):
    _turn(bank, k, x, 1.0)
    _shift(bank, k, x, 1.0)


@family.remove.on(GaussianBank)
def remove(bank, k, x):
    _turn(bank, k, x, -1.0)
    _shift(bank, k, x, -1.0)


@family.pour.on(GaussianBank)
def pour(bank, k, other, j, times):
    n, m = bank.n[k], times * other.n[j]
    if m == 0.0:
        return
    work = bank.prior.work
    for i in range(work.shape[0]):
        work[i] = other.centre[i, j] - bank.centre[i, k]
        bank.centre[i, k] += m / (n + m) * work[i]
    for i in range(work.shape[0]):
        for p in range(i + 1):
            gap = n * m / (n + m) * work[i] * work[p]
            bank.scatter[i, p, k] += times * other.scatter[i, p, j] + gap
    bank.n[k] = n + m
    _rebuild(bank, k)


@inlined
def _rebuild(bank, k):
    """Work out the factor of the posterior scale from centre and scatter."""
    n, strength = bank.n[k], bank.prior.strength
    pull = strength * n / (strength + n)
    for i in range(bank.mean.shape[0]):
        for j in range(i + 1):
            between = pull * bank.centre[i, k] * bank.centre[j, k]
            bank.factor[i, j, k] = bank.prior.scale[i, j] + bank.scatter[i, j, k] + between
    factorise(bank.factor, bank.factor, k, bank.prior.pivots)


@family.refresh.on(GaussianBank)
def refresh(bank, k):
    n, d = bank.n[k], bank.mean.shape[0]
    strength, dof = bank.prior.strength + n, bank.prior.dof + n
    for i in range(d):
        bank.mean[i, k] = n / strength * bank.centre[i, k]
        bank.inverse_pivot[i, k] = 1.0 / bank.factor[i, i, k]
    bank.log_det[k] = log_det = _log_det(bank, k)
    bank.weight[k] = strength / (strength + 1.0)
    bank.power[k] = 0.5 * (dof + 1.0)
    bank.constant[k] = _level(strength, dof, d) - 0.5 * log_det
    bank.constant_without[k] = _level(strength - 1.0, dof - 1.0, d) if n > 1.0 else 0.0


@inlined
def _log_det(bank, k):
    """Return the log determinant of the posterior scale."""
    total = 0.0
    for i in range(bank.mean.shape[0]):
        total += 2.0 * log(bank.factor[i, i, k])
    return total


@inlined
def _level(strength, dof, d):
    """Return the log density of the predictive Student t at its centre, for a unit scale."""
    gammas = log_rising(0.5 * (dof + 1.0 - d), 0.5 * d)
    return gammas + 0.5 * d * (log(strength / (strength + 1.0)) - LOG_PI)


@family.log_predictive.on(GaussianBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    mean, factor, inverse_pivot = bank.mean, bank.factor, bank.inverse_pivot
    for k in range(0, n_chairs, LANES):
        length = spread(0.0)
        for i in range(x.shape[0]):
            residual = x[i] - load(mean[i], k)
            for j in range(i):
                residual -= load(factor[i, j], k) * load(scratch[j], 0)
            residual *= load(inverse_pivot[i], k)
            store(scratch[i], 0, residual)
            length += residual * residual
        density = load(bank.constant, k) - load(bank.power, k) * log(1.0 + load(bank.weight, k) * length)
        store(scores, k, load(scores, k) + density)


@family.log_leave_one_out.on(GaussianBank)
def log_leave_one_out(bank, k, x):
    work, strength = bank.prior.work, bank.prior.strength + bank.n[k]
    for i in range(x.shape[0]):
        work[i] = x[i] - bank.mean[i, k]
    length = squared_length(bank.factor, k, work)
    # The matrix determinant lemma: this is |scale without the row| / |scale|. It cannot be below what the
    # prior alone would leave, which matters where a row so far out that it is most of the scale leaves.
    log_det = bank.log_det[k]
    kept = max(1.0 - strength / (strength - 1.0) * length, math.exp(bank.prior.log_det - log_det))
    return bank.constant_without[k] - 0.5 * log_det + (bank.power[k] - 1.0) * log(kept)


@family.log_marginal.on(GaussianBank)
def log_marginal(bank, k):
    n, d, strength, dof = bank.n[k], bank.mean.shape[0], bank.prior.strength, bank.prior.dof
    total = 0.5 * dof * bank.prior.log_det - 0.5 * (dof + n) * _log_det(bank, k)
    total -= 0.5 * d * (n * LOG_PI + log((strength + n) / strength))
    for i in range(d):
        total += log_rising(0.5 * (dof - i), 0.5 * n)
    return total
