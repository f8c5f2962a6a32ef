"""Knows how one row stands up and sits down: statistics, sizes and prior weights move together."""

import numpy as np

from mapdp import family
from mapdp._jit import inlined
from mapdp.special import log
from mapdp.state import CHAIRS, EMPTIED, MOVED, OPEN, TAKEN


@inlined
def fetch(X, i, origin, x):
    """Take row i in hand, measured from the origin."""
    for j in range(x.shape[0]):
        x[j] = X[i, j] - origin[j]


@inlined
def change_chair(i, chosen, state):
    """Let row i, which is in hand, go to another chair; it may have stood."""
    labels, sizes, joins, opens, discount, counters, bank, origin, x, scores, scratch = state
    own = labels[i]
    counters[MOVED] += 1
    labels[i] = chosen
    sit(chosen, x, sizes, joins, opens, discount, counters, bank)
    if own >= 0:
        stand(own, x, sizes, joins, opens, discount, counters, bank)


@inlined
def sit(k, x, sizes, joins, opens, discount, counters, bank):
    """Let the row in hand sit down on chair k."""
    family.insert(bank, k, x)
    family.refresh(bank, k)
    sizes[k] += 1
    joins[k] = log(sizes[k] - discount)
    if sizes[k] == 1:
        counters[TAKEN] += 1
        _prepare_open_chair(sizes, joins, opens, counters)


@inlined
def stand(k, x, sizes, joins, opens, discount, counters, bank):
    """Let the row in hand stand up from chair k."""
    sizes[k] -= 1
    if sizes[k] > 0:
        family.remove(bank, k, x)
        joins[k] = log(sizes[k] - discount)
    else:
        family.clear(bank, k)
        joins[k] = -np.inf
        counters[TAKEN] -= 1
        counters[EMPTIED] += 1
        _prepare_open_chair(sizes, joins, opens, counters)
    family.refresh(bank, k)


@inlined
def _prepare_open_chair(sizes, joins, opens, counters):
    """Offer the first empty chair as the one that a new cluster would take."""
    if counters[OPEN] >= 0 and sizes[counters[OPEN]] == 0:
        joins[counters[OPEN]] = -np.inf
    counters[OPEN] = -1
    for k in range(sizes.shape[0]):
        if sizes[k] == 0:
            counters[OPEN] = k
            joins[k] = opens[counters[TAKEN]]
            counters[CHAIRS] = max(counters[CHAIRS], k + 1)
            break
