"""The Gibbs sweep: as the paper's sweep, but a chair is drawn, not chosen."""

from mapdp.compiled.jit import inlined, kernel
from mapdp.compiled.lanes import LANES, larger, load, spread, store, sum_of
from mapdp.compiled.special import exp
from mapdp.engine.score import highest, score_seat
from mapdp.engine.seat import change_chair
from mapdp.engine.state import CHAIRS, OPEN
from mapdp.families import verbs

_LEAST = -600.0  # nats below the best chair, beyond which chairs are all the same: out of the question
_NOTHING = 1e-250  # no chair with a weight below this is drawn


@inlined
def _drawn_chair(scores, n_chairs, uniform):
    """Return a chair drawn with probability proportional to the exponential of its score."""
    best = highest(scores, n_chairs)
    total = spread(0.0)
    for k in range(0, n_chairs, LANES):
        weights = exp(larger(load(scores, k) - best, spread(_LEAST)))
        store(scores, k, weights)
        total += weights
    return _chair_at(scores, n_chairs, uniform * sum_of(total))


@inlined
def _chair_at(weights, n_chairs, place):
    """Return the chair under a place of the line on which the weights lie side by side."""
    first, chosen = 0, -1
    while first + LANES < n_chairs and place >= sum_of(load(weights, first)):
        place -= sum_of(load(weights, first))
        first += LANES
    for k in range(first, first + LANES):
        if weights[k] > _NOTHING:
            chosen = k
            if place < weights[k]:
                break
            place -= weights[k]
    if chosen < 0:  # rounding led past the last chair that can be drawn: the best one has the weight 1
        chosen = 0
        while weights[chosen] < 1.0:
            chosen += 1
    return chosen


@kernel
def gibbs_sweep(X, rows, uniforms, state, start):
    """Visit `rows[start:]`, each with a uniform number; return how far it came, as `sweep` does."""
    labels, counters, scores = state.seats.labels, state.seats.counters, state.work.scores
    for position in range(start, rows.shape[0]):
        if counters[OPEN] < 0:
            return position
        i = rows[position]
        score_seat(X, i, state)
        drawn = _drawn_chair(scores, counters[CHAIRS], uniforms[position])
        if drawn != labels[i]:
            change_chair(i, drawn, state)
    return rows.shape[0]


@kernel
def draw_parameters(state, noise):
    """Draw the parameters of every taken chair from their posterior; noise[k] is for chair k."""
    sizes = state.seats.sizes
    for k in range(sizes.shape[0]):
        if sizes[k] > 0:
            verbs.draw(state.chairs, k, noise[k])
