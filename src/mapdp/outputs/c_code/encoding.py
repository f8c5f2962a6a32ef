"""The encoding of a table in C: what turns the numbers of a row into what scores are worked out from."""

from typing import NamedTuple

import numpy as np

from mapdp.data.column import Column
from mapdp.data.column_kinds import DESCRIBED
from mapdp.families import Mixed, SharedGaussian
from mapdp.families.base import Family
from mapdp.outputs.c_code.choice import Export
from mapdp.outputs.c_code.text import CArray, constant, escaped, number

_MEASURED = {
    "date": "a date, in days since 1970-01-01",
    "moment": "a moment, in days since the beginning of 1970-01-01: 1.25 is 06:00 on the second day",
    "time": "a time of day, as the fraction of the day that is gone: 0.25 is 06:00",
    "span": "a span of time, in days",
}


class Cell(NamedTuple):
    """How one used column is encoded."""

    column: Column
    source: int  # column of the table
    place: int  # cell of an encoded row
    origin: float
    levels: np.ndarray | None  # values whose places are its codes
    is_given: bool  # whether a value that is none of them is refused; else it is a gap

    def statement(self, precision: str) -> str:
        """Return the line of C that encodes the cell."""
        value = self._value(f"raw[{self.source}]", precision)
        return f"    x[{self.place}] = {self._from_origin(value, precision)};"

    def _value(self, raw: str, precision: str) -> str:
        if self.levels is not None:
            otherwise = "R(-1.0)" if self.is_given else "mapdp_gap()"
            return f"mapdp_code({raw}, mapdp_levels_{self.place}, {len(self.levels)}, {otherwise})"
        if self.column.kind == "log":
            moved = f"{raw} + {number(self.column.shift, precision)}" if self.column.shift else raw
            return f"mapdp_log_of({moved})"
        return raw if self.column.unit == 1.0 else f"{raw} * {number(1.0 / self.column.unit, precision)}"

    def _from_origin(self, value: str, precision: str) -> str:
        """Return a number measured from the prior mean, which may need two floats."""
        if self.origin == 0.0:
            return value
        if precision == "double":
            return f"{value} - {_in_brackets(self.origin, precision)}"
        high = float(np.float32(self.origin))
        less = _in_brackets(self.origin - high, precision)
        return f"({value} - {_in_brackets(high, precision)}) - {less}"

    def about(self) -> str:
        """Return in words what the cell of a row of the table holds."""
        if self.levels is None:
            return self._measured() + (", whose logarithm is used" if self.column.kind == "log" else "")
        if self.column.is_text:
            return "the number of a level: " + ", ".join(
                f"{self._place_of(v)} = {escaped(v)}" for v in self.column.values
            )
        return "one of " + ", ".join(self._named(float(value)) for value in self.levels)

    def _named(self, value: float) -> str:
        """Return a level as C has it, and in words where it is a date or a truth."""
        word = f" = {escaped(self.column.word(value))}" if self.column.measure else ""
        return f"{value:.17g}{word}"

    def _measured(self) -> str:
        """Return what sort of number a cell is."""
        return _MEASURED.get(self.column.part or self.column.measure, "a number")

    def _place_of(self, value: object) -> int:
        return self.column.values.index(value)


def _in_brackets(value: float, precision: str) -> str:
    text = number(value, precision)
    return f"({text})" if text.startswith("-") else text


def cells_of(choice: Export) -> list[Cell]:
    """Return how each used column is encoded."""
    schema, family = choice.mixture.schema, choice.mixture.family
    origin = family.mean if isinstance(family, SharedGaussian) else family.origin
    columns = Mixed.of(family).columns if family.has_columns else [None] * family.n_features
    return [
        _cell(schema.columns[j], j, place, float(origin[place]), columns[place])
        for place, j in enumerate(schema.used)
    ]


def _cell(column: Column, source: int, place: int, origin: float, family: Family | None) -> Cell:
    """Return how a column is encoded; a schema's places, and then a family's levels, give codes."""
    levels = getattr(family, "levels", None)
    codes = None if levels is None else np.asarray(levels[0], dtype=np.float64)
    is_given = column.kind == "given"
    if column.values and column.kind in DESCRIBED and column.kind != "real":
        values = np.arange(len(column.values)) if column.is_text else np.array(column.values, dtype=float)
        codes = np.asarray(values if codes is None else values[codes.astype(int)], dtype=np.float64)
    elif codes is not None:
        codes = codes * column.unit
    return Cell(column, source, place, origin, codes, is_given)


def encoding(choice: Export, cells: list[Cell], pieces: dict[str, str]) -> str:
    """Return the C text of `mapdp_encode`, before the pieces are filled in."""
    text = [pieces["encode"]]
    with_levels = [cell for cell in cells if cell.levels is not None]
    if any(cell.column.kind == "log" and cell.levels is None for cell in cells):
        text.append(pieces["encode_log"])
    if with_levels:
        text.append(pieces["encode_level"])
    if any(not cell.is_given for cell in with_levels):
        text.append(pieces["encode_gap"])
    for table in tables_to_encode(choice, cells):
        text.append(constant("mapdp_", table, choice.precision) + "\n")
    statements = [cell.statement(choice.precision) for cell in cells]
    if isinstance(choice.mixture.family, SharedGaussian):
        statements.append("    mapdp_map(x);")
        text.append(pieces["encode_shape"])
    return "".join(text) + pieces["encode_row"].replace("$cells", "\n".join(statements))


def tables_to_encode(choice: Export, cells: list[Cell]) -> list[CArray]:
    """Return the constants of the encoding: levels of columns, and a shape that clusters have in common."""
    tables = [_levels_of(cell.place, cell.levels) for cell in cells if cell.levels is not None]
    family = choice.mixture.family
    if isinstance(family, SharedGaussian):
        inverse = np.linalg.inv(np.linalg.cholesky(family.scale))[np.tril_indices(family.n_features)]
        about = "maps rows so that the shape that all clusters have in common is a sphere: a lower triangle"
        tables.append(CArray("common_shape", str(len(inverse)), inverse, about))
    return tables


def _levels_of(place: int, levels: np.ndarray) -> CArray:
    return CArray(f"levels_{place}", str(len(levels)), levels, "in the order of their codes")


def log_units(choice: Export, cells: list[Cell]) -> str:
    """Return the lines of C that add up the logs of units, and the logarithms, of the cells there are."""
    family = choice.mixture.family
    if isinstance(family, SharedGaussian):
        return _log_units_of_mapped(family, cells, choice.precision)
    added = [(cell.place, _log_unit(cell, choice.precision)) for cell in cells]
    return "\n".join(
        f"    if (x[{place}] == x[{place}])\n        total += {unit};" for place, unit in added if unit
    )


def _log_unit(cell: Cell, precision: str) -> str:
    """Return what one cell adds, nothing where it is measured as it is."""
    if cell.column.kind == "log":
        return f"x[{cell.place}] + {_in_brackets(cell.origin, precision)}"
    return "" if cell.column.unit == 1.0 else number(float(np.log(cell.column.unit)), precision)


def _log_units_of_mapped(family: SharedGaussian, cells: list[Cell], precision: str) -> str:
    """Return the same of rows that are mapped: their logarithms are sums of what they are mapped to."""
    logs = [cell.place for cell in cells if cell.column.kind == "log"]
    constant = sum(np.log(cell.column.unit) for cell in cells) + family.mean[logs].sum()
    weights = np.linalg.cholesky(family.scale)[logs].sum(axis=0)
    terms = [f"{_in_brackets(weight, precision)} * x[{i}]" for i, weight in enumerate(weights) if weight]
    terms += [number(float(constant), precision)] if constant else []
    return "\n".join(f"    total += {term};" for term in terms)
