"""Where climbs of a structured seating begin, and which of them wins."""

from typing import Any

import numpy as np

from mapdp.engine.starts import FEW, around_seeds
from mapdp.search.structured.nested import NestedRun
from mapdp.search.structured.run import Seating, StructuredRun, Task, climb

_TRIES = 6  # random partitions of a few rows
_MOST_SEEDS = 16
_MOST_GROUPS = 30  # that each begin with a mixture of their own


def search(
    kind: type[StructuredRun], task: Task, first: np.ndarray, n_init: int, rng: np.random.Generator
) -> tuple[Seating, list[Seating]]:
    """Climb from labels that are known to be good, and from others; return the best outcome, and all."""
    found = []
    for labels in _starts(task, first, n_init, rng):
        for run in _runs(kind, task, labels):
            found.append(climb(run, rng))
        if task.budget.is_over:
            break
    return max(found, key=lambda one: one.log_joint), found


def _runs(kind: Any, task: Task, labels: np.ndarray) -> list[Any]:
    """Return the runs that begin with these labels; groups have one mixture, or each its own."""
    runs = [kind(task, labels, task.process)]
    groups = task.places
    if kind is NestedRun and 1 < int(groups.max()) + 1 <= _MOST_GROUPS:
        of_groups = np.arange(int(groups.max()) + 1, dtype=np.int32)
        apart = np.unique(groups * np.int64(len(labels)) + labels, return_inverse=True)[1]
        runs.append(NestedRun(task, apart.astype(np.int32), task.process, of_groups))
    return runs


def _starts(task: Task, first: np.ndarray, n_init: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return labels to begin with; a few rows begin in many ways, each of them once more for every init."""
    starts, n_rows = [first], len(first)
    if n_rows <= FEW:
        starts += [np.zeros(n_rows, dtype=np.int32), np.arange(n_rows, dtype=np.int32)]
    for number in range(n_init):
        if n_rows <= FEW:
            sizes = rng.integers(1, n_rows + 1, size=_TRIES)
            starts += [rng.integers(0, n, size=n_rows).astype(np.int32) for n in sizes]
        elif number > 0:
            n_seeds = int(rng.integers(2, _MOST_SEEDS + 1))
            starts.append(around_seeds(task.rows_for_guesses, rng, n_seeds))
    return starts
