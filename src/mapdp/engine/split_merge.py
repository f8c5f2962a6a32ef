"""Split and merge moves of a sampler: two rows are picked, and their clusters become one, or two.

Two rows of one cluster begin two new ones; the others of that cluster join one or the other in a random
order, each drawn given those that have joined (sequential allocation, Dahl 2005). Two rows of different
clusters propose to merge these; the way back is the same allocation, led to where the rows sit. Both are
accepted or refused by Metropolis and Hastings' rule with the exact joint of the two partitions.

The parts are built on chairs of their own, so a move that is refused leaves no trace.
"""

from typing import Any, NamedTuple

import numpy as np

from mapdp.compiled.jit import inlined, kernel
from mapdp.compiled.lanes import LANES
from mapdp.compiled.special import exp, log, log_one_plus
from mapdp.engine.joint import log_worth_of_chair
from mapdp.engine.score import score_seat
from mapdp.engine.seat import change_chair, fetch, free_chair, reprice, take_chair
from mapdp.engine.state import CHAIRS, MOVED, OPEN, TAKEN, new_state
from mapdp.families import verbs
from mapdp.families.base import Family
from mapdp.partitions.process import Process

PICKS = 5  # uniform numbers of a move, by place:
_FIRST, _WAY, _SECOND, _OFFSET, _VERDICT = range(PICKS)
_ANYWHERE = 0.5  # share of moves whose second row is any other; else a split or a merge is asked for
_LEAST_NUMBERS = 1024  # uniform numbers that are drawn at a time
_LEFT, _RIGHT, _ALL = 0, 1, 2  # chairs of a trial: the two parts, and all their rows together
_CERTAIN = 600.0  # nats by which one part is better, beyond which the other is out of the question


class SplitMergeBuffers(NamedTuple):
    """Working space for moves."""

    parts: Any  # a State: who sits in which part of the clusters at hand
    rows: np.ndarray  # (N,) the rows of these clusters, but for the two that were picked
    uniforms: np.ndarray  # (U,) numbers that rows draw their part by
    used: np.ndarray  # (1,) how many of them are spent


def split_merge_buffers(n_rows: int, family: Family, process: Process) -> SplitMergeBuffers:
    """Return working space for moves among `n_rows` rows; its uniform numbers are spent."""
    parts = new_state(n_rows, family, process, LANES)
    parts.counters[CHAIRS], parts.counters[OPEN] = 2, _ALL
    n_numbers = 2 * n_rows + _LEAST_NUMBERS
    numbers = np.zeros(n_numbers)
    return SplitMergeBuffers(parts, np.zeros(n_rows, dtype=np.int32), numbers, np.array([n_numbers]))


@inlined
def _begin_part(X, i, part, parts):
    """Let a part begin with row i."""
    seats, bank, work = parts
    fetch(X, i, work)
    verbs.clear(bank, part)
    verbs.insert(bank, part, work.x, work.scratch)
    verbs.refresh(bank, part)
    seats.sizes[part] = 1
    seats.log_join[part] = log(1.0 - seats.discount)


@inlined
def _gather(a, b, i, j, order, offset, labels, buffers):
    """List the rows on chairs a and b, but for i and j, in a random order; all of them stand."""
    n, n_rows = 0, order.shape[0]
    for place in range(n_rows):
        row = order[(place + offset) % n_rows]
        if (labels[row] == a or labels[row] == b) and row != i and row != j:
            buffers.rows[n] = row
            buffers.parts.seats.labels[row] = -1
            n += 1
    return n


@inlined
def _share(log_share):
    """Return the exponential of a number that is not above 0, which may be far below."""
    return exp(max(log_share, -_CERTAIN))


@inlined
def _log_share(lead):
    """Return the log probability of a part that is better by so many nats than the other one."""
    if lead > 0.0:
        return -log_one_plus(_share(-lead))
    return lead - log_one_plus(_share(lead))


@inlined
def _allocate(X, i, j, n, labels, goal, buffers):
    """Let the gathered rows join row i or row j, each drawn given those that have; return its log chance.

    Where there is a goal, nothing is drawn: rows on that chair join j, others i.
    """
    parts, uniforms, used = buffers.parts, buffers.uniforms, buffers.used
    scores, log_drawn = parts.work.scores, 0.0
    _begin_part(X, i, _LEFT, parts)
    _begin_part(X, j, _RIGHT, parts)
    for r in range(n):
        row = buffers.rows[r]
        score_seat(X, row, parts)
        lead = scores[_LEFT] - scores[_RIGHT]
        goes_left = labels[row] != goal if goal >= 0 else uniforms[used[0] + r] < _share(_log_share(lead))
        log_drawn += _log_share(lead if goes_left else -lead)
        change_chair(row, _LEFT if goes_left else _RIGHT, parts)
    used[0] += n
    return log_drawn


@inlined
def _log_gain(bank, left, n_left, right, n_right, parts):
    """Return what the joint gains by two chairs of a bank over all their rows on one.

    The weight of the new chair is left out. The rows are on one chair of `parts` then.
    """
    together, discount, scratch = parts.chairs, parts.seats.discount, parts.work.scratch
    verbs.clear(together, _ALL)
    verbs.pour(together, _ALL, bank, left, 1.0, scratch)
    verbs.pour(together, _ALL, bank, right, 1.0, scratch)
    parts.seats.sizes[_ALL] = n_left + n_right
    log_left = log_worth_of_chair(bank, left, n_left, discount)
    log_right = log_worth_of_chair(bank, right, n_right, discount)
    return log_left + log_right - log_worth_of_chair(together, _ALL, n_left + n_right, discount)


@inlined
def log_ratio(log_gain, log_open, log_pick, log_drawn):
    """Return the log of Metropolis and Hastings' ratio of a split; a merge has it with the other sign."""
    return log_gain + log_open + log_pick - log_drawn


@inlined
def _is_accepted(log_ratio, uniform):
    return uniform < _share(min(log_ratio, 0.0))


@inlined
def _propose_split(X, i, j, n, pick, state, buffers):
    """Part the rows on the chair of rows i and j, and split it where that is accepted."""
    seats, parts = state.seats, buffers.parts
    a, n_merged = seats.labels[i], seats.counters[TAKEN]
    log_drawn = _allocate(X, i, j, n, seats.labels, -1, buffers)
    n_left, n_right = parts.seats.sizes[_LEFT], parts.seats.sizes[_RIGHT]
    log_gain = _log_gain(parts.chairs, _LEFT, n_left, _RIGHT, n_right, parts)
    log_pick = _log_pick(pick[_WAY], n_left, n_right, n_merged)
    if _is_accepted(log_ratio(log_gain, seats.log_open[n_merged], log_pick, log_drawn), pick[_VERDICT]):
        _split(a, n, j, state, buffers)


@inlined
def _propose_merge(X, i, j, n, pick, state, buffers):
    """Merge the chairs of rows i and j where that is accepted.

    The way back has a probability of at most 1; where even that is not enough, it is not worked out.
    """
    seats, sizes = state.seats, state.seats.sizes
    a, b, n_merged = seats.labels[i], seats.labels[j], seats.counters[TAKEN] - 1
    log_gain = _log_gain(state.chairs, a, sizes[a], b, sizes[b], buffers.parts)
    log_pick, log_open = _log_pick(pick[_WAY], sizes[a], sizes[b], n_merged), seats.log_open[n_merged]
    if _is_accepted(-log_ratio(log_gain, log_open, log_pick, 0.0), pick[_VERDICT]):
        log_drawn = _allocate(X, i, j, n, seats.labels, b, buffers)
        if _is_accepted(-log_ratio(log_gain, log_open, log_pick, log_drawn), pick[_VERDICT]):
            _merge(a, b, n, j, state, buffers)


@inlined
def _split(a, n, j, state, buffers):
    """Let the left part stay on chair a; the right one, with row j, takes the open chair."""
    seats, parts = state.seats, buffers.parts
    b = seats.counters[OPEN]
    _move_in(a, _LEFT, parts, state)
    _move_in(b, _RIGHT, parts, state)
    take_chair(seats)
    seats.labels[j] = b
    for r in range(n):
        row = buffers.rows[r]
        if parts.seats.labels[row] == _RIGHT:
            seats.labels[row] = b
    seats.counters[MOVED] += seats.sizes[b]


@inlined
def _merge(a, b, n, j, state, buffers):
    """Let the rows of chair b, one of which is j, join those of chair a."""
    seats, parts = state.seats, buffers.parts
    seats.counters[MOVED] += seats.sizes[b]
    _move_in(a, _ALL, parts, state)
    seats.sizes[b] = 0
    free_chair(b, state)
    seats.labels[j] = a
    for r in range(n):
        seats.labels[buffers.rows[r]] = a


@inlined
def _move_in(k, part, parts, state):
    """Let chair k hold what a part holds."""
    verbs.clear(state.chairs, k)
    verbs.pour(state.chairs, k, parts.chairs, part, 1.0, state.work.scratch)
    state.seats.sizes[k] = parts.seats.sizes[part]
    reprice(k, state)


@inlined
def _row_of(chair, nth, but, labels):
    """Return row number `nth` of those on a chair, one of which does not count."""
    row = -1
    while nth >= 0:
        row += 1
        if labels[row] == chair and row != but:
            nth -= 1
    return row


@inlined
def _other_chair(a, nth, sizes):
    """Return taken chair number `nth`, chair a left out."""
    k = -1
    while nth >= 0:
        k += 1
        if sizes[k] > 0 and k != a:
            nth -= 1
    return k


@inlined
def _second_row(i, pick, seats):
    """Return the second row of a move, -1 where there is none of the kind that is asked for."""
    labels, sizes, n_rows = seats.labels, seats.sizes, seats.labels.shape[0]
    a, n_others, n_chairs = labels[i], sizes[labels[i]] - 1, seats.counters[TAKEN] - 1
    if pick[_WAY] < _ANYWHERE:
        return (i + 1 + int(pick[_SECOND] * (n_rows - 1))) % n_rows
    if pick[_WAY] < 0.5 * (1.0 + _ANYWHERE):
        return -1 if n_others == 0 else _row_of(a, int(pick[_SECOND] * n_others), i, labels)
    if n_chairs == 0:
        return -1
    place = pick[_SECOND] * n_chairs
    b = _other_chair(a, int(place), sizes)
    return _row_of(b, int((place - int(place)) * sizes[b]), i, labels)


@inlined
def _log_pick(way, n_left, n_right, n_merged):
    """Return how much more probable the same two rows are for a merge than for a split, in nats.

    A split takes any of the other rows of the chair, a merge any of the `n_merged` other chairs, then any
    of its rows.
    """
    if way < _ANYWHERE:
        return 0.0
    return log((n_left + n_right - 1.0) / (float(n_merged) * n_right))


@kernel
def split_merge(X, order, picks, state, buffers, start):
    """Make moves from `start` on; return how far it came: less than all where chairs or numbers ran out."""
    seats, n_rows = state.seats, X.shape[0]
    for move in range(start, picks.shape[0]):
        if seats.counters[OPEN] < 0 or are_spent(buffers):
            return move
        pick = picks[move]
        i = int(pick[_FIRST] * n_rows)
        j = _second_row(i, pick, seats)
        if j >= 0:
            a, b = seats.labels[i], seats.labels[j]
            n = _gather(a, b, i, j, order, int(pick[_OFFSET] * n_rows), seats.labels, buffers)
            if a == b:
                _propose_split(X, i, j, n, pick, state, buffers)
            else:
                _propose_merge(X, i, j, n, pick, state, buffers)
    return picks.shape[0]


@inlined
def are_spent(buffers):
    """Say whether the uniform numbers that are left may not be enough for another move."""
    return buffers.used[0] + buffers.rows.shape[0] > buffers.uniforms.shape[0]
