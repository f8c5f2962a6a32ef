"""What the log joint gains when two chairs become one, from their statistics alone.

The gains of all pairs are in a table, and each chair knows its best partner in it; after a merge only pairs
with the merged chair are priced anew.
"""

from typing import NamedTuple

import numpy as np

from mapdp.compiled.handles import Handle
from mapdp.compiled.jit import inlined, kernel
from mapdp.engine.joint import log_worth_of_chair
from mapdp.engine.score import rounding
from mapdp.engine.state import CHAIRS, TAKEN, predictive_bank
from mapdp.families import verbs
from mapdp.families.base import Bank, Family, refresh_chairs
from mapdp.partitions.process import Process

MANY = 2000  # chairs, or fewer, are compared pair by pair: gains take 32 MB, of ten times as many 3 GB


class MergeBuffers(NamedTuple):
    """Working space for merges, and what comes of them."""

    chair: Handle  # a bank of one chair
    scratch: Handle  # working space of the family
    log_worth: np.ndarray  # (K,) what each chair adds to the log joint
    log_gain: np.ndarray  # (K, K) what merging a < b gains, but for the chair that is saved
    partner: np.ndarray  # (K,) the chair after it that merging a chair with gains most; itself for none
    is_new: np.ndarray  # (K,) whether gains of pairs with a chair are yet to be worked out
    apart: np.ndarray  # (K,) 1 for chairs of which no two may merge
    merged_into: np.ndarray  # (K,) the chair that a chair's rows belong to now
    log_gained: np.ndarray  # (1,) by how much the merges raised the log joint


def merge_buffers(family: Family, capacity: int) -> MergeBuffers:
    """Return working space for merges among `capacity` chairs."""
    log_gain, chairs = np.full((capacity, capacity), -np.inf), np.zeros((3, capacity), dtype=np.int64)
    partner, apart, merged_into = chairs
    vectors = (partner, np.ones(capacity, dtype=np.bool_), apart, merged_into, np.zeros(1))
    return MergeBuffers(family.chairs(1), family.scratch_handle(), np.zeros(capacity), log_gain, *vectors)


class MergePath(NamedTuple):
    """Merges of all clusters, one after another."""

    chairs: np.ndarray  # (K - 1, 2) the chairs of each merge: the second is poured into the first
    log_gains: np.ndarray  # (K - 1,) what each does to the log joint
    n_allowed: int  # merges before two clusters meet that must be kept apart


def merge_path(
    bank: Bank, sizes: np.ndarray, apart: np.ndarray, family: Family, process: Process
) -> MergePath:
    """Merge the pair of clusters that loses least, and so on until one is left.

    Clusters that `apart` marks merge with each other only when no other merge is left.
    """
    n_clusters, left = len(sizes), sizes.astype(np.float64)
    chairs = family.handle(predictive_bank(bank, family, n_clusters))
    log_open = np.asarray(process.log_open(np.arange(n_clusters), sizes.sum()), dtype=np.float64)
    buffers = merge_buffers(family, n_clusters)
    path = np.zeros((n_clusters - 1, 2), dtype=np.int64), np.zeros(n_clusters - 1)
    buffers.apart[:] = apart
    arguments = (left, log_open, float(process.discount), chairs, buffers, *path)
    n_allowed = n_clusters - merge_all(*arguments)
    buffers.apart[:] = 0
    merge_all(*arguments)
    return MergePath(*path, n_allowed)


def merged_bank(bank: Bank, into: np.ndarray, family: Family) -> Bank:
    """Return a bank of what each cluster `into[k]` gets from the clusters k, and of an empty chair."""
    n_clusters = int(into.max()) + 1
    merged = family.chairs(n_clusters + 1)
    pour_chairs(family.handle(bank), into.astype(np.int64), merged, family.scratch_handle())
    refresh_chairs(merged, n_clusters, n_clusters + 1)
    return merged.contents


@inlined
def _log_gain(a, b, sizes, discount, bank, buffers):
    """Return what the joint gains if chairs a and b become one, but for the chair that is saved."""
    if sizes[a] == 0 or sizes[b] == 0 or buffers.apart[a] + buffers.apart[b] > 1:
        return -np.inf
    together, log_worth = buffers.chair, buffers.log_worth
    verbs.clear(together, 0)
    verbs.pour(together, 0, bank, a, 1.0, buffers.scratch)
    verbs.pour(together, 0, bank, b, 1.0, buffers.scratch)
    return log_worth_of_chair(together, 0, sizes[a] + sizes[b], discount) - log_worth[a] - log_worth[b]


@inlined
def _best_pair(log_gain, partner, n_chairs):
    """Return the pair a < b whose merging gains most."""
    best = 0
    for a in range(n_chairs):
        if log_gain[a, partner[a]] > log_gain[best, partner[best]]:
            best = a
    return best, partner[best]


@inlined
def _find_partner(a, log_gain, partner, n_chairs):
    """Find the chair after a that merging a with gains most."""
    partner[a] = a
    for b in range(a + 1, n_chairs):
        if log_gain[a, b] > log_gain[a, partner[a]]:
            partner[a] = b


@inlined
def _price_chairs(n_chairs, sizes, discount, bank, buffers):
    """Work out the worth of every chair and the gain of every pair that has a new chair."""
    for k in range(n_chairs):
        buffers.log_worth[k] = log_worth_of_chair(bank, k, sizes[k], discount)
        buffers.merged_into[k] = k
    for a in range(n_chairs):
        for b in range(a + 1, n_chairs):
            if buffers.is_new[a] or buffers.is_new[b]:
                buffers.log_gain[a, b] = _log_gain(a, b, sizes, discount, bank, buffers)
        _find_partner(a, buffers.log_gain, buffers.partner, n_chairs)


@inlined
def _pour_into(a, b, n_chairs, sizes, discount, bank, buffers):
    """Pour chair b into chair a and price a anew."""
    log_worth, log_gain, merged_into = buffers.log_worth, buffers.log_gain, buffers.merged_into
    verbs.pour(bank, a, bank, b, 1.0, buffers.scratch)
    sizes[a] += sizes[b]
    sizes[b] = 0
    log_worth[a] = log_worth_of_chair(bank, a, sizes[a], discount)
    log_worth[b] = 0.0
    buffers.apart[a] += buffers.apart[b]
    for k in range(n_chairs):
        if merged_into[k] == b:
            merged_into[k] = a
        if k != b:
            log_gain[min(b, k), max(b, k)] = -np.inf
        if k != a and k != b:
            log_gain[min(a, k), max(a, k)] = _log_gain(a, k, sizes, discount, bank, buffers)
    _find_partners_after(a, b, log_gain, buffers.partner, n_chairs)


@inlined
def _find_partners_after(a, b, log_gain, partner, n_chairs):
    """Bring partners up to date with the gains of chair a, which b was poured into."""
    for k in range(b + 1):
        if k in (a, b) or partner[k] in (a, b):
            _find_partner(k, log_gain, partner, n_chairs)
        elif k < a:
            best = log_gain[k, partner[k]]
            if log_gain[k, a] > best or (log_gain[k, a] == best and a < partner[k]):
                partner[k] = a


@inlined
def merge_greedily(n_chairs, n_clusters, least, seats, bank, buffers):
    """Merge the pair of chairs that gains most, until none gains or `least` are left; return how many are.

    Sizes, statistics and `buffers` are up to date then; labels, prior weights, cached predictives and
    counters are not.
    """
    sizes, log_open, discount = seats.sizes, seats.log_open, seats.discount
    _price_chairs(n_chairs, sizes, discount, bank, buffers)
    buffers.log_gained[0] = 0.0
    while n_clusters > least:
        a, b = _best_pair(buffers.log_gain, buffers.partner, n_chairs)
        log_gain = buffers.log_gain[a, b] - log_open[n_clusters - 1]
        if log_gain <= rounding(buffers.log_worth[a] + buffers.log_worth[b]):
            break
        n_clusters -= 1
        buffers.log_gained[0] += log_gain
        _pour_into(a, b, n_chairs, sizes, discount, bank, buffers)
    return n_clusters


@kernel
def merge_chairs(state, least, buffers):
    """Do what `merge_greedily` does, for the chairs of a state."""
    seats, counters = state.seats, state.seats.counters
    return merge_greedily(counters[CHAIRS], counters[TAKEN], least, seats, state.chairs, buffers)


@kernel
def merge_all(sizes, log_open, discount, bank, buffers, merges, log_gains):
    """Merge the pair of chairs that loses least, until one is left or the rest may not merge.

    merges[m] becomes the chairs of merge m, the second of which is poured into the first, and log_gains[m]
    what the log joint gains. Chairs without rows have merged before. Return how many have rows in the end.
    """
    n_chairs, n_left = sizes.shape[0], 0
    for k in range(n_chairs):
        n_left += sizes[k] > 0
    _price_chairs(n_chairs, sizes, discount, bank, buffers)
    while n_left > 1:
        a, b = _best_pair(buffers.log_gain, buffers.partner, n_chairs)
        if a == b:
            break
        n_left -= 1
        m = n_chairs - 1 - n_left
        merges[m, 0], merges[m, 1] = a, b
        log_gains[m] = buffers.log_gain[a, b] - log_open[n_left]
        _pour_into(a, b, n_chairs, sizes, discount, bank, buffers)
    return n_left


@kernel
def pour_chairs(source, into, target, scratch):
    """Pour each chair of a bank into the chair of another that `into` names."""
    for k in range(into.shape[0]):
        verbs.pour(target, into[k], source, k, 1.0, scratch)


@kernel
def pour_times(source, chosen, times, target, scratch):
    """Pour chair chosen[k] of a bank, times[k] times, into chair k of another."""
    for k in range(chosen.shape[0]):
        verbs.pour(target, k, source, chosen[k], times[k], scratch)
