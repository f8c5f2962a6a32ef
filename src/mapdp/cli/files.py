"""Tables as files: CSV and other text, JSON, Parquet, Arrow; compressed or not; standard input."""

import collections
import gzip
import io
import json
import pathlib
import re
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.feather as feather
import pyarrow.json as arrow_json
import pyarrow.parquet as parquet

from mapdp.cli import cells
from mapdp.cli.dialects import Asked, Dialect, dialect_of, foreign
from mapdp.cli.formats import TableFile, TroubleError, content_of, kind_of, named
from mapdp.data.frames import NO_ANSWER
from mapdp.data.wording import counted
from mapdp.data.writing import write_whole

__all__ = [
    "Asked",
    "TroubleError",
    "arrow_options",
    "kind_of",
    "read",
    "to_bytes",
    "write_table",
]

_GAPS = {form for word in NO_ANSWER for form in (word, word.upper(), word.capitalize(), "NaN", "N/A")}
_BLOCK = 1 << 20  # bytes that are parsed at a time, at least
_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_map, pa.types.is_binary)


class TextTable(NamedTuple):
    """A table from a text file, with how it was read."""

    table: pa.Table
    notes: list[str]


def read(path: str, asked: Asked | None = None) -> tuple[pa.Table, list[str]]:
    """Return a table, and notes on how the file was read."""
    source, asked = TableFile(path), asked or Asked()
    try:
        table, notes = _contents(source, asked)
    except (pa.ArrowException, OSError, UnicodeError, EOFError, ValueError) as error:
        raise TroubleError(f"{named(path)} cannot be read: {_first_line(error)}") from error
    table, left_out = _flat(table)
    _check(table, path)
    return _without_words_for_missing(table, asked.missing), notes + left_out


def _contents(source: TableFile, asked: Asked) -> TextTable:
    content = content_of(source)
    if content == "text":
        return _read_text(source, asked)
    readers = {
        "parquet": lambda file: parquet.read_table(pa.BufferReader(file.read())),
        "arrow": lambda file: feather.read_table(pa.BufferReader(file.read())),
        "arrow stream": lambda file: pa.ipc.open_stream(file.read()).read_all(),
        "json": _read_json,
    }
    with source.open() as file:
        return TextTable(readers[content](file), [])


def _first_line(error: Exception) -> str:
    line = str(error).splitlines()[0][:300] if str(error) else type(error).__name__
    ragged = re.search(r"Expected (\d+) columns, got (\d+): (.*)", line)
    if not ragged:
        return line
    wanted, found, text = ragged.groups()
    return (
        f"it has {counted(int(wanted), 'column')}, but a line has {counted(int(found), 'field')}: "
        f"{text!r}. Hint: --sep says what separates fields; quote cells that hold it."
    )


def _check(table: pa.Table, path: str) -> None:
    if table.num_rows == 0 or table.num_columns == 0:
        raise TroubleError(f"{named(path)} holds no rows. Hint: the first line names the columns.")
    name, n_times = collections.Counter(table.column_names).most_common(1)[0]
    if n_times > 1:
        raise TroubleError(f"{named(path)} has two columns called {name!r}. Hint: rename one.")


def _read_text(source: TableFile, asked: Asked) -> TextTable:
    """Read separated values; bytes that turn out not to be UTF-8 are read again as what they are."""
    dialect = dialect_of(source, asked)
    table = _parsed(source, dialect, asked)
    is_foreign = any(pa.types.is_binary(kind) for kind in table.schema.types)
    if is_foreign and asked.encoding is None:
        with source.open() as file:
            dialect = dialect._replace(encoding=foreign(file.read()))
        table = _parsed(source, dialect, asked)
    names = [name or f"column_{j + 1}" for j, name in enumerate(table.column_names)]
    table, notes = cells.settled(table.rename_columns(names), dialect.decimal, asked.kept)
    return TextTable(table, [f"Read as text: {'; '.join([str(dialect), *notes])}."])


def _parsed(source: TableFile, dialect: Dialect, asked: Asked) -> pa.Table:
    with source.open() as opened:
        file = _cleaned(opened, dialect) if dialect.is_to_be_cleaned else opened
        return arrow_csv.read_csv(file, **arrow_options(dialect, asked))


def arrow_options(dialect: Dialect, asked: Asked) -> dict[str, Any]:
    """Return how Arrow is to read a text file."""
    return {
        "read_options": arrow_csv.ReadOptions(
            encoding="utf8" if dialect.is_to_be_cleaned else dialect.encoding,
            column_names=dialect.names or None,
            block_size=max(_BLOCK, 8 * dialect.longest),
        ),
        "parse_options": arrow_csv.ParseOptions(
            delimiter="\t" if dialect.separator == " " else dialect.separator, newlines_in_values=True
        ),
        "convert_options": arrow_csv.ConvertOptions(
            null_values=sorted(_GAPS | set(asked.missing)),
            strings_can_be_null=True,
            decimal_point=dialect.decimal,
            true_values=[],  # words stay as they are written
            false_values=[],
        ),
    }


def _cleaned(file: Any, dialect: Dialect) -> io.BytesIO:
    """Return the text in UTF-8 without comments; tabs stand for blanks between cells."""
    out, encoding = io.BytesIO(), "utf-8-sig" if dialect.encoding == "utf8" else dialect.encoding
    for line in io.StringIO(file.read().decode(encoding), newline=""):
        if not (dialect.has_comments and line.startswith("#")):
            is_blank = dialect.separator == " "
            out.write(("\t".join(line.split()) + "\n" if is_blank else line).encode())
    out.seek(0)
    return out


def _read_json(file: Any) -> pa.Table:
    """Read one object a line, or a list of objects, or an object of columns."""
    content = file.read()
    if _is_object_a_line(content.lstrip()):
        longest = max(map(len, content[:_BLOCK].splitlines()))
        options = arrow_json.ReadOptions(block_size=max(_BLOCK, 8 * longest))
        return arrow_json.read_json(io.BytesIO(content), read_options=options)
    rows = json.loads(content)
    if isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
        return pa.Table.from_pylist(rows)
    if isinstance(rows, dict) and all(isinstance(column, list) for column in rows.values()):
        return pa.table(rows)
    raise ValueError("it must be a list of objects, or an object a line. Hint: one object for each row")


def _is_object_a_line(content: bytes) -> bool:
    """Say whether the first line is an object, and not one of columns that are all there is."""
    first, _, rest = content.partition(b"\n")
    try:
        found = json.loads(first)
    except ValueError:
        return False
    has_lists = isinstance(found, dict) and any(isinstance(cell, list) for cell in found.values())
    return isinstance(found, dict) and bool(rest.strip() or not has_lists)


def _flat(table: pa.Table) -> tuple[pa.Table, list[str]]:
    """Return a table whose objects have a column for each part, without lists; and a note on those."""
    while any(pa.types.is_struct(kind) for kind in table.schema.types):
        table = table.flatten()
    lists = [field.name for field in table.schema if any(is_one(field.type) for is_one in _LISTS)]
    if not lists:
        return table, []
    return table.drop_columns(lists), [f"Left out, as cells hold lists or bytes: {', '.join(lists)}."]


def _without_words_for_missing(table: pa.Table, words: tuple[str, ...]) -> pa.Table:
    """Return a table without the cells that users call missing."""
    for j, field in enumerate(table.schema if words else ()):
        column = table.column(j)
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            values: list[Any] = list(words)
        elif pa.types.is_integer(field.type) or pa.types.is_floating(field.type):
            values = [number for word in words if (number := cells.number_of(word, "."))]
            values = [number for number, _ in values]
            column = column.cast(pa.float64(), safe=False)
        else:
            continue
        if values:
            is_gap = pc.is_in(column, value_set=pa.array(values, column.type))
            gap = pa.scalar(None, field.type)
            table = table.set_column(j, field.name, pc.if_else(is_gap, gap, table.column(j)))
    return table


def to_bytes(table: pa.Table, kind: str) -> bytes:
    """Return a table as the bytes of a file of this kind."""
    sink = io.BytesIO()
    if kind == "parquet":
        parquet.write_table(table, sink)
    elif kind == "arrow":
        feather.write_feather(table, sink)
    elif kind in ("json", "jsonl"):
        lines = [json.dumps(row, default=str) for row in table.to_pylist()]
        return ("[" + ",\n".join(lines) + "]\n" if kind == "json" else "\n".join(lines) + "\n").encode()
    else:
        table = table.cast(pa.schema([(field.name, _written(field.type)) for field in table.schema]))
        options = arrow_csv.WriteOptions(delimiter="\t" if kind == "tsv" else ",", quoting_style="needed")
        arrow_csv.write_csv(table, sink, options)
    return sink.getvalue()


def _written(kind: pa.DataType) -> pa.DataType:
    """Return the type that Arrow writes as text for one that it does not."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    return pa.int64() if pa.types.is_duration(kind) else kind


def write_table(table: pa.Table, path: pathlib.Path, kind: str) -> None:
    """Write a table that appears whole or not at all."""
    content = to_bytes(table, kind)
    write_whole(path, gzip.compress(content) if path.name.lower().endswith(".gz") else content)
