"""How a text file holds a table: encoding, separator, decimal mark, header, comments.

What users say comes first; the rest is inferred from the beginning of the file.
"""

import collections
import csv
import io
import re
from collections.abc import Sequence
from typing import NamedTuple

from mapdp.cli.cells import number_of
from mapdp.cli.formats import TableFile, TroubleError, kind_of, named
from mapdp.data.frames import NO_ANSWER

_SAMPLE = 65536  # bytes that are looked at, and more ...
_LINES = 20  # ... until they are so many lines, ...
_LARGEST = 1 << 23  # ... or so many bytes
_SEPARATORS = "\t;|,"  # those that are the least likely within a cell come first
_NAMES = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas", " ": "blanks"}
_BOMS = {b"\xef\xbb\xbf": "utf8", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_EDGES = re.compile(r"^[^\d.,]{0,5}|[^\d.,]{0,5}$", re.ASCII)  # signs and symbols around a number
_COMMA = re.compile(r"\d+,(\d{1,2}|\d{4,})|0,\d+|\d{1,3}(\.\d{3})+,\d+|\d{1,3}(\.\d{3}){2,}", re.ASCII)
_POINT = re.compile(r"\d*\.(\d{1,2}|\d{4,})|0\.\d+|\d{1,3}(,\d{3})+\.\d+|\d{1,3}(,\d{3}){2,}", re.ASCII)
_TIMED = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([T ][\d:.]+)?Z?$|\d{1,2}:\d{2}(:\d{2})?$", re.ASCII)


class Asked(NamedTuple):
    """What users say about a file; None is left to be inferred."""

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    missing: tuple[str, ...] = ()
    has_header: bool | None = None
    kept: frozenset[str] = frozenset()  # columns whose words stay words


class Dialect(NamedTuple):
    """How a text file holds a table."""

    encoding: str
    separator: str  # a blank stands for any number of them
    decimal: str
    has_header: bool
    has_comments: bool  # lines that begin with # are left out
    names: tuple[str, ...]  # of the columns, where there is no header in its place
    longest: int  # line of the sample, in bytes

    @property
    def is_to_be_cleaned(self) -> bool:
        """Say whether Arrow cannot read the file as it is."""
        return self.has_comments or self.separator == " "

    def __str__(self) -> str:
        parts = [
            f"separated by {_NAMES.get(self.separator, repr(self.separator))}",
            f"decimal {'comma' if self.decimal == ',' else 'point'}",
            {"utf8": "UTF-8"}.get(self.encoding, self.encoding),
            "a header" if self.has_header else "no header",
        ]
        return ", ".join(parts + ["lines with # left out"] * self.has_comments)


def dialect_of(source: TableFile, asked: Asked) -> Dialect:
    """Infer how a file holds its table, but for what users say."""
    start, is_whole = _sample(source)
    if not start.strip():
        raise TroubleError(f"{named(source.path)} is empty. Hint: the first line names the columns.")
    encoding = asked.encoding or _encoding(start)
    lines = _lines(start, encoding, is_whole, source.path)
    above, body = _comments(lines)
    separator = asked.separator or _separator(body, source.path)
    rows = _rows(body, separator)
    decimal = asked.decimal or _decimal(rows)
    in_comment = _names_in_comment(above, rows, separator, decimal)
    has_header = not in_comment and (
        _has_header(rows, decimal) if asked.has_header is None else asked.has_header
    )
    names = () if has_header else in_comment or tuple(f"column_{j + 1}" for j in range(_width(rows)))
    has_comments = len(body) < len(lines)
    return Dialect(encoding, separator, decimal, has_header, has_comments, names, max(map(len, lines)))


def _sample(source: TableFile) -> tuple[bytes, bool]:
    """Return the beginning of a file, and whether that is all of it."""
    with source.open() as file:
        start = file.read(_SAMPLE)
        while start.count(b"\n") < _LINES and len(start) < _LARGEST:
            more = file.read(_SAMPLE)
            if not more:
                return start, True
            start += more
        return start, not file.read(1)


def _encoding(start: bytes) -> str:
    """Tell the encoding: by its mark, by the zeros of UTF-16, by what is no UTF-8."""
    marked = next((encoding for mark, encoding in _BOMS.items() if start.startswith(mark)), None)
    if marked:
        return marked
    if start.count(b"\x00") > len(start) / 4:
        return "utf-16-le" if start[1::2].count(b"\x00") > start[::2].count(b"\x00") else "utf-16-be"
    try:
        start[: max(1, len(start) - 4)].decode("utf8")  # a character may be cut at the end
    except UnicodeDecodeError as error:
        return "utf8" if error.start >= len(start) - 8 else foreign(start)
    return "utf8"


def foreign(content: bytes) -> str:
    """Return the encoding of what is no UTF-8: Windows' own, or Latin-1 where that has no such byte."""
    return "latin-1" if any(byte in content for byte in b"\x81\x8d\x8f\x90\x9d") else "cp1252"


def _lines(start: bytes, encoding: str, is_whole: bool, path: str) -> list[str]:
    try:
        text = start.decode(encoding, errors="replace").removeprefix("\ufeff")
    except LookupError as error:
        raise TroubleError(
            f"there is no encoding {encoding!r}. Hint: --encoding cp1252, for example."
        ) from error
    if "\x00" in text:
        raise TroubleError(
            f"{named(path)} is not text. Hint: CSV, TSV, JSON, Parquet and Arrow files are read."
        )
    lines = text.splitlines(keepends=True)
    return lines if is_whole or len(lines) < 2 else lines[:-1]


def _comments(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the comments above the table, and its lines; # may also begin the first name of a header."""
    marked = [line.startswith("#") for line in lines]
    first = marked.index(False) if False in marked else len(lines)
    is_header = first == 1 and sum(marked) == 1 and "# " not in lines[0]
    if is_header and any(lines[0].count(mark) == lines[-1].count(mark) > 0 for mark in _SEPARATORS):
        return [], list(lines)
    return list(lines[:first]), [line for line, is_one in zip(lines, marked, strict=True) if not is_one]


def _separator(lines: Sequence[str], path: str) -> str:
    """Return what gives most rows the same number of fields, more than one."""
    if kind_of(path) == "tsv":
        return "\t"
    shares = {mark: _agreement([len(row) for row in _rows(lines, mark)]) for mark in _SEPARATORS}
    best = max(shares, key=lambda mark: shares[mark])
    if shares[best] > 0.0:
        return best
    rows = _rows(lines, " ")
    is_table = _agreement([len(row) for row in rows]) == 1.0 and all(map(_has_number, rows[1:]))
    return " " if is_table and len(rows) > 1 else ","


def _agreement(lengths: Sequence[int]) -> float:
    """Return the share of rows with the most frequent length, 0 where that is one field."""
    if not lengths:
        return 0.0
    length, n = collections.Counter(lengths).most_common(1)[0]
    return n / len(lengths) if length > 1 else 0.0


def _has_number(row: Sequence[str]) -> bool:
    return any(number_of(cell, ".") for cell in row)


def _rows(lines: Sequence[str], separator: str) -> list[list[str]]:
    """Return the fields of lines; quoted ones may hold separators and ends of lines."""
    if separator == " ":
        return [line.split() for line in lines if line.strip()]
    csv.field_size_limit(2 * _LARGEST)  # where it is not the separator, a line is one field
    rows = list(csv.reader(io.StringIO("".join(lines), newline=""), delimiter=separator))
    return [row for row in rows if row]


def _width(rows: Sequence[Sequence[str]]) -> int:
    return collections.Counter(map(len, rows)).most_common(1)[0][0] if rows else 0


def _decimal(rows: Sequence[Sequence[str]]) -> str:
    """Tell the decimal mark by cells that allow only one; a comma that may be either parts thousands."""
    cells = [_EDGES.sub("", cell) for row in rows for cell in row if cell]
    n_commas = sum(_COMMA.fullmatch(cell) is not None for cell in cells)
    return "," if n_commas > sum(_POINT.fullmatch(cell) is not None for cell in cells) else "."


def _kind(cell: str, decimal: str) -> str:
    """Return what a cell is: "gap", "number", "real", "time" or "word"."""
    word = cell.strip()
    if word.lower() in NO_ANSWER:
        return "gap"
    if _TIMED.match(word):
        return "time"
    if number_of(word, decimal) is None:
        return "word"
    return "number" if re.fullmatch(r"[-+]?\d+", word) else "real"


def _has_header(rows: Sequence[Sequence[str]], decimal: str) -> bool:
    """Say whether the first row names the columns: more of its cells differ from those below than not."""
    if len(rows) < 2:
        return not rows or "word" in {_kind(cell, decimal) for cell in rows[0]}
    columns = list(zip(*(row for row in rows if len(row) == len(rows[0])), strict=True))
    votes = [_vote(column, decimal) for column in columns]
    return sum(votes) >= 0 or _counts_up([column[0] for column in columns])


def _counts_up(cells: Sequence[str]) -> bool:
    """Say whether numbers go up one by one, as years and places of columns do, but hardly data."""
    numbers = [int(cell) for cell in cells if re.fullmatch(r"\d+", cell.strip())]
    return len(numbers) > 2 and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _vote(column: Sequence[str], decimal: str) -> int:
    """Return 1 where the first cell of a column seems to name it, -1 where it seems to be one of many."""
    first, rest = _kind(column[0], decimal), {_kind(cell, decimal) for cell in column[1:]} - {"gap"}
    if not rest or first == "gap":
        return 0
    if "word" not in rest:
        return 1 if first == "word" or (first == "number" and rest == {"real"}) else -1
    words = [cell for cell in column[1:] if cell]
    if len(set(words)) > len(words) / 2:
        return 0
    return -1 if column[0] in words else 1


def _names_in_comment(
    above: Sequence[str], rows: Sequence[Sequence[str]], separator: str, decimal: str
) -> tuple[str, ...]:
    """Return the names that the last comment above a table without header gives, if it does."""
    if not above or _has_header(rows, decimal):
        return ()
    names = _rows([above[-1].lstrip("# ")], separator)
    return tuple(name.strip() for name in names[0]) if names and len(names[0]) == _width(rows) else ()
