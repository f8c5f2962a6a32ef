"""Passes over many rows while no cluster changes: in blocks, in any number of threads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from mapdp.engine.score import assign_rows, score_best, survey_rows
from mapdp.engine.state import State, for_passes, forked

_BLOCK = 32768  # rows that a thread takes at a time; fewer are not worth a second thread


def assign(X: np.ndarray, rows: np.ndarray, n_chairs: int, state: State, n_threads: int) -> np.ndarray:
    """Return the best of the first chairs for each row, as if it sat on none of them."""
    out = np.empty(len(rows), dtype=np.int32)
    log_join = np.where(np.arange(state.capacity) < n_chairs, state.seats.log_join, -np.inf)
    closed = state._replace(seats=state.seats._replace(log_join=log_join))

    def work(begin: int, end: int) -> None:
        assign_rows(X, rows[begin:end], n_chairs, _forked(closed, len(X)), out[begin:end])

    _in_blocks(work, len(rows), n_threads)
    return out


class Leads(NamedTuple):
    """How rows like their own chairs."""

    lead: np.ndarray  # (n,) nats by which a row prefers its own chair to the best of the others
    own: np.ndarray  # (n,) score of its own chair


def survey(X: np.ndarray, rows: np.ndarray, state: State, n_threads: int) -> np.ndarray:
    """Return by how many nats each of these rows prefers its own chair to the best of the others."""
    return survey_in_full(X, rows, state, n_threads).lead


def survey_in_full(X: np.ndarray, rows: np.ndarray, state: State, n_threads: int) -> Leads:
    """Return how these rows like their own chairs."""
    leads = Leads(np.empty(len(rows), dtype=np.float32), np.empty(len(rows)))

    def work(begin: int, end: int) -> None:
        lead, own = leads.lead[begin:end], leads.own[begin:end]
        survey_rows(X, rows[begin:end], _forked(state, len(X)), lead, own)

    _in_blocks(work, len(rows), n_threads)
    return leads


def best_scores(X: np.ndarray, rows: np.ndarray, state: State, n_threads: int) -> np.ndarray:
    """Return the score of the best chair for each of these rows, which sit on none of them."""
    out = np.empty(len(rows))

    def work(begin: int, end: int) -> None:
        score_best(X, rows[begin:end], state.capacity, _forked(state, len(X)), out[begin:end])

    _in_blocks(work, len(rows), n_threads)
    return out


def _in_blocks(work: Callable[[int, int], None], n_rows: int, n_threads: int) -> None:
    """Do the work for rows begin to end, block by block."""
    blocks = [(begin, min(begin + _BLOCK, n_rows)) for begin in range(0, n_rows, _BLOCK)]
    if n_threads == 1 or len(blocks) == 1:
        for block in blocks:
            work(*block)
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(lambda block: work(*block), blocks))


def _forked(state: State, n_rows: int) -> State:
    """Return the same state with working space of its own, for a thread that only scores."""
    return for_passes(state._replace(work=forked(state.work)), n_rows)
