"""Tables as files: CSV and TSV (which may be gzipped), Parquet, Arrow, and standard input."""

import collections
import csv
import functools
import gzip
import io
import pathlib
import sys
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.feather as feather
import pyarrow.parquet as parquet

from mapdp.data.frames import NO_ANSWER
from mapdp.data.writing import write_whole

_SNIFFED = 65536  # characters from which the separator is inferred
_GAPS = sorted(
    {form for word in NO_ANSWER for form in (word, word.upper(), word.capitalize(), "NaN", "N/A")}
)


class TroubleError(Exception):
    """Something that the user can put right; its text is shown as it is."""


def kind_of(path: str) -> str:
    """Return "csv", "tsv", "parquet" or "arrow" for a file name; standard input is CSV."""
    name = path.lower().removesuffix(".gz")
    for ending, kind in {".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet"}.items():
        if name.endswith(ending):
            return kind
    return "arrow" if name.endswith((".arrow", ".feather", ".ipc")) else "csv"


def read(path: str) -> tuple[pa.Table, list[str]]:
    """Return a table, and notes on what was odd about the file."""
    if path != "-" and not pathlib.Path(path).is_file():
        raise TroubleError(f"there is no file {path}. Hint: `-` reads standard input.")
    try:
        kind, notes = kind_of(path), list[str]()
        if kind == "parquet":
            table = parquet.read_table(path)
        elif kind == "arrow":
            table = feather.read_table(path)
        else:
            table, notes = _read_text(path)
    except (pa.ArrowException, OSError, UnicodeDecodeError, EOFError) as error:
        raise TroubleError(f"{_named(path)} cannot be read: {_first_line(error)}") from error
    _check(table, path)
    return table, notes


def _named(path: str) -> str:
    return "standard input" if path == "-" else path


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:300] if str(error) else type(error).__name__


def _check(table: pa.Table, path: str) -> None:
    if table.num_rows == 0 or table.num_columns == 0:
        raise TroubleError(f"{_named(path)} holds no rows. Hint: the first line names the columns.")
    name, n_times = collections.Counter(table.column_names).most_common(1)[0]
    if n_times > 1:
        raise TroubleError(f"{_named(path)} has two columns called {name!r}. Hint: rename one.")


def _read_text(path: str) -> tuple[pa.Table, list[str]]:
    """Read separated values; those that are not UTF-8 are read as Latin-1, with a note."""
    with _opened(path) as file:
        start = file.read(_SNIFFED)
    with _opened(path) as file:
        table, notes = _parsed(file, start, path)
    if not any(pa.types.is_binary(kind) for kind in table.schema.types):  # what Arrow calls foreign text
        return table, notes
    with _opened(path) as file:
        table, _ = _parsed(file, start, path, "latin-1")
    return table, ["The file is not UTF-8; it was read as Latin-1."]


def _opened(path: str) -> Any:
    if path == "-":
        return io.BytesIO(_standard_input())
    return gzip.open(path, "rb") if path.lower().endswith(".gz") else open(path, "rb")


@functools.cache
def _standard_input() -> bytes:
    """Return standard input, which can be read only once."""
    return sys.stdin.buffer.read()


def _parsed(file: Any, start: bytes, path: str, encoding: str = "utf8") -> tuple[pa.Table, list[str]]:
    if not start.strip():
        raise TroubleError(f"{_named(path)} is empty. Hint: the first line names the columns.")
    return (
        arrow_csv.read_csv(
            file,
            read_options=arrow_csv.ReadOptions(encoding=encoding),
            parse_options=arrow_csv.ParseOptions(
                delimiter=_separator(start, path), newlines_in_values=True
            ),
            convert_options=arrow_csv.ConvertOptions(null_values=_GAPS, strings_can_be_null=True),
        ),
        [],
    )


def _separator(start: bytes, path: str) -> str:
    """Tell the separator from the first line."""
    if kind_of(path) == "tsv":
        return "\t"
    line = start.decode("latin-1").splitlines()[0]
    try:
        return csv.Sniffer().sniff(line, delimiters=",;\t|").delimiter
    except csv.Error:
        return ","


def to_bytes(table: pa.Table, kind: str) -> bytes:
    """Return a table as the bytes of a file of this kind."""
    sink = io.BytesIO()
    if kind == "parquet":
        parquet.write_table(table, sink)
    elif kind == "arrow":
        feather.write_feather(table, sink)
    else:
        options = arrow_csv.WriteOptions(delimiter="\t" if kind == "tsv" else ",", quoting_style="needed")
        arrow_csv.write_csv(table, sink, options)
    return sink.getvalue()


def write_table(table: pa.Table, path: pathlib.Path, kind: str) -> None:
    """Write a table that appears whole or not at all."""
    content = to_bytes(table, kind)
    write_whole(path, gzip.compress(content) if path.name.lower().endswith(".gz") else content)
