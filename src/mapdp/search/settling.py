"""How rows settle: they are visited until nobody wants to move.

In a large table only rows that might move are visited, the likely ones most often. A survey finds, while
nobody moves, by how many nats each row prefers where it sits: its lead. Rows with little lead are looked at
again before all others are, and rows with hardly any before those. At each of these levels the work goes on
while it gains more for each row it looks at than the next wider level did.
"""

from collections.abc import Callable

import numpy as np

from mapdp.engine.score import MARGIN
from mapdp.search.run import Run

_NEAR = 4.0  # nats of lead below which a row is surveyed again before all rows are
_BORDER = 1.0  # below which it is visited: it may change its mind when clusters shift a little
_NARROW = 0.1  # below which it is visited again and again, when they shift hardly at all
_VISITS = 2  # between two splits: more are lost on clusters that will be split again


def settle(run: Run) -> bool:
    """Visit rows until nobody wants to move, or `tol` is enough; False where the budget is spent."""
    return settle_by_surveys(run) if run.problem.is_large else settle_by_sweeps(run)


def settle_roughly(run: Run, log_gain_of_moves: float) -> bool:
    """Do the same, but in a large table only for as many rounds as gain more than moves did before them."""
    if not run.problem.is_large:
        return settle_by_sweeps(run)
    enough = max(log_gain_of_moves, run.least_gain)
    while run.has_budget:
        gain = _round(run)
        if gain is None or gain <= enough:
            break
    return run.has_budget


def settle_by_sweeps(run: Run) -> bool:
    """Sweep over all rows until nobody moves."""
    while run.has_budget:
        before, step = run.trace[-1].log_joint, run.sweep()
        if step.n_moved == 0 or step.log_joint - before <= run.least_gain:
            return True
    return False


def settle_touched(run: Run) -> None:
    """Settle the clusters that the last move changed, roughly; the others follow later."""
    rows = run.touched()
    if run.problem.is_large:
        run.n_sweeps += 1
        _settle_near(run, rows, run.leads(rows))
        return
    for _ in range(_VISITS):
        if run.visit_once("touched", rows).n_moved == 0:
            return


def settle_by_surveys(run: Run) -> bool:
    """Settle round by round."""
    while run.has_budget:
        gain = _round(run)
        if gain is None:
            return True
        if gain <= run.least_gain:
            run.record("tol", 0)
            return True
    return False


def _round(run: Run) -> float | None:
    """Survey all rows and let those that might move settle; return the gain, None where nobody wants to."""
    lead = run.leads(run.everyone)
    run.n_sweeps += 1
    if lead.min() >= -MARGIN:
        run.record("survey", 0)
        return None
    return _settle_near(run, run.everyone, lead)


def _settle_near(run: Run, rows: np.ndarray, lead: np.ndarray) -> float:
    """Visit the border of these rows, and look for it anew among those near it; return the gain."""
    near = rows[lead < _NEAR]
    gain = visit_border(run, rows[lead < _BORDER], len(near))
    return _while_it_pays(
        run,
        gain,
        len(near),
        len(rows),
        lambda: visit_border(run, near[run.leads(near) < _BORDER], len(near)),
    )


def visit_border(run: Run, border: np.ndarray, n_near: int) -> float:
    """Visit these rows, and those with hardly any lead again; return the gain."""

    def visit_narrow() -> float:
        narrow = border[run.leads(border) < _NARROW]
        gain = _visit(run, narrow)
        return _while_it_pays(run, gain, len(narrow), len(border), lambda: _visit(run, narrow))

    return _while_it_pays(run, _visit(run, border), len(border), n_near, visit_narrow)


def _while_it_pays(
    run: Run, gain: float, n_rows: int, n_wider: int, look_again: Callable[[], float]
) -> float:
    """Look at some rows again while that gains more for each than a wider look did; return all the gain."""
    total = gain
    while run.has_budget and _pays(gain, n_rows, total, n_wider):
        gain = look_again()
        total += gain
    return total


def _visit(run: Run, rows: np.ndarray) -> float:
    """Visit these rows once; return the gain."""
    before = run.trace[-1].log_joint
    return run.visit_once("border", rows).log_joint - before


def _pays(gain: float, n_rows: int, total: float, n_wider: int) -> bool:
    """Say whether looking at these rows gained more for each of them than all since a wider look did."""
    return gain > MARGIN and gain * n_wider > total * n_rows
