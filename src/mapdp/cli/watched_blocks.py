"""A table in blocks that says how far each pass over its rows has come."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from mapdp.data.blocks import TableBlocks


class Watcher(Protocol):
    """Hears how far a fit in blocks has come."""

    def begin_pass(self, n_rows: int) -> None:
        """Hear that all rows are about to be read once more."""

    def rows_done(self, n_rows: int) -> None:
        """Hear how many of them have been."""

    def say(self, text: str) -> None:
        """Hear what is done between passes."""


class WatchedBlocks(TableBlocks):
    """The blocks of another table; a watcher hears of each that is done."""

    def __init__(self, blocks: TableBlocks, watcher: Watcher) -> None:
        self._blocks, self._watcher, self.sizes = blocks, watcher, blocks.sizes

    def read(self, number: int) -> Any:
        """Return a block as a table in memory."""
        return self._blocks.read(number)

    def joined(self, parts: Sequence[Any]) -> Any:
        """Return tables of some rows as one table."""
        return self._blocks.joined(parts)

    def each(self, task: Callable[..., Any], shared: Any, arguments: Sequence[Any]) -> Iterator[Any]:
        """Yield what the task makes of each block, in their order."""
        self._watcher.begin_pass(self.n_rows)
        n_done, self._blocks.n_threads = 0, self.n_threads
        for n, one in zip(self.sizes, self._blocks.each(task, shared, arguments), strict=True):
            n_done += int(n)
            self._watcher.rows_done(n_done)
            yield one

    def rows(self, chosen: np.ndarray) -> Any:
        """Return some rows: they are the sample that is searched first."""
        some = super().rows(chosen)
        self._watcher.say(f"searching a sample of {len(chosen):,} rows")
        return some
