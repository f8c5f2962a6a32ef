"""Dask collections, one task for each block: rows stay with the workers, or where they are read from."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mapdp.data.blocks import TableBlocks


class DaskBlocks(TableBlocks):
    """The partitions of a Dask data frame, or the row blocks of a Dask array.

    A partition is worked out anew for each pass unless it was persisted; whoever loses a worker loses
    nothing but time.
    """

    def __init__(self, X: Any) -> None:
        import dask

        self._is_array, self._n_columns = hasattr(X, "chunks"), X.shape[1]
        self._parts = _rows_of_array(X) if self._is_array else X.to_delayed()
        sizes = np.array(dask.compute(*[dask.delayed(len)(part) for part in self._parts]))
        self._parts = [part for part, n in zip(self._parts, sizes, strict=True) if n]
        self.sizes = sizes[sizes > 0]

    def each(self, task: Callable[..., Any], shared: Any, arguments: Sequence[Any]) -> Iterator[Any]:
        """Yield what the task makes of each block, in their order."""
        import dask

        shared = dask.delayed(shared, traverse=False)  # one node of the graph, sent once to each worker
        given = [dask.delayed(one, traverse=False) for one in arguments]
        some = [
            dask.delayed(task, pure=False)(part, shared, one)
            for part, one in zip(self._parts, given, strict=True)
        ]
        yield from dask.compute(*some)

    def mapped(self, function: Callable[[Any], np.ndarray], shape: tuple[int, ...], dtype: Any) -> Any:
        """Return what a function makes of all rows, as a Dask array that is worked out when needed."""
        import dask
        import dask.array

        some = [dask.delayed(function)(part) for part in self._parts]
        arrays = [
            dask.array.from_delayed(one, (int(n), *shape), dtype)
            for one, n in zip(some, self.sizes, strict=True)
        ]
        return dask.array.concatenate(arrays)

    def tables(self, function: Callable[[Any], Any]) -> Any:
        """Return the tables that a function makes of the blocks, worked out when they are needed."""
        import dask
        import dask.dataframe

        if self._is_array:
            return self.mapped(function, (self._n_columns,), np.float64)
        return dask.dataframe.from_delayed([dask.delayed(function)(part) for part in self._parts])

    def joined(self, parts: Sequence[Any]) -> Any:
        """Return the rows of all parts."""
        if self._is_array:
            return np.concatenate(parts)
        import pandas

        return pandas.concat(parts)

    def as_labels(self, labels: np.ndarray) -> Any:
        """Return labels as a Dask array with the same blocks."""
        import dask.array

        return dask.array.from_array(labels, chunks=(tuple(self.sizes.tolist()),))


def _rows_of_array(X: Any) -> list[Any]:
    """Return the row blocks of a Dask array, each with all columns."""
    return list(X.rechunk({1: -1}).to_delayed()[:, 0])
