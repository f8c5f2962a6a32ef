"""Sweeps of a franchise: a row leaves its table, every dish is scored, the row sits down.

In a table with groups the restaurant of a row is its group. In a sequence it is the state before it, and a
row that changes its state moves the row after it to another restaurant: both tables are scored together.
"""

import numpy as np

from mapdp.compiled.jit import inlined, kernel
from mapdp.compiled.lanes import LANES
from mapdp.compiled.special import log
from mapdp.engine.score import best_chair
from mapdp.engine.seat import change_chair, fetch
from mapdp.engine.state import CHAIRS, OPEN
from mapdp.engine.structured.tables import BEFORE, best_leave, best_seat, sit_down
from mapdp.families import verbs


@inlined
def restaurant_of(i, labels, franchise):
    """Return the restaurant of row i, and the dish of the house, -1 for none."""
    if franchise.context[i] == BEFORE:
        return labels[i - 1] + 1, labels[i - 1]
    return franchise.context[i], -1


@inlined
def next_state(i, labels, franchise):
    """Return the state after row i, -1 where none follows."""
    after = i + 1
    if after < labels.shape[0] and franchise.context[after] == BEFORE:
        return labels[after]
    return -1


@inlined
def _weight(r, home, k, after, franchise):
    """Return the probability of dish k in restaurant r, and of the state after it."""
    how, weight = best_seat(r, home, k, franchise)
    if after >= 0:
        sit_down(r, k, how, 1, franchise)
        weight *= best_seat(k + 1, k, after, franchise)[1]
        sit_down(r, k, how, -1, franchise)
    return weight


@inlined
def _weigh_dishes(r, home, after, state, franchise):
    """Fill the scores with the log prior weight of every chair."""
    sizes, counters, scores = state.seats.sizes, state.seats.counters, state.work.scores
    n_chairs = counters[CHAIRS]
    for k in range(-(-n_chairs // LANES) * LANES):
        scores[k] = -np.inf
        if k < n_chairs and (sizes[k] > 0 or k == counters[OPEN]):
            scores[k] = log(_weight(r, home, k, after, franchise))


@inlined
def _score_dishes(X, i, own, lost, r, home, after, state, franchise):
    """Score every chair for row i, which stands but for the statistics of its own chair."""
    seats, bank, work = state
    open_chair, scores = seats.counters[OPEN], work.scores
    fetch(X, i, work)
    _weigh_dishes(r, home, after, state, franchise)
    log_open = scores[open_chair]
    verbs.log_predictive(bank, work.x, seats.counters[CHAIRS], scores, work.scratch)
    if own >= 0 and seats.sizes[own] > 1:
        scores[own] = log(lost) + verbs.log_leave_one_out(bank, own, work.x, work.scratch)
    elif own >= 0:
        scores[own] = log(lost) + scores[open_chair] - log_open
        scores[open_chair] = -np.inf


@inlined
def _visit(X, i, state, franchise):
    """Let row i stand up and sit down; one that stays has its old table."""
    labels, counters, scores = state.seats.labels, state.seats.counters, state.work.scores
    own, after, lost, left, left_after = labels[i], next_state(i, labels, franchise), 1.0, 0, 0
    r, home = restaurant_of(i, labels, franchise)
    if own >= 0:
        if after >= 0:
            left_after, lost = best_leave(own + 1, own, after, franchise)
            sit_down(own + 1, after, left_after, -1, franchise)
        left, weight = best_leave(r, home, own, franchise)
        sit_down(r, own, left, -1, franchise)
        lost *= weight
    _score_dishes(X, i, own, lost, r, home, after, state, franchise)
    chosen = best_chair(scores, counters[CHAIRS], own)
    if chosen != own:
        change_chair(i, chosen, state)
        left = best_seat(r, home, chosen, franchise)[0]
    sit_down(r, chosen, left, 1, franchise)
    if after >= 0:
        if chosen != own:
            left_after = best_seat(chosen + 1, chosen, after, franchise)[0]
        sit_down(chosen + 1, after, left_after, 1, franchise)


@kernel
def franchise_sweep(X, rows, state, franchise, start):
    """Visit `rows[start:]`; return how far it came: less than all where the chairs ran out.

    Rows of a sequence that stand must come in its order.
    """
    for position in range(start, rows.shape[0]):
        if state.seats.counters[OPEN] < 0:
            return position
        _visit(X, rows[position], state, franchise)
    return rows.shape[0]
