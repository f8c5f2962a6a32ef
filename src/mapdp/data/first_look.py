"""Rows that show what the columns of a table in blocks can hold.

The kinds of columns are read off a sample of the rows. A rare level, a gap, a value that is not whole or
not positive may be missing from it; the rows that are found here have them.
"""

from typing import Any, NamedTuple

import numpy as np

from mapdp.data.blocks import Blocks
from mapdp.data.frames import Raw, columns_of, gaps_of

_LEVELS = 1000  # different values of a column of which each is shown; more are measurements or names
_FIRST = 5000  # cells that tell whether there are so many


class Seen(NamedTuple):
    """What a column of one block holds, and in which of its rows."""

    name: object
    is_text: bool
    levels: dict[Any, int] | None  # each value with a row that has it, None where there are too many
    extremes: dict[str, tuple[float, int]]  # the least and the largest number, one that is not whole
    gap: int  # a row without a value, -1 where there is none
    n_gaps: int


class FirstLook(NamedTuple):
    """What a first pass over all blocks finds."""

    rows: np.ndarray  # that together hold every level, gap and extreme of every column; their numbers rise
    n_missing: tuple[int, ...]  # cells of each column


def look_at(blocks: Blocks) -> FirstLook:
    """Look at all blocks once; raise where one has other columns."""
    seen = list(blocks.each(_look, None, [None] * len(blocks.sizes)))
    for number, some in enumerate(seen):
        _check_like(number, some, seen[0])
    moved = [[_moved(one, start) for one in some] for some, start in zip(seen, blocks.starts, strict=True)]
    columns = [list(column) for column in zip(*moved, strict=True)]
    rows = np.array([row for column in columns for row in _shown(column)], dtype=np.int64)
    return FirstLook(np.unique(rows), tuple(sum(one.n_gaps for one in column) for column in columns))


def _check_like(number: int, some: list[Seen], first: list[Seen]) -> None:
    """Raise where a block has other columns than the first one."""
    hint = "Hint: all blocks of a table have the same columns."
    if len(some) != len(first):
        raise ValueError(
            f"block {number} has {_columns(len(some))} where block 0 has {_columns(len(first))}. {hint}"
        )
    for one, other in zip(some, first, strict=True):
        has_both = one.levels != {} and other.levels != {}  # a column without values is of any type
        if one.name != other.name or (has_both and one.is_text != other.is_text):
            here, there = _described(one), _described(other)
            raise ValueError(f"block {number} has {here} where block 0 has {there}. {hint}")


def _columns(n: int) -> str:
    return f"{n} column{'' if n == 1 else 's'}"


def _described(seen: Seen) -> str:
    return f"{'words' if seen.is_text else 'numbers'} in column {seen.name!r}"


def _look(block: Any, _: None, __: None) -> list[Seen]:
    return [_seen(raw) for raw in columns_of(block)]


def _seen(raw: Raw) -> Seen:
    gaps = gaps_of(raw)
    gap = int(gaps.argmax()) if gaps.any() else -1
    there = np.flatnonzero(~gaps)
    cells = raw.cells[there]
    extremes = {} if raw.is_text else _extremes(cells, there)
    return Seen(raw.name, raw.is_text, _levels(cells, there), extremes, gap, int(gaps.sum()))


def _levels(cells: np.ndarray, places: np.ndarray) -> dict[Any, int] | None:
    if len(set(cells[:_FIRST].tolist())) > _LEVELS:
        return None
    last = dict(zip(cells[::-1].tolist(), places[::-1].tolist(), strict=True))  # the first row of each
    return last if len(last) <= _LEVELS else None


def _extremes(cells: np.ndarray, places: np.ndarray) -> dict[str, tuple[float, int]]:
    if not len(cells):
        return {}
    low, high, broken = cells.argmin(), cells.argmax(), np.flatnonzero(cells != np.rint(cells))
    found = {"low": (float(cells[low]), int(places[low])), "high": (-float(cells[high]), int(places[high]))}
    if len(broken):
        found["broken"] = (0.0, int(places[broken[0]]))
    return found


def _moved(seen: Seen, start: int) -> Seen:
    """Return the same with the numbers of rows in the whole table."""
    levels = None if seen.levels is None else {value: i + start for value, i in seen.levels.items()}
    extremes = {name: (value, i + start) for name, (value, i) in seen.extremes.items()}
    return seen._replace(levels=levels, extremes=extremes, gap=seen.gap + start if seen.gap >= 0 else -1)


def _shown(column: list[Seen]) -> list[int]:
    """Return the rows that show what one column holds in all blocks."""
    rows = [min(some)[1] for name in ("low", "high", "broken") if (some := _named(column, name))]
    rows += [one.gap for one in column if one.gap >= 0][:1]
    levels: dict[Any, int] = {}
    for one in column:
        levels = {**(one.levels or {}), **levels}
    has_few = len(levels) <= _LEVELS and all(one.levels is not None for one in column)
    return rows + (list(levels.values()) if has_few else [])


def _named(column: list[Seen], name: str) -> list[tuple[float, int]]:
    return [one.extremes[name] for one in column if name in one.extremes]
