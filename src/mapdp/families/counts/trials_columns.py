"""Columns of counts from trials: their bank, alone and in mixed tables."""

from typing import NamedTuple

import numpy as np

from mapdp.compiled.exact import added, two_product
from mapdp.compiled.jit import inlined
from mapdp.compiled.lanes import LANES, load, spread, store
from mapdp.compiled.large_counts import MANY, log_chance_of_trials, log_rising_exactly
from mapdp.compiled.special import log, log_beta_step, log_rising
from mapdp.families import verbs
from mapdp.families.columns import SumColumns, keeps_sums, log_cell_without, look_up
from mapdp.families.counts.small_counts import is_kept, keep_small_counts, ratio_of_counts


class TrialsPrior(NamedTuple):
    """Hyperparameters, and how successes and failures follow from a count."""

    place: np.ndarray  # (D,) cell of a row
    first: np.ndarray  # (D + 1,) where the log probabilities of small counts begin
    success: np.ndarray  # (D,)
    failure: np.ndarray  # (D,)
    successes: np.ndarray  # (2, D) of a cell: the first row, plus the second times the count
    failures: np.ndarray  # (2, D)
    orders: np.ndarray  # (2, D) a cell has gamma(order + count) / (gamma(order) count!) of them


@keeps_sums
class TrialsColumns(SumColumns):
    """Columns of counts from trials; the second sum is of log orders.

    Cached: posterior pseudo-counts of success (`centre`) and failure (`width`).
    """


@inlined
def _linear(rule, j, count):
    """Return successes, failures or orders of a cell from its count, by a rule of the prior."""
    return rule[0, j] + rule[1, j] * count


@inlined
def log_orders_of_cell(prior, j, v):
    """Return the log number of orders in which the trials of a cell may have come, as an exact sum."""
    if v == 0.0:
        return 0.0, 0.0
    high, low = log_rising_exactly(_linear(prior.orders, j, v), v, 0.0)
    less, lost = log_rising_exactly(1.0, v, 0.0)
    return added(high, low, -less, -lost)


@inlined
def _observed(rule, j, n, total, lost):
    """Return the successes, or failures, of n cells with this total, by a rule of the prior."""
    fixed, fixed_lost = two_product(n, rule[0, j])
    return added(fixed, fixed_lost, rule[1, j] * total, rule[1, j] * lost)


@inlined
def log_evidence(prior, j, n, total, lost):
    """Return the log marginal probability of n counts of column j with this total, but for their orders.

    It is an exact sum, as the total is: what orders add again may be 1e15 times as large as what remains.
    """
    s, s_low = _observed(prior.successes, j, n, total, lost)
    f, f_low = _observed(prior.failures, j, n, total, lost)
    high, low = log_rising_exactly(prior.success[j], s, s_low)
    more, more_lost = log_rising_exactly(prior.failure[j], f, f_low)
    high, low = added(high, low, more, more_lost)
    both, both_low = added(s, s_low, f, f_low)
    more, more_lost = log_rising_exactly(prior.success[j] + prior.failure[j], both, both_low)
    return added(high, low, -more, -more_lost)


@inlined
def _has_many(prior, j, v):
    """Say whether a cell has so many trials that log gammas would round it away."""
    return _linear(prior.successes, j, v) + _linear(prior.failures, j, v) > MANY


@inlined
def _log_chance_of_many(prior, j, v, success, failure):
    """Return the log probability of a count that comes from many trials."""
    s, f = _linear(prior.successes, j, v), _linear(prior.failures, j, v)
    last = log(s / (s + f)) if _waits(prior, j) else 0.0  # where one waits, a success comes last
    return log_chance_of_trials(success, failure, s, f) + last


@verbs.second_of_cell.on(TrialsColumns)
def second_of_cell(bank, j, v):
    return log_orders_of_cell(bank.prior, j, v)


@inlined
def chances(prior, j, s, n):
    """Return pseudo-counts of success and of failure after n cells with the sum s."""
    successes, _ = _observed(prior.successes, j, n, s, 0.0)
    failures, _ = _observed(prior.failures, j, n, s, 0.0)
    return prior.success[j] + successes, prior.failure[j] + failures


@inlined
def _waits(prior, j):
    """Say whether a column counts failures before a fixed number of successes."""
    return prior.successes[1, j] == 0.0


@verbs.refresh_column.on(TrialsColumns)
def refresh_column(bank, j, k):
    prior = bank.prior
    a, b = chances(prior, j, bank.sum_high[j, k], bank.n[j, k])
    bank.centre[j, k], bank.width[j, k] = a, b
    successes, failures = prior.successes[0, j], prior.failures[0, j]
    keep_small_counts(bank, j, k, log_beta_step(a, b, successes, failures))
    bank.constant[j, k] = 0.0
    if bank.n[j, k] >= 1.0 and _waits(prior, j):  # what `_log_chance_of_waiting` begins with
        both = log_rising(a + b - successes, successes)
        bank.constant[j, k] = log_rising(a - successes, successes) - both


@ratio_of_counts.on(TrialsColumns)
def ratio(bank, j, k, v):
    prior, a, b = bank.prior, bank.centre[j, k], bank.width[j, k]
    if _waits(prior, j):
        successes = prior.successes[0, j]
        return (successes + v) / (v + 1.0) * (b + v) / (a + b + successes + v)
    left = prior.failures[0, j] - v  # binomial: so many trials are left
    return max(left, 0.5) / (v + 1.0) * (a + v) / (b + max(left - 1.0, 0.0))


@verbs.score_cell.on(TrialsColumns)
def score_cell(bank, j, v, n_chairs, scores):
    prior, success, failure = bank.prior, bank.centre[j], bank.width[j]
    if _has_many(prior, j, v):
        for k in range(n_chairs):
            scores[k] += _log_chance_of_many(prior, j, v, success[k], failure[k])
        return
    if is_kept(bank, j, v):
        look_up(bank, j, v, n_chairs, scores)
        return
    s, f = _linear(prior.successes, j, v), _linear(prior.failures, j, v)
    high, _ = log_orders_of_cell(prior, j, v)
    orders = spread(high)
    for k in range(0, n_chairs, LANES):
        step = log_beta_step(load(success, k), load(failure, k), s, f)
        store(scores, k, load(scores, k) + step + orders)


@verbs.log_density_of_cell.on(TrialsColumns)
def log_density_of_cell(bank, j, v, s, e, q, r, n):
    prior = bank.prior
    success, failure = chances(prior, j, s, n)
    if _has_many(prior, j, v):
        return _log_chance_of_many(prior, j, v, success, failure)
    orders, _ = log_orders_of_cell(prior, j, v)
    return orders + log_beta_step(
        success, failure, _linear(prior.successes, j, v), _linear(prior.failures, j, v)
    )


@verbs.log_cell_without.on(TrialsColumns)
def log_count_without(bank, j, k, v):
    if _waits(bank.prior, j) and is_kept(bank, j, v) and not _has_many(bank.prior, j, v):
        return _log_chance_of_waiting(bank, j, k, v)
    return log_cell_without(bank, j, k, v)


@inlined
def _log_chance_of_waiting(bank, j, k, v):
    """Return the log probability of a small count of failures on chair k, given the others there."""
    successes, b = bank.prior.successes[0, j], bank.width[j, k]
    both = bank.centre[j, k] + b - successes
    ratio = 1.0
    for i in range(1, int(v) + 1):
        ratio *= (successes + (i - 1.0)) * (b - i) / (i * (both - i))
    return bank.constant[j, k] + log(ratio)


@verbs.log_marginal_of_column.on(TrialsColumns)
def log_marginal_of_column(bank, j, k):
    more, lost = log_evidence(bank.prior, j, bank.n[j, k], bank.sum_high[j, k], bank.sum_low[j, k])
    high, low = added(bank.second_high[j, k], bank.second_low[j, k], more, lost)
    return high + low
