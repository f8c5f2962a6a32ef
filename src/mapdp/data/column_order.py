"""An order of columns that follows from their content: their names and places decide nothing."""

from typing import NamedTuple

import numpy as np

from mapdp.data.moments import has_gaps

_ENOUGH = 10_000  # rows that tell columns apart
_NO_SIGN = 1e-9  # of what two columns of the same spread could share: a smaller share is rounding


class ColumnOrder(NamedTuple):
    """Where each column stands among the others, and which of its ends is the upper one."""

    rank: np.ndarray  # (D,) 0, 1, ...
    sign: np.ndarray  # (D,) 1, or -1 where the column would stand there upside down

    def arranged(self, numbers: np.ndarray) -> np.ndarray:
        """Give numbers that were drawn for ranks (last axis) to the columns that have these ranks."""
        return np.take(numbers, self.rank, axis=-1) * self.sign  # C order, which kernels are compiled for


def order_by_content(rows: np.ndarray) -> ColumnOrder:
    """Order columns by how far they go along with the distance of rows from the middle.

    That is the same number whatever the order of rows and of columns, and with the other sign for a column
    turned upside down. Columns of which it says nothing keep their places.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # numbers whose squares are no floats say nothing
        return _order(rows)


def _order(rows: np.ndarray) -> ColumnOrder:
    whitened = _whitened(rows[:: max(1, len(rows) // _ENOUGH)])
    weight = np.einsum("ij,ij->i", whitened, whitened)
    weight *= weight
    key = weight @ whitened
    size = np.abs(key)
    says_nothing = ~(size > _NO_SIGN * weight.sum())
    size[says_nothing] = key[says_nothing] = 0.0
    rank = np.empty(len(key), dtype=np.int64)
    rank[size.argsort(kind="stable")] = np.arange(len(key))
    return ColumnOrder(rank, np.where(key < 0.0, -1.0, 1.0))


def _whitened(rows: np.ndarray) -> np.ndarray:
    """Return rows with mean 0 and variance 1 in every column; gaps, and columns that do not vary, are 0."""
    n_seen, mean, apart = _around_gaps(rows) if has_gaps(rows) else _around_mean(rows)
    spread = np.sqrt(np.einsum("ij,ij->j", apart, apart) / n_seen)
    varies = spread > 8.0 * np.finfo(np.float64).eps * np.abs(mean)
    spread[~varies] = np.inf
    apart /= spread
    return apart


def _around_mean(rows: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
    """Return how many cells a column has, their mean, and cells less that mean."""
    mean = rows.mean(axis=0, dtype=np.float64)
    return len(rows), mean, rows - mean


def _around_gaps(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for each column how many cells are there, their mean, and cells less that mean: 0 for gaps."""
    seen = ~np.isnan(rows)
    n_seen = np.maximum(seen.sum(axis=0), 1)
    mean = np.where(seen, rows, 0.0).sum(axis=0) / n_seen
    return n_seen, mean, np.where(seen, rows - mean, 0.0)
