"""A table in numbered blocks: its rows may be on disk or on other machines, few blocks are in memory.

Everything that passes over all rows does so by two verbs: apply a task to each block, and give me these
rows. The blocks and their order are part of the problem, so the outcome is the same wherever they are.
"""

import importlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from mapdp.data import checks

ROWS = 2**18  # of a block, where nothing else decides


class TableBlocks:
    """What every table in blocks offers; a subclass reads one block, and may apply tasks elsewhere."""

    sizes: np.ndarray  # (B,) rows of each block
    n_threads: int = 1  # that work on blocks; the outcome is the same for any number

    @property
    def n_rows(self) -> int:
        """Return the number of rows of all blocks."""
        return int(self.sizes.sum())

    @property
    def starts(self) -> np.ndarray:
        """Return the number of the first row of each block."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]])

    def read(self, number: int) -> Any:
        """Return a block as a table in memory."""
        raise NotImplementedError

    def joined(self, parts: Sequence[Any]) -> Any:
        """Return tables of some rows as one table."""
        raise NotImplementedError

    def as_labels(self, labels: np.ndarray) -> Any:
        """Return one label for each row in the form that goes with the table."""
        return labels

    def each(self, task: Callable[..., Any], shared: Any, arguments: Sequence[Any]) -> Iterator[Any]:
        """Yield task(block, shared, arguments[b]) for each block b, in order; few are read at a time."""

        def work(number: int) -> Any:
            return task(self.read(number), shared, arguments[number])

        if self.n_threads == 1:
            yield from map(work, range(len(self.sizes)))
            return
        with ThreadPoolExecutor(self.n_threads) as pool:
            under_way: deque[Any] = deque()
            for number in range(len(self.sizes)):
                under_way.append(pool.submit(work, number))
                if len(under_way) > self.n_threads:
                    yield under_way.popleft().result()
            yield from (one.result() for one in under_way)

    def mapped(self, function: Callable[[Any], np.ndarray], shape: tuple[int, ...], dtype: Any) -> Any:
        """Return what a function makes of all rows; each row becomes numbers of this shape and type."""
        out = np.empty((self.n_rows, *shape), dtype=dtype)
        some = self.each(_applied, function, [None] * len(self.sizes))
        for start, n, numbers in zip(self.starts, self.sizes, some, strict=True):
            out[start : start + n] = numbers
        return out

    def tables(self, function: Callable[[Any], Any]) -> Any:
        """Return the tables that a function makes of the blocks, as one table."""
        return self.joined(list(self.each(_applied, function, [None] * len(self.sizes))))

    def rows(self, chosen: np.ndarray) -> Any:
        """Return the rows with these numbers, which must rise, as one table."""
        places = self.by_block(chosen)
        return self.joined([part for part in self.each(rows_at, None, places) if len(part)])

    def by_block(self, chosen: np.ndarray) -> list[np.ndarray]:
        """Return for each block the places of its rows among these, whose numbers must rise."""
        ends = np.searchsorted(chosen, self.starts + self.sizes)
        parts = np.split(chosen, ends[:-1])
        return [part - start for part, start in zip(parts, self.starts, strict=True)]


class ArrayBlocks(TableBlocks):
    """A matrix, which may be a memory map, cut into blocks of rows."""

    def __init__(self, X: np.ndarray, n_rows: int = ROWS) -> None:
        self._X, self._n = X, n_rows
        begins = np.arange(0, len(X), n_rows)
        self.sizes = np.minimum(begins + n_rows, len(X)) - begins

    def read(self, number: int) -> np.ndarray:
        """Return a block; its rows are copied where they are needed."""
        return np.asarray(self._X[number * self._n : (number + 1) * self._n])

    def joined(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """Return the rows of all parts."""
        return np.concatenate(parts)


def _applied(table: Any, function: Callable[[Any], Any], _: None) -> Any:
    return function(table)


def rows_at(table: Any, _: None, places: np.ndarray) -> Any:
    """Return some rows of a table in memory."""
    if hasattr(table, "iloc"):
        return table.iloc[places]
    return table.take(places) if hasattr(table, "column_names") else np.asarray(table)[places]


def in_blocks(X: Any, rows: int = ROWS) -> TableBlocks:
    """Return a table as numbered blocks, which `MAPDP.fit` searches without having all of it in memory.

    Parameters
    ----------
    X : matrix, NumPy memory map, pyarrow Dataset, Dask data frame or Dask array
        Datasets and Dask collections are taken by `fit` as they are; this is for another size of blocks.
    rows : int, default 262144
        Rows of a block: a Dataset's blocks are whole row groups, those of a Dask collection are its own.

    Examples
    --------
    >>> import numpy as np
    >>> import mapdp
    >>> X = np.random.default_rng(0).normal(size=(1000, 2)) + 10.0 * (np.arange(1000) % 2)[:, None]
    >>> model = mapdp.MAPDP().fit(mapdp.in_blocks(X, rows=400))
    >>> model.n_clusters_, model.cluster_sizes_.tolist()
    (2, [500, 500])
    """
    checks.whole("rows", rows, 1)
    found = blocks_of(X, rows)
    if found is not None:
        return found
    if not isinstance(X, np.ndarray) or X.ndim != 2 or len(X) == 0:
        shape = f" of shape {X.shape}" if isinstance(X, np.ndarray) else ""
        raise TypeError(
            f"X must be a matrix with rows, a Dataset or a Dask collection, got {type(X).__name__}{shape}. "
            "Hint: fit takes other tables as they are."
        )
    return ArrayBlocks(X, rows)


def blocks_of(X: Any, rows: int = ROWS) -> TableBlocks | None:
    """Return what a table in blocks is made of, None for a table in memory."""
    library = type(X).__module__.split(".")[0]
    if isinstance(X, TableBlocks):
        return X
    if library == "pyarrow" and hasattr(X, "get_fragments"):
        return importlib.import_module("mapdp.data.arrow_blocks").ArrowBlocks(X, rows)
    if library in ("dask", "dask_expr"):
        return importlib.import_module("mapdp.data.dask_blocks").DaskBlocks(X)
    return None
