"""Knows all that changes in a run: who sits where, what the chairs know, what a seat is worth.

The one idea: `joins` holds the log prior weight of every chair as things stand (taken chairs, the one
open chair; minus infinity for chairs that are out of use), so that scoring starts from a copy of it.
"""

from typing import Any, NamedTuple

import numpy as np

from mapdp._lanes import LANES, whole_lanes
from mapdp.family import Bank, Family, copy_slots
from mapdp.process import Process

FIRST_CAPACITY = 16
TRIAL_CAPACITY = 16  # chairs of a trial with the rows of a few: no guess has more parts

# Places in State.counters.
TAKEN = 0  # chairs that somebody sits on
CHAIRS = 1  # chairs that are scored: all that were ever taken, and the open one
OPEN = 2  # the empty chair that a new cluster would take, -1 where none is left
EMPTIED = 3  # clusters that lost their last row so far
MOVED = 4  # rows that changed their chair so far


class State(NamedTuple):
    """All that changes in a run."""

    labels: np.ndarray  # (N,) chair of each row, -1 while it stands
    sizes: np.ndarray  # (K,) rows on each chair
    joins: np.ndarray  # (K,) log prior weight of each chair for the next row
    opens: np.ndarray  # (K + 17,) log prior weight of a new chair, by the number of chairs taken
    discount: float
    counters: np.ndarray  # (5,) TAKEN, CHAIRS, OPEN, EMPTIED, MOVED
    bank: Any
    origin: np.ndarray  # (D,) what rows are measured from
    x: np.ndarray  # (D,) the row in hand
    scores: np.ndarray  # (K,) its scores
    scratch: np.ndarray  # (S, LANES) working space of the family

    @property
    def capacity(self) -> int:
        """Return the number of chairs there are."""
        return len(self.sizes)

    @property
    def n_clusters(self) -> int:
        """Return the number of chairs that somebody sits on."""
        return int(self.counters[TAKEN])


def new_state(n_rows: int, family: Family, process: Process, capacity: int = FIRST_CAPACITY) -> State:
    """Return a state in which nobody sits, with at least `capacity` chairs."""
    labels = np.full(n_rows, -1, dtype=np.int32)
    state = _furnished(labels, family, process, whole_lanes(capacity))
    state.counters[:] = 0, 1, 0, 0, 0
    state.joins[0] = state.opens[0]
    return state


def _furnished(labels: np.ndarray, family: Family, process: Process, capacity: int) -> State:
    return State(
        labels=labels,
        sizes=np.zeros(capacity, dtype=np.int64),
        joins=np.full(capacity, -np.inf),
        opens=_opens(process, capacity, len(labels)),
        discount=float(process.discount),
        counters=np.zeros(5, dtype=np.int64),
        bank=family.bank(capacity),
        origin=np.ascontiguousarray(family.origin, dtype=np.float64),
        x=np.zeros(family.n_features),
        scores=np.zeros(capacity),
        scratch=np.zeros((family.scratch_rows, LANES)),
    )


def _opens(process: Process, capacity: int, n_rows: int) -> np.ndarray:
    return np.asarray(process.log_open(np.arange(capacity + TRIAL_CAPACITY + 1), n_rows), dtype=np.float64)


def grown(state: State, family: Family, process: Process) -> State:
    """Return the same state with twice the chairs."""
    old = state.capacity
    larger = _furnished(state.labels, family, process, 2 * old)
    larger.sizes[:old] = state.sizes
    larger.joins[:old] = state.joins
    larger.counters[:] = state.counters
    copy_slots(state.bank, larger.bank, np.arange(old))
    if state.counters[OPEN] < 0:
        larger.counters[OPEN] = larger.counters[CHAIRS] = old
        larger.counters[CHAIRS] += 1
        larger.joins[old] = larger.opens[state.n_clusters]
    return larger


def reweighted(state: State, process: Process) -> State:
    """Return the same state under another process with the same discount; arrays are shared."""
    opens = _opens(process, state.capacity, len(state.labels))
    if state.counters[OPEN] >= 0:
        state.joins[state.counters[OPEN]] = opens[state.n_clusters]
    return state._replace(opens=opens)


def by_falling_size(labels: np.ndarray) -> np.ndarray:
    """Return the labels with clusters numbered by falling size, ties by first appearance."""
    sizes = np.bincount(labels)
    first = np.full(len(sizes), len(labels))
    first[labels[::-1]] = np.arange(len(labels) - 1, -1, -1)
    ranks = np.empty(len(sizes), dtype=np.int32)
    ranks[np.lexsort((first, -sizes))] = np.arange(len(sizes))
    return ranks[labels]


def predictive_bank(bank: Bank, family: Family, n_clusters: int) -> Bank:
    """Return a bank that holds the first `n_clusters` chairs and an empty chair."""
    smaller = family.bank(n_clusters + 1)
    copy_slots(bank, smaller, np.arange(n_clusters))
    return smaller
