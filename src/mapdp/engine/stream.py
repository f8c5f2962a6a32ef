"""Rows that arrive in batches: they join the clusters there are, open new ones, and older rows may fade."""

import numpy as np

from mapdp.engine.block_tasks import BlockModel, ClusterStats, swept
from mapdp.engine.merge import pour_times
from mapdp.families.base import Family, refresh_chairs
from mapdp.families.slots import copy_slots, fill_slots, slots_of

_SWEEPS = 2  # over a batch, once its rows are seated
_LEAST = 0.5  # rows: a cluster that counts for fewer has faded


def seat_batch(model: BlockModel, clusters: ClusterStats, rows: np.ndarray) -> ClusterStats:
    """Seat the rows of a batch one by one, then visit them again; older rows stay where they are.

    Sizes are what rows count for, which need not be whole; prior weights are those of whole numbers.
    """
    whole = clusters.rounded()
    state = model.state(whole, np.full(len(rows), -1, dtype=np.int32))
    for _ in range(1 + _SWEEPS):
        state = swept(rows, state, model)
    sizes = state.sizes.astype(np.float64)
    sizes[: len(whole.sizes)] += clusters.sizes - whole.sizes
    taken = np.flatnonzero(state.sizes)
    bank = model.family.bank(len(taken))
    copy_slots(state.bank, bank, taken)
    return ClusterStats(slots_of(bank, len(taken)), sizes[taken])


def faded(family: Family, clusters: ClusterStats, times: float) -> ClusterStats:
    """Let all rows count for less; clusters that hardly count any more are gone."""
    left = np.flatnonzero(clusters.sizes * times >= _LEAST)
    return scaled(family, clusters, left, np.full(len(left), times))


def scaled(family: Family, clusters: ClusterStats, chosen: np.ndarray, times: np.ndarray) -> ClusterStats:
    """Return some clusters, each counted so many times."""
    bank, scratch = family.chairs(max(1, len(chosen))), family.scratch_handle()
    source = family.chairs(len(clusters.sizes))
    fill_slots(source.contents, clusters.slots)
    pour_times(source, chosen, times, bank, scratch)
    refresh_chairs(bank, len(chosen), len(chosen))
    return ClusterStats(slots_of(bank.contents, len(chosen)), clusters.sizes[chosen] * times)


def together(parts: list[ClusterStats]) -> ClusterStats:
    """Return the clusters of several lists as one list."""
    slots = [np.concatenate(arrays, axis=-1) for arrays in zip(*[one.slots for one in parts], strict=True)]
    return ClusterStats(slots, np.concatenate([one.sizes for one in parts]))
