"""Knows the paper's Algorithm 2: a row leaves its cluster, every chair is scored, the row sits down.

A row that stays where it is touches nothing: its own chair is scored as if the row had left.
"""

from mapdp._jit import kernel
from mapdp.kernels.score import best_chair, score_chairs, score_own_chair
from mapdp.kernels.seat import fetch, sit, stand
from mapdp.state import CHAIRS, MOVED, OPEN


@kernel
def sweep(X, rows, state, start):
    """Visit `rows[start:]`; return how far it came: less than all where the chairs ran out.

    A row that stands (label -1) is seated, so the sequential start is a sweep too.
    """
    labels, sizes, joins, opens, discount, counters, bank, origin, x, scores, scratch = state
    for position in range(start, rows.shape[0]):
        if counters[OPEN] < 0:
            return position
        i = rows[position]
        own = labels[i]
        fetch(X, i, origin, x)
        score_chairs(x, counters[CHAIRS], joins, bank, scores, scratch)
        if own >= 0:
            score_own_chair(own, x, sizes, joins, opens, discount, counters, bank, scores)
        chosen = best_chair(scores, counters[CHAIRS], own)
        if chosen == own:
            continue
        counters[MOVED] += 1
        labels[i] = chosen
        sit(chosen, x, sizes, joins, opens, discount, counters, bank)
        if own >= 0:
            stand(own, x, sizes, joins, opens, discount, counters, bank)
    return rows.shape[0]
