"""Gaps in measurements that may vary together: which of them a fit fills, and what it filled them with."""

from typing import NamedTuple

import numpy as np

from mapdp.data.columns import Schema
from mapdp.data.moments import MANY, gaps_filled_by_means
from mapdp.data.one_gaussian import filled_as_one_gaussian
from mapdp.families import Product
from mapdp.families.base import Family

MEASURED = ("real", "log", "count")  # kinds of columns that may vary together
_MOST_EMPTY = 0.05  # of the rows that may have no cell at all; they are put where most rows are
_MOST = 1.0 / 3.0  # of the rows that may lack a column that is filled: more fills would speak too loud
_MOST_KEPT = 2**22  # filled cells of a table in blocks, which are in memory


class FilledCells(NamedTuple):
    """What a fit put into gaps, which count as if they had been measured."""

    rows: np.ndarray
    columns: np.ndarray  # among those that are used
    values: np.ndarray
    total: float  # of the cells that were there, by which the table is known again

    @classmethod
    def between(cls, numbers: np.ndarray, filled: np.ndarray) -> "FilledCells | None":
        """Return what was put into the gaps of a table, None where it has all the gaps it had."""
        found = None if numbers is filled else cls.of(numbers, filled)
        return found if found is not None and len(found.rows) else None

    @classmethod
    def of(cls, numbers: np.ndarray, filled: np.ndarray) -> "FilledCells":
        """Return what was put into the gaps of a table, which may be nothing."""
        rows, columns = np.nonzero(np.isnan(numbers) & ~np.isnan(filled))
        values = filled[rows, columns].astype(np.float64)
        return cls(rows, columns, values, float(np.nansum(numbers)))

    @classmethod
    def together(cls, starts: np.ndarray, blocks: list["FilledCells"]) -> "FilledCells | None":
        """Return what was put into the gaps of blocks that begin at these rows; None where that is much."""
        if not 0 < sum(len(one.rows) for one in blocks) <= _MOST_KEPT:
            return None
        rows = np.concatenate([start + one.rows for start, one in zip(starts, blocks, strict=True)])
        columns, values = (np.concatenate([one[i] for one in blocks]) for i in (1, 2))
        return cls(rows, columns, values, sum(one.total for one in blocks))

    def put_into(self, numbers: np.ndarray) -> np.ndarray:
        """Return the table with the cells filled; another one as it is."""
        has_gaps = self.rows.max() < len(numbers) and np.isnan(numbers[self.rows, self.columns]).all()
        if not has_gaps or not np.isclose(np.nansum(numbers), self.total, rtol=1e-9):
            return numbers
        out = numbers.copy()
        out[self.rows, self.columns] = self.values
        return out


def gaps_to_fill(schema: Schema, numbers: np.ndarray, is_asked: bool) -> np.ndarray | None:
    """Return which gaps would have to be filled for measurements to vary together, None for none.

    Rows that lack all measurements are described by their other columns, if there are any. Columns with
    many gaps are not filled unless a covariance is asked for.
    """
    kinds = np.array([schema.columns[j].kind for j in schema.used])
    gaps = np.isnan(numbers)
    some = np.isin(kinds, MEASURED) & (is_asked | (gaps.mean(axis=0) <= _MOST))
    measured = np.flatnonzero(some & (kinds != "count")) if (some & (kinds != "count")).any() else some
    nothing = gaps[:, measured].all(axis=1)
    has_others = len(kinds) > some.sum()
    gaps = gaps & some & ~(nothing & has_others)[:, None]
    is_empty = not has_others and nothing.mean() > _MOST_EMPTY
    return None if is_empty or not 2 <= some.sum() <= MANY or not gaps.any() else gaps


def filled_as_one_cluster(
    schema: Schema, numbers: np.ndarray, gaps: np.ndarray, weights: np.ndarray | None
) -> np.ndarray:
    """Return a table whose gaps hold what one Gaussian of all rows expects there."""
    out, columns = numbers.copy(), np.flatnonzero(_measured(schema))
    cells = gaps_filled_by_means(filled_as_one_gaussian(numbers[:, columns], weights))
    for place, j in enumerate(columns):
        some = gaps[:, j]
        out[some, j] = schema.columns[schema.used[j]].possible(cells[some, place])
    return out


def _measured(schema: Schema) -> np.ndarray:
    return np.array([schema.columns[j].kind in MEASURED for j in schema.used])


def vary_together(family: Family) -> np.ndarray:
    """Say of each column whether it depends on others within a cluster."""
    found = np.full(family.n_features, not family.has_columns)
    if isinstance(family, Product):
        for part, columns in family.parts:
            found[list(columns)] = not part.has_columns
    return found
