"""What each chair is worth to a row: log prior weight plus log predictive density."""

import numpy as np

from mapdp.compiled.jit import inlined, kernel
from mapdp.compiled.lanes import LANES, larger, largest, load, spread, store
from mapdp.compiled.special import log
from mapdp.engine.seat import fetch
from mapdp.engine.state import CHAIRS, OPEN, TAKEN
from mapdp.families import verbs

# Nats by which a chair must win. Equal chairs differ by rounding only, and rounding must decide
# nothing: it is not the same on every machine, and a row could walk in circles.
MARGIN = 1e-9


@inlined
def rounding(log_joint):
    """Return by how many nats a log joint may be off; no step of a search lowers it by more.

    Sums are compensated, so what is rounded are the terms of a cell; a log joint is about as large as all
    of them together, and is good to twelve digits.
    """
    return MARGIN + 1e-12 * abs(log_joint)


@inlined
def beats(log_joint, best):
    """Say whether a log joint is above another by more than rounding."""
    return log_joint > best + rounding(best)


@inlined
def score_chairs(n_chairs, log_join, bank, work):
    """Score every chair for the row in hand, which stands."""
    scores = work.scores
    for k in range(0, n_chairs, LANES):
        store(scores, k, load(log_join, k))
    verbs.log_predictive(bank, work.x, n_chairs, scores, work.scratch)


@inlined
def _score_own_chair(k, state):
    """Rescore the chair of the row in hand, which sits on chair k, without the row.

    Without a row that sits alone its chair is empty, so it is worth what the open chair is worth, and
    the open chair is out of the question.
    """
    seats, bank, work = state
    scores, counters = work.scores, seats.counters
    if seats.sizes[k] > 1:
        left_out = verbs.log_leave_one_out(bank, k, work.x, work.scratch)
        scores[k] = log(seats.sizes[k] - 1 - seats.discount) + left_out
    else:
        open_chair = counters[OPEN]
        scores[k] = scores[open_chair] - seats.log_join[open_chair] + seats.log_open[counters[TAKEN] - 1]
        scores[open_chair] = -np.inf


@inlined
def score_seat(X, i, state):
    """Score every chair for row i, its own as if the row had left; a row that stands has none."""
    seats, bank, work = state
    fetch(X, i, work)
    score_chairs(seats.counters[CHAIRS], seats.log_join, bank, work)
    if seats.labels[i] >= 0:
        _score_own_chair(seats.labels[i], state)


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
def score_rows(X, log_join, bank, work, out):
    """Fill out[i, k] with the score of chair k for row i, which sits nowhere."""
    n_chairs = log_join.shape[0]
    for i in range(X.shape[0]):
        fetch(X, i, work)
        for k in range(0, n_chairs, LANES):
            store(out[i], k, load(log_join, k))
        verbs.log_predictive(bank, work.x, n_chairs, out[i], work.scratch)


@kernel
def score_left_out(X, state, out):
    """Fill out[i] with the log density of row i given the other rows of its cluster."""
    seats, scores = state.seats, state.work.scores
    for i in range(X.shape[0]):
        score_seat(X, i, state)
        k = seats.labels[i]
        log_prior = seats.log_open[seats.counters[TAKEN] - 1]
        if seats.sizes[k] > 1:
            log_prior = log(seats.sizes[k] - 1 - seats.discount)
        out[i] = scores[k] - log_prior


@kernel
def survey_rows(X, rows, state, lead, own_scores):
    """Fill lead[r] with the nats by which row rows[r] prefers its own chair to the best of the others.

    own_scores[r] becomes the score of its own chair.
    """
    labels, counters, scores = state.seats.labels, state.seats.counters, state.work.scores
    for r in range(rows.shape[0]):
        score_seat(X, rows[r], state)
        own = labels[rows[r]]
        own_scores[r] = scores[own]
        scores[own] = -np.inf
        lead[r] = own_scores[r] - highest(scores, counters[CHAIRS])


@kernel
def score_best(X, rows, n_chairs, state, out):
    """Fill out[r] with the highest score of the chairs for row rows[r], as if it sat on none of them."""
    log_join, bank, work = state.seats.log_join, state.chairs, state.work
    for r in range(rows.shape[0]):
        fetch(X, rows[r], work)
        score_chairs(n_chairs, log_join, bank, work)
        out[r] = highest(work.scores, n_chairs)


@kernel
def assign_rows(X, rows, n_chairs, state, out):
    """Fill out[r] with the best of the chairs for row rows[r], as if it sat on none of them.

    Chairs after the first `n_chairs` must have no prior weight.
    """
    log_join, bank, work = state.seats.log_join, state.chairs, state.work
    for r in range(rows.shape[0]):
        fetch(X, rows[r], work)
        score_chairs(n_chairs, log_join, bank, work)
        out[r] = best_chair(work.scores, n_chairs, -1)
