"""What each column of a table holds, and its cells as numbers.

The kind is read off the values, not off how they are stored, so that a table means the same in pandas,
polars, Arrow and NumPy, with gaps or without.
"""

import collections
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from mapdp.data.checks import Names
from mapdp.data.column_kinds import (
    DESCRIBED,
    KINDS,
    different,
    kind_of_numbers,
    kind_of_words,
    resolution_of,
    shift_of,
    unit_of,
)
from mapdp.data.copies import copies_among
from mapdp.data.encoding import logs, meant, part_of, places
from mapdp.data.frames import Raw, as_matrix, check_not_infinite, n_missing
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
        return bool(self.values) and self.kind in DESCRIBED and self.kind != "real"

    def note(self) -> str:
        """Return in a few words what is done with the column."""
        words = {
            "log": "long tail: its logarithm is used",
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


class Schema(NamedTuple):
    """What each column of a table holds; prints as a table."""

    columns: tuple[Column, ...]

    @classmethod
    def infer(cls, table: Sequence[Raw], kinds: Mapping[object, str] | None = None) -> Self:
        """Infer the kinds of columns from their values; `kinds` overrides them."""
        names = [j if raw.name is None else raw.name for j, raw in enumerate(table)]
        kinds = _checked(kinds or {}, names)
        columns = [_described(raw, kinds.get(name)) for raw, name in zip(table, names, strict=True)]
        if not any(column.is_used for column in columns):
            columns = [_kept(column) for column in columns]
        if not any(column.is_used for column in columns):
            raise ValueError(
                "no column is left to find clusters by. Hint: name one in columns={...: 'category'}."
            )
        return cls(tuple(columns))

    @classmethod
    def given(cls, table: Sequence[Raw], *, with_units: bool = False) -> Self:
        """Return the schema of a table whose family is given, or only its class: then it needs a unit."""
        for j, raw in enumerate(table):
            if n_missing(raw) == len(raw.cells):
                raise _without_values(j if raw.name is None else raw.name)
        units = [unit_of(raw) if with_units and not raw.is_text else 1.0 for raw in table]
        columns = [
            Column(raw.name, "given", n_missing(raw), unit=u) for raw, u in zip(table, units, strict=True)
        ]
        return cls(tuple(columns))

    @property
    def used(self) -> list[int]:
        """Return the numbers of the columns that clusters are found by."""
        return [j for j, column in enumerate(self.columns) if column.is_used]

    def names(self) -> Names:
        """Return what the used columns are called, None where they have no names."""
        names = [self.columns[j].name for j in self.used]
        return self.used if names[0] is None else names

    def labels(self) -> list[str]:
        """Return what to call the used columns where they are shown."""
        names = self.names()
        return [f"column {name}" if isinstance(name, int) else str(name) for name in names or self.used]

    def matrix(self, table: Sequence[Raw]) -> np.ndarray:
        """Return the used columns as numbers, gaps as NaN; the caller's own matrix where that will do."""
        for j in self.used:
            check_not_infinite(table[j], j)
        used = [(self.columns[j], table[j]) for j in self.used]
        if all(column.is_plain for column, _ in used):
            return as_matrix([raw for _, raw in used])
        return np.column_stack([column.encoded(raw) for column, raw in used])

    def log_units(self, numbers: np.ndarray) -> np.ndarray | float:
        """Return what a change of units adds to the log density of each row: 0.0 where there is none."""
        units = [column.unit for column in self.columns if column.is_used]
        return 0.0 if units == [1.0] * len(units) else ~np.isnan(numbers) @ np.log(units)

    def decoded(self, rows: np.ndarray) -> np.ndarray:
        """Turn the family's numbers back into a table of values; identifiers stay empty."""
        is_text = any(column.is_text for column in self.columns)
        table = np.full((len(rows), len(self.columns)), None if is_text else np.nan)
        for place, j in enumerate(self.used):
            table[:, j] = self.columns[j].decoded(rows[:, place])
        for j, column in enumerate(self.columns):
            if column.kind == "constant":
                table[:, j] = column.values[0]
            if column.kind == "copy":
                source, slope, intercept = column.values
                table[:, j] = slope * table[:, source] + intercept
        return table

    def without_copies(self, table: Sequence[Raw], kinds: Mapping[object, str] | None = None) -> Self:
        """Return the schema with measurements set aside that only repeat an earlier one.

        Columns that users gave a kind stay.
        """
        names = [j if raw.name is None else raw.name for j, raw in enumerate(table)]
        free = [j for j in self.used if names[j] not in (kinds or {})]
        measured = [j for j in free if self.columns[j].kind in ("real", "log")]
        whole = [j for j in measured if not table[j].is_text and np.isfinite(table[j].cells).all()]
        columns = list(self.columns)
        for j, source in copies_among([raw.cells for raw in table], whole).items():
            columns[j] = dataclasses.replace(columns[j], kind="copy", values=tuple(source))
        return type(self)(tuple(columns))

    def __str__(self) -> str:
        rows = [("column", "kind", "missing", "")]
        rows += [
            (str(column.name if column.name is not None else j), column.kind, str(column.n_missing), note)
            for j, column in enumerate(self.columns)
            for note in [column.note()]
        ]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = [
            f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c:>{widths[2]}}  {d}".rstrip() for a, b, c, d in rows
        ]
        return "\n".join(lines)


def _checked(kinds: Any, names: Sequence[object]) -> Mapping[object, str]:
    """Return the kinds that users gave to columns, or raise."""
    if not isinstance(kinds, Mapping):
        raise TypeError(f"columns must be a dict of names and kinds, got {kinds!r}.")
    for name, kind in kinds.items():
        if name not in names:
            raise ValueError(f"columns names {name!r}, but X has no such column. Hint: it has {names[:6]}.")
        if kind not in KINDS:
            raise ValueError(f"columns[{name!r}] must be one of {', '.join(KINDS)}, got {kind!r}.")
    return kinds


def _kept(column: Column) -> Column:
    """Return a column that was set aside as one that is used: there is nothing else."""
    if column.kind not in ("constant", "identifier") or (column.kind == "identifier" and column.is_text):
        return column
    return dataclasses.replace(column, kind="category" if column.is_text else "real")


def _without_values(name: object) -> ValueError:
    return ValueError(f"column {name!r} has no value at all. Hint: leave it out.")


def _levels(raw: Raw, kind: str) -> tuple:
    """Return the different values of a column; words without an order of their own by falling frequency.

    Words that are as frequent as each other stand as they come: what they are called must not matter.
    """
    if raw.is_text and kind in ("binary", "category"):
        counts = collections.Counter(word for word in raw.cells.tolist() if word is not None)
        if any(isinstance(meant(word), str) for word in counts):
            return tuple(word for word, _ in counts.most_common())
    return tuple(different(raw.cells))


def _described(raw: Raw, given: str | None) -> Column:
    """Return what one column holds."""
    if given in PARTS:
        kind = "category" if given == "weekday" else "real"
        return dataclasses.replace(_described(part_of(raw, given), kind), part=given)
    missing = n_missing(raw)
    kind = given or (kind_of_words(raw) if raw.is_text else kind_of_numbers(raw, missing))
    values: tuple = ()
    if kind in ("binary", "category", "ordered", "constant"):
        values = (kind == "ordered" and raw.ranks) or _levels(raw, kind)
    if kind == "binary" and len(values) > 2:
        raise ValueError(f"column {raw.name!r} is not binary: it has {len(values)} values.")
    if given in DESCRIBED and len(raw.cells) == missing:
        raise _without_values(raw.name)
    shift = shift_of(raw.cells) if kind == "log" and not raw.is_text else 0.0
    unit = unit_of(raw) if kind == "real" and not raw.is_text else 1.0
    column = Column(raw.name, kind, missing, values, shift, raw.is_text, unit, measure=raw.measure)
    if kind not in ("real", "log") or raw.is_text or len(raw.cells) == missing:
        return column
    return dataclasses.replace(column, resolution=resolution_of(column.encoded(raw)))
