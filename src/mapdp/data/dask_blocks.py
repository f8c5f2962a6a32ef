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

        if not isinstance(shape := getattr(X, "shape", None), tuple) or len(shape) != 2:
            raise TypeError(
                f"X must be a Dask data frame or a Dask array of rows and columns, got {type(X).__name__}. "
                "Hint: X.to_frame(), or X.reshape(-1, 1)."
            )
        self._is_array, self._n_columns = hasattr(X, "chunks"), X.shape[1]
        self._parts = _rows_of_array(X) if self._is_array else X.to_delayed()
        sizes = np.array(_computed([dask.delayed(len)(part) for part in self._parts]))
        self._parts = [part for part, n in zip(self._parts, sizes, strict=True) if n]
        self.sizes = sizes[sizes > 0]
        if not len(self.sizes):
            raise ValueError("the Dask collection has no rows. Hint: check how it was made.")

    def each(self, task: Callable[..., Any], shared: Any, arguments: Sequence[Any]) -> Iterator[Any]:
        """Yield what the task makes of each block, in their order."""
        import dask

        shared = dask.delayed(shared, traverse=False)  # one node of the graph, sent once to each worker
        given = [dask.delayed(one, traverse=False) for one in arguments]
        some = [
            dask.delayed(task, pure=False)(part, shared, one)
            for part, one in zip(self._parts, given, strict=True)
        ]
        yield from _computed(some)

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


def _computed(tasks: Sequence[Any]) -> Sequence[Any]:
    """Work tasks out; say in one sentence that whoever had the rows is gone."""
    import dask

    try:
        return dask.compute(*tasks)
    except Exception as error:
        if not _is_of_client(error):
            raise
        raise RuntimeError(
            "the Dask client was closed while its rows were needed. Hint: fit while it is open; with "
            "checkpoint=... a fit that was broken off goes on."
        ) from error


def _is_of_client(error: Exception) -> bool:
    """Say whether a client was closed, now or while it kept rows."""
    names = {one.__name__ for one in type(error).__mro__}
    said = ("Missing dependency", "no Client active")
    return bool(names & {"CancelledError", "ClosedClientError"}) or any(one in str(error) for one in said)
