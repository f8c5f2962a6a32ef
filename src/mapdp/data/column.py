"""What one column of a table holds, and its cells as numbers.

The kind is read off the values, not off how they are stored, so that a table means the same in pandas,
polars, Arrow and NumPy, with gaps or without.
"""

import collections
import dataclasses
from typing import Any

import numpy as np

from mapdp.data.column_kinds import (
    DESCRIBED,
    different,
    has_zeros,
    kind_of_numbers,
    kind_of_words,
    others_than,
    resolution_of,
    shift_of,
    special_value,
    takes_logs,
    unit_of,
)
from mapdp.data.encoding import logs, meant, part_of, places
from mapdp.data.frames import Raw, as_matrix, n_missing
from mapdp.data.times import PARTS, in_words


@dataclasses.dataclass(frozen=True)
class Column:
    """What one column of a table holds.

    `kind` is one of "real", "log", "count", "binary", "category" and "ordered", or says why the column is
    set aside: "constant", "copy", "identifier", "empty", "ignore". "given" is a column whose family was
    given.
    """

    name: object
    kind: str
    n_missing: int = 0
    values: tuple = ()  # its levels in order; the value of a constant; source, slope, intercept of a copy
    shift: float = 0.0  # added before a log is taken
    is_text: bool = False
    unit: float = 1.0  # what numbers are divided by: a power of two, 1 where numbers are of ordinary size
    resolution: float = 0.0  # step that the family's numbers are rounded to, 0 where that does not matter
    measure: str = ""  # what its numbers are, where not plain ones: see `Raw`
    part: str = ""  # "weekday" or "time", where only that of a date or moment is used
    has_zeros: bool = False  # whether its lowest number is so frequent that it may mean none

    @property
    def is_used(self) -> bool:
        """Say whether clusters are found by this column."""
        return self.kind in DESCRIBED or self.kind == "given"

    @property
    def is_plain(self) -> bool:
        """Say whether cells are the family's numbers as they are."""
        return self.kind in ("real", "given") and self.unit == 1.0 and not self.part

    @property
    def has_levels(self) -> bool:
        """Say whether cells are places among its values."""
        return bool(self.values) and self.kind in DESCRIBED and self.kind not in ("real", "zeros")

    @property
    def special(self) -> float:
        """Return the family's number that means "none", NaN where there is none such."""
        return self.values[0] / self.unit if self.kind == "zeros" else np.nan

    def note(self) -> str:
        """Return in a few words what is done with the column."""
        words = {
            "log": "long tail: its logarithm is used",
            "zeros": f"{self.word(self.values[0])} is a level of its own" if self.values else "",
            "constant": f"set aside: always {self.word(self.values[0])}" if self.values else "",
            "identifier": "set aside: a name or number for each row",
            "empty": "set aside: no value at all",
            "ignore": "set aside on request",
        }
        if self.kind == "copy":
            return f"set aside: {self.values[1]:.4g} times column {self.values[0]}"
        if self.unit != 1.0:
            return f"measured in units of {self.unit:.3g}"
        if self.part:
            return "its weekday" if self.part == "weekday" else "its time of day"
        return words.get(self.kind, f"{len(self.values)} values" if len(self.values) > 2 else "")

    def word(self, value: Any) -> str:
        """Return a value of the column as people write it."""
        if isinstance(value, str):
            return value
        if self.measure == "truth":
            return "true" if value else "false"
        return in_words(value, self.measure) if self.measure else f"{value:g}"

    def possible(self, numbers: np.ndarray) -> np.ndarray:
        """Return the family's numbers that are nearest to these and may occur: counts are whole."""
        return np.maximum(np.rint(numbers), 0.0) if self.kind == "count" else numbers

    def encoded(self, raw: Raw) -> np.ndarray:
        """Return the cells as the family's numbers."""
        raw = part_of(raw, self.part) if self.part else raw
        if self.has_levels:
            return places(raw, self.values)
        if raw.is_text:
            as_matrix([raw])
        if self.kind == "log":
            return logs(raw, self.shift)
        return raw.cells if self.unit == 1.0 else raw.cells / self.unit

    def decoded(self, cells: np.ndarray) -> np.ndarray:
        """Turn the family's numbers back into values."""
        if self.has_levels:
            return np.array(self.values, dtype=object if self.is_text else None)[cells.astype(int)]
        return np.maximum(np.exp(cells) - self.shift, 0.0) if self.kind == "log" else cells * self.unit


def described(raw: Raw, given: str | None) -> Column:
    """Return what one column holds."""
    if given in PARTS:
        kind = "category" if given == "weekday" else "real"
        return dataclasses.replace(described(part_of(raw, given), kind), part=given)
    missing = n_missing(raw)
    kind = given or (kind_of_words(raw) if raw.is_text else kind_of_numbers(raw, missing))
    if given in DESCRIBED and len(raw.cells) == missing:
        raise without_values(raw.name)
    values = _values(raw, kind)
    if kind == "binary" and len(values) > 2:
        raise ValueError(f"column {raw.name!r} is not binary: it has {len(values)} values.")
    shift = shift_of(raw.cells) if kind == "log" and not raw.is_text else 0.0
    unit = unit_of(raw) if kind in ("real", "zeros") and not raw.is_text else 1.0
    column = Column(raw.name, kind, missing, values, shift, raw.is_text, unit, measure=raw.measure)
    if kind not in ("real", "log", "zeros") or raw.is_text or len(raw.cells) == missing:
        return column
    zeros = given is None and not raw.measure and has_zeros(raw.cells)
    return dataclasses.replace(column, resolution=_resolution(column, column.encoded(raw)), has_zeros=zeros)


def _values(raw: Raw, kind: str) -> tuple:
    """Return the levels of a column, the value of a constant, or the one that means none."""
    if kind == "zeros" and not raw.is_text:
        return (special_value(raw.cells),)
    if kind not in ("binary", "category", "ordered", "constant"):
        return ()
    return (kind == "ordered" and raw.ranks) or _levels(raw, kind)


def _levels(raw: Raw, kind: str) -> tuple:
    """Return the different values of a column; words without an order of their own by falling frequency.

    Words that are as frequent as each other stand as they come: what they are called must not matter.
    """
    if raw.is_text and kind in ("binary", "category"):
        counts = collections.Counter(word for word in raw.cells.tolist() if word is not None)
        if any(isinstance(meant(word), str) for word in counts):
            return tuple(word for word, _ in counts.most_common())
    return tuple(different(raw.cells))


def _resolution(column: Column, cells: np.ndarray) -> float:
    """Return the step that the family's numbers are rounded to."""
    if column.kind != "zeros":
        return resolution_of(cells)
    measured = others_than(column.special, cells)
    return resolution_of(np.log(measured) if takes_logs(measured) else measured)


def without_values(name: object) -> ValueError:
    """Return the error of a column that is all gaps."""
    return ValueError(f"column {name!r} has no value at all. Hint: leave it out.")
