"""Knows the collapsed Gibbs sweep: as the paper's sweep, but a chair is drawn, not chosen."""

import math

from mapdp._jit import inlined, kernel
from mapdp.kernels.score import score_seat
from mapdp.kernels.seat import change_chair
from mapdp.state import CHAIRS, OPEN


@inlined
def _drawn_chair(scores, n_chairs, uniform):
    """Return a chair drawn with probability proportional to the exponential of its score."""
    best = scores[0]
    for k in range(n_chairs):
        best = max(best, scores[k])
    total = 0.0
    for k in range(n_chairs):
        scores[k] = math.exp(scores[k] - best)
        total += scores[k]
    left, chosen = uniform * total, 0
    for k in range(n_chairs):
        if scores[k] > 0.0:
            chosen = k
            left -= scores[k]
            if left < 0.0:
                break
    return chosen


@kernel
def gibbs_sweep(X, rows, uniforms, state, start):
    """Visit `rows[start:]`, each with a uniform number; return how far it came, as `sweep` does."""
    labels, sizes, joins, opens, discount, counters, bank, origin, x, scores, scratch = state
    for position in range(start, rows.shape[0]):
        if counters[OPEN] < 0:
            return position
        i = rows[position]
        score_seat(X, i, state)
        drawn = _drawn_chair(scores, counters[CHAIRS], uniforms[position])
        if drawn != labels[i]:
            change_chair(i, drawn, state)
    return rows.shape[0]
