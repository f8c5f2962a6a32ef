"""Columns that only repeat another one: the same numbers, perhaps in another unit.

A copy says nothing new, but counts as if it did, so where the model is learned it is set aside. It may
differ from a multiple of its source, plus a constant, by as much as rounding does.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mapdp.data.column_kinds import rows_to_look_at, step_of

_FEWEST = 10  # rows: fewer may lie on a line by chance
_MOST = (
    1000  # columns: among more, one that counts twice decides nothing, and pairs are too many to look at
)
_CORRELATED = 0.99  # columns that are worth a closer look
_ROUNDED = 0.6  # steps of either column that rounding explains: half a step, and what it does to the line
_COARSE = 0.05  # of the interquartile range that rounding may explain, however coarse a column is
_SAME = 1e-3  # of the interquartile range that is no difference
_FLOATS = 1e-9  # of the range, that floating point explains


class Source(NamedTuple):
    """How a column follows from an earlier one."""

    column: int
    slope: float
    intercept: float

    def in_units(self, of_source: float, of_copy: float) -> "Source":
        """Return the same line where columns were divided by these numbers."""
        slope = self.slope * (of_copy / of_source)
        return Source(self.column, float(slope), float(self.intercept * of_copy))


def copies_among(columns: Sequence[np.ndarray], among: Sequence[int]) -> dict[int, Source]:
    """Return which of these columns repeat an earlier one: some of the rows say so, and then all."""
    if len(among) < 2:
        return {}
    numbers = np.column_stack([rows_to_look_at(columns[j]) for j in among])
    steps = np.array([step_of(cells) for cells in numbers.T])
    found = {}
    for place, line in copies(numbers, steps).items():
        source, copy = among[line.column], among[place]
        both = np.column_stack([columns[source], columns[copy]]).astype(np.float64)
        if copies(both, steps[[line.column, place]]):
            found[copy] = line._replace(column=source)
    return found


def copies(numbers: np.ndarray, steps: np.ndarray) -> dict[int, Source]:
    """Return the columns that repeat an earlier one; `steps` is what each is rounded to."""
    if len(numbers) < _FEWEST or numbers.shape[1] > _MOST:
        return {}
    units = np.abs(numbers).max(axis=0)
    units = np.where(units > 0.0, units, 1.0)
    found = _copies_of_ordinary_size(numbers / units, steps / units)
    return {j: line.in_units(units[line.column], units[j]) for j, line in found.items()}


def _copies_of_ordinary_size(numbers: np.ndarray, steps: np.ndarray) -> dict[int, Source]:
    """Do what `copies` does, for numbers whose squares are no trouble."""
    spread = numbers.std(axis=0)
    scaled = (numbers - numbers.mean(axis=0)) / np.where(spread > 0.0, spread, np.inf)
    alike = np.abs(scaled.T @ scaled) / len(numbers) > _CORRELATED
    found: dict[int, Source] = {}
    for j in range(1, numbers.shape[1]):
        sources = [i for i in np.flatnonzero(alike[j, :j]) if i not in found]
        lines = (_line(numbers[:, i], numbers[:, j], int(i)) for i in sources)
        same = next((one for one in lines if _explains(one, numbers, j, steps)), None)
        if same is not None:
            found[j] = same
    return found


def _line(x: np.ndarray, y: np.ndarray, column: int) -> Source:
    """Return the line through all rows."""
    gap = x - x.mean()
    slope = float(gap @ (y - y.mean()) / (gap @ gap))
    return Source(column, slope, float(y.mean() - slope * x.mean()))


def _explains(line: Source, numbers: np.ndarray, j: int, steps: np.ndarray) -> bool:
    """Say whether no row is farther from the line than rounding puts it."""
    y = numbers[:, j]
    low, high = np.quantile(y, [0.25, 0.75])
    rounding = _ROUNDED * (steps[j] + abs(line.slope) * steps[line.column])
    most = min(rounding, _COARSE * (high - low)) + _SAME * (high - low) + _FLOATS * np.ptp(y)
    return bool((np.abs(y - line.slope * numbers[:, line.column] - line.intercept) <= most).all())
