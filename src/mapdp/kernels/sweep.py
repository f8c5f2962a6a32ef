"""Knows the paper's Algorithm 2: a row leaves its cluster, every chair is scored, the row sits down.

A row that stays where it is touches nothing: its own chair is scored as if the row had left.
"""

from mapdp._jit import kernel
from mapdp.kernels.score import best_chair, score_seat
from mapdp.kernels.seat import change_chair
from mapdp.state import CHAIRS, OPEN


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
        score_seat(X, i, state)
        chosen = best_chair(scores, counters[CHAIRS], labels[i])
        if chosen != labels[i]:
            change_chair(i, chosen, state)
    return rows.shape[0]
