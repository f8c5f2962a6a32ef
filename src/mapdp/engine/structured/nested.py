"""Sweeps of a nested seating: a row sees the chairs of its cluster of groups, and an empty one."""

from typing import NamedTuple

import numpy as np

from mapdp.compiled.jit import inlined, kernel
from mapdp.compiled.lanes import LANES
from mapdp.compiled.special import log
from mapdp.engine.score import best_chair
from mapdp.engine.seat import change_chair, fetch
from mapdp.engine.state import CHAIRS, OPEN
from mapdp.families import verbs


class Nest(NamedTuple):
    """Which mixture rows and chairs belong to."""

    mixtures: np.ndarray  # (N,) cluster of groups that each row's group is in
    owner: np.ndarray  # (K,) cluster of groups that a chair belongs to, where somebody sits on it
    weights: np.ndarray  # (1,) beta


@inlined
def _score_chairs(X, i, state, nest):
    """Score the chairs of the row's own mixture, its own chair as if the row had left."""
    seats, bank, work = state
    sizes, counters, scores = seats.sizes, seats.counters, work.scores
    own, n_chairs, log_new = seats.labels[i], counters[CHAIRS], log(nest.weights[0])
    fetch(X, i, work)
    for k in range(-(-n_chairs // LANES) * LANES):
        scores[k] = -np.inf
        if k < n_chairs and sizes[k] > 0 and nest.owner[k] == nest.mixtures[i]:
            scores[k] = log(float(sizes[k]))
        elif k == counters[OPEN]:
            scores[k] = log_new
    verbs.log_predictive(bank, work.x, n_chairs, scores, work.scratch)
    if sizes[own] > 1:
        scores[own] = log(sizes[own] - 1.0) + verbs.log_leave_one_out(bank, own, work.x, work.scratch)
    else:
        scores[own] = scores[counters[OPEN]]
        scores[counters[OPEN]] = -np.inf


@kernel
def nested_sweep(X, rows, state, nest, start):
    """Visit `rows[start:]`, which all sit; return how far it came: less than all where chairs ran out."""
    labels, counters = state.seats.labels, state.seats.counters
    for position in range(start, rows.shape[0]):
        if counters[OPEN] < 0:
            return position
        i = rows[position]
        _score_chairs(X, i, state, nest)
        chosen = best_chair(state.work.scores, counters[CHAIRS], labels[i])
        if chosen != labels[i]:
            nest.owner[chosen] = nest.mixtures[i]
            change_chair(i, chosen, state)
    return rows.shape[0]
