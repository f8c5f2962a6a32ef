"""What belongs in a gap, according to the clusters that the row may be in.

Given the cells that are there, a row is in each cluster with a known probability, and each cluster has a
predictive density for the missing cell; their mixture gives the expected value and its spread.
"""

from typing import Any, NamedTuple

import numpy as np

from mapdp.data.one_gaussian import gap_patterns
from mapdp.families import Product
from mapdp.families.base import Bank, Family


class Fill(NamedTuple):
    """What belongs in the gaps of one column, in the family's numbers."""

    rows: np.ndarray  # those with a gap
    values: np.ndarray  # expected number, or most probable level
    spread: np.ndarray  # standard deviation, or probability of another level


def fills(family: Family, bank: Bank, rows: np.ndarray, chances: np.ndarray) -> list[Fill]:
    """Return what belongs in the gaps of each column; chances are (N, K), without a new cluster."""
    if isinstance(family, Product):
        return _fills_of_parts(family, bank, rows, chances)
    posteriors = [family.posterior(bank, k) for k in range(chances.shape[1])]
    if not family.has_columns:
        return _correlated(posteriors, rows, chances)
    gaps = [np.flatnonzero(np.isnan(cells)) for cells in rows.T]
    return [
        _fill([one.column(j).summary() for one in posteriors], missing, chances[missing])
        for j, missing in enumerate(gaps)
    ]


def _fills_of_parts(family: Product, bank: Bank, rows: np.ndarray, chances: np.ndarray) -> list[Fill]:
    """Return what belongs in the gaps of each column, of which each part fills its own."""
    found: dict[int, Fill] = {}
    for (part, columns), own in zip(family.parts, family.banks(bank), strict=True):
        found.update(zip(columns, fills(part, own, rows[:, list(columns)], chances), strict=True))
    return [found[j] for j in range(family.n_features)]


def _fill(summaries: list[dict[str, Any]], rows: np.ndarray, chances: np.ndarray) -> Fill:
    """Mix the clusters' predictives of one column."""
    if not len(rows):
        return Fill(rows, np.empty(0), np.empty(0))
    if "probability" in summaries[0]:
        mixed = chances @ np.array([one["probability"][0] for one in summaries])
        return Fill(rows, mixed.argmax(axis=1).astype(np.float64), 1.0 - mixed.max(axis=1))
    mean, variance = (np.array([one[what][0] for one in summaries]) for what in ("mean", "variance"))
    if "special" not in summaries[0]:
        return Fill(rows, *_moments(chances, mean, variance))
    special = np.array([one["special"][0] for one in summaries])
    return _with_special(rows, chances, special, mean, variance)


def _with_special(
    rows: np.ndarray, chances: np.ndarray, special: np.ndarray, mean: np.ndarray, variance: np.ndarray
) -> Fill:
    """Fill gaps with the special value, as NaN, where it is more probable than all others together."""
    chance, others = chances @ special, chances * (1.0 - special)
    values, spread = _moments(others / others.sum(axis=1, keepdims=True), mean, variance)
    is_special = chance > 0.5
    return Fill(rows, np.where(is_special, np.nan, values), np.where(is_special, 1.0 - chance, spread))


def _moments(chances: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of mixtures.

    A cluster whose predictive has no mean or no variance (it has seen too little of the column) is taken
    to be like the others, mixed in equal parts.
    """
    known = np.isfinite(mean) & np.isfinite(variance)
    if not known.all():
        middle, left = _mean_of(mean, known), _mean_of(variance, known)
        spread = left + _mean_of((mean - middle) ** 2, known)
        spread = np.where(known.any(axis=-1, keepdims=True), spread, np.inf)
        mean, variance = np.where(known, mean, middle), np.where(known, variance, spread)
    expected = (chances * mean).sum(axis=-1)
    squares = (chances * (variance + mean**2)).sum(axis=-1)
    return expected, np.sqrt(np.maximum(squares - expected**2, 0.0))


def _mean_of(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the mean of those along the last axis that are known, 0 where none is."""
    total = np.where(known, values, 0.0).sum(axis=-1, keepdims=True)
    return total / np.maximum(known.sum(axis=-1, keepdims=True), 1)


def _correlated(posteriors: list[Any], rows: np.ndarray, chances: np.ndarray) -> list[Fill]:
    """Fill rows whose columns depend on each other; those that lack the same cells are filled together."""
    gaps = np.isnan(rows)
    values, spread = np.zeros(rows.shape), np.zeros(rows.shape)
    nothing = np.flatnonzero(gaps.all(axis=1))
    columns = np.arange(rows.shape[1])
    for some, missing, seen in [*gap_patterns(gaps), (nothing, columns, columns[:0])]:
        given = [posterior.given(seen, rows[np.ix_(some, seen)]) for posterior in posteriors]
        shape = (len(given), len(some), len(missing))
        mean, variance = (
            np.array([np.broadcast_to(one[part], shape[1:]) for one in given]) for part in (0, 1)
        )
        for place, j in enumerate(missing):
            parts = mean[:, :, place].T, variance[:, :, place].T
            values[some, j], spread[some, j] = _moments(chances[some], *parts)
    absent = [np.flatnonzero(column) for column in gaps.T]
    return [Fill(m, values[m, j], spread[m, j]) for j, m in enumerate(absent)]


def log_density_of_cells(
    family: Family, bank: Bank, numbers: np.ndarray, cells: np.ndarray, labels: np.ndarray
) -> float:
    """Return the log density of cells of columns that vary together, given the rest of their rows."""
    if isinstance(family, Product):
        pairs = zip(family.parts, family.banks(bank), strict=True)
        parts = [(part, own, list(columns)) for (part, columns), own in pairs if not part.has_columns]
        return sum(log_density_of_cells(a, b, numbers[:, c], cells[:, c], labels) for a, b, c in parts)
    total = 0.0
    for k in np.unique(labels[cells.any(axis=1)]):
        mine, posterior = np.flatnonzero(labels == k), family.posterior(bank, k)
        for some, seen in _seen_beside(cells[mine]):
            rows = numbers[mine[some]]
            total += float(posterior.log_densities(np.arange(rows.shape[1]), rows).sum())
            if len(seen):
                total -= float(posterior.log_densities(seen, rows[:, seen]).sum())
    return total


def _seen_beside(cells: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return rows with any of these cells, and their columns beside them, which may be none."""
    nothing = np.flatnonzero(cells.all(axis=1))
    patterns = [(some, seen) for some, _, seen in gap_patterns(cells)]
    return [*patterns, (nothing, nothing[:0])] if len(nothing) else patterns
