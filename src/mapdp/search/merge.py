"""Knows how clusters merge or dissolve: moves that leave fewer clusters and a higher joint."""

import numpy as np

from mapdp.kernels.dissolve import dissolve_one
from mapdp.kernels.merge import merge_greedily, price_chairs
from mapdp.search.run import Run, compact
from mapdp.state import CHAIRS, OPEN

_LARGEST = 4096  # rows of a cluster that may dissolve: more cannot all be better off elsewhere


def merge_gains(run: Run) -> np.ndarray:
    """Return what merging chairs a < b would gain, but for the chair that is saved."""
    state, spare = run.state, run.spare(run.state.n_clusters)
    price_chairs(state.n_clusters, state.sizes, state.discount, state.bank, spare)
    return spare.gains[: state.n_clusters, : state.n_clusters]


def merge(run: Run) -> bool:
    """Merge the pair that gains most while one gains; say whether any did."""
    state, n_chairs = run.state, int(run.state.counters[CHAIRS])
    spare, n_clusters = run.spare(n_chairs), state.n_clusters
    left = merge_greedily(n_chairs, n_clusters, state.sizes, state.opens, state.discount, state.bank, spare)
    if left < n_clusters:
        run.adopt("merge", spare.merged_into[state.labels], state.labels)
    return left < n_clusters


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
