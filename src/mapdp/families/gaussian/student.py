"""Formulas of Gaussian columns whose mean and variance are unknown, and such columns in mixed tables.

The predictive of a cell is a Student t density. The formulas hold for several columns with a common prior
strength and shape, where logs of rates are summed over columns, and for one column.
"""

from typing import NamedTuple

import numpy as np

from mapdp.compiled.exact import squares_about_mean, two_product
from mapdp.compiled.jit import inlined
from mapdp.compiled.lanes import LANES, load, store
from mapdp.compiled.special import LOG_2PI, log, log_gamma_half_step, log_rising
from mapdp.families import verbs
from mapdp.families.columns import SumColumns, keeps_sums

_FEWEST = 1e-12  # cells; real weights that were added and subtracted leave less behind


@inlined
def inverse_of(n):
    """Return one over a number of cells, 0 where there are none."""
    return 1.0 / n if n > _FEWEST else 0.0


@inlined
def squares_about_posterior(strength, s, e, q, r, n, inverse_n):
    """Return the squares of n cells about their posterior mean, with the prior mean's pull."""
    squares = squares_about_mean(s, e, q, r, n, inverse_n)
    return squares + strength / (strength + n) * s * (s * inverse_n)


@inlined
def growth(strength, inverse_rate, blur, s, e, q, r, n, inverse_n):
    """Return b / b0 from exact sums over n cells (paper, eq. for b_k, with m0 as the origin).

    `blur` is what rounding adds to b for each cell, see `blur_of`.
    """
    squares = squares_about_posterior(strength, s, e, q, r, n, inverse_n)
    return 1.0 + (0.5 * squares + n * blur) * inverse_rate


def blur_of(resolution: np.ndarray) -> np.ndarray:
    """Return half the variance of the rounding error of cells that are multiples of a resolution.

    A cell stands for all values that are rounded to it, so it counts with its log density averaged over
    them. That adds half their variance to b, and keeps the joint conjugate and below the log probability
    of the rounded cells.
    """
    return resolution**2 / 24.0


@inlined
def log_peak(half_step, narrowness):
    """Return the log density of a one-column Student t at its centre, for cells that are not rounded.

    `half_step` is log gamma(a + 1/2) - log gamma(a), `narrowness` is c / ((c + 1) b).
    """
    return half_step + 0.5 * log(narrowness) - 0.5 * LOG_2PI


@inlined
def log_evidence(strength, shape, n, log_rates, log_growth, n_columns):
    """Return the log marginal density of n rows; log_rates and log_growth are sums over columns."""
    level = log_rising(shape, 0.5 * n) - 0.5 * log((strength + n) / strength) - 0.5 * n * LOG_2PI
    return n_columns * level - 0.5 * n * log_rates - (shape + 0.5 * n) * log_growth


class StudentPrior(NamedTuple):
    """Hyperparameters of columns in a mixed table."""

    place: np.ndarray  # (D,) cell of a row
    first: np.ndarray  # (D + 1,) zeros: nothing is kept for small counts
    strength: np.ndarray  # (D,)
    shape: np.ndarray  # (D,)
    rate: np.ndarray  # (D,)
    blur: np.ndarray  # (D,) what rounding adds to the rate for each cell


@keeps_sums
class StudentColumns(SumColumns):
    """Gaussian columns of unknown mean and variance; the second sum is of squares.

    Cached: posterior mean, c / (2 b (c + 1)), a + 1/2, and the log density at the centre.
    """


@verbs.second_of_cell.on(StudentColumns)
@inlined
def square_of_cell(bank, j, v):
    return two_product(v, v)


@inlined
def _growth_in(prior, j, s, e, q, r, n):
    return growth(prior.strength[j], 1.0 / prior.rate[j], prior.blur[j], s, e, q, r, n, inverse_of(n))


@inlined
def student(prior, j, s, e, q, r, n):
    """Return centre, weight of a squared residual, power and log peak of the predictive of column j."""
    strength, shape = prior.strength[j] + n, prior.shape[j] + 0.5 * n
    rate = prior.rate[j] * _growth_in(prior, j, s, e, q, r, n)
    share, blurred = strength / (strength + 1.0), rate + prior.blur[j]
    peak = log_peak(log_gamma_half_step(shape), share / blurred) - shape * log(blurred / rate)
    return s / strength, 0.5 * share / blurred, shape + 0.5, peak


@verbs.refresh_column.on(StudentColumns)
@inlined
def refresh_column(bank, j, k):
    s, e, q, r = bank.sum_high[j, k], bank.sum_low[j, k], bank.second_high[j, k], bank.second_low[j, k]
    centre, weight, power, peak = student(bank.prior, j, s, e, q, r, bank.n[j, k])
    bank.centre[j, k], bank.width[j, k] = centre, weight
    bank.power[j, k], bank.constant[j, k] = power, peak


@verbs.score_cell.on(StudentColumns)
@inlined
def score_cell(bank, j, v, n_chairs, scores):
    centre, weight, power, peak = bank.centre[j], bank.width[j], bank.power[j], bank.constant[j]
    for k in range(0, n_chairs, LANES):
        gap = v - load(centre, k)
        fall = load(power, k) * log(1.0 + load(weight, k) * (gap * gap))
        store(scores, k, load(scores, k) + (load(peak, k) - fall))


@verbs.log_density_of_cell.on(StudentColumns)
@inlined
def log_density_of_cell(bank, j, v, s, e, q, r, n):
    centre, weight, power, peak = student(bank.prior, j, s, e, q, r, n)
    return peak - power * log(1.0 + weight * (v - centre) * (v - centre))


@verbs.log_marginal_of_column.on(StudentColumns)
@inlined
def log_marginal_of_column(bank, j, k):
    prior, n = bank.prior, bank.n[j, k]
    s, e, q, r = bank.sum_high[j, k], bank.sum_low[j, k], bank.second_high[j, k], bank.second_low[j, k]
    log_growth = log(_growth_in(prior, j, s, e, q, r, n))
    return log_evidence(prior.strength[j], prior.shape[j], n, log(prior.rate[j]), log_growth, 1.0)
