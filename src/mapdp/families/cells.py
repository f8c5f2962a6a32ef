"""Which cells of an encoded row belong to which column of a table.

Most columns are one cell. A column with a special value is two: the number, a gap where the cell holds the
special value, and a flag that says whether it does. Numbers stand in the order of columns, then flags.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from mapdp.families.columns import Sums, exact_sums


class CellLayout(NamedTuple):
    """The cells of encoded rows."""

    families: tuple[Any, ...]  # one-column families, one for each cell
    n_columns: int
    flagged: np.ndarray  # columns that have a flag, in the order of the flags

    @classmethod
    def of(cls, columns: Sequence[Any]) -> Self:
        """Return the layout of columns, each with its family."""
        cells = [one.cells for one in columns]
        flagged = np.array([j for j, some in enumerate(cells) if len(some) > 1], dtype=np.int64)
        return cls((*[some[0] for some in cells], *[cells[j][1] for j in flagged]), len(columns), flagged)

    def places(self) -> list[list[int]]:
        """Return the places of each column's cells."""
        places = [[j] for j in range(self.n_columns)]
        for i, j in enumerate(self.flagged):
            places[j].append(self.n_columns + i)
        return places

    def columns(self, columns: Sequence[Any], families: Sequence[Any]) -> list[Any]:
        """Return columns with other families of their cells."""
        out = list(families[: self.n_columns])
        for j, flag in zip(self.flagged, families[self.n_columns :], strict=True):
            out[j] = columns[j].with_cells(out[j], flag)
        return out

    def added(self, numbers: np.ndarray) -> np.ndarray:
        """Return numbers of columns from those of their cells, which stand along the last axis."""
        out = numbers[..., : self.n_columns].copy()
        out[..., self.flagged] += numbers[..., self.n_columns :]
        return out

    def absent(self, gaps: np.ndarray) -> np.ndarray:
        """Say which cells of a table are missing, from the gaps of encoded rows."""
        out = gaps[:, : self.n_columns].copy()
        out[:, self.flagged] = gaps[:, self.n_columns :]
        return out

    def by_column(self, sums: Sums) -> Sums:
        """Return the statistics of columns from those of cells; a tally begins with that of the flag."""
        if not len(self.flagged):
            return sums
        numbers, tallies = np.stack(sums[:5])[:, : self.n_columns], list(sums.tallies[: self.n_columns])
        numbers[0, self.flagged] = sums.n[self.n_columns :]
        for j, flags in zip(self.flagged, sums.tallies[self.n_columns :], strict=True):
            tallies[j] = np.concatenate([flags, tallies[j]])
        return exact_sums(*numbers, tallies=tuple(tallies))

    def by_cell(self, sums: Sums) -> Sums:
        """Return the statistics of cells from those of columns."""
        if not len(self.flagged):
            return sums
        numbers, tallies = np.zeros((5, len(self.families))), list(sums.tallies)
        numbers[:, : self.n_columns], numbers[0, self.n_columns :] = sums[:5], sums.n[self.flagged]
        for j in self.flagged:
            numbers[0, j] = tallies[j][0]
            tallies.append(tallies[j][:2])
            tallies[j] = tallies[j][2:]
        return exact_sums(*numbers, tallies=tuple(tallies))

    def without_special(self, rows: np.ndarray) -> np.ndarray:
        """Return drawn rows without the numbers of cells that hold the special value."""
        special = rows[:, self.n_columns :] == 1.0
        rows[:, self.flagged] = np.where(special, np.nan, rows[:, self.flagged])
        return rows
