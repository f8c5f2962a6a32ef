"""What clusters know of their parameters where those are one of G candidates: G log likelihoods each.

The predictive of a row is a sum over candidates. What is dear in it are exponentials, so chairs keep the
posterior probability of each candidate, a row's G densities are worked out once for all chairs, and scoring
is a product and a sum for each chair and candidate.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mapdp.compiled.jit import inlined
from mapdp.compiled.lanes import LANES, larger, largest, load, spread, store, sum_of
from mapdp.compiled.special import exp, log
from mapdp.families import verbs
from mapdp.families.columns import NOTHING, TallyColumns, beginnings

IMPOSSIBLE = -1e8  # stands for a log density of minus infinity: a sum of such is still a number
NO_CANDIDATE = -1e9  # log probability of places that only fill up the last lane
_NEGLIGIBLE = -700.0  # nats below the best candidate, beyond which one adds nothing
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
    """Work out the probability of each of these candidates on chair k; return the log of the weights' sum."""
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
def log_mean_exactly(log_weight, log_like, x, first, last, k):
    """Return the log of the sum of weights times densities, for the chairs of one lane."""
    best = spread(-np.inf)
    for g in range(first, last):
        best = larger(best, load(log_like[g], k) + (log_weight[g] + x[g]))
    total = spread(0.0)
    for g in range(first, last):
        nats = load(log_like[g], k) + (log_weight[g] + x[g]) - best
        total += exp(larger(nats, spread(_NEGLIGIBLE)))
    return best + log(total)


@inlined
def add_scores(bank, log_weight, x, density, first, last, best, n_chairs, scores, log_total):
    """Add to the scores the log predictive of a row with log densities x; their highest is `best`."""
    chance, log_like = bank.chance, bank.log_like
    for k in range(0, n_chairs, LANES):
        total = spread(0.0)
        for g in range(first, last):
            total += load(chance[g], k) * density[g]
        if largest(spread(0.0) - total) > -_FAINT:
            exactly = log_mean_exactly(log_weight, log_like, x, first, last, k)
            store(scores, k, load(scores, k) + exactly - load(log_total, k))
        else:
            store(scores, k, load(scores, k) + log(total) + best)


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
    density, last = scratch[0], x.shape[0]
    best = highest_of(x, 0, last)
    fill_densities(x, 0, last, best, density)
    add_scores(bank, bank.prior.log_weight, x, density, 0, last, best, n_chairs, scores, bank.log_total)


@verbs.log_leave_one_out.on(CandidateBank)
def log_leave_one_out(bank, k, x, scratch):
    without = log_sum_without(bank.prior.log_weight, bank.log_like, x, 0, x.shape[0], k, scratch[0])
    return bank.log_total[k] - without


@verbs.log_marginal.on(CandidateBank)
def log_marginal(bank, k):
    return log_sum(bank.prior.log_weight, bank.log_like, 0, bank.log_like.shape[0], k)


class CandidatesPrior(NamedTuple):
    """Log prior probabilities of the candidates of columns."""

    place: np.ndarray  # (D,) cell of a row
    first: np.ndarray  # (D + 1,) where a column's candidates begin
    log_weight: np.ndarray  # (G,)


def candidates_prior(log_weights: Sequence[np.ndarray], place: np.ndarray) -> CandidatesPrior:
    """Return the prior of columns with these log prior probabilities."""
    first = beginnings([len(one) for one in log_weights])
    return CandidatesPrior(place, first, np.concatenate([NOTHING, *log_weights]))


class CandidateColumns(TallyColumns):
    """Rows as a whole, as one column that describes clusters: its tally holds log likelihoods."""


@verbs.log_marginal_of_column.on(CandidateColumns)
def log_marginal_of_column(bank, j, k):
    prior = bank.prior
    return log_sum(prior.log_weight, bank.tally, prior.first[j], prior.first[j + 1], k)
