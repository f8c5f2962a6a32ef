"""What the columns of a table hold, and the table as a matrix of numbers."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from mapdp.data.checks import Names
from mapdp.data.column import Column, described, without_values
from mapdp.data.column_kinds import KINDS, unit_of
from mapdp.data.copies import copies_among
from mapdp.data.frames import Raw, as_matrix, check_not_infinite, n_missing


class Schema(NamedTuple):
    """What each column of a table holds; prints as a table."""

    columns: tuple[Column, ...]

    @classmethod
    def infer(cls, table: Sequence[Raw], kinds: Mapping[object, str] | None = None) -> Self:
        """Infer the kinds of columns from their values; `kinds` overrides them."""
        names = [j if raw.name is None else raw.name for j, raw in enumerate(table)]
        kinds = _checked(kinds or {}, names)
        columns = [described(raw, kinds.get(name)) for raw, name in zip(table, names, strict=True)]
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
                raise without_values(j if raw.name is None else raw.name)
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
        """Return what units and logarithms add to the log density of each row: 0.0 where there are none."""
        used = [self.columns[j] for j in self.used]
        logs = [place for place, column in enumerate(used) if column.kind == "log"]
        units = [column.unit for column in used]
        by_logs = np.nansum(numbers[:, logs], axis=1, dtype=np.float64) if logs else 0.0
        if units == [1.0] * len(units):
            return by_logs
        is_measured = ~np.isnan(numbers) & (numbers != [column.special for column in used])
        return by_logs + is_measured @ np.log(units)

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
