"""All that changes in a run: who sits where, what the chairs hold, and working space.

`log_join` holds the log prior weight of every chair as things stand (taken chairs, the one open chair;
minus infinity for chairs that are out of use), so scoring starts from a copy of it.
"""

from typing import NamedTuple

import numpy as np

from mapdp.compiled.handles import Handle, copied
from mapdp.compiled.lanes import whole_lanes
from mapdp.families.base import Bank, Family
from mapdp.families.slots import copy_slots
from mapdp.partitions.process import Process

LARGE = 20_000  # rows of a table whose search starts on some of them, and is compiled for its family
FIRST_CAPACITY = 16
TRIAL_CAPACITY = 16  # chairs of a trial with the rows of a few: no guess has more parts

# Places in Seats.counters.
TAKEN = 0  # chairs that somebody sits on
CHAIRS = 1  # chairs that are scored: all that were ever taken, and the open one
OPEN = 2  # the empty chair that a new cluster would take, -1 where none is left
EMPTIED = 3  # clusters that lost their last row so far
MOVED = 4  # rows that changed their chair so far


class Seats(NamedTuple):
    """Who sits where, and what a seat is worth before the row is looked at."""

    labels: np.ndarray  # (N,) chair of each row, -1 while it stands
    sizes: np.ndarray  # (K,) rows on each chair
    log_join: np.ndarray  # (K,) log prior weight of each chair for the next row
    log_open: np.ndarray  # (K + 17,) log prior weight of a new chair, by the number of chairs taken
    discount: float
    counters: np.ndarray  # (5,) TAKEN, CHAIRS, OPEN, EMPTIED, MOVED


class Workspace(NamedTuple):
    """The row in hand and its scores; threads that score at the same time have one each."""

    origin: np.ndarray  # (D,) what rows are measured from
    x: np.ndarray  # (D,) the row in hand
    scores: np.ndarray  # (K,) its scores
    scratch: Handle  # working space of the family


class State(NamedTuple):
    """All that changes in a run."""

    seats: Seats
    chairs: Handle  # what they hold: a bank
    work: Workspace

    @property
    def bank(self) -> Bank:
        """Return what the chairs hold."""
        return self.chairs.contents

    @property
    def labels(self) -> np.ndarray:
        """Return the chair of each row."""
        return self.seats.labels

    @property
    def sizes(self) -> np.ndarray:
        """Return the number of rows on each chair."""
        return self.seats.sizes

    @property
    def counters(self) -> np.ndarray:
        """Return the counters."""
        return self.seats.counters

    @property
    def capacity(self) -> int:
        """Return the number of chairs there are."""
        return len(self.seats.sizes)

    @property
    def n_clusters(self) -> int:
        """Return the number of chairs that somebody sits on."""
        return int(self.seats.counters[TAKEN])


def new_state(n_rows: int, family: Family, process: Process, capacity: int = FIRST_CAPACITY) -> State:
    """Return a state in which nobody sits, with at least `capacity` chairs."""
    labels = np.full(n_rows, -1, dtype=np.int32)
    state = _furnished(labels, family, process, whole_lanes(capacity))
    state.counters[:] = 0, 1, 0, 0, 0
    state.seats.log_join[0] = state.seats.log_open[0]
    return state


def _furnished(labels: np.ndarray, family: Family, process: Process, capacity: int) -> State:
    seats = Seats(
        labels=labels,
        sizes=np.zeros(capacity, dtype=np.int64),
        log_join=np.full(capacity, -np.inf),
        log_open=_log_open(process, capacity, len(labels)),
        discount=float(process.discount),
        counters=np.zeros(5, dtype=np.int64),
    )
    return State(seats, family.chairs(capacity), new_workspace(family, capacity))


def new_workspace(family: Family, capacity: int, n_cells: int = 0) -> Workspace:
    """Return working space for scoring rows against `capacity` chairs; new rows may have more cells."""
    origin = np.ascontiguousarray(family.origin, dtype=np.float64)
    if n_cells > len(origin):
        origin = np.zeros(n_cells)
    return Workspace(origin, np.zeros(len(origin)), np.zeros(capacity), family.scratch_handle())


def forked(work: Workspace) -> Workspace:
    """Return working space of the same shape, for another thread."""
    return work._replace(x=work.x.copy(), scores=work.scores.copy(), scratch=copied(work.scratch))


def for_passes(state: State, n_rows: int) -> State:
    """Return the same state as passes over a table of so many rows take it.

    With many rows a kernel is worth compiling for the family at hand: without handles it runs faster.
    """
    if n_rows <= LARGE:
        return state
    return state._replace(chairs=state.bank, work=state.work._replace(scratch=state.work.scratch.contents))


def _log_open(process: Process, capacity: int, n_rows: int) -> np.ndarray:
    return np.asarray(process.log_open(np.arange(capacity + TRIAL_CAPACITY + 1), n_rows), dtype=np.float64)


def grown(state: State, family: Family, process: Process) -> State:
    """Return the same state with twice the chairs."""
    old = state.capacity
    larger = _furnished(state.labels, family, process, 2 * old)
    larger.sizes[:old] = state.sizes
    larger.seats.log_join[:old] = state.seats.log_join
    larger.counters[:] = state.counters
    copy_slots(state.bank, larger.bank, np.arange(old))
    if state.counters[OPEN] < 0:
        larger.counters[OPEN] = larger.counters[CHAIRS] = old
        larger.counters[CHAIRS] += 1
        larger.seats.log_join[old] = larger.seats.log_open[state.n_clusters]
    return larger


def some_chairs(state: State, family: Family, process: Process, chairs: np.ndarray) -> State:
    """Return a state of no rows with a copy of some chairs, the first ones, to score rows for."""
    fewer = new_state(0, family, process, len(chairs))
    fewer.seats.log_join[:] = -np.inf
    fewer.seats.log_join[: len(chairs)] = state.seats.log_join[chairs]
    copy_slots(state.bank, fewer.bank, chairs)
    return fewer


def reweighted(state: State, process: Process) -> State:
    """Return the same state under another process with the same discount; arrays are shared."""
    log_open = _log_open(process, state.capacity, len(state.labels))
    if state.counters[OPEN] >= 0:
        state.seats.log_join[state.counters[OPEN]] = log_open[state.n_clusters]
    return state._replace(seats=state.seats._replace(log_open=log_open))


def predictive_bank(bank: Bank, family: Family, n_clusters: int) -> Bank:
    """Return a bank that holds the first `n_clusters` chairs and an empty chair."""
    smaller = family.bank(n_clusters + 1)
    copy_slots(bank, smaller, np.arange(n_clusters))
    return smaller
