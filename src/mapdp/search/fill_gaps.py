"""Search rows with gaps whose columns are not independent: cells are moved like rows.

A missing cell is one more unknown. Given who sits with whom, its most probable value follows from the
row's own cluster; given the values, a search finds who sits with whom; both raise the same joint, and
when neither changes any more the outcome is a mode of it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mapdp.data.moments import gaps_filled_by_means
from mapdp.engine.build import seated
from mapdp.engine.problem import Problem

_ROUNDS = 20
_STILL = 1e-3  # standard deviations of its column by which a cell moves at most when it counts as settled


def search_and_fill(problem: Problem, search: Callable[[Problem, object], Any]) -> Any:
    """Search and fill in turn; return the last outcome.

    `search` is given a problem and the labels to begin with, None at first; it returns a Choice.
    """
    gaps = np.isnan(problem.X)
    X = _as_one_cluster(problem, gaps)
    spread = np.maximum(X.std(axis=0), 1e-300)
    labels = None
    for _ in range(_ROUNDS):
        rows = problem.model.family.encode(X)
        choice = search(problem._replace(X=rows, rows_for_guesses=rows), labels)
        state = choice.best.state
        chairs = [problem.model.family.posterior(state.bank, k) for k in range(state.n_clusters)]
        moved = _filled(X, gaps, state.labels, chairs)
        still = (np.abs(moved - X) <= _STILL * spread).all()
        if still and labels is not None and np.array_equal(labels, state.labels):
            break
        X, labels = moved, state.labels.copy()
    return choice


def _as_one_cluster(problem: Problem, gaps: np.ndarray) -> np.ndarray:
    """Fill gaps as if all rows were one cluster: filled by the mean alone, they would become one."""
    X, together = gaps_filled_by_means(problem.X), np.zeros(len(gaps), dtype=np.int32)
    for _ in range(_ROUNDS):
        state = seated(
            problem.model.family.encode(X), together, problem.model.family, problem.model.process
        )
        X = _filled(X, gaps, together, [problem.model.family.posterior(state.bank, 0)])
    return X


def _filled(X: np.ndarray, gaps: np.ndarray, labels: np.ndarray, chairs: list[Any]) -> np.ndarray:
    """Put into each gap the most probable value, given the row's other cells and the others' rows."""
    out = X.copy()
    for i in np.flatnonzero(gaps.any(axis=1)):
        seen = np.flatnonzero(~gaps[i])
        others = chairs[labels[i]].without(X[i])
        out[i, gaps[i]] = others.given(seen, X[i, seen])[0]
    return out
