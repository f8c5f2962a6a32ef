"""Knows what it gains to pour two chairs into one, from their statistics alone, and does it."""

from typing import Any, NamedTuple

import numpy as np

from mapdp import family
from mapdp._jit import inlined, kernel
from mapdp.kernels.joint import worth_of_chair
from mapdp.kernels.score import MARGIN
from mapdp.state import CHAIRS, TAKEN


class Spare(NamedTuple):
    """Working space for merges."""

    bank: Any  # of one chair
    worth: np.ndarray  # (K,) what each chair adds to the joint
    gains: np.ndarray  # (K, K) what merging a < b gains, but for the chair that is saved
    merged_into: np.ndarray  # (K,) the chair that a chair's rows belong to now


@inlined
def _gain(a, b, sizes, discount, bank, spare):
    """Return what the joint gains if chairs a and b become one, but for the chair that is saved."""
    if sizes[a] == 0 or sizes[b] == 0:
        return -np.inf
    family.clear(spare.bank, 0)
    family.pour(spare.bank, 0, bank, a, 1.0)
    family.pour(spare.bank, 0, bank, b, 1.0)
    return worth_of_chair(spare.bank, 0, sizes[a] + sizes[b], discount) - spare.worth[a] - spare.worth[b]


@inlined
def _best_pair(gains, n_chairs):
    """Return the pair a < b whose merging gains most."""
    best_a, best_b = 0, 1
    for a in range(n_chairs):
        for b in range(a + 1, n_chairs):
            if gains[a, b] > gains[best_a, best_b]:
                best_a, best_b = a, b
    return best_a, best_b


@inlined
def _price_chairs(n_chairs, sizes, discount, bank, spare):
    """Work out the worth of every chair and the gain of every pair."""
    for k in range(n_chairs):
        spare.worth[k] = worth_of_chair(bank, k, sizes[k], discount)
        spare.merged_into[k] = k
    for a in range(n_chairs):
        for b in range(a + 1, n_chairs):
            spare.gains[a, b] = _gain(a, b, sizes, discount, bank, spare)


@inlined
def _pour_into(a, b, n_chairs, sizes, discount, bank, spare):
    """Pour chair b into chair a and price a anew."""
    family.pour(bank, a, bank, b, 1.0)
    sizes[a] += sizes[b]
    sizes[b] = 0
    spare.worth[a] = worth_of_chair(bank, a, sizes[a], discount)
    spare.worth[b] = 0.0
    for k in range(n_chairs):
        if spare.merged_into[k] == b:
            spare.merged_into[k] = a
        if k != b:
            spare.gains[min(b, k), max(b, k)] = -np.inf
        if k != a and k != b:
            spare.gains[min(a, k), max(a, k)] = _gain(a, k, sizes, discount, bank, spare)


@inlined
def merge_greedily(n_chairs, n_clusters, least, sizes, opens, discount, bank, spare):
    """Merge the pair of chairs that gains most, until none gains or `least` are left; say how many are.

    Sizes, statistics and `spare` are up to date then; labels, prior weights, cached predictives and
    counters are not.
    """
    _price_chairs(n_chairs, sizes, discount, bank, spare)
    while n_clusters > least:
        a, b = _best_pair(spare.gains, n_chairs)
        if spare.gains[a, b] <= opens[n_clusters - 1] + MARGIN:
            break
        n_clusters -= 1
        _pour_into(a, b, n_chairs, sizes, discount, bank, spare)
    return n_clusters


@kernel
def merge_chairs(state, least, spare):
    """Do what `merge_greedily` does, for the chairs of a state."""
    labels, sizes, joins, opens, discount, counters, bank, origin, x, scores, scratch = state
    return merge_greedily(counters[CHAIRS], counters[TAKEN], least, sizes, opens, discount, bank, spare)
