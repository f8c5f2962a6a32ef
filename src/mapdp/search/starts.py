"""Knows where a search begins: who sits with whom before the first full sweep."""

import numpy as np

from mapdp import checks
from mapdp.family import Family
from mapdp.kernels.guess import guess_by_seeds, new_desk
from mapdp.model import seated
from mapdp.process import Process
from mapdp.search.run import compact
from mapdp.state import State, new_state

NAMES = ("sequential", "single", "singletons")
FEW = 64  # rows, or fewer
_TRIES = 20  # random partitions of a few rows
_SEEDS = 64  # more than most tables have clusters: too many are merged, too few are hard to find


def starting_state(X: np.ndarray, init: object, family: Family, process: Process) -> State:
    """Return the state that `init` names; in a sequential start all rows still stand."""
    n_rows = len(X)
    if not isinstance(init, str):
        return seated(X, checks.partition(init, n_rows), family, process)
    checks.one_of("init", init, NAMES)
    if init == "single":
        return seated(X, np.zeros(n_rows, dtype=np.int32), family, process)
    if init == "singletons":
        return seated(X, np.arange(n_rows, dtype=np.int32), family, process)
    return new_state(n_rows, family, process)


def other_inits(n_rows: int, rng: np.random.Generator) -> list[object]:
    """Return more places to start from: the top, the bottom, and random partitions."""
    n_parts = rng.integers(1, n_rows + 1, size=_TRIES)
    return ["single", "singletons", *[rng.integers(0, n, size=n_rows) for n in n_parts]]


def around_seeds(outline: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return labels that put each row with the nearest of many seeds, in whitened columns."""
    rows = np.arange(len(outline), dtype=np.int32)
    desk = new_desk(*outline.shape)
    guess_by_seeds(outline, rows, rng.random(min(_SEEDS, len(outline))), desk)
    return compact(desk.guess)
