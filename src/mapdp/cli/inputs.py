"""What commands are given: tables with their known classes, and models."""

import pathlib

import numpy as np
import pyarrow as pa

from mapdp.cli import files
from mapdp.cli.files import TroubleError
from mapdp.estimators.map_dp import MAPDP
from mapdp.outputs import saving


def features(table: str, label: str | None) -> tuple[pa.Table, np.ndarray | None, list[str]]:
    """Return the columns to cluster by, the known classes and notes on the file."""
    rows, notes = files.read(table)
    if label is None:
        return rows, None, notes
    truth = taken(rows, label)
    return rows.drop_columns([label]), truth, notes


def taken(rows: pa.Table, name: str) -> np.ndarray:
    """Return a column of a table, or say which columns there are."""
    if name not in rows.column_names:
        raise TroubleError(
            f"there is no column {name!r} to score against. Hint: {', '.join(rows.column_names[:6])}."
        )
    return np.array(rows.column(name).to_pylist(), dtype=object)


def model_at(path: pathlib.Path) -> MAPDP:
    """Return a model that `mapdp fit` wrote."""
    if not path.is_file():
        raise TroubleError(f"there is no model {path}. Hint: `mapdp fit` writes model.mapdp.")
    return saving.load(path)


def model_and_table(path: pathlib.Path, table: str) -> tuple[MAPDP, pa.Table]:
    """Return a model and the columns of a table that it was fitted with."""
    fitted, (rows, _) = model_at(path), files.read(table)
    names = list(getattr(fitted, "feature_names_in_", rows.column_names))
    absent = [name for name in names if name not in rows.column_names]
    if absent:
        raise TroubleError(f"{table} has no column {absent[0]!r}, which the model was fitted with.")
    return fitted, rows.select(names)
