"""How one row stands up and sits down: statistics, sizes and prior weights change together."""

import numpy as np

from mapdp.compiled.jit import inlined
from mapdp.compiled.special import log
from mapdp.engine.state import CHAIRS, EMPTIED, MOVED, OPEN, TAKEN
from mapdp.families import verbs


@inlined
def fetch(X, i, work):
    """Take row i in hand, measured from the origin."""
    origin, x = work.origin, work.x
    for j in range(x.shape[0]):
        x[j] = X[i, j] - origin[j]


@inlined
def change_chair(i, chosen, state):
    """Move row i, which is in hand, to another chair; it may have stood."""
    seats = state.seats
    own = seats.labels[i]
    seats.counters[MOVED] += 1
    seats.labels[i] = chosen
    _sit(chosen, state)
    if own >= 0:
        _stand(own, state)


@inlined
def _sit(k, state):
    """Let the row in hand sit down on chair k."""
    seats, bank, work = state
    verbs.insert(bank, k, work.x, work.scratch)
    seats.sizes[k] += 1
    reprice(k, state)
    if seats.sizes[k] == 1:
        take_chair(seats)


@inlined
def _stand(k, state):
    """Let the row in hand stand up from chair k."""
    seats, bank, work = state
    seats.sizes[k] -= 1
    if seats.sizes[k] > 0:
        verbs.remove(bank, k, work.x, work.scratch)
        reprice(k, state)
    else:
        free_chair(k, state)


@inlined
def reprice(k, state):
    """Bring the cached predictive and the prior weight of a taken chair up to date."""
    seats = state.seats
    verbs.refresh(state.chairs, k)
    seats.log_join[k] = log(seats.sizes[k] - seats.discount)


@inlined
def take_chair(seats):
    """Count the open chair as taken, and offer another one."""
    seats.counters[TAKEN] += 1
    _prepare_open_chair(seats)


@inlined
def free_chair(k, state):
    """Make chair k empty, which nobody sits on any more."""
    seats, bank = state.seats, state.chairs
    verbs.clear(bank, k)
    verbs.refresh(bank, k)
    seats.log_join[k] = -np.inf
    seats.counters[TAKEN] -= 1
    seats.counters[EMPTIED] += 1
    _prepare_open_chair(seats)


@inlined
def _prepare_open_chair(seats):
    """Offer the first empty chair as the one that a new cluster would take."""
    sizes, log_join, counters = seats.sizes, seats.log_join, seats.counters
    if counters[OPEN] >= 0 and sizes[counters[OPEN]] == 0:
        log_join[counters[OPEN]] = -np.inf
    counters[OPEN] = -1
    for k in range(sizes.shape[0]):
        if sizes[k] == 0:
            counters[OPEN] = k
            log_join[k] = seats.log_open[counters[TAKEN]]
            counters[CHAIRS] = max(counters[CHAIRS], k + 1)
            break
