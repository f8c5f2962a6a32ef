"""What the log joint gains when a cluster is closed and its rows, one by one, join the others."""

from typing import NamedTuple

import numpy as np

from mapdp.compiled.jit import inlined, kernel
from mapdp.compiled.special import log
from mapdp.engine.joint import log_joint_of_chairs, log_worth_of_chair, unnormalised_log_joint
from mapdp.engine.score import beats
from mapdp.engine.seat import fetch
from mapdp.engine.state import CHAIRS, EMPTIED, OPEN, TAKEN
from mapdp.engine.sweep import sweep
from mapdp.families import verbs


class DissolveBuffers(NamedTuple):
    """Working space for closing clusters, and what comes of it."""

    log_worth: np.ndarray  # (K,) what each chair adds to the log joint ...
    log_worth_after: np.ndarray  # (K,) ... and would add if a cluster were closed
    is_changed: np.ndarray  # (K,) whether a chair lost or got rows by that
    log_gained: np.ndarray  # (1,) by how much it raised the log joint


def dissolve_buffers(capacity: int) -> DissolveBuffers:
    """Return working space for `capacity` chairs."""
    before, after = np.zeros((2, capacity))
    return DissolveBuffers(before, after, np.zeros(capacity, dtype=np.bool_), np.zeros(1))


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
def _log_joint_after(rows, k, state, buffers):
    """Return the log joint once the rows of chair k have gone; only chairs that got some have changed."""
    seats, counters = state.seats, state.seats.counters
    is_changed, log_worth = buffers.is_changed, buffers.log_worth_after
    for j in range(counters[CHAIRS]):
        is_changed[j] = j == k
        log_worth[j] = buffers.log_worth[j]
    for r in range(rows.shape[0]):
        is_changed[seats.labels[rows[r]]] = True
    for j in range(counters[CHAIRS]):
        if is_changed[j]:
            log_worth[j] = log_worth_of_chair(state.chairs, j, seats.sizes[j], seats.discount)
    return log_joint_of_chairs(counters[CHAIRS], counters[TAKEN], seats.log_open, log_worth)


@inlined
def _reopen(X, rows, k, state, is_changed):
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
        if is_changed[j] and sizes[j] > 0:
            verbs.refresh(bank, j)
            log_join[j] = log(sizes[j] - seats.discount)
    log_join[counters[OPEN]] = seats.log_open[counters[TAKEN]]


@kernel
def dissolve_one(X, order, ends, largest, state, buffers):
    """Dissolve the first cluster that gains by it; buffers.log_gained[0] becomes what that gained.

    The rows of chair k are order[ends[k - 1]:ends[k]]; clusters with more than `largest` are not tried.
    Where none gains, all sit as before, and what was gained is 0.
    """
    before = unnormalised_log_joint(state, buffers.log_worth)
    begin = 0
    for k in range(ends.shape[0]):
        rows = order[begin : ends[k]]
        begin = ends[k]
        if rows.shape[0] == 0 or rows.shape[0] > largest:
            continue
        _close(rows, k, state)
        sweep(X, rows, state, np.int64(0))  # a plain 0 would have it compiled once more
        after = _log_joint_after(rows, k, state, buffers)
        if beats(after, before):
            state.seats.counters[EMPTIED] += 1
            buffers.log_gained[0] = after - before
            break
        _reopen(X, rows, k, state, buffers.is_changed)
