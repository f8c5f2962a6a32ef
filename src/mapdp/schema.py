"""Knows what kind of thing each column holds, and which family describes it.

The one idea: the kind is read off the values, not off how they are stored, so that a table means the same
in pandas, polars, Arrow and NumPy, with gaps or without.
"""

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from mapdp.checks import Names
from mapdp.families import Bernoulli, Categorical, DiagonalGaussian, Mixed, NegativeBinomial, Ordered
from mapdp.family import Family
from mapdp.kinds import different, kind_of_numbers, kind_of_words, shift_of
from mapdp.moments import has_gaps
from mapdp.tables import Raw, as_matrix, check_not_infinite, is_gap, is_number, n_missing

FAMILIES: dict[str, type[Family]] = {
    "real": DiagonalGaussian,
    "log": DiagonalGaussian,
    "count": NegativeBinomial,
    "binary": Bernoulli,
    "category": Categorical,
    "ordered": Ordered,
}
KINDS = (*FAMILIES, "ignore")  # what users may call a column

_FASTER = {DiagonalGaussian, Bernoulli, Categorical}  # than the same as Mixed


@dataclasses.dataclass(frozen=True)
class Column:
    """What one column of a table holds.

    `kind` is one of "real", "log", "count", "binary", "category" and "ordered", or says why the column is
    set aside: "constant", "identifier", "empty", "ignore". "given" is a column whose family was given.
    """

    name: object
    kind: str
    n_missing: int = 0
    values: tuple = ()  # that it may take, in order, where it has levels; the one of a constant
    shift: float = 0.0  # added before a log is taken
    is_text: bool = False

    @property
    def is_used(self) -> bool:
        """Say whether clusters are found by this column."""
        return self.kind in FAMILIES or self.kind == "given"

    def note(self) -> str:
        """Say in a few words what is done with the column."""
        words = {
            "log": "long tail: its logarithm is used",
            "constant": f"set aside: always {self.values[0]}" if self.values else "",
            "identifier": "set aside: a name or number for each row",
            "empty": "set aside: no value at all",
            "ignore": "set aside, as you asked",
        }
        return words.get(self.kind, f"{len(self.values)} values" if len(self.values) > 2 else "")

    def encoded(self, raw: Raw) -> np.ndarray:
        """Return the cells as the family's numbers."""
        if self.values and self.kind in FAMILIES and self.kind != "real":
            return _places(raw, self.values)
        if raw.is_text:
            as_matrix([raw])
        if self.kind == "log":
            return _logs(raw, self.shift)
        return raw.cells

    def decoded(self, cells: np.ndarray) -> np.ndarray:
        """Turn the family's numbers back into values."""
        if self.values and self.kind in FAMILIES and self.kind != "real":
            return np.array(self.values, dtype=object if self.is_text else None)[cells.astype(int)]
        return np.maximum(np.exp(cells) - self.shift, 0.0) if self.kind == "log" else cells


def _places(raw: Raw, values: tuple) -> np.ndarray:
    """Return each cell's place among the values; NaN where it is a gap or was never seen."""
    place, meant = {_meant(value): i for i, value in enumerate(values)}, _meant
    if len(place) < len(values):  # words that would be the same number, such as 7 and 007
        place, meant = {value: i for i, value in enumerate(values)}, lambda cell: cell
    cells = raw.cells.tolist()
    known = {cell: place.get(meant(cell), np.nan) for cell in set(cells)}
    strangers = {cell for cell, i in known.items() if i != i and not is_gap(cell)}
    if strangers:
        warnings.warn(
            f"column {raw.name!r} has values that were not seen in fit, such as "
            f"{min(strangers, key=str)!r}; they are taken as missing.",
            UserWarning,
            stacklevel=2,
        )
    return np.array([known[cell] for cell in cells], dtype=np.float64)


def _meant(cell: Any) -> Any:
    """Return what a cell means however it is stored: true is 1, and 01 is the number 1."""
    if not isinstance(cell, str):
        return cell
    if cell.lower() in ("true", "false"):
        return float(cell.lower() == "true")
    return float(cell) if is_number(cell) else cell


def _logs(raw: Raw, shift: float) -> np.ndarray:
    moved = raw.cells + shift
    if np.nanmin(moved, initial=1.0) <= 0.0:
        i = int(np.nanargmin(moved))
        raise ValueError(
            f"column {raw.name!r} must be {'positive' if shift == 0.0 else 'from 0 up'} for its logarithm, "
            f"got {raw.cells[i]} in row {i}. Hint: columns={{{raw.name!r}: 'real'}} takes it as it is."
        )
    return np.log(moved)


class Schema(NamedTuple):
    """What each column of a table holds; prints as a table."""

    columns: tuple[Column, ...]

    @classmethod
    def infer(cls, table: Sequence[Raw], said: Mapping[object, str] | None = None) -> Self:
        """Tell the kinds of columns from their values; `said` has the last word."""
        names = [j if raw.name is None else raw.name for j, raw in enumerate(table)]
        said = _checked(said or {}, names)
        columns = [_described(raw, said.get(name)) for raw, name in zip(table, names, strict=True)]
        if not any(column.is_used for column in columns):
            columns = [_kept(column) for column in columns]
        if not any(column.is_used for column in columns):
            raise ValueError(
                "no column is left to find clusters by. Hint: name one in columns={...: 'category'}."
            )
        return cls(tuple(columns))

    @classmethod
    def given(cls, table: Sequence[Raw]) -> Self:
        """Return the schema of a table whose family is given."""
        return cls(tuple(Column(raw.name, "given", n_missing(raw)) for raw in table))

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
        if all(column.kind in ("real", "given") for column, _ in used):
            return as_matrix([raw for _, raw in used])
        return np.column_stack([column.encoded(raw) for column, raw in used])

    def decoded(self, rows: np.ndarray) -> np.ndarray:
        """Turn the family's numbers back into a table of values; identifiers stay empty."""
        is_text = any(column.is_text for column in self.columns)
        table = np.full((len(rows), len(self.columns)), None if is_text else np.nan)
        for place, j in enumerate(self.used):
            table[:, j] = self.columns[j].decoded(rows[:, place])
        for j, column in enumerate(self.columns):
            if column.kind == "constant":
                table[:, j] = column.values[0]
        return table

    def family(self, rows: np.ndarray, scale: float = 1.0) -> Family:
        """Choose a prior for the used columns from their numbers; `scale` is that of `Family.empirical`."""
        used = [self.columns[j] for j in self.used]
        kinds = {FAMILIES[column.kind] for column in used}
        if len(kinds) == 1 and kinds <= _FASTER and not has_gaps(rows):
            return kinds.pop().empirical(rows, scale)
        return Mixed([_family_of(column, rows[:, j], scale) for j, column in enumerate(used)])

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


def _family_of(column: Column, cells: np.ndarray, scale: float) -> Family:
    """Choose the prior of one column from its cells."""
    if column.kind == "ordered":
        return Ordered([np.arange(len(column.values))], scale)
    return FAMILIES[column.kind].empirical(cells[~np.isnan(cells), None], scale)


def _checked(said: Any, names: Sequence[object]) -> Mapping[object, str]:
    """Return what users say of columns, or say what is wrong with it."""
    if not isinstance(said, Mapping):
        raise TypeError(f"columns must be a dict of names and kinds, got {said!r}.")
    for name, kind in said.items():
        if name not in names:
            raise ValueError(f"columns names {name!r}, but X has no such column. Hint: it has {names[:6]}.")
        if kind not in KINDS:
            raise ValueError(f"columns[{name!r}] must be one of {', '.join(KINDS)}, got {kind!r}.")
    return said


def _kept(column: Column) -> Column:
    """Return a column that was set aside as one that is used: there is nothing else."""
    if column.kind not in ("constant", "identifier") or (column.kind == "identifier" and column.is_text):
        return column
    return dataclasses.replace(column, kind="category" if column.is_text else "real")


def _described(raw: Raw, said: str | None) -> Column:
    """Tell what one column holds."""
    missing = n_missing(raw)
    kind = said or (kind_of_words(raw) if raw.is_text else kind_of_numbers(raw, missing))
    values: tuple = ()
    if kind in ("binary", "category", "ordered", "constant"):
        values = (kind == "ordered" and raw.ranks) or tuple(different(raw.cells))
    if kind == "binary" and len(values) > 2:
        raise ValueError(f"column {raw.name!r} is not binary: it has {len(values)} values.")
    if said in FAMILIES and len(raw.cells) == missing:
        raise ValueError(f"column {raw.name!r} has no value at all. Hint: leave it out.")
    shift = shift_of(raw.cells) if kind == "log" and not raw.is_text else 0.0
    return Column(raw.name, kind, missing, values, shift, raw.is_text)
