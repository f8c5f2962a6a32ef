"""What is done to one block of a table while the other blocks stand still.

A block gets a copy of the clusters, visits its rows against that copy, and returns their labels and what
they add to each cluster. Results are poured together, so nothing but statistics and labels travels.
"""

from typing import Any, NamedTuple

import numpy as np

from mapdp.data.blocks import rows_at
from mapdp.data.columns import Schema
from mapdp.data.filled_blocks import FilledBlock
from mapdp.data.frames import columns_of
from mapdp.engine.build import build_part
from mapdp.engine.in_threads import assign
from mapdp.engine.joint import unnormalised_log_joint
from mapdp.engine.merge import merge_buffers, merge_chairs, merged_bank, pour_chairs
from mapdp.engine.state import (
    CHAIRS,
    MOVED,
    OPEN,
    TAKEN,
    State,
    for_passes,
    grown,
    new_state,
    new_workspace,
)
from mapdp.engine.sweep import sweep
from mapdp.families.base import Family, refresh_chairs
from mapdp.families.slots import copy_slots, fill_slots, slots_of
from mapdp.partitions.labels import compact
from mapdp.partitions.process import Process

_NO_LABELS = np.empty(0, dtype=np.int32)


class ClusterStats(NamedTuple):
    """Clusters as they travel: what each holds, and how many rows."""

    slots: list[np.ndarray]  # of a bank, one slot for each cluster
    sizes: np.ndarray  # (K,)

    @classmethod
    def of(cls, state: State) -> "ClusterStats":
        """Return the clusters of a state; chairs 0, 1, ... must be the taken ones."""
        n = state.n_clusters
        return cls(slots_of(state.bank, n), state.sizes[:n].copy())

    def rounded(self) -> "ClusterStats":
        """Return the same clusters with whole sizes: where rows have faded, theirs are not."""
        return self._replace(sizes=np.maximum(np.rint(self.sizes), 1.0).astype(np.int64))


class BlockModel(NamedTuple):
    """How rows are read and scored: the same for all blocks and passes."""

    schema: Schema
    family: Family
    process: Process  # that counts the rows of all blocks

    def numbers(self, block: Any) -> np.ndarray:
        """Return the used columns of a block as numbers, with what was put into gaps."""
        if isinstance(block, FilledBlock):
            return block.put_into(self.numbers(block.table))
        return self.schema.matrix(columns_of(block))

    def encoded(self, block: Any) -> tuple[np.ndarray, float]:
        """Return the rows of a block as kernels read them, and what units add to their log density."""
        numbers = self.numbers(block)
        rows = self.family.encode(numbers, self.schema.names())
        return np.ascontiguousarray(rows), float(np.sum(self.schema.log_units(numbers)))

    def state(self, clusters: ClusterStats, labels: np.ndarray = _NO_LABELS) -> State:
        """Return a state with these clusters, in which some of their rows have these labels."""
        sizes, n = clusters.sizes, len(clusters.sizes)
        state = new_state(0, self.family, self.process, n + 1)
        fill_slots(state.bank, clusters.slots)
        seats = state.seats._replace(labels=labels)
        seats.sizes[:n], seats.log_join[:n] = sizes, self.process.log_join(sizes)
        seats.log_join[n], seats.counters[:] = seats.log_open[n], 0
        seats.counters[[TAKEN, OPEN, CHAIRS]] = n, n, n + 1
        return state._replace(seats=seats)

    def log_joint(self, clusters: ClusterStats) -> float:
        """Return log p(x, z) of all rows."""
        state = self.state(clusters)
        return unnormalised_log_joint(state, np.empty(state.capacity)) - self.process.log_total(0)


class BlockResult(NamedTuple):
    """What a pass did to one block."""

    labels: np.ndarray  # of its rows
    slots: list[np.ndarray]  # what its rows add to each chair
    sizes: np.ndarray  # (chairs,) of its rows
    n_moved: int
    log_units: float


class Visit(NamedTuple):
    """What all blocks need to know for a pass."""

    model: BlockModel
    clusters: ClusterStats


def seat_block(block: Any, visit: Visit, _: None) -> BlockResult:
    """Let each row join the best of the clusters."""
    rows, log_units = visit.model.encoded(block)
    state = visit.model.state(visit.clusters)
    labels = assign(rows, np.arange(len(rows), dtype=np.int32), state.n_clusters, state, 1)
    return _result(visit.model.family, rows, labels, len(rows), log_units)


def visit_block(block: Any, visit: Visit, given: tuple[np.ndarray, bool]) -> BlockResult:
    """Visit each row once where it is this block's turn; else its rows stay where they are."""
    labels, is_moving = given
    rows, log_units = visit.model.encoded(block)
    state = visit.model.state(visit.clusters, labels.copy())
    if is_moving:
        state = swept(rows, state, visit.model)
    return _result(visit.model.family, rows, state.labels, int(state.counters[MOVED]), log_units)


def swept(rows: np.ndarray, state: State, model: BlockModel) -> State:
    """Visit all rows of a block once; there may be more chairs afterwards."""
    everyone, reached = np.arange(len(rows), dtype=np.int32), np.int64(0)
    while (reached := np.int64(sweep(rows, everyone, for_passes(state, len(rows)), reached))) < len(rows):
        state = grown(state, model.family, model.process)
    return state


class Parts(NamedTuple):
    """How a cluster is to be parted."""

    cluster: int
    numbers: np.ndarray  # the clusters that its parts become; the first of them is the cluster itself
    clusters: ClusterStats  # the parts, as a sample of rows shows them


def part_block(block: Any, given: tuple[BlockModel, list[Parts]], labels: np.ndarray) -> BlockResult:
    """Let each row of the clusters that are parted join the best part of its cluster."""
    model, parted = given
    rows, log_units = model.encoded(block)
    new = labels.copy()
    for one in parted:
        members = np.flatnonzero(labels == one.cluster).astype(np.int32)
        if len(members):
            state = model.state(one.clusters)
            new[members] = one.numbers[assign(rows, members, len(one.numbers), state, 1)]
    return _result(model.family, rows, new, int(np.count_nonzero(new != labels)), log_units)


def encode_rows(block: Any, model: BlockModel, places: np.ndarray) -> np.ndarray:
    """Return some rows of a block as kernels read them."""
    if not len(places):
        return np.empty((0, model.family.n_cells))
    some = block.at(places) if isinstance(block, FilledBlock) else rows_at(block, None, places)
    return model.encoded(some)[0]


def _result(
    family: Family, rows: np.ndarray, labels: np.ndarray, n_moved: int, log_units: float
) -> BlockResult:
    sizes = np.bincount(labels)
    bank = family.chairs(len(sizes))
    build_part(rows, 0, len(rows), labels, new_workspace(family, 0), bank)
    return BlockResult(labels, slots_of(bank.contents, len(sizes)), sizes, n_moved, log_units)


class Pot:
    """Pours what blocks return together, in their order; each block's new clusters are its own."""

    def __init__(self, family: Family, n_clusters: int) -> None:
        self._family, self._n_old = family, n_clusters
        self._chairs, self._scratch = family.chairs(n_clusters + 1), family.scratch_handle()
        self._sizes = np.zeros(n_clusters, dtype=np.int64)

    def pour(self, result: BlockResult) -> np.ndarray:
        """Add what a block returned; return its labels as those of the whole table."""
        n, into = len(result.sizes), np.arange(len(result.sizes))
        into[self._n_old :] += len(self._sizes) - self._n_old
        self._make_room(int(into[-1]) + 1)
        part = self._family.chairs(n)
        fill_slots(part.contents, result.slots)
        pour_chairs(part, into, self._chairs, self._scratch)
        self._sizes[into] += result.sizes
        return into[result.labels].astype(np.int32)

    def _make_room(self, n: int) -> None:
        if n <= len(self._sizes):
            return
        old, self._chairs = self._chairs, self._family.chairs(2 * n)
        copy_slots(old.contents, self._chairs.contents, np.arange(len(self._sizes)))
        self._sizes = np.append(self._sizes, np.zeros(n - len(self._sizes), dtype=np.int64))

    def poured(self) -> tuple[ClusterStats, np.ndarray]:
        """Return the clusters that have rows, and the number that each chair has among them."""
        taken = np.flatnonzero(self._sizes)
        chairs = self._family.chairs(len(taken))
        copy_slots(self._chairs.contents, chairs.contents, taken)
        refresh_chairs(chairs, len(taken), len(taken))
        numbers = np.cumsum(self._sizes > 0) - 1
        return ClusterStats(slots_of(chairs.contents, len(taken)), self._sizes[taken]), numbers.astype(
            np.int32
        )


def merged(model: BlockModel, clusters: ClusterStats) -> tuple[ClusterStats, np.ndarray]:
    """Merge the pair that gains most while one gains; return the clusters, and each one's number now."""
    n, state = len(clusters.sizes), model.state(clusters.rounded())
    buffers = merge_buffers(model.family, n + 1)
    if n == 1 or merge_chairs(state, 1, buffers) == n:
        return clusters, np.arange(n, dtype=np.int32)
    numbers = compact(buffers.merged_into[:n])
    bank = merged_bank(model.state(clusters.rounded()).bank, numbers, model.family)
    sizes = np.bincount(numbers, clusters.sizes).astype(clusters.sizes.dtype)
    return ClusterStats(slots_of(bank, len(sizes)), sizes), numbers
