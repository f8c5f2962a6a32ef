"""Knows how clusters merge or dissolve: moves that leave fewer clusters and a higher joint."""

import numpy as np

from mapdp.kernels.dissolve import dissolve_one
from mapdp.kernels.merge import merge_chairs
from mapdp.search.run import Run, compact
from mapdp.state import OPEN

_LARGEST = 4096  # rows of a cluster that may dissolve: more cannot all be better off elsewhere


def merge_gains(run: Run) -> np.ndarray:
    """Return what merging chairs a < b would gain, but for the chair that is saved."""
    n_clusters, spare = run.state.n_clusters, run.spare(run.state.capacity)
    merge_chairs(run.state, n_clusters, spare)
    return spare.gains[:n_clusters, :n_clusters]


def merge(run: Run) -> bool:
    """Merge the pair that gains most while one gains; say whether any did."""
    state, spare = run.state, run.spare(run.state.capacity)
    merged = merge_chairs(state, 1, spare) < state.n_clusters
    if merged:
        run.adopt("merge", spare.merged_into[state.labels], state.labels)
    return merged


def dissolve(run: Run) -> bool:
    """Let the rows of one cluster join the others if that gains; large clusters are not asked."""
    if run.state.counters[OPEN] < 0:  # the last row to move took the last chair
        run.reseat(compact(run.state.labels))
    state, before = run.state, run.state.labels.copy()
    if state.n_clusters < 2:
        return False
    order, ends = run.rows_by_chair()
    if dissolve_one(run.problem.X, order, ends, _LARGEST, state, np.empty(state.capacity)) < 0:
        return False
    run.adopt("dissolve", state.labels, before)
    return True
