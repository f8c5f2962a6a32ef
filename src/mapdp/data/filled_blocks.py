"""Blocks whose gaps were filled once: what was put into them travels beside each block, in every pass."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from mapdp.data.blocks import TableBlocks, rows_at


class BlockFills(NamedTuple):
    """Numbers that were put into gaps of one block."""

    rows: np.ndarray  # their places in the block, which rise
    columns: np.ndarray  # among those that are used
    values: np.ndarray


class FilledBlock(NamedTuple):
    """A block, and what was put into its gaps."""

    table: Any
    cells: BlockFills

    def at(self, places: np.ndarray) -> "FilledBlock":
        """Return some of its rows, whose places must rise."""
        rows, columns, values = self.cells
        kept = np.isin(rows, places)
        cells = BlockFills(np.searchsorted(places, rows[kept]), columns[kept], values[kept])
        return FilledBlock(rows_at(self.table, None, places), cells)

    def put_into(self, numbers: np.ndarray) -> np.ndarray:
        """Return the numbers of the block with its gaps filled."""
        out = numbers.copy()
        out[self.cells.rows, self.cells.columns] = self.cells.values
        return out


class FilledBlocks(TableBlocks):
    """A table in blocks to which tasks are applied with its gaps filled."""

    def __init__(self, blocks: TableBlocks, cells: Sequence[BlockFills]) -> None:
        self._blocks, self._cells, self.sizes = blocks, cells, blocks.sizes

    def each(self, task: Callable[..., Any], shared: Any, arguments: Sequence[Any]) -> Iterator[Any]:
        """Yield what the task makes of each block, in their order."""
        given = list(zip(self._cells, arguments, strict=True))
        return self._blocks.each(_applied, (task, shared), given)


def _applied(block: Any, given: tuple[Callable[..., Any], Any], own: tuple[BlockFills, Any]) -> Any:
    (task, shared), (cells, argument) = given, own
    return task(FilledBlock(block, cells), shared, argument)
