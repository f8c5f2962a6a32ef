"""How a state is built from labels."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from mapdp.compiled.handles import Handle
from mapdp.compiled.jit import inlined, kernel
from mapdp.compiled.special import log
from mapdp.engine.seat import fetch
from mapdp.engine.state import CHAIRS, FIRST_CAPACITY, OPEN, TAKEN, State, new_state, new_workspace
from mapdp.families import verbs
from mapdp.families.base import Family
from mapdp.partitions.process import Process

_BLOCK = 2**18  # rows that a thread builds clusters from at a time


def seated(
    X: np.ndarray, labels: np.ndarray, family: Family, process: Process, n_threads: int = 1
) -> State:
    """Return the state in which row i sits on chair labels[i]; chairs 0, 1, ... are all taken."""
    n_clusters = int(labels.max()) + 1
    capacity = max(FIRST_CAPACITY, 2 ** int(np.ceil(np.log2(n_clusters + 1))))
    state = new_state(len(labels), family, process, capacity)
    state.labels[:] = labels
    build(X, _poured(X, state, family, n_threads), state)
    return state


def _poured(X: np.ndarray, state: State, family: Family, n_threads: int) -> int:
    """Insert whole blocks of rows into the state's bank, in threads; return where the rest begins.

    The blocks are the same for any number of threads, and so is the result.
    """

    def part(begin: int) -> Handle:
        bank, work = family.chairs(state.capacity), new_workspace(family, 0)
        build_part(X, begin, begin + _BLOCK, state.labels, work, bank)
        return bank

    begins = range(0, len(X) - _BLOCK + 1, _BLOCK)
    if not begins:
        return 0
    with ThreadPoolExecutor(n_threads) as pool:
        for bank in pool.map(part, begins):
            pour_parts(state, bank)
    return len(begins) * _BLOCK


@inlined
def _insert_rows(X, begin, end, labels, work, bank):
    """Insert rows into the chairs that their labels name."""
    for i in range(begin, end):
        fetch(X, i, work)
        verbs.insert(bank, labels[i], work.x, work.scratch)


@kernel
def build_part(X, begin, end, labels, work, bank):
    """Insert some of the rows into a bank of empty chairs."""
    _insert_rows(X, begin, end, labels, work, bank)


@kernel
def pour_parts(state, part):
    """Pour all chairs of another bank into those of a state."""
    for k in range(state.seats.sizes.shape[0]):
        verbs.pour(state.chairs, k, part, k, 1.0, state.work.scratch)


@kernel
def build(X, begin, state):
    """Make all of a state follow from its labels; chairs 0, 1, ... must all be taken, and one be free.

    The rows before `begin` are in the bank already.
    """
    seats, bank, work = state
    labels, sizes, log_join, counters = seats.labels, seats.sizes, seats.log_join, seats.counters
    if begin == 0:
        for k in range(sizes.shape[0]):
            verbs.clear(bank, k)
    _insert_rows(X, begin, X.shape[0], labels, work, bank)
    for k in range(sizes.shape[0]):
        sizes[k] = 0
        log_join[k] = -np.inf
    n_clusters = 0
    for i in range(X.shape[0]):
        sizes[labels[i]] += 1
        n_clusters = max(n_clusters, labels[i] + 1)
    for k in range(sizes.shape[0]):
        verbs.refresh(bank, k)
        if sizes[k] > 0:
            log_join[k] = log(sizes[k] - seats.discount)
    log_join[n_clusters] = seats.log_open[n_clusters]
    counters[TAKEN] = n_clusters
    counters[OPEN] = n_clusters
    counters[CHAIRS] = n_clusters + 1


@kernel
def sort_by_chair(labels, sizes, order, ends):
    """Fill `order` with the rows, chair by chair; those of chair k stop before ends[k]."""
    total = 0
    for k in range(sizes.shape[0]):
        ends[k] = total
        total += sizes[k]
    for i in range(labels.shape[0]):
        order[ends[labels[i]]] = i
        ends[labels[i]] += 1
