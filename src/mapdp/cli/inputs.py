"""What commands are given: tables with the parts that their columns play, and models."""

import pathlib
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from mapdp.cli import files
from mapdp.cli.files import Asked, TroubleError
from mapdp.estimators.map_dp import MAPDP
from mapdp.outputs import saving


class Roles(NamedTuple):
    """Names of columns that clusters are not found by."""

    label: str | None = None
    weights: str | None = None
    groups: str | None = None
    id: str | None = None
    sequence_id: str | None = None


class Given(NamedTuple):
    """A table, apart from the columns with a role of their own."""

    rows: pa.Table  # all columns
    features: pa.Table  # those that clusters are found by
    label: np.ndarray | None
    weights: np.ndarray | None
    groups: np.ndarray | None
    sequences: np.ndarray | None  # the name of each row's sequence
    notes: list[str]  # on the file

    def weighting(self) -> str | None:
        """Return how weights count: whole numbers repeat rows, of others only their ratios matter."""
        if self.weights is None:
            return None
        return "repeats" if (self.weights == np.round(self.weights)).all() else "relative"


def given_table(table: str, asked: Asked, roles: Roles) -> Given:
    """Read a table and take apart what its columns are for."""
    rows, notes = files.read(table, asked._replace(kept=asked.kept | set(filter(None, roles))))
    known = {role: taken(rows, name, role) for role, name in roles._asdict().items() if name is not None}
    features = rows.drop_columns(sorted({name for name in roles if name is not None}))
    if features.num_columns == 0:
        raise TroubleError("no column is left to find clusters by. Hint: the others have other roles.")
    weights = known.get("weights")
    numbers = None if weights is None else _numbers(weights, str(roles.weights))
    label, groups, sequences = (known.get(role) for role in ("label", "groups", "sequence_id"))
    return Given(rows, features, label, numbers, groups, sequences, notes)


def taken(rows: pa.Table, name: str, role: str) -> np.ndarray:
    """Return a column of a table, or say which columns there are."""
    if name not in rows.column_names:
        option, there = role.replace("_", "-"), ", ".join(rows.column_names[:6])
        raise TroubleError(f"there is no column {name!r} for --{option}. Hint: {there}.")
    return np.array(rows.column(name).to_pylist(), dtype=object)


def _numbers(cells: np.ndarray, name: str) -> np.ndarray:
    """Return weights as numbers, or say which is none."""
    try:
        weights = np.array([np.nan if cell is None else float(cell) for cell in cells])
    except (TypeError, ValueError) as error:
        raise TroubleError(f"--weights {name} must hold numbers: {error}.") from error
    if np.isnan(weights).any():
        i = int(np.isnan(weights).argmax())
        raise TroubleError(
            f"--weights {name} must hold a number in every row, not in row {i}. Hint: 0 leaves a row out."
        )
    return weights


def model_at(path: pathlib.Path) -> MAPDP:
    """Return a model that `mapdp fit` wrote."""
    if not path.is_file():
        raise TroubleError(f"there is no model {path}. Hint: `mapdp fit` writes model.mapdp.")
    return saving.load(path)


def columns_of(fitted: Any, rows: pa.Table, table: str) -> pa.Table:
    """Return the columns of a table that a model was fitted with."""
    names = list(getattr(fitted, "feature_names_in_", rows.column_names))
    absent = [name for name in names if name not in rows.column_names]
    if absent:
        raise TroubleError(f"{table} has no column {absent[0]!r}, which the model was fitted with.")
    return rows.select(names)


def words_of(fitted: Any) -> frozenset[str]:
    """Return the columns that a model takes for words: a file must not read them as numbers."""
    columns = fitted.schema_.columns
    return frozenset(str(column.name) for column in columns if column.is_text or not column.is_used)
