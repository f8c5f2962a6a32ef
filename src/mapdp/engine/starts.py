"""Where a search or a chain begins: who sits with whom before the first full sweep."""

import numpy as np

from mapdp.data import checks
from mapdp.engine.build import seated
from mapdp.engine.problem import Problem
from mapdp.engine.propose import guess_buffers, guess_by_seeds
from mapdp.engine.state import State, new_state
from mapdp.families.base import Family
from mapdp.partitions.labels import compact
from mapdp.partitions.process import Process

NAMES = ("sequential", "single", "singletons")
FEW = 64  # rows, or fewer
_TRIES = (2, 20)  # random partitions of a few rows: at least and at most ...
_CELLS = 400_000  # ... of which so many cells are searched, or a little more
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


def other_inits(n_rows: int, n_columns: int, rng: np.random.Generator) -> list[object]:
    """Return more places to start from: the top, the bottom, and random partitions.

    With thousands of columns these are few: each takes long, and clusters are clear there.
    """
    n_parts = rng.integers(1, n_rows + 1, size=np.clip(_CELLS // (n_rows * n_columns), *_TRIES))
    return ["single", "singletons", *[rng.integers(0, n, size=n_rows) for n in n_parts]]


def scattered(problem: Problem, labels: np.ndarray, n: int, rng: np.random.Generator) -> list[object]:
    """Return n different places for chains: a partition, one cluster, half as many clusters, at random.

    The coarse one divides rows around few seeds; the random ones have twice as many clusters.
    """
    k, n_rows = int(labels.max()) + 1, len(labels)
    coarse = around_seeds(problem.rows_for_guesses, rng, max(2, k // 2))
    at_random = [rng.integers(0, 2 * k + 1, size=n_rows) for _ in range(n)]
    return [labels, "single", coarse, *at_random][:n]


def around_seeds(
    rows_for_guesses: np.ndarray, rng: np.random.Generator, n_seeds: int = _SEEDS
) -> np.ndarray:
    """Return labels that put each row with the nearest of some seeds, in whitened columns."""
    n_rows, n_columns = rows_for_guesses.shape
    buffers = guess_buffers(n_rows, n_columns)
    uniforms = rng.random(min(n_seeds, n_rows))
    guess_by_seeds(rows_for_guesses, np.arange(n_rows, dtype=np.int32), uniforms, buffers)
    return compact(buffers.guess)
