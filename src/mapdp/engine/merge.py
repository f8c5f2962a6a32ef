"""What the log joint gains when two chairs become one, from their statistics alone."""

from typing import NamedTuple

import numpy as np

from mapdp.compiled.handles import Handle
from mapdp.compiled.jit import inlined, kernel
from mapdp.engine.joint import log_worth_of_chair
from mapdp.engine.score import rounding
from mapdp.engine.state import CHAIRS, TAKEN
from mapdp.families import verbs
from mapdp.families.base import Family

MANY = (
    2000  # chairs, or fewer, are compared pair by pair: the gains of all pairs take 32 MB, of ten times as
)
# many they would take 3 GB


class MergeBuffers(NamedTuple):
    """Working space for merges, and what comes of them."""

    chair: Handle  # a bank of one chair
    scratch: Handle  # working space of the family
    log_worth: np.ndarray  # (K,) what each chair adds to the log joint
    log_gain: np.ndarray  # (K, K) what merging a < b gains, but for the chair that is saved
    merged_into: np.ndarray  # (K,) the chair that a chair's rows belong to now
    log_gained: np.ndarray  # (1,) by how much the merges raised the log joint


def merge_buffers(family: Family, capacity: int) -> MergeBuffers:
    """Return working space for merges among `capacity` chairs."""
    log_gain, chairs = np.full((capacity, capacity), -np.inf), np.zeros(capacity, dtype=np.int64)
    vectors = (np.zeros(capacity), log_gain, chairs, np.zeros(1))
    return MergeBuffers(family.chairs(1), family.scratch_handle(), *vectors)


@inlined
def _log_gain(a, b, sizes, discount, bank, buffers):
    """Return what the joint gains if chairs a and b become one, but for the chair that is saved."""
    if sizes[a] == 0 or sizes[b] == 0:
        return -np.inf
    together, log_worth = buffers.chair, buffers.log_worth
    verbs.clear(together, 0)
    verbs.pour(together, 0, bank, a, 1.0, buffers.scratch)
    verbs.pour(together, 0, bank, b, 1.0, buffers.scratch)
    return log_worth_of_chair(together, 0, sizes[a] + sizes[b], discount) - log_worth[a] - log_worth[b]


@inlined
def _best_pair(log_gain, n_chairs):
    """Return the pair a < b whose merging gains most."""
    best_a, best_b = 0, 1
    for a in range(n_chairs):
        for b in range(a + 1, n_chairs):
            if log_gain[a, b] > log_gain[best_a, best_b]:
                best_a, best_b = a, b
    return best_a, best_b


@inlined
def _price_chairs(n_chairs, sizes, discount, bank, buffers):
    """Work out the worth of every chair and the gain of every pair."""
    for k in range(n_chairs):
        buffers.log_worth[k] = log_worth_of_chair(bank, k, sizes[k], discount)
        buffers.merged_into[k] = k
    for a in range(n_chairs):
        for b in range(a + 1, n_chairs):
            buffers.log_gain[a, b] = _log_gain(a, b, sizes, discount, bank, buffers)


@inlined
def _pour_into(a, b, n_chairs, sizes, discount, bank, buffers):
    """Pour chair b into chair a and price a anew."""
    log_worth, log_gain, merged_into = buffers.log_worth, buffers.log_gain, buffers.merged_into
    verbs.pour(bank, a, bank, b, 1.0, buffers.scratch)
    sizes[a] += sizes[b]
    sizes[b] = 0
    log_worth[a] = log_worth_of_chair(bank, a, sizes[a], discount)
    log_worth[b] = 0.0
    for k in range(n_chairs):
        if merged_into[k] == b:
            merged_into[k] = a
        if k != b:
            log_gain[min(b, k), max(b, k)] = -np.inf
        if k != a and k != b:
            log_gain[min(a, k), max(a, k)] = _log_gain(a, k, sizes, discount, bank, buffers)


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
        a, b = _best_pair(buffers.log_gain, n_chairs)
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
