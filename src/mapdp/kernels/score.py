"""Knows what each chair is worth to a row: log prior weight plus log predictive density."""

import numpy as np

from mapdp import family
from mapdp._jit import inlined, kernel
from mapdp._lanes import LANES, larger, largest, load, spread, store
from mapdp.kernels.seat import fetch
from mapdp.special import log
from mapdp.state import CHAIRS, OPEN, TAKEN

# Nats by which a chair must win. Equal chairs differ by rounding only, and rounding must decide
# nothing: it is not the same on every machine, and a row could walk in circles.
MARGIN = 1e-9


@inlined
def beats(joint, best):
    """Say whether a joint is above another by more than rounding, which grows with their size."""
    return joint > best + MARGIN + 1e-12 * abs(best)


@inlined
def score_chairs(x, n_chairs, joins, bank, scores, scratch):
    """Score every chair for a row that stands."""
    for k in range(0, n_chairs, LANES):
        store(scores, k, load(joins, k))
    family.log_predictive(bank, x, n_chairs, scores, scratch)


@inlined
def score_own_chair(k, x, sizes, joins, opens, discount, counters, bank, scores):
    """Put right the scores of a row that sits on chair k: it must not count for itself.

    Without a row that sits alone its chair is empty, so it is worth what the open chair is worth, and
    the open chair is out of the question.
    """
    if sizes[k] > 1:
        scores[k] = log(sizes[k] - 1 - discount) + family.log_leave_one_out(bank, k, x)
    else:
        open_chair = counters[OPEN]
        scores[k] = scores[open_chair] - joins[open_chair] + opens[counters[TAKEN] - 1]
        scores[open_chair] = -np.inf


@inlined
def score_seat(X, i, state):
    """Score every chair for row i, its own as if the row had left; a row that stands has none."""
    labels, sizes, joins, opens, discount, counters, bank, origin, x, scores, scratch = state
    fetch(X, i, origin, x)
    score_chairs(x, counters[CHAIRS], joins, bank, scores, scratch)
    if labels[i] >= 0:
        score_own_chair(labels[i], x, sizes, joins, opens, discount, counters, bank, scores)


@inlined
def highest(scores, n_chairs):
    """Return the highest score."""
    best = spread(-np.inf)
    for k in range(0, n_chairs, LANES):
        best = larger(best, load(scores, k))
    return largest(best)


@inlined
def best_chair(scores, n_chairs, favourite):
    """Return the first of the best chairs; the favourite (or -1), where it is one of them."""
    enough = highest(scores, n_chairs) - MARGIN
    if favourite >= 0 and scores[favourite] >= enough:
        return favourite
    chair = 0
    while scores[chair] < enough:
        chair += 1
    return chair


@kernel
def score_rows(X, joins, bank, origin, x, scratch, out):
    """Fill out[i, k] with the score of chair k for row i, which sits nowhere."""
    for i in range(X.shape[0]):
        fetch(X, i, origin, x)
        score_chairs(x, joins.shape[0], joins, bank, out[i], scratch)


@kernel
def score_left_out(X, state, out):
    """Fill out[i] with the log density of row i given the other rows of its cluster."""
    labels, sizes, joins, opens, discount, counters, bank, origin, x, scores, scratch = state
    for i in range(X.shape[0]):
        score_seat(X, i, state)
        k = labels[i]
        prior = log(sizes[k] - 1 - discount) if sizes[k] > 1 else opens[counters[TAKEN] - 1]
        out[i] = scores[k] - prior


@kernel
def survey_rows(X, rows, state, lead):
    """Fill lead[r] with the nats by which row rows[r] prefers its own chair to the best of the others."""
    labels, sizes, joins, opens, discount, counters, bank, origin, x, scores, scratch = state
    for r in range(rows.shape[0]):
        score_seat(X, rows[r], state)
        own = labels[rows[r]]
        own_score = scores[own]
        scores[own] = -np.inf
        lead[r] = own_score - highest(scores, counters[CHAIRS])


@kernel
def assign_rows(X, rows, n_chairs, state, out):
    """Fill out[r] with the best of the chairs for row rows[r], as if it sat on none of them.

    Chairs after the first `n_chairs` must have no prior weight.
    """
    labels, sizes, joins, opens, discount, counters, bank, origin, x, scores, scratch = state
    for r in range(rows.shape[0]):
        fetch(X, rows[r], origin, x)
        score_chairs(x, n_chairs, joins, bank, scores, scratch)
        out[r] = best_chair(scores, n_chairs, -1)
