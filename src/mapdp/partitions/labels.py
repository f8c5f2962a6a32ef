"""Partitions as arrays of labels: renumbering, and agreement of two."""

import numpy as np

from mapdp.data.column_order import order_by_content


def compact(labels: np.ndarray) -> np.ndarray:
    """Number the chairs that are taken 0, 1, ... in their order."""
    taken = np.flatnonzero(np.bincount(labels))
    number = np.zeros(taken[-1] + 1, dtype=np.int32)
    number[taken] = np.arange(len(taken))
    return number[labels]


def by_falling_size(
    labels: np.ndarray, rows: np.ndarray | None = None, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the labels with clusters numbered by falling size, or by the weight of their rows.

    Of clusters of the same size the one with the lowest row comes first. Columns are compared in an order
    that their content gives, so neither the order of rows matters nor that of columns. Without rows, the
    cluster that appears first comes first.
    """
    sizes = np.bincount(labels, weights)
    first = np.full(len(sizes), len(labels))
    first[labels[::-1]] = np.arange(len(labels) - 1, -1, -1)
    order = np.lexsort((first, -sizes))
    if rows is not None:
        order = _ties_by_lowest_row(order, sizes, labels, rows)
    ranks = np.empty(len(sizes), dtype=np.int32)
    ranks[order] = np.arange(len(sizes))
    return ranks[labels]


def _ties_by_lowest_row(
    order: np.ndarray, sizes: np.ndarray, labels: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Return clusters by falling size, those of one size by their lowest row."""
    falling = sizes[order]
    same = (falling[1:] == falling[:-1]) & (falling[1:] > 0)
    if not same.any():
        return order
    tied = order[np.append(same, False) | np.insert(same, 0, False)]
    rank = order_by_content(rows).rank
    lowest = {k: _lowest_row(rows[labels == k][:, np.argsort(rank)]) for k in tied}
    return np.array(sorted(order.tolist(), key=lambda k: (-sizes[k], lowest.get(k, ()))))


def _lowest_row(rows: np.ndarray) -> tuple[float, ...]:
    """Return the first of several rows in the order of their cells; a gap is above all numbers."""
    cells = np.where(np.isnan(rows), np.inf, rows)
    for j in range(cells.shape[1]):
        if len(cells) == 1:
            break
        cells = cells[cells[:, j] == cells[:, j].min()]
    return tuple(cells[0].tolist())


def adjusted_rand(a: np.ndarray, b: np.ndarray) -> float:
    """Return the adjusted Rand index of two partitions with clusters 0, 1, ...

    It is scikit-learn's, at a tenth of the time on labels that are known to be in order.
    """
    table = np.bincount(a.astype(np.int64) * (int(b.max()) + 1) + b).astype(np.float64)
    both, in_a, in_b = (_pairs(sizes) for sizes in (table, np.bincount(a), np.bincount(b)))
    expected = in_a * in_b / max(_pairs(np.array([len(a)])), 1.0)
    room = 0.5 * (in_a + in_b) - expected
    return float((both - expected) / room) if room > 0.0 else 1.0


def _pairs(sizes: np.ndarray) -> float:
    return float((sizes * (sizes - 1.0) / 2.0).sum())
