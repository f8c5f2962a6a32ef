"""What clusters know of their parameters where those are one of G candidates: G log likelihoods each.

The predictive of a row is a sum over candidates. What is dear in it are exponentials, so chairs keep the
posterior probability of each candidate, a row's G densities are worked out once for all chairs, and scoring
is a product and a sum for each chair and candidate.
"""

from typing import NamedTuple

import numpy as np

from mapdp.compiled.jit import inlined
from mapdp.compiled.lanes import LANES, larger, largest, load, spread, store, sum_of
from mapdp.compiled.special import exp, log
from mapdp.families import verbs

IMPOSSIBLE = -1e8  # stands for a log density of minus infinity: a sum of such is still a number
NO_CANDIDATE = -1e9  # log probability of places that only fill up the last lane
_NEGLIGIBLE = -700.0  # nats below the best candidate, beyond which one adds nothing
_ROUNDED_AWAY = -60.0  # nats below the best candidate, beyond which thousands of them together add nothing
_FAINT = 1e-280  # a sum of densities below which candidates that were neglected might matter


class CandidatePrior(NamedTuple):
    """Log prior probability of the candidates."""

    log_weight: np.ndarray  # (G,) whole lanes


class CandidateBank(NamedTuple):
    """The statistics and cached predictives of all chairs."""

    prior: CandidatePrior
    n: np.ndarray  # (K,) rows
    log_like: np.ndarray  # (G, K) log likelihood of each candidate
    chance: np.ndarray  # (G, K) posterior probability of each candidate
    log_total: np.ndarray  # (K,) log marginal


def new_candidate_bank(log_weight: np.ndarray, capacity: int) -> CandidateBank:
    """Return the arrays of a bank."""
    table = (len(log_weight), capacity)
    arrays = [np.zeros(shape) for shape in (capacity, table, table, capacity)]
    return CandidateBank(CandidatePrior(log_weight), *arrays)


@inlined
def log_best(log_weight, log_like, first, last, k):
    """Return the highest log weight of the candidates from first to last - 1 on chair k."""
    best = -np.inf
    for g in range(first, last):
        best = max(best, log_weight[g] + log_like[g, k])
    return best


@inlined
def log_sum(log_weight, log_like, first, last, k):
    """Return the log of the sum of the weights of these candidates on chair k."""
    best, total = log_best(log_weight, log_like, first, last, k), 0.0
    for g in range(first, last):
        total += exp(max(log_weight[g] + log_like[g, k] - best, _NEGLIGIBLE))
    return best + log(total)


@inlined
def fill_chances(log_weight, log_like, first, last, k, chance):
    """Work out the probability of these candidates on chair k; return the log of the weights' sum."""
    total = log_sum(log_weight, log_like, first, last, k)
    for g in range(first, last):
        chance[g, k] = exp(max(log_weight[g] + log_like[g, k] - total, _NEGLIGIBLE))
    return total


@inlined
def highest_of(x, first, last):
    """Return the highest of these numbers; they fill whole lanes."""
    best = spread(-np.inf)
    for g in range(first, last, LANES):
        best = larger(best, load(x, g))
    return largest(best)


@inlined
def fill_densities(x, first, last, best, density):
    """Turn log densities into densities beside the best one."""
    for g in range(first, last, LANES):
        store(density, g, exp(larger(load(x, g) - best, spread(_NEGLIGIBLE))))


@inlined
def product(chance, density, first, last, k):
    """Return the sum of probabilities times densities, for the chairs of one lane."""
    total = spread(0.0)
    for g in range(first, last):
        total += load(chance[g], k) * density[g]
    return total


@inlined
def is_faint(total):
    """Say whether a sum of one of these chairs is so small that neglected candidates might matter."""
    return largest(spread(0.0) - total) > -_FAINT


@inlined
def log_sums(log_weight, log_like, x, times, first, last, k):
    """Return the log of the sum of weights times densities to the power of `times`, for one lane."""
    best = spread(-np.inf)
    for g in range(first, last):
        best = larger(best, load(log_like[g], k) + (log_weight[g] + times * x[g]))
    total = spread(0.0)
    for g in range(first, last):
        nats = load(log_like[g], k) + (log_weight[g] + times * x[g]) - best
        if largest(nats) > _ROUNDED_AWAY:  # few candidates are: exponentials are what is dear
            total += exp(larger(nats, spread(_NEGLIGIBLE)))
    return best + log(total)


@inlined
def log_sum_without(log_weight, log_like, x, first, last, k, spare):
    """Return the log of the sum of the weights on chair k without a row; `spare` is working space."""
    best, total = -np.inf, spread(0.0)
    for g in range(first, last):
        spare[g] = log_weight[g] + log_like[g, k] - x[g]
        best = max(best, spare[g])
    for g in range(first, last, LANES):
        total += exp(larger(load(spare, g) - best, spread(_NEGLIGIBLE)))
    return best + log(sum_of(total))


@inlined
def _add(bank, k, x, sign):
    bank.n[k] += sign
    for g in range(x.shape[0]):
        bank.log_like[g, k] += sign * x[g]


@verbs.clear.on(CandidateBank)
def clear(bank, k):
    bank.n[k] = 0.0
    for g in range(bank.log_like.shape[0]):
        bank.log_like[g, k] = 0.0


@verbs.insert.on(CandidateBank)
def insert(bank, k, x, scratch):
    _add(bank, k, x, 1.0)


@verbs.remove.on(CandidateBank)
def remove(bank, k, x, scratch):
    _add(bank, k, x, -1.0)


@verbs.pour.on(CandidateBank)
def pour(bank, k, other, j, times, scratch):
    bank.n[k] += times * other.n[j]
    for g in range(bank.log_like.shape[0]):
        bank.log_like[g, k] += times * other.log_like[g, j]


@verbs.refresh.on(CandidateBank)
def refresh(bank, k):
    log_weight, n_candidates = bank.prior.log_weight, bank.log_like.shape[0]
    total = fill_chances(log_weight, bank.log_like, 0, n_candidates, k, bank.chance)
    bank.log_total[k] = total


@verbs.log_predictive.on(CandidateBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    density, last, weight = scratch[0], x.shape[0], bank.prior.log_weight
    best = highest_of(x, 0, last)
    fill_densities(x, 0, last, best, density)
    for k in range(0, n_chairs, LANES):
        total = product(bank.chance, density, 0, last, k)
        if is_faint(total):
            with_row = log_sums(weight, bank.log_like, x, 1.0, 0, last, k)
            store(scores, k, load(scores, k) + with_row - load(bank.log_total, k))
        else:
            store(scores, k, load(scores, k) + log(total) + best)


@verbs.log_leave_one_out.on(CandidateBank)
def log_leave_one_out(bank, k, x, scratch):
    without = log_sum_without(bank.prior.log_weight, bank.log_like, x, 0, x.shape[0], k, scratch[0])
    return bank.log_total[k] - without


@verbs.log_marginal.on(CandidateBank)
def log_marginal(bank, k):
    return log_sum(bank.prior.log_weight, bank.log_like, 0, bank.log_like.shape[0], k)
