"""Files that Arrow reads, block by block: a pyarrow Dataset of Parquet, Arrow or CSV files.

Parquet files are read where they are, some row groups at a time. Files of other formats cannot be entered
in the middle, so they are copied once, block by block, into a temporary Parquet file that can.
"""

import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mapdp.data.blocks import ROWS, Blocks


class _Piece(NamedTuple):
    """Some row groups of one file."""

    fragment: Any
    groups: list[int]
    n_rows: int


class ArrowBlocks(Blocks):
    """The rows of a pyarrow Dataset; a block holds whole row groups, about `n_rows` rows together."""

    def __init__(self, dataset: Any, n_rows: int = ROWS) -> None:
        if getattr(dataset, "format", None) is None or dataset.format.default_extname != "parquet":
            dataset = self._copied(dataset, n_rows)
        self._schema, self._pieces = dataset.schema, _pieces(dataset, n_rows)
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
        with pyarrow.parquet.ParquetWriter(path, dataset.schema, compression="lz4") as file:
            for batch in dataset.to_batches(batch_size=n_rows, batch_readahead=1, fragment_readahead=1):
                if batch.num_rows:
                    file.write_batch(batch, row_group_size=n_rows)
        return pyarrow.dataset.dataset(path, format="parquet")

    def read(self, number: int) -> Any:
        """Return a block as an Arrow table."""
        import pyarrow

        piece = self._pieces[number]
        self._check_unchanged(piece)
        try:
            return piece.fragment.subset(row_group_ids=piece.groups).to_table(schema=self._schema)
        except (OSError, pyarrow.ArrowException) as error:
            raise ValueError(
                f"block {number} of {piece.fragment.path} cannot be read: {_first_line(error)}. "
                "Hint: write the file anew, or leave it out."
            ) from error

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
    import pyarrow

    try:
        return fragment.row_groups
    except (OSError, pyarrow.ArrowException) as error:
        raise ValueError(
            f"{fragment.path} is not a Parquet file that can be read: {_first_line(error)}. "
            "Hint: leave it out, or write it anew."
        ) from error


def _stamp(fragment: Any) -> tuple:
    """Return what tells whether a file has changed: its size and time."""
    info = fragment.filesystem.get_file_info(fragment.path)
    return info.size, info.mtime_ns


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".")
