"""Knows what it gains to close a cluster and let its rows, one by one, join the others."""

import numpy as np

from mapdp import family
from mapdp._jit import inlined, kernel
from mapdp.kernels.joint import log_joint
from mapdp.kernels.score import beats
from mapdp.kernels.seat import fetch
from mapdp.kernels.sweep import sweep
from mapdp.special import log
from mapdp.state import CHAIRS, EMPTIED, OPEN, TAKEN


@inlined
def _close(rows, k, state):
    """Empty chair k, and offer no empty chair in its place."""
    labels, sizes, joins, opens, discount, counters, bank, origin, x, scores, scratch = state
    for r in range(rows.shape[0]):
        labels[rows[r]] = -1
    family.clear(bank, k)
    family.refresh(bank, k)
    sizes[k] = 0
    joins[k] = -np.inf
    joins[counters[OPEN]] = -np.inf
    counters[TAKEN] -= 1


@inlined
def _reopen(X, rows, k, state):
    """Bring the rows of chair k back from where they went."""
    labels, sizes, joins, opens, discount, counters, bank, origin, x, scores, scratch = state
    for r in range(rows.shape[0]):
        i = rows[r]
        fetch(X, i, origin, x)
        family.remove(bank, labels[i], x)
        sizes[labels[i]] -= 1
        family.insert(bank, k, x)
        labels[i] = k
    sizes[k] = rows.shape[0]
    counters[TAKEN] += 1
    for j in range(counters[CHAIRS]):
        if sizes[j] > 0:
            family.refresh(bank, j)
            joins[j] = log(sizes[j] - discount)
    joins[counters[OPEN]] = opens[counters[TAKEN]]


@kernel
def dissolve_one(X, order, ends, largest, state, worth):
    """Dissolve the first cluster that gains by it; return its chair, -1 where none gains.

    The rows of chair k are order[ends[k - 1]:ends[k]]; clusters with more than `largest` are not asked.
    Where none gains, all sit as before.
    """
    before = log_joint(state, worth)
    begin = 0
    for k in range(ends.shape[0]):
        rows = order[begin : ends[k]]
        begin = ends[k]
        if rows.shape[0] == 0 or rows.shape[0] > largest:
            continue
        _close(rows, k, state)
        sweep(X, rows, state, np.int64(0))  # a plain 0 would have it compiled once more
        if beats(log_joint(state, worth), before):
            state.counters[EMPTIED] += 1
            return k
        _reopen(X, rows, k, state)
    return -1
