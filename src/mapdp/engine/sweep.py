"""The paper's Algorithm 2: a row leaves its cluster, every chair is scored, the row sits down.

A row that stays where it is changes nothing: its own chair is scored as if the row had left.
"""

from mapdp.compiled.jit import kernel
from mapdp.engine.score import best_chair, score_seat
from mapdp.engine.seat import change_chair
from mapdp.engine.state import CHAIRS, OPEN


@kernel
def sweep(X, rows, state, start):
    """Visit `rows[start:]`; return how far it came: less than all where the chairs ran out.

    A row that stands (label -1) is seated, so the sequential start is a sweep too.
    """
    labels, counters, scores = state.seats.labels, state.seats.counters, state.work.scores
    for position in range(start, rows.shape[0]):
        if counters[OPEN] < 0:
            return position
        i = rows[position]
        score_seat(X, i, state)
        chosen = best_chair(scores, counters[CHAIRS], labels[i])
        if chosen != labels[i]:
            change_chair(i, chosen, state)
    return rows.shape[0]
