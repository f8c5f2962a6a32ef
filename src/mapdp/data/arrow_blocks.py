"""Files that Arrow reads, block by block: a pyarrow Dataset of Parquet, Arrow or CSV files.

Parquet files are read where they are, some row groups at a time. Files of other formats cannot be entered
in the middle, so they are copied once, block by block, into a temporary Parquet file that can.
"""

import contextlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from mapdp.data.arrow_schema import said_by_arrow, shared_schema
from mapdp.data.blocks import ROWS, TableBlocks
from mapdp.data.frames import check_names
from mapdp.data.writing import room_in

_ONE_TYPE = "a column holds numbers in all rows, or words; leave a cell empty that is missing"


class _Piece(NamedTuple):
    """Some row groups of one file."""

    fragment: Any
    groups: list[int]
    n_rows: int


class ArrowBlocks(TableBlocks):
    """The rows of a pyarrow Dataset; a block holds whole row groups, about `n_rows` rows together."""

    def __init__(self, dataset: Any, n_rows: int = ROWS) -> None:
        self._schema = _schema_of(dataset)
        if getattr(dataset, "format", None) is None or dataset.format.default_extname != "parquet":
            dataset = self._copied(dataset, n_rows)
        self._pieces = _pieces(dataset, n_rows)
        if not self._pieces:
            raise ValueError(
                "the dataset has no rows. Hint: check the folder, and that its files are not empty."
            )
        self.sizes = np.array([piece.n_rows for piece in self._pieces])
        self._stamps = {piece.fragment.path: _stamp(piece.fragment) for piece in self._pieces}

    def _copied(self, dataset: Any, n_rows: int) -> Any:
        """Copy files of another format, so that any block can be read by itself."""
        import pyarrow.dataset
        import pyarrow.parquet

        folder = tempfile.mkdtemp(prefix="mapdp-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        path = os.path.join(folder, "rows.parquet")
        with (
            room_in(folder, "let TMPDIR name another folder"),
            pyarrow.parquet.ParquetWriter(path, self._schema, compression="lz4") as file,
        ):
            for batch in _batches(dataset, self._schema, n_rows):
                file.write_batch(batch, row_group_size=n_rows)
        return pyarrow.dataset.dataset(path, format="parquet")

    def read(self, number: int) -> Any:
        """Return a block as an Arrow table."""
        piece = self._pieces[number]
        self._check_unchanged(piece)
        with _readable(f"block {number} of {piece.fragment.path}"):
            return piece.fragment.subset(row_group_ids=piece.groups).to_table(schema=self._schema)

    def _check_unchanged(self, piece: _Piece) -> None:
        if _stamp(piece.fragment) != self._stamps[piece.fragment.path]:
            raise ValueError(
                f"{piece.fragment.path} has changed since the fit began. "
                "Hint: fit again when nobody writes to it."
            )

    def joined(self, parts: Sequence[Any]) -> Any:
        """Return the rows of all parts."""
        import pyarrow

        return pyarrow.concat_tables(parts)


def _schema_of(dataset: Any) -> Any:
    check_names(dataset.schema.names)
    fragments = list(dataset.get_fragments())
    for fragment in fragments:
        with _readable(getattr(fragment, "path", "the dataset")):
            _ = fragment.physical_schema
    return shared_schema(dataset, fragments)


def _pieces(dataset: Any, n_rows: int) -> list[_Piece]:
    """Return row groups put together to blocks; a block stays within its file."""
    pieces: list[_Piece] = []
    for fragment in dataset.get_fragments():
        groups = [(group.id, group.num_rows) for group in _row_groups(fragment) if group.num_rows]
        while groups:
            taken = [groups.pop(0)]
            while groups and sum(n for _, n in taken) + groups[0][1] <= n_rows:
                taken.append(groups.pop(0))
            pieces.append(_Piece(fragment, [group for group, _ in taken], sum(n for _, n in taken)))
    return pieces


def _row_groups(fragment: Any) -> Any:
    with _readable(fragment.path):
        return fragment.row_groups


def _batches(dataset: Any, schema: Any, n_rows: int) -> Iterator[Any]:
    """Yield the rows of all files, so many at a time."""
    for fragment in dataset.get_fragments():
        batches = fragment.to_batches(
            schema=schema, batch_size=n_rows, batch_readahead=1, fragment_readahead=1
        )
        with _readable(getattr(fragment, "path", "the dataset")):
            yield from (batch for batch in batches if batch.num_rows)


@contextlib.contextmanager
def _readable(what: str) -> Iterator[None]:
    """Say in one sentence what cannot be read."""
    import pyarrow

    try:
        yield
    except (OSError, pyarrow.ArrowException) as error:
        said = said_by_arrow(error)
        hint = _ONE_TYPE if "conversion error" in said else "write the file anew, or leave it out"
        raise ValueError(f"{what} cannot be read: {said}. Hint: {hint}.") from error


def _stamp(fragment: Any) -> tuple:
    """Return what tells whether a file has changed: its size and time."""
    info = fragment.filesystem.get_file_info(fragment.path)
    return info.size, info.mtime_ns
