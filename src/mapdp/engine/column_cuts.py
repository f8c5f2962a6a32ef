"""Guesses at how rows could be parted by one column: by its levels, or where its numbers are cut.

Columns are independent within a cluster, so one that tells about others should not be there: its parts are
clusters of their own. And a measured column may have a gap in the middle that no other column knows of,
which guesses from the shape of all columns overlook. Which columns do either is a matter of a few sums; the
trial of a guess by such a column then says what it gains.
"""

import math
from typing import NamedTuple

import numpy as np

from mapdp.compiled.jit import inlined, kernel
from mapdp.engine.state import TRIAL_CAPACITY
from mapdp.families import Mixed, Product
from mapdp.families.base import Family
from mapdp.families.levels.family import LevelFamily

_LEAST = 1e-6  # share of a column's variance that is left within parts, at least: levels may have none
_BINS = 16  # that cells of a column are counted in at a first look, one of them for gaps
_WIDE = 3.0  # standard deviations from the mean at which the first and last of the other bins end
_NARROW = 1e-2  # the same for the two sides of a cut, as numbers are rounded


class ScreenBuffers(NamedTuple):
    """Working space for a look at the columns of up to n rows."""

    W: np.ndarray  # (n, D) whitened rows; gaps are 0
    mean: np.ndarray  # (D,)
    scale: np.ndarray  # (D,)
    sums: np.ndarray  # (BINS, D) of whitened rows, by the bin of one column
    n: np.ndarray  # (BINS,) rows
    second: np.ndarray  # (BINS,) squares of that column


def screen_buffers(n_rows: int, n_columns: int) -> ScreenBuffers:
    """Return working space for groups of which up to `n_rows` rows are looked at."""
    shapes = ((n_rows, n_columns), n_columns, n_columns, (_BINS, n_columns), _BINS, _BINS)
    return ScreenBuffers(*[np.empty(shape) for shape in shapes])


@inlined
def _whiten(cells, rows, W, mean, scale):
    """Fill W with rows of mean 0 and variance 1 in every column; gaps are 0."""
    for j in range(cells.shape[1]):
        n, total, second, first = 0, 0.0, 0.0, np.nan
        for r in range(W.shape[0]):
            cell = cells[rows[r], j]
            if cell == cell:
                first = cell if n == 0 else first
                n += 1
                total += cell - first
                second += (cell - first) * (cell - first)
        variance = second / max(n, 1) - (total / max(n, 1)) ** 2
        mean[j] = first + total / max(n, 1)
        scale[j] = 1.0 / math.sqrt(variance) if variance > 0.0 else 0.0
        for r in range(W.shape[0]):
            cell = cells[rows[r], j]
            W[r, j] = (cell - mean[j]) * scale[j] if cell == cell else 0.0


@inlined
def _bin(cell, w):
    """Return the bin of a cell: the last one is for gaps, the others have the same width."""
    if cell != cell:
        return _BINS - 1
    return int(min(max((w + _WIDE) * (_BINS - 1) / (2.0 * _WIDE), 0.0), _BINS - 2.0))


@inlined
def _fill_bins(cells, rows, j, buffers, n_rows):
    """Sum whitened rows by the bin of their column j."""
    W, sums, n, second = buffers.W, buffers.sums, buffers.n, buffers.second
    for b in range(_BINS):
        n[b] = second[b] = 0.0
        for other in range(W.shape[1]):
            sums[b, other] = 0.0
    for r in range(n_rows):
        b = _bin(cells[rows[r], j], W[r, j])
        n[b] += 1.0
        second[b] += W[r, j] * W[r, j]
        for other in range(W.shape[1]):
            sums[b, other] += W[r, other]


@inlined
def _shared(j, buffers, n_rows):
    """Return the nats per row that the bins of column j save in all other columns, above chance."""
    n_taken, saved = 0, 0.0
    for b in range(_BINS):
        n_taken += buffers.n[b] > 0.0
    for other in range(buffers.sums.shape[1]):
        between = 0.0
        for b in range(_BINS):
            if buffers.n[b] > 0.0:
                between += buffers.sums[b, other] * buffers.sums[b, other] / buffers.n[b]
        if other != j:
            saved -= 0.5 * math.log(max(1.0 - between / n_rows, _LEAST))
    return saved - 0.5 * (n_taken - 1) * (buffers.sums.shape[1] - 1) / n_rows


@inlined
def _own(j, buffers, n_rows):
    """Return the nats per row that the best cut of column j saves in it."""
    n_low, low, second_low, best = 0.0, 0.0, 0.0, 0.0
    n_high, high, second_high = 0.0, 0.0, 0.0
    for b in range(_BINS - 1):
        n_high, high = n_high + buffers.n[b], high + buffers.sums[b, j]
        second_high += buffers.second[b]
    for b in range(_BINS - 2):
        n_low, n_high = n_low + buffers.n[b], n_high - buffers.n[b]
        low, high = low + buffers.sums[b, j], high - buffers.sums[b, j]
        second_low, second_high = second_low + buffers.second[b], second_high - buffers.second[b]
        saved = _side(n_low, low, second_low, n_rows) + _side(n_high, high, second_high, n_rows)
        best = max(best, saved)
    return best


@inlined
def _side(n, total, second, n_rows):
    """Return the nats per row that a Gaussian of their own saves n rows, less the price of naming them."""
    if n <= 0.0:
        return 0.0
    variance = max(second / n - (total / n) * (total / n), _NARROW)
    return n / n_rows * (math.log(n / n_rows) - 0.5 * math.log(variance))


@kernel
def screen(cells, rows, is_level, buffers, promise):
    """Fill promise[j] with about the nats per row that parts by column j save these rows."""
    n_rows = rows.shape[0]
    _whiten(cells, rows, buffers.W[:n_rows], buffers.mean, buffers.scale)
    for j in range(cells.shape[1]):
        _fill_bins(cells, rows, j, buffers, n_rows)
        promise[j] = _shared(j, buffers, n_rows)
        if not is_level[j]:
            promise[j] += _own(j, buffers, n_rows)


def has_levels(family: Family, n_columns: int) -> np.ndarray:
    """Say of each column whether its numbers only name levels; to cut between two of them means nothing."""
    if isinstance(family, Product) and family.n_cells == n_columns:
        return np.concatenate([has_levels(part, part.n_cells) for part, _ in family.parts])
    if not family.has_columns or family.n_cells != n_columns:
        return np.zeros(n_columns, dtype=np.bool_)
    return np.array([isinstance(one, LevelFamily) for one in Mixed.of(family).layout.families])


def parts_by_column(cells: np.ndarray) -> np.ndarray:
    """Return the part of each row by one column: 0, 1, ... from the lowest level or share up; then gaps."""
    return np.searchsorted(_bounds(np.sort(cells)), cells, side="right").astype(np.int32)


def _bounds(in_order: np.ndarray) -> np.ndarray:
    """Return where the parts of a column begin, after the first: at its levels, or at equal shares."""
    seen, n_parts = in_order[: np.searchsorted(in_order, np.inf, side="right")], TRIAL_CAPACITY - 1
    values = seen[1:][seen[1:] > seen[:-1]]
    if len(values) >= n_parts:
        values = np.unique(seen[np.arange(1, n_parts) * len(seen) // n_parts])
    return np.append(values, np.nan) if len(seen) < len(in_order) else values  # gaps come last
