"""What the log joint gains when a cluster is closed and its rows, one by one, join the others."""

import numpy as np

from mapdp.compiled.jit import inlined, kernel
from mapdp.compiled.special import log
from mapdp.engine.joint import unnormalised_log_joint
from mapdp.engine.score import beats
from mapdp.engine.seat import fetch
from mapdp.engine.state import CHAIRS, EMPTIED, OPEN, TAKEN
from mapdp.engine.sweep import sweep
from mapdp.families import verbs


@inlined
def _close(rows, k, state):
    """Empty chair k, and offer no empty chair in its place."""
    seats, bank = state.seats, state.chairs
    for r in range(rows.shape[0]):
        seats.labels[rows[r]] = -1
    verbs.clear(bank, k)
    verbs.refresh(bank, k)
    seats.sizes[k] = 0
    seats.log_join[k] = -np.inf
    seats.log_join[seats.counters[OPEN]] = -np.inf
    seats.counters[TAKEN] -= 1


@inlined
def _reopen(X, rows, k, state):
    """Bring the rows of chair k back from where they went."""
    seats, bank, work = state
    labels, sizes, log_join, counters = seats.labels, seats.sizes, seats.log_join, seats.counters
    for r in range(rows.shape[0]):
        i = rows[r]
        fetch(X, i, work)
        verbs.remove(bank, labels[i], work.x, work.scratch)
        sizes[labels[i]] -= 1
        verbs.insert(bank, k, work.x, work.scratch)
        labels[i] = k
    sizes[k] = rows.shape[0]
    counters[TAKEN] += 1
    for j in range(counters[CHAIRS]):
        if sizes[j] > 0:
            verbs.refresh(bank, j)
            log_join[j] = log(sizes[j] - seats.discount)
    log_join[counters[OPEN]] = seats.log_open[counters[TAKEN]]


@kernel
def dissolve_one(X, order, ends, largest, state, log_worth, log_gained):
    """Dissolve the first cluster that gains by it; log_gained[0] becomes what that gained.

    The rows of chair k are order[ends[k - 1]:ends[k]]; clusters with more than `largest` are not tried.
    Where none gains, all sit as before, and log_gained[0] stays as it is.
    """
    before = unnormalised_log_joint(state, log_worth)
    begin = 0
    for k in range(ends.shape[0]):
        rows = order[begin : ends[k]]
        begin = ends[k]
        if rows.shape[0] == 0 or rows.shape[0] > largest:
            continue
        _close(rows, k, state)
        sweep(X, rows, state, np.int64(0))  # a plain 0 would have it compiled once more
        after = unnormalised_log_joint(state, log_worth)
        if beats(after, before):
            state.seats.counters[EMPTIED] += 1
            log_gained[0] = after - before
            break
        _reopen(X, rows, k, state)
