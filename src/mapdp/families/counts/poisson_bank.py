"""The banks of Poisson counts: of whole rows, and of columns in mixed tables.

The predictive is a negative binomial; what does not depend on the count is summed over columns once per
change of a chair, so a cell that holds 0 costs nothing to score.
"""

from typing import NamedTuple

import numpy as np

from mapdp.compiled.exact import accumulate, added, several, two_sum
from mapdp.compiled.jit import inlined
from mapdp.compiled.lanes import LANES, load, spread, store
from mapdp.compiled.large_counts import MANY, log_chance_of_count, log_rising_exactly, times_log_exactly
from mapdp.compiled.special import log, log_of_parts, log_rising, parted
from mapdp.families import verbs
from mapdp.families.columns import SumColumns, keeps_sums, look_up
from mapdp.families.counts.small_counts import is_kept, keep_small_counts, ratio_of_counts

_FEW = 16.0  # a count up to this is scored as a product of factors, a larger one by gamma functions


class PoissonPrior(NamedTuple):
    """Hyperparameters in the form the verbs read."""

    shape: np.ndarray  # (D,)
    rate: np.ndarray  # (D,)


class PoissonBank(NamedTuple):
    """The statistics and cached predictives of all chairs."""

    prior: PoissonPrior
    n: np.ndarray  # (K,) rows
    total_high: np.ndarray  # (D, K) exact sum of the counts ...
    total_low: np.ndarray  # (D, K) ... and what its first part lost
    factorials_high: np.ndarray  # (K,) exact sum of log x!
    factorials_low: np.ndarray  # (K,)
    shape: np.ndarray  # (D, K) posterior shape
    per_count: np.ndarray  # (D, K) 1 / (posterior rate + 1)
    per_count_without: np.ndarray  # (D, K) the same for one row fewer, per count that it takes with it
    constant: np.ndarray  # (K,) log probability of a row of zeros
    constant_without: np.ndarray  # (K,) the same for one row fewer, its counts still in the shape


@inlined
def _log_factorials(x):
    """Return the sum of log x! over the columns of a row, as an exact sum."""
    total, lost, exponent, product = 0.0, 0.0, 0.0, 1.0
    for j in range(x.shape[0]):
        if x[j] > _FEW:
            more, more_lost = log_rising_exactly(1.0, x[j], 0.0)
            total, lost = added(total, lost, more, more_lost)
        elif x[j] > 1.0:
            exponent, product = _rising(exponent, product, 1.0, 1.0, x[j])
    return added(total, lost, log_of_parts(exponent, product), 0.0)


@verbs.clear.on(PoissonBank)
def clear(bank, k):
    bank.n[k] = bank.factorials_high[k] = bank.factorials_low[k] = 0.0
    for j in range(bank.shape.shape[0]):
        bank.total_high[j, k] = bank.total_low[j, k] = 0.0


@inlined
def _count(bank, k, x, sign):
    """Add a row to the totals of chair k (+1) or take it off (-1)."""
    bank.n[k] += sign
    more, lost = _log_factorials(x)
    _add_factorials(bank, k, sign * more, sign * lost)
    for j in range(x.shape[0]):
        accumulate(bank.total_high, bank.total_low, j, k, sign * x[j], 0.0)


@inlined
def _add_factorials(bank, k, more, lost):
    """Add log factorials to those of chair k."""
    high, low = added(bank.factorials_high[k], bank.factorials_low[k], more, lost)
    bank.factorials_high[k] = high
    bank.factorials_low[k] = low


@verbs.insert.on(PoissonBank)
def insert(bank, k, x, scratch):
    _count(bank, k, x, 1.0)


@verbs.remove.on(PoissonBank)
def remove(bank, k, x, scratch):
    _count(bank, k, x, -1.0)


@verbs.pour.on(PoissonBank)
def pour(bank, k, other, j, times, scratch):
    bank.n[k] += times * other.n[j]
    more, lost = several(other.factorials_high[j], other.factorials_low[j], times)
    _add_factorials(bank, k, more, lost)
    for d in range(bank.shape.shape[0]):
        more, lost = several(other.total_high[d, j], other.total_low[d, j], times)
        accumulate(bank.total_high, bank.total_low, d, k, more, lost)


@inlined
def log_chance_of_none(shape, rate):
    """Return the log probability of the count 0, for a Gamma distribution of the mean."""
    return shape * log(rate / (rate + 1.0))


@verbs.refresh.on(PoissonBank)
def refresh(bank, k):
    constant, constant_without = 0.0, 0.0
    for j in range(bank.shape.shape[0]):
        shape = bank.prior.shape[j] + bank.total_high[j, k]
        rate = bank.prior.rate[j] + bank.n[k]
        bank.shape[j, k] = shape
        bank.per_count[j, k] = 1.0 / (rate + 1.0)
        constant += log_chance_of_none(shape, rate)
        bank.per_count_without[j, k] = 0.0
        if bank.n[k] > 1.0:
            bank.per_count_without[j, k] = 1.0 / (rate - 1.0)
            constant_without += log_chance_of_none(shape, rate - 1.0)
    bank.constant[k] = constant
    bank.constant_without[k] = constant_without


@inlined
def _rising(exponent, product, shape, per_count, count):
    """Multiply a running product by gamma(shape + count) / gamma(shape) per_count^count."""
    for i in range(int(count)):
        product *= (shape + float(i)) * per_count
    e, product = parted(product)
    return exponent + e, product


@inlined
def _has_many(x):
    """Say whether a row has a count so large that log gammas would round it away."""
    most = 0.0
    for j in range(x.shape[0]):
        most = max(most, x[j])
    return most > MANY


@inlined
def _score_many(bank, x, n_chairs, scores):
    """Score a row with large counts, chair by chair."""
    for k in range(n_chairs):
        for j in range(x.shape[0]):
            rate = bank.prior.rate[j] + bank.n[k]
            scores[k] += log_chance_of_count(bank.shape[j, k], rate, x[j])


@inlined
def _log_many_without(bank, k, x):
    """Return the log probability of a row with large counts given the others on its chair."""
    total = 0.0
    for j in range(x.shape[0]):
        rate = bank.prior.rate[j] + (bank.n[k] - 1.0)
        total += log_chance_of_count(bank.shape[j, k] - x[j], rate, x[j])
    return total


@verbs.log_predictive.on(PoissonBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    if _has_many(x):
        _score_many(bank, x, n_chairs, scores)
        return
    shared, _ = _log_factorials(x)
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


@verbs.log_leave_one_out.on(PoissonBank)
def log_leave_one_out(bank, k, x, scratch):
    if _has_many(x):
        return _log_many_without(bank, k, x)
    shared, _ = _log_factorials(x)
    total = bank.constant_without[k] - shared
    exponent, product = 0.0, 1.0
    for j in range(x.shape[0]):
        if x[j] > 0.0:
            shape, per_count = bank.shape[j, k] - x[j], bank.per_count_without[j, k]
            if x[j] > _FEW:
                total += log_rising(shape, x[j]) + x[j] * log(per_count)
            else:
                exponent, product = _rising(exponent, product, shape, per_count, x[j])
    return total + log_of_parts(exponent, product)


@inlined
def log_evidence(shape, rate, total, total_low, n):
    """Return the log marginal probability of n counts with this total, but for their factorials.

    It is an exact sum, as the total is: what factorials take off again may be 1e15 times as large as
    what remains.
    """
    high, low = log_rising_exactly(shape, total, total_low)
    longer, lost = two_sum(rate, n)
    price, price_lost = times_log_exactly(total, total_low, longer, lost)
    high, low = added(high, low, -price, -price_lost)
    return added(high, low, shape * log(rate / longer), 0.0)


@verbs.log_marginal.on(PoissonBank)
def log_marginal(bank, k):
    prior, total, lost = bank.prior, -bank.factorials_high[k], -bank.factorials_low[k]
    for j in range(bank.shape.shape[0]):
        counted, counted_low = bank.total_high[j, k], bank.total_low[j, k]
        more, more_lost = log_evidence(prior.shape[j], prior.rate[j], counted, counted_low, bank.n[k])
        total, lost = added(total, lost, more, more_lost)
    return total + lost


class PoissonColumnsPrior(NamedTuple):
    """Hyperparameters of columns in a mixed table."""

    place: np.ndarray  # (D,) cell of a row
    first: np.ndarray  # (D + 1,) where the log probabilities of small counts begin
    shape: np.ndarray  # (D,)
    rate: np.ndarray  # (D,)


@keeps_sums
class PoissonColumns(SumColumns):
    """Columns of counts; the second sum is of -log x!.

    Cached: posterior shape (`centre`), log(rate + 1) (`width`) and the log probability of 0.
    """


@verbs.second_of_cell.on(PoissonColumns)
@inlined
def minus_log_factorial(bank, j, v):
    if v == 0.0:
        return 0.0, 0.0
    more, lost = log_rising_exactly(1.0, v, 0.0)
    return -more, -lost


@inlined
def predictive(prior, j, s, n):
    """Return shape, log price of each count and log probability of 0, in column j."""
    shape, rate = prior.shape[j] + s, prior.rate[j] + n
    return shape, log(rate + 1.0), log_chance_of_none(shape, rate)


@verbs.refresh_column.on(PoissonColumns)
def refresh_column(bank, j, k):
    shape, price, none = predictive(bank.prior, j, bank.sum_high[j, k], bank.n[j, k])
    bank.centre[j, k], bank.width[j, k], bank.constant[j, k] = shape, price, none
    keep_small_counts(bank, j, k, none)


@ratio_of_counts.on(PoissonColumns)
def ratio(bank, j, k, v):
    return (bank.centre[j, k] + v) / (v + 1.0) / (1.0 + bank.prior.rate[j] + bank.n[j, k])


@verbs.score_cell.on(PoissonColumns)
def score_cell(bank, j, v, n_chairs, scores):
    if is_kept(bank, j, v):
        look_up(bank, j, v, n_chairs, scores)
        return
    shape, price, none = bank.centre[j], bank.width[j], bank.constant[j]
    if v > MANY:
        for k in range(n_chairs):
            scores[k] += log_chance_of_count(shape[k], bank.prior.rate[j] + bank.n[j, k], v)
        return
    orders, _ = minus_log_factorial(bank, j, v)
    for k in range(0, n_chairs, LANES):
        total = load(scores, k) + (load(none, k) + orders) - v * load(price, k)
        store(scores, k, total + log_rising(load(shape, k), v))


@verbs.log_density_of_cell.on(PoissonColumns)
def log_density_of_cell(bank, j, v, s, e, q, r, n):
    shape, price, none = predictive(bank.prior, j, s, n)
    if v > MANY:
        return log_chance_of_count(shape, bank.prior.rate[j] + n, v)
    orders, _ = minus_log_factorial(bank, j, v)
    return none + log_rising(shape, v) - v * price + orders


@verbs.log_marginal_of_column.on(PoissonColumns)
def log_marginal_of_column(bank, j, k):
    prior, total, lost = bank.prior, bank.sum_high[j, k], bank.sum_low[j, k]
    more, more_lost = log_evidence(prior.shape[j], prior.rate[j], total, lost, bank.n[j, k])
    high, low = added(bank.second_high[j, k], bank.second_low[j, k], more, more_lost)
    return high + low
