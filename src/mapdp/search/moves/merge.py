"""Merge pairs of clusters."""

import numpy as np

from mapdp.engine.merge import MANY
from mapdp.search.moves.base import Proposal
from mapdp.search.moves.merge_in_blocks import (
    close_pairs_in_blocks,
    closest_first,
    merged_in_blocks,
    pairs_by_log_gain,
)
from mapdp.search.run import Run


class Merge:
    """Merge the pair that gains most, and so on while one gains."""

    name = "merge"

    def propose(self, run: Run) -> Proposal | None:
        """Return labels with fewer clusters, None where no pair gains."""
        if run.state.n_clusters > MANY:
            return merged_in_blocks(run)
        n_left, buffers = run.merged(1)
        state = run.state
        if n_left == state.n_clusters:
            return None
        return Proposal(buffers.merged_into[state.labels], state.labels, float(buffers.log_gained[0]))


def close_pairs(run: Run) -> np.ndarray:
    """Return each cluster with the one it would lose least by merging with; closest pairs first.

    Chairs 0, 1, ... must be the taken ones.
    """
    if run.state.n_clusters > MANY:
        return close_pairs_in_blocks(run)
    return closest_first(pairs_by_log_gain(*run.merged(run.state.n_clusters)))
