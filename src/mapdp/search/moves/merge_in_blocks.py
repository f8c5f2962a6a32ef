"""Merges among so many clusters that not all pairs can be compared: only those that lie close are.

Clusters are halved along the column in which their centres differ most, and the halves likewise, until
blocks are small. Pairs within a block have their exact gains; once some have merged, others are neighbours.
"""

from collections.abc import Iterator

import numpy as np

from mapdp.engine.build import seated
from mapdp.engine.merge import MergeBuffers, merge_buffers, merge_chairs
from mapdp.engine.state import State
from mapdp.partitions.labels import compact
from mapdp.search.moves.base import Proposal
from mapdp.search.run import Run

_BLOCK = 256  # clusters that are compared with each other: the work of a block grows with their cube


def merged_in_blocks(run: Run) -> Proposal | None:
    """Return labels in which pairs that lie close are merged while that gains, None where none does."""
    before = run.state.labels
    labels, log_gain, n_clusters = before.copy(), 0.0, run.state.n_clusters
    buffers = merge_buffers(run.family, _BLOCK + 1)
    for chairs, rows in _blocks(run):
        state = _seated_alone(run, chairs, rows, n_clusters - len(chairs))
        n_clusters -= len(chairs) - merge_chairs(state, 1, buffers)
        labels[rows] = chairs[buffers.merged_into[state.labels]]
        log_gain += float(buffers.log_gained[0])
    return Proposal(labels, before, log_gain) if n_clusters < run.state.n_clusters else None


def close_pairs_in_blocks(run: Run) -> np.ndarray:
    """Return each cluster with the one of its block that it would lose least by merging with."""
    pairs: dict[tuple[int, int], float] = {}
    buffers = merge_buffers(run.family, _BLOCK + 1)
    for chairs, rows in _blocks(run):
        if len(chairs) > 1:
            state = _seated_alone(run, chairs, rows, 0)
            found = pairs_by_log_gain(merge_chairs(state, len(chairs), buffers), buffers)
            pairs |= {(int(chairs[a]), int(chairs[b])): gain for (a, b), gain in found.items()}
    return closest_first(pairs)


def pairs_by_log_gain(n_clusters: int, buffers: MergeBuffers) -> dict[tuple[int, int], float]:
    """Return each cluster with the one it would lose least by merging with, and what that would gain."""
    log_gain = buffers.log_gain[:n_clusters, :n_clusters]
    both = np.maximum(log_gain, log_gain.T)
    pairs = {(min(a, b), max(a, b)) for a, b in enumerate(both.argmax(axis=1).tolist())}
    return {pair: float(both[pair]) for pair in pairs}


def closest_first(pairs: dict[tuple[int, int], float]) -> np.ndarray:
    """Return pairs by what merging them would gain, the best first."""
    return np.array(sorted(pairs, key=lambda pair: -pairs[pair]))


def _blocks(run: Run) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield clusters that lie close, with their rows."""
    centres, chairs = _centres(run)
    order, ends = run.rows_by_chair()
    for block in _halved(centres, np.arange(len(chairs))):
        some = np.sort(chairs[block])
        yield some, np.concatenate([order[ends[k] - run.state.sizes[k] : ends[k]] for k in some])


def _centres(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return the middle of each cluster, in columns of the same spread, and the chairs that are taken."""
    rows, chairs = run.problem.rows_for_guesses, np.flatnonzero(run.state.sizes)
    labels, spread = compact(run.state.labels), rows.std(axis=0)
    sums = [np.bincount(labels, column) for column in (rows / np.where(spread > 0.0, spread, 1.0)).T]
    return np.column_stack(sums) / np.bincount(labels)[:, None], chairs


def _halved(centres: np.ndarray, some: np.ndarray) -> list[np.ndarray]:
    """Return blocks of centres: halves along the widest column, halved again while they are large."""
    if len(some) <= _BLOCK:
        return [some]
    widest = centres[some].var(axis=0).argmax()
    some = some[np.argsort(centres[some, widest], kind="stable")]
    middle = len(some) // 2
    return [*_halved(centres, some[:middle]), *_halved(centres, some[middle:])]


def _seated_alone(run: Run, chairs: np.ndarray, rows: np.ndarray, n_others: int) -> State:
    """Return the rows of some chairs on chairs of their own, weighed as beside so many others."""
    labels = np.searchsorted(chairs, run.state.labels[rows]).astype(np.int32)
    state = seated(run.problem.X[rows], labels, run.family, run.process)
    n = len(chairs) + 1
    state.seats.log_open[:n] = run.state.seats.log_open[n_others : n_others + n]
    return state
