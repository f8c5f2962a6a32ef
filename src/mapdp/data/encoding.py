"""Cells of a column as numbers: places among its levels, logarithms, parts of dates."""

import warnings
from typing import Any

import numpy as np

from mapdp.data.frames import Raw, is_gap, is_number
from mapdp.data.times import weekdays


def part_of(raw: Raw, part: str) -> Raw:
    """Return the weekdays, or the times of day, of a column of dates or moments."""
    if raw.measure not in ("date", "moment"):
        got = "words" if raw.is_text else "numbers"
        raise ValueError(
            f"column {raw.name!r} must hold dates for its {part}, got {got}. "
            f"Hint: columns={{{raw.name!r}: 'category'}} takes it as it is."
        )
    if part == "weekday":
        return Raw(raw.name, weekdays(raw.cells), is_text=True)
    return raw._replace(cells=raw.cells % 1.0, measure="time")


def places(raw: Raw, values: tuple) -> np.ndarray:
    """Return each cell's place among the values; NaN where it is a gap or was never seen."""
    place, same = {meant(value): i for i, value in enumerate(values)}, meant
    if len(place) < len(values):  # words that would be the same number, such as 7 and 007
        place, same = {value: i for i, value in enumerate(values)}, lambda cell: cell
    cells = raw.cells.tolist()
    known = {cell: place.get(same(cell), np.nan) for cell in set(cells)}
    strangers = {cell for cell, i in known.items() if i != i and not is_gap(cell)}
    if strangers:
        warnings.warn(
            f"column {raw.name!r} has values that were not seen in fit, such as "
            f"{min(strangers, key=str)!r}; they are taken as missing.",
            UserWarning,
            stacklevel=2,
        )
    return np.array([known[cell] for cell in cells], dtype=np.float64)


def meant(cell: Any) -> Any:
    """Return what a cell means however it is stored: true is 1, and 01 is the number 1."""
    if not isinstance(cell, str):
        return cell
    if cell.lower() in ("true", "false"):
        return float(cell.lower() == "true")
    return float(cell) if is_number(cell) else cell


def logs(raw: Raw, shift: float) -> np.ndarray:
    """Return the logarithms of a column, or say which cell has none."""
    moved = raw.cells + shift
    if np.nanmin(moved, initial=1.0) <= 0.0:
        i = int(np.nanargmin(moved))
        raise ValueError(
            f"column {raw.name!r} must be {'positive' if shift == 0.0 else 'from 0 up'} for its logarithm, "
            f"got {raw.cells[i]} in row {i}. Hint: columns={{{raw.name!r}: 'real'}} takes it as it is."
        )
    return np.log(moved)
