"""The search of a table in blocks: passes over all blocks, merges, and splits that a sample proposes.

In a pass every block visits its rows against its own copy of the clusters, while the other blocks stand
still. What they return is poured together and judged by the exact joint: a pass that lowered it is taken
back, and fewer blocks move at once, in the limit one. All that a step depends on is in a `Partition` and in
`Progress`, so a search that was broken off can go on from there, to the same labels.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from mapdp.data.blocks import TableBlocks
from mapdp.data.writing import temporary_array
from mapdp.engine.block_tasks import (
    BlockModel,
    BlockResult,
    ClusterStats,
    Pot,
    Visit,
    merged,
    part_block,
    seat_block,
    visit_block,
)
from mapdp.engine.merge import MANY
from mapdp.engine.problem import Budget
from mapdp.engine.score import beats, rounding
from mapdp.engine.trace import Step, StoppedError
from mapdp.search.block_splits import SplitProposer

_ROUGH = 1e-4  # of the log joint: settled enough before clusters are parted
_IN_MEMORY = 2**24  # labels; more are kept in a temporary file


class Partition(NamedTuple):
    """Who sits with whom, what the clusters hold, and the exact log joint."""

    labels: np.ndarray  # (N,)
    clusters: ClusterStats
    log_joint: float


class Progress(NamedTuple):
    """How far a search has come."""

    n_passes: int = 0
    n_turns: int = 1  # in which the blocks move
    turn: int = 0
    n_quiet: int = 0  # turns since rows moved
    log_gained: float = 0.0  # since turn 0
    is_settled: bool = False
    is_fine: bool = False  # whether rows settle to the end, which is done once no split gains
    is_done: bool = False

    def after(self, gain: float, n_moved: int, least: float) -> "Progress":
        """Return the progress after a pass that was not taken back."""
        quiet = self.n_quiet + 1 if n_moved == 0 else 0
        next_one = self._replace(
            n_passes=self.n_passes + 1, turn=self.turn + 1, n_quiet=quiet, log_gained=self.log_gained + gain
        )
        if next_one.turn < self.n_turns:
            return next_one
        settled = quiet >= self.n_turns or next_one.log_gained <= least
        turns = max(1, self.n_turns // 2)
        return next_one._replace(n_turns=turns, turn=0, n_quiet=0, log_gained=0.0, is_settled=settled)

    def taken_back(self, n_blocks: int) -> "Progress":
        """Return the progress after a pass that lowered the joint: fewer blocks move at once."""
        if self.n_turns == n_blocks:  # a block that moves alone is wrong by rounding only
            return self.after(0.0, 0, 0.0)
        turns = min(2 * self.n_turns, n_blocks)
        return self._replace(n_passes=self.n_passes + 1, n_turns=turns, turn=0, n_quiet=0, log_gained=0.0)

    def after_splits(self, has_gained: bool) -> "Progress":
        """Return the progress after splits were tried: clusters settle roughly first, then to the end."""
        if has_gained:
            return self._replace(is_settled=False, is_fine=False)
        return self._replace(is_settled=self.is_fine, is_done=self.is_fine, is_fine=True)


class BlockSearch:
    """A search under way."""

    def __init__(
        self, blocks: TableBlocks, model: BlockModel, budget: Budget, proposer: SplitProposer
    ) -> None:
        self.blocks, self.model, self.budget = blocks, model, budget
        self.progress, self.log_units = Progress(), 0.0
        self.trace: list[Step] = []
        self.proposer = proposer
        self.partition: Partition

    def restored(self, partition: Partition, progress: Progress, refused: set, log_units: float) -> None:
        """Stand where another search stood."""
        self.partition, self.progress, self.log_units = partition, progress, log_units
        self.proposer.refused = refused
        self.trace.append(self._step("restored", 0))

    def search(self, clusters: ClusterStats, keep: Callable[["BlockSearch"], None]) -> bool:
        """Search until nothing gains, calling `keep` after every step; False where the budget is spent.

        All rows join `clusters`, which were found among some of them, unless the search was restored.
        """
        try:
            if not self.trace:
                self._begin(clusters)
            while not self.progress.is_done and self.progress.n_passes < self.budget.max_iter:
                keep(self)
                self._try_splits() if self.progress.is_settled else self._pass_over_blocks()
        except StoppedError:
            keep(self)
            return False
        keep(self)
        return self.progress.is_done

    def _begin(self, clusters: ClusterStats) -> None:
        given = [None] * len(self.blocks.sizes)
        results = self.blocks.each(seat_block, Visit(self.model, clusters), given)
        partition, n_moved = self._poured(results, len(clusters.sizes))
        self._take(self._merged(partition), "start", n_moved)

    def _pass_over_blocks(self) -> None:
        """Visit the rows of all blocks whose turn it is."""
        progress, before = self.progress, self.partition
        moving = np.arange(len(self.blocks.sizes)) % progress.n_turns == progress.turn
        given = list(zip(self._by_block(before.labels), moving.tolist(), strict=True))
        results = self.blocks.each(visit_block, Visit(self.model, before.clusters), given)
        poured, n_moved = self._poured(results, len(before.clusters.sizes))
        after = self._merged(poured)
        if after.log_joint < before.log_joint - rounding(before.log_joint):
            self.progress = progress.taken_back(len(moving))
            self._take(before, "back", 0)
        else:
            gain = after.log_joint - before.log_joint
            self.progress = progress.after(gain, n_moved, self._least_gain())
            self._take(after, "pass", n_moved)

    def _least_gain(self) -> float:
        """Return what the turns of all blocks must gain for others to follow."""
        if not self.progress.is_fine:
            return _ROUGH * abs(self.partition.log_joint)
        return self.budget.least_gain(self.partition.log_joint, self.blocks.n_rows)

    def _try_splits(self) -> None:
        """Part the clusters whose sample says so; all of it takes effect if the joint rises, or nothing."""
        before, n_moved = self.partition, 0
        parted = self.proposer.proposed(self.blocks, self.model, before.labels, before.clusters)
        if parted:
            given = list(self._by_block(before.labels))
            results = self.blocks.each(part_block, (self.model, parted), given)
            n_parts = max(int(one.numbers.max()) for one in parted) + 1
            poured, n_moved = self._poured(results, n_parts)
            self.partition = self._merged(poured)  # parts that do not pay are put together again
        has_gained = beats(self.partition.log_joint, before.log_joint)
        after = self.partition if has_gained else before
        self.proposer.remember(self.model, after.clusters)
        self.progress = self.progress.after_splits(has_gained)
        self._take(after, "split", n_moved if has_gained else 0)

    def _poured(self, results: Iterable[BlockResult], n_clusters: int) -> tuple[Partition, int]:
        """Pour what the blocks returned together; return the partition, and how many rows moved."""
        pot, labels = Pot(self.model.family, n_clusters), self._new_labels()
        n_moved, self.log_units = 0, 0.0
        for mine, result in zip(self._by_block(labels), results, strict=True):
            mine[:] = pot.pour(result)
            n_moved, self.log_units = n_moved + result.n_moved, self.log_units + result.log_units
        clusters, numbers = pot.poured()
        self._renumber(labels, numbers)
        return Partition(labels, clusters, self.model.log_joint(clusters)), n_moved

    def _merged(self, partition: Partition) -> Partition:
        """Merge the pair of clusters that gains most, and so on while one gains."""
        if not 1 < len(partition.clusters.sizes) < MANY:
            return partition
        clusters, numbers = merged(self.model, partition.clusters)
        if len(clusters.sizes) == len(numbers):
            return partition
        self._renumber(partition.labels, numbers)
        return Partition(partition.labels, clusters, self.model.log_joint(clusters))

    def _take(self, partition: Partition, move: str, n_moved: int) -> None:
        """Make a partition the current one, and record it; stop where the time is up."""
        self.partition = partition
        self.trace.append(self._step(move, n_moved))
        self.budget.listener(self.trace[-1].less(self.log_units))
        if self.budget.is_over:
            raise StoppedError

    def _step(self, move: str, n_moved: int) -> Step:
        clusters, log_joint = self.partition.clusters, self.partition.log_joint
        n_passes, seconds = self.progress.n_passes, self.budget.elapsed()
        return Step(move, n_passes, len(clusters.sizes), n_moved, 0, log_joint, seconds)

    def by_falling_size(self) -> Partition:
        """Return the partition with its clusters numbered by falling size."""
        labels, clusters, log_joint = self.partition
        order = np.argsort(-clusters.sizes, kind="stable")
        numbers = np.empty(len(order), dtype=np.int32)
        numbers[order] = np.arange(len(order))
        self._renumber(labels, numbers)
        slots = [slot.take(order, axis=-1) for slot in clusters.slots]
        return Partition(labels, ClusterStats(slots, clusters.sizes[order]), log_joint)

    def _new_labels(self) -> np.ndarray:
        """Return room for a label for each row."""
        n_rows = self.blocks.n_rows
        if n_rows <= _IN_MEMORY:
            return np.empty(n_rows, dtype=np.int32)
        return temporary_array(n_rows, np.int32)

    def _by_block(self, labels: np.ndarray) -> Iterable[np.ndarray]:
        """Return the labels of each block."""
        return np.split(labels, self.blocks.starts[1:])

    def _renumber(self, labels: np.ndarray, numbers: np.ndarray) -> None:
        """Give clusters other numbers, in place."""
        for mine in self._by_block(labels):
            mine[:] = numbers[mine]
