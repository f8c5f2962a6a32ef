"""Moves of rows that belong together: those of a group with one dish, or a run of one state.

All of them leave their dish at once, every dish is scored by the exact joint, and they sit down together.
"""

from typing import NamedTuple

import numpy as np

from mapdp.compiled.handles import Handle
from mapdp.compiled.jit import inlined, kernel
from mapdp.compiled.special import log
from mapdp.engine.score import MARGIN
from mapdp.engine.seat import fetch, free_chair, take_chair
from mapdp.engine.state import CHAIRS, MOVED, OPEN
from mapdp.engine.structured.franchise import next_state, restaurant_of
from mapdp.engine.structured.tables import BEFORE, best_leave, best_seat, sit_down
from mapdp.families import verbs
from mapdp.families.base import Family

_BLOCK, _TRIAL = 0, 1  # chairs of `spare`: the rows of the block, and those with another chair's
_N_SAVED = 14


class BlockBuffers(NamedTuple):
    """Working space for moves of blocks."""

    spare: Handle  # a bank of two chairs
    saved: np.ndarray  # (2, 14) counts as they were: before all, and before a trial


def block_buffers(family: Family) -> BlockBuffers:
    """Return working space for moves of blocks."""
    return BlockBuffers(family.chairs(2), np.zeros((2, _N_SAVED), dtype=np.int64))


@inlined
def _save(r, inner, k, after, franchise, saved):
    """Write down the counts that change when a block sits down with dish k."""
    for place in range(3):
        row = r if place == 0 else inner
        dish = k if place < 2 else max(after, 0)
        saved[3 * place] = franchise.customers[row, dish]
        saved[3 * place + 1] = franchise.tables[row, dish]
        saved[3 * place + 2] = franchise.own[row, dish]
    saved[9], saved[10] = franchise.served[k], franchise.served[max(after, 0)]
    saved[11], saved[12] = franchise.totals[r], franchise.totals[inner]
    saved[13] = franchise.n_tables[0]


@inlined
def _restore(r, inner, k, after, franchise, saved):
    """Bring these counts back."""
    for place in range(3):
        row = r if place == 0 else inner
        dish = k if place < 2 else max(after, 0)
        franchise.customers[row, dish] = saved[3 * place]
        franchise.tables[row, dish] = saved[3 * place + 1]
        franchise.own[row, dish] = saved[3 * place + 2]
    franchise.served[k], franchise.served[max(after, 0)] = saved[9], saved[10]
    franchise.totals[r], franchise.totals[inner] = saved[11], saved[12]
    franchise.n_tables[0] = saved[13]


@inlined
def _join(r, home, k, franchise):
    how, weight = best_seat(r, home, k, franchise)
    sit_down(r, k, how, 1, franchise)
    return log(weight)


@inlined
def _leave(r, home, k, franchise):
    how, weight = best_leave(r, home, k, franchise)
    sit_down(r, k, how, -1, franchise)
    return log(weight)


@inlined
def _sit_together(r, home, k, after, n, is_run, franchise):
    """Let n rows sit down with dish k; return the log probability of their tables."""
    total = _join(r, home, k, franchise)
    inner, house = (k + 1, k) if is_run else (r, home)
    for _ in range(n - 1):
        total += _join(inner, house, k, franchise)
    if after >= 0:
        total += _join(k + 1, k, after, franchise)
    return total


@inlined
def _stand_together(r, home, k, after, n, is_run, franchise):
    """Let n rows with dish k stand up; return the log probability of the tables they had."""
    total = 0.0
    if after >= 0:
        total += _leave(k + 1, k, after, franchise)
    inner, house = (k + 1, k) if is_run else (r, home)
    for _ in range(n - 1):
        total += _leave(inner, house, k, franchise)
    return total + _leave(r, home, k, franchise)


@inlined
def _fill_block(X, rows, begin, end, work, spare):
    verbs.clear(spare, _BLOCK)
    for place in range(begin, end):
        fetch(X, rows[place], work)
        verbs.insert(spare, _BLOCK, work.x, work.scratch)


@inlined
def _log_gain_of_rows(k, sign, bank, work, spare):
    """Return by how much chair k is worth more with the block (sign 1), or without it (sign -1)."""
    verbs.clear(spare, _TRIAL)
    verbs.pour(spare, _TRIAL, bank, k, 1.0, work.scratch)
    verbs.pour(spare, _TRIAL, spare, _BLOCK, sign, work.scratch)
    return verbs.log_marginal(spare, _TRIAL) - verbs.log_marginal(bank, k)


@inlined
def _best_dish(own, r, home, after, n, is_run, state, franchise, buffers):
    """Return the best other dish for the block, which stands, and its log gain."""
    seats, bank, work = state
    best, highest = -1, -np.inf
    for k in range(seats.counters[CHAIRS]):
        is_open = k == seats.counters[OPEN]
        if k == own or (seats.sizes[k] == 0 and not is_open) or (is_open and seats.sizes[own] == n):
            continue
        inner = k + 1 if is_run or after >= 0 else r
        _save(r, inner, k, after, franchise, buffers.saved[1])
        log_prior = _sit_together(r, home, k, after, n, is_run, franchise)
        _restore(r, inner, k, after, franchise, buffers.saved[1])
        gain = log_prior
        if is_open:
            gain += verbs.log_marginal(buffers.spare, _BLOCK)
        else:
            gain += _log_gain_of_rows(k, 1.0, bank, work, buffers.spare)
        if gain > highest:
            best, highest = k, gain
    return best, highest


@inlined
def _move_rows(rows, begin, end, own, best, state, spare):
    """Let the rows of the block sit on another chair."""
    seats, bank, work = state
    n, is_new = end - begin, seats.sizes[best] == 0
    for place in range(begin, end):
        seats.labels[rows[place]] = best
    verbs.pour(bank, best, spare, _BLOCK, 1.0, work.scratch)
    verbs.refresh(bank, best)
    seats.sizes[best] += n
    if is_new:
        take_chair(seats)
    seats.sizes[own] -= n
    if seats.sizes[own] == 0:
        free_chair(own, state)
    else:
        verbs.pour(bank, own, spare, _BLOCK, -1.0, work.scratch)
        verbs.refresh(bank, own)
    seats.counters[MOVED] += n


@inlined
def _log_lost(X, rows, begin, end, own, state, buffers):
    """Gather the rows of a block; return what their chair is worth more with them."""
    _fill_block(X, rows, begin, end, state.work, buffers.spare)
    if state.seats.sizes[own] == end - begin:
        return verbs.log_marginal(state.chairs, own)
    return -_log_gain_of_rows(own, -1.0, state.chairs, state.work, buffers.spare)


@inlined
def _move_block(X, rows, begin, end, state, franchise, buffers):
    """Move a block where that gains; one that stays has its old tables."""
    labels, n, saved = state.seats.labels, end - begin, buffers.saved[0]
    own = labels[rows[begin]]
    r, home = restaurant_of(rows[begin], labels, franchise)
    is_run = n > 1 and franchise.context[rows[begin + 1]] == BEFORE
    after = next_state(rows[end - 1], labels, franchise)
    inner = own + 1 if is_run or after >= 0 else r
    lost = _log_lost(X, rows, begin, end, own, state, buffers)
    _save(r, inner, own, after, franchise, saved)
    lost += _stand_together(r, home, own, after, n, is_run, franchise)
    best, gained = _best_dish(own, r, home, after, n, is_run, state, franchise, buffers)
    if best >= 0 and gained > lost + MARGIN:
        _move_rows(rows, begin, end, own, best, state, buffers.spare)
        _sit_together(r, home, best, after, n, is_run, franchise)
    else:
        _restore(r, inner, own, after, franchise, saved)


@kernel
def move_blocks(X, rows, ends, state, franchise, buffers, start):
    """Move each block `rows[ends[b - 1]:ends[b]]` where that gains, from block `start` on.

    Return how far it came: less than all where the chairs ran out.
    """
    for block in range(start, ends.shape[0]):
        if state.seats.counters[OPEN] < 0:
            return block
        begin = ends[block - 1] if block > 0 else 0
        _move_block(X, rows, begin, ends[block], state, franchise, buffers)
    return ends.shape[0]


@kernel
def price_merges(state, buffers, out):
    """Fill out[a, b] with what the log densities gain when all rows of chairs a < b are together."""
    bank, work, spare, n_chairs = state.chairs, state.work, buffers.spare, state.seats.counters[CHAIRS]
    for b in range(n_chairs):
        verbs.clear(spare, _BLOCK)
        verbs.pour(spare, _BLOCK, bank, b, 1.0, work.scratch)
        alone = verbs.log_marginal(bank, b)
        for a in range(b):
            out[a, b] = -np.inf
            if state.seats.sizes[a] > 0 and state.seats.sizes[b] > 0:
                out[a, b] = _log_gain_of_rows(a, 1.0, bank, work, spare) - alone


@kernel
def log_densities(state, out):
    """Fill out[k] with the log density of all rows on each chair."""
    for k in range(state.seats.counters[CHAIRS]):
        out[k] = verbs.log_marginal(state.chairs, k) if state.seats.sizes[k] > 0 else 0.0
