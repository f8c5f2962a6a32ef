"""Split and merge moves between two sweeps of a chain."""

import numpy as np

from mapdp.engine.split_merge import PICKS, are_spent, split_merge, split_merge_buffers
from mapdp.engine.state import OPEN, State, grown
from mapdp.families.base import Family
from mapdp.partitions.process import Process

GIBBS, SPLIT_MERGE = "gibbs", "split-merge"
MOVES = (SPLIT_MERGE, GIBBS)  # what a chain may be made of
_PER_SWEEP = 10  # fewer leave K to the sweeps, more take longer than they gain: docs/sampling.md


class SplitMerge:
    """Proposes splits and merges for the rows of a table."""

    def __init__(self, X: np.ndarray, family: Family, process: Process, rng: np.random.Generator) -> None:
        self.X, self.family, self.rng = X, family, rng
        self._buffers = split_merge_buffers(len(X), family, process)

    def moved(self, state: State, process: Process) -> State:
        """Make some moves; return the state, with more chairs where they ran out."""
        order = self.rng.permutation(len(self.X)).astype(np.int32)
        picks, reached = self.rng.random((_PER_SWEEP, PICKS)), np.int64(0)
        while reached < _PER_SWEEP:
            self._refill()
            if state.counters[OPEN] < 0:
                state = grown(state, self.family, process)
            reached = np.int64(split_merge(self.X, order, picks, state, self._buffers, reached))
        return state

    def _refill(self) -> None:
        if are_spent(self._buffers):
            self.rng.random(out=self._buffers.uniforms)
            self._buffers.used[0] = 0
