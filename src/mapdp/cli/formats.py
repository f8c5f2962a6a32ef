"""What a file is, by its first bytes: its name may say anything, and standard input has none."""

import bz2
import contextlib
import functools
import gzip
import io
import lzma
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import pyarrow as pa


class TroubleError(Exception):
    """Something that the user can put right; its text is shown as it is."""


_COMPRESSED: dict[bytes, Any] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
    b"\x28\xb5\x2f\xfd": lambda file: pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd"),
    b"\x04\x22\x4d\x18": lambda file: pa.CompressedInputStream(pa.PythonFile(file, "r"), "lz4"),
}
_BINARY = {b"PAR1": "parquet", b"ARROW1": "arrow", b"FEA1": "arrow", b"\xff\xff\xff\xff": "arrow stream"}
_AS_CSV = "save the table as CSV"
_REFUSED = {  # how a file begins, what it is, and what to do
    b"\xd0\xcf\x11\xe0": ("an old Excel workbook (.xls)", "save the sheet as CSV"),
    b"SQLite format 3": ("an SQLite database", "export the table as CSV"),
    b"\x89HDF": ("an HDF5 file", _AS_CSV),
    b"\x93NUMPY": ("a NumPy array", "use MAPDP in Python, or write it with np.savetxt"),
    b"\x80\x04\x95": ("a pickle", "save the table as Parquet"),
    b"\x80\x05\x95": ("a pickle", "save the table as Parquet"),
    b"ORC": ("an ORC file", "save the table as Parquet"),
    b"Obj\x01": ("an Avro file", "save the table as Parquet"),
    b"$FL2": ("an SPSS file", _AS_CSV),
    b"<stata_dta>": ("a Stata file", _AS_CSV),
    b"RDX": ("an R data file", "write.csv(table, file, row.names = FALSE) in R"),
    b"X\n\x00\x00": ("an R data file", "write.csv(table, file, row.names = FALSE) in R"),
    b"%PDF": ("a PDF", _AS_CSV),
    b"7z\xbc\xaf": ("a 7-Zip archive", "unpack it first"),
    b"Rar!": ("a RAR archive", "unpack it first"),
    b"<?xml": ("an XML file", _AS_CSV),
    b"<!doctype html": ("a web page", _AS_CSV),
    b"<html": ("a web page", _AS_CSV),
    b"@relation": ("an ARFF file", _AS_CSV),
}
_IN_ZIP = {  # what a zip archive holds, near its beginning or its end
    b"xl/": ("an Excel workbook (.xlsx)", "save the sheet as CSV"),
    b"opendocument.spreadsheet": ("an OpenDocument spreadsheet", "save the sheet as CSV"),
    b".npy": ("a NumPy archive", "use MAPDP in Python, or write it with np.savetxt"),
}
_LOOKED_AT = 4096  # bytes at either end of a zip archive


def named(path: str) -> str:
    """Return what to call a table."""
    return "standard input" if path == "-" else path


class TableFile:
    """A table's bytes, which can be opened more than once; what is compressed is unpacked."""

    def __init__(self, path: str) -> None:
        self.path = path
        there = path == "-" or (pathlib.Path(path).exists() and not pathlib.Path(path).is_dir())
        if not there:
            raise TroubleError(f"there is no file {path}. Hint: `-` reads standard input.")
        self.is_pipe = path == "-" or not pathlib.Path(path).is_file()

    @contextlib.contextmanager
    def open(self) -> Iterator[Any]:
        """Give a file of bytes."""
        with io.BytesIO(_piped(self.path)) if self.is_pipe else open(self.path, "rb") as file:
            start = file.read(8)
            file.seek(0)
            unpacks = (unpack for magic, unpack in _COMPRESSED.items() if start.startswith(magic))
            with next(unpacks, contextlib.nullcontext)(file) as unpacked:
                yield unpacked

    @property
    def is_compressed(self) -> bool:
        """Say whether a file, which is no pipe, is unpacked when it is read."""
        with open(self.path, "rb") as file:
            return file.read(8).startswith(tuple(_COMPRESSED))

    def start(self, n_bytes: int) -> bytes:
        """Return the first bytes."""
        with self.open() as file:
            return file.read(n_bytes)


@functools.cache
def _piped(path: str) -> bytes:
    """Return what comes through a pipe, which can be read only once."""
    return sys.stdin.buffer.read() if path == "-" else pathlib.Path(path).read_bytes()


def kind_of(path: str) -> str:
    """Return "csv", "tsv", "parquet", "arrow", "jsonl" or "json" for a file name; "csv" is the rest."""
    name = path.lower()
    for ending in (".gz", ".bz2", ".xz", ".zst", ".lz4"):
        name = name.removesuffix(ending)
    endings = {
        "tsv": (".tsv", ".tab"),
        "parquet": (".parquet", ".pq"),
        "arrow": (".arrow", ".feather", ".ipc"),
        "jsonl": (".jsonl", ".ndjson"),
        "json": (".json",),
    }
    return next((kind for kind, ends in endings.items() if name.endswith(ends)), "csv")


def content_of(source: TableFile) -> str:
    """Return "parquet", "arrow", "arrow stream", "json" or "text"; what is not read is refused by name."""
    start = source.start(_LOOKED_AT)
    if start.startswith(b"PK\x03\x04"):
        _refuse_zip(source)
    begins = start.lstrip(b"\xef\xbb\xbf \t\r\n")
    for magic, (what, hint) in _REFUSED.items():
        if start.startswith(magic) or (magic.isascii() and begins.lower().startswith(magic.lower())):
            raise TroubleError(f"{named(source.path)} is {what}, which is not read. Hint: {hint}.")
    kind = next((kind for magic, kind in _BINARY.items() if start.startswith(magic)), "text")
    return "json" if kind == "text" and begins[:1] in (b"{", b"[") else kind


def _refuse_zip(source: TableFile) -> None:
    with source.open() as file:
        content = file.read()
    ends = content[:_LOOKED_AT] + content[-_LOOKED_AT:]
    found = (words for part, words in _IN_ZIP.items() if part in ends)
    what, hint = next(found, ("a zip archive", "unpack it first"))
    raise TroubleError(f"{named(source.path)} is {what}, which is not read. Hint: {hint}.")
