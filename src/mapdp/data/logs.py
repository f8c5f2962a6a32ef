"""Measurements whose logarithm describes clusters better: which they are, and the table that holds it."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from mapdp.data.column import Column
from mapdp.data.column_kinds import resolution_of
from mapdp.data.columns import Schema

_LIKE = 2.0  # rows as wide as all clusters together are, that are added to each cluster


def may_be_logs(schema: Schema, numbers: np.ndarray, kinds: Mapping[object, str] | None) -> list[int]:
    """Return the places of plain measurements above zero whose kind is left to us."""
    used = zip(schema.used, schema.names() or schema.used, strict=True)
    return [
        place
        for place, (j, name) in enumerate(used)
        if _is_plain(schema.columns[j]) and name not in (kinds or {}) and np.nanmin(numbers[:, place]) > 0.0
    ]


def _is_plain(column: Column) -> bool:
    return column.kind == "real" and not (column.is_text or column.measure or column.part)


def gains_by_logs(numbers: np.ndarray, labels: np.ndarray, places: Sequence[int]) -> np.ndarray:
    """Return for each of these columns by how many nats its logarithm makes a cell more probable.

    Cells of a cluster are taken as Gaussian, with the variance they have.
    """
    return np.array([_gain(numbers[:, place], labels) for place in places])


def _gain(cells: np.ndarray, labels: np.ndarray) -> float:
    is_there = ~np.isnan(cells)
    cells, labels = cells[is_there].astype(np.float64), labels[is_there]
    logs = np.log(cells)
    return float((_log_density(logs, labels) - logs.sum() - _log_density(cells, labels)) / len(cells))


def _log_density(cells: np.ndarray, labels: np.ndarray) -> float:
    """Return the log density of cells but for a constant."""
    n = np.bincount(labels)
    means = np.bincount(labels, cells) / np.maximum(n, 1)
    squares = np.bincount(labels, (cells - means[labels]) ** 2)
    variances = (squares + _LIKE * squares.sum() / len(cells)) / (n + _LIKE)
    rounded = np.maximum(variances + resolution_of(cells) ** 2 / 12.0, np.finfo(np.float64).tiny)
    return float(-0.5 * n @ np.log(rounded))


def with_logs(
    schema: Schema, numbers: np.ndarray, places: Sequence[int], counted: np.ndarray | None
) -> tuple[Schema, np.ndarray]:
    """Return the schema and the numbers of the same table with the logarithms of some columns.

    What columns hold is read off the `counted` rows; None counts all.
    """
    columns, out = list(schema.columns), numbers.astype(np.float64)
    out[:, places] = np.log(out[:, places] * [schema.columns[schema.used[place]].unit for place in places])
    seen = out if counted is None else out[counted]
    for place in places:
        j = schema.used[place]
        step = resolution_of(seen[:, place])
        columns[j] = dataclasses.replace(columns[j], kind="log", unit=1.0, resolution=step)
    return Schema(tuple(columns)), out
