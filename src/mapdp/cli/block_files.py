"""A folder of files, or one file, as a table in blocks that keep to a budget of memory."""

import os
import pathlib
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as dataset

from mapdp.cli import files
from mapdp.cli.dialects import dialect_of
from mapdp.cli.files import Asked, TroubleError
from mapdp.cli.formats import TableFile
from mapdp.data.arrow_schema import said_by_arrow
from mapdp.data.blocks import ROWS, TableBlocks, in_blocks

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_FORMATS = {".parquet": "parquet", ".csv": "csv", ".tsv": "csv", ".arrow": "arrow", ".feather": "arrow"}
_COPIES = 8  # of a block that are in memory at a time: as it was read, as numbers, encoded, scored
_FEWEST = 4096  # rows of a block
_ALWAYS = 4 * 10**8  # bytes that the program and its sample take without any block


def blocks_at(table: str, asked: Asked, memory: str | None) -> TableBlocks:
    """Return the rows of a folder of files, or of one file, as blocks."""
    paths = _files(table)
    kind = _FORMATS[paths[0].suffix.lower()]
    try:
        rows = _of_text(paths, asked) if kind == "csv" else _dataset(paths, kind)
    except (pa.ArrowException, OSError) as error:
        raise TroubleError(
            f"{paths[0]} cannot be read: {said_by_arrow(error)}. Hint: leave it out, or write it anew."
        ) from error
    return in_blocks(rows, rows_of_block(len(rows.schema.names), memory))


def _dataset(paths: list[pathlib.Path], kind: Any) -> Any:
    return dataset.dataset(list(map(str, paths)), format=kind)


def _files(table: str) -> list[pathlib.Path]:
    """Return the files of a folder that can be read in blocks, in the order of their names."""
    path = pathlib.Path(table)
    if table == "-" or not path.exists():
        raise TroubleError(f"{table} cannot be read in blocks. Hint: name a file or a folder.")
    found = (
        [path]
        if path.is_file()
        else sorted(one for one in path.rglob("*") if one.suffix.lower() in _FORMATS)
    )
    if not found:
        raise TroubleError(f"{table} holds no file of {', '.join(_FORMATS)}. Hint: name another folder.")
    if found[0].suffix.lower() not in _FORMATS:
        raise TroubleError(
            f"{table} cannot be read in blocks: only {', '.join(_FORMATS)} can. Hint: leave out --memory."
        )
    others = [one for one in found if _FORMATS[one.suffix.lower()] != _FORMATS[found[0].suffix.lower()]]
    if others:
        raise TroubleError(
            f"{found[0].name} and {others[0].name} are of two formats. Hint: one folder, one format."
        )
    return found


def _of_text(paths: list[pathlib.Path], asked: Asked) -> Any:
    """Return text files that are written as the first one is."""
    source = TableFile(str(paths[0]))
    dialect = dialect_of(source, asked)
    troubles = {
        "is compressed. Hint: unpack it": source.is_compressed,
        "has comments, which need a table in memory. Hint: leave them out": dialect.has_comments,
        "is separated by blanks, which need a table in memory. Hint: use commas": dialect.separator == " ",
    }
    for trouble, is_there in troubles.items():
        if is_there:
            raise TroubleError(f"{paths[0]} {trouble}.")
    text = dataset.CsvFileFormat(**files.arrow_options(dialect, asked))
    return _dataset(paths, text)


def rows_of_block(n_columns: int, memory: str | None) -> int:
    """Return how many rows a block may have, so that the blocks that are in memory keep to a budget."""
    room = (bytes_of(memory) if memory is not None else _free() // 2) - _ALWAYS
    n_threads = (os.cpu_count() or 1) + 1
    return int(np.clip(room / 2 / (8 * n_columns * _COPIES * n_threads), _FEWEST, ROWS))


def bytes_of(memory: str) -> int:
    """Return a budget such as 2GB in bytes."""
    match = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]?)(?:i?b)?\s*", memory.lower())
    try:
        found = float(match.group(1)) * _UNITS[match.group(2)] if match else 0.0
    except ValueError:
        found = 0.0
    if not found > 0.0:
        raise TroubleError(f"--memory must be a size, got {memory!r}. Hint: --memory 2GB.")
    return int(found)


def _free() -> int:
    """Return the bytes that the machine has free, 2 GB where it does not say."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 2 * 10**9
