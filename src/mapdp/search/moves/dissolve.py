"""Close a cluster and let its rows, one by one, join the others."""

from mapdp.engine.dissolve import dissolve_buffers, dissolve_one
from mapdp.engine.state import OPEN
from mapdp.partitions.labels import compact
from mapdp.search.moves.base import Proposal
from mapdp.search.run import Run

_LARGEST = 4096  # rows of a cluster that may dissolve: more cannot all be better off elsewhere


class Dissolve:
    """Dissolve the first cluster that gains by it; large ones are not tried."""

    name = "dissolve"

    def propose(self, run: Run) -> Proposal | None:
        """Return labels with one cluster fewer, None where that gains nothing."""
        if run.state.counters[OPEN] < 0:  # the last row to move took the last chair
            run.reseat(compact(run.state.labels))
        state, before = run.state, run.state.labels.copy()
        if state.n_clusters < 2:
            return None
        order, ends = run.rows_by_chair()
        buffers = dissolve_buffers(state.capacity)
        dissolve_one(run.problem.X, order, ends, _LARGEST, state, buffers)
        log_gain = float(buffers.log_gained[0])
        return Proposal(state.labels, before, log_gain) if log_gain > 0.0 else None
