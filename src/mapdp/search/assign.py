"""Knows how many rows find their chairs at once: each scored against clusters that do not change."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from mapdp.kernels.score import assign_rows
from mapdp.state import State

_BLOCK = 65536  # rows that a thread takes at a time; fewer are not worth a second thread


def assign(X: np.ndarray, rows: np.ndarray, n_chairs: int, state: State, n_threads: int) -> np.ndarray:
    """Return the best of the first chairs for each row; the result does not depend on the threads."""
    out = np.empty(len(rows), dtype=np.int32)

    def work(begin: int) -> None:
        block = slice(begin, begin + _BLOCK)
        assign_rows(X, rows[block], n_chairs, forked(state), out[block])

    begins = range(0, len(rows), _BLOCK)
    if n_threads == 1 or len(begins) == 1:
        for begin in begins:
            work(begin)
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(work, begins))
    return out


def forked(state: State) -> State:
    """Return the same state with working space of its own, for another thread that only scores."""
    return state._replace(
        x=np.empty_like(state.x), scores=np.empty_like(state.scores), scratch=np.empty_like(state.scratch)
    )
