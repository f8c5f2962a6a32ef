"""Formulas of Gaussian columns whose variance is known, and such columns in mixed tables.

The predictive of a cell is a normal density. The formulas hold for several columns and for one.
"""

from typing import NamedTuple

import numpy as np

from mapdp.compiled.jit import inlined
from mapdp.compiled.lanes import LANES, load, store
from mapdp.compiled.special import LOG_2PI, log
from mapdp.families import verbs
from mapdp.families.columns import SumColumns, keeps_sums
from mapdp.families.gaussian.student import inverse_of, square_of_cell, squares_about_posterior


@inlined
def log_peak(strength, log_variances, n_columns):
    """Return the log density of the predictive at its mean; log_variances is a sum over columns."""
    return -0.5 * (n_columns * (LOG_2PI + log((strength + 1.0) / strength)) + log_variances)


@inlined
def log_evidence(strength, n, log_variances, squares, n_columns):
    """Return the log marginal density of n rows with these squares about the posterior mean."""
    one = n * LOG_2PI + log((strength + n) / strength)
    return -0.5 * (n_columns * one + n * log_variances + squares)


class NormalPrior(NamedTuple):
    """Hyperparameters of columns in a mixed table."""

    place: np.ndarray  # (D,) cell of a row
    first: np.ndarray  # (D + 1,) zeros: nothing is kept for small counts
    strength: np.ndarray  # (D,)
    variance: np.ndarray  # (D,)


@keeps_sums
class NormalColumns(SumColumns):
    """Gaussian columns of known variance; the second sum is of squares.

    Cached: posterior mean, half the precision, and the log density at the mean.
    """


verbs.second_of_cell.on(NormalColumns)(square_of_cell)


@inlined
def normal(prior, j, s, n):
    """Return mean, weight of a squared residual and log peak of the predictive of column j."""
    strength = prior.strength[j] + n
    precision = strength / ((strength + 1.0) * prior.variance[j])
    return s / strength, 0.5 * precision, log_peak(strength, log(prior.variance[j]), 1.0)


@verbs.refresh_column.on(NormalColumns)
def refresh_column(bank, j, k):
    mean, weight, peak = normal(bank.prior, j, bank.sum_high[j, k], bank.n[j, k])
    bank.centre[j, k], bank.width[j, k], bank.constant[j, k] = mean, weight, peak


@verbs.score_cell.on(NormalColumns)
def score_cell(bank, j, v, n_chairs, scores):
    centre, weight, peak = bank.centre[j], bank.width[j], bank.constant[j]
    for k in range(0, n_chairs, LANES):
        gap = v - load(centre, k)
        store(scores, k, load(scores, k) + (load(peak, k) - load(weight, k) * (gap * gap)))


@verbs.log_density_of_cell.on(NormalColumns)
def log_density_of_cell(bank, j, v, s, e, q, r, n):
    mean, weight, peak = normal(bank.prior, j, s, n)
    return peak - weight * (v - mean) * (v - mean)


@verbs.log_marginal_of_column.on(NormalColumns)
def log_marginal_of_column(bank, j, k):
    prior, n = bank.prior, bank.n[j, k]
    s, e, q, r = bank.sum_high[j, k], bank.sum_low[j, k], bank.second_high[j, k], bank.second_low[j, k]
    squares = squares_about_posterior(prior.strength[j], s, e, q, r, n, inverse_of(n)) / prior.variance[j]
    return log_evidence(prior.strength[j], n, log(prior.variance[j]), squares, 1.0)
