"""Rows in two dimensions, drawn so that clusters lie apart.

Columns are measured in within-cluster standard deviations, and the two directions are those in which the
clusters' centres differ most; directions that are left over are where the rows vary most.
"""

from typing import Any, NamedTuple

import numpy as np

from mapdp.data.moments import gaps_filled_by_means
from mapdp.estimators.mixture import Mixture

_NAMED = 3  # columns that an axis is named by
_LEVEL = 0.25  # within-cluster standard deviation of a level's column of 0 and 1, at least
_AT_ONCE = 200_000  # rows that directions are worked out from, and ...
_FEW = 1000  # ... all rows of clusters that have no more


class Picture(NamedTuple):
    """Rows and clusters in two dimensions."""

    rows: np.ndarray  # (N, 2)
    moments: np.ndarray  # (K, 6) of the rows of each cluster: their number, sums, sums of products
    axes: tuple[str, str]  # the columns that each direction is made of

    @property
    def ellipses(self) -> np.ndarray:
        """Return (K, 5): centre, half axes of two standard deviations, angle in degrees."""
        return ellipses_of(self.moments)


def of_rows(model: Mixture, table: Any) -> Picture:
    """Draw rows of a table as the model sees them."""
    cells = model.numbers_of(table)
    labels = model.labels_ if len(model.labels_) == len(cells) else model.predict(table)
    return of_numbers(model, cells, np.asarray(labels), np.arange(len(cells)))


def of_numbers(model: Mixture, cells: np.ndarray, labels: np.ndarray, shown: np.ndarray) -> Picture:
    """Draw some of the rows; they are numbers already, and gaps are NaN."""
    some = np.union1d(_sample(labels), shown)
    numbers, names = as_numbers(model, cells[some])
    directions = _directions(numbers, labels[some])
    rows = (numbers - numbers.mean(axis=0)) @ directions
    moments = [_moments(rows[labels[some] == k]) for k in range(model.n_clusters_)]
    axes = _axes(directions * numbers.std(axis=0)[:, None], names)
    return Picture(rows[np.searchsorted(some, shown)], np.array(moments), axes)


def _sample(labels: np.ndarray) -> np.ndarray:
    """Return the rows that directions and ellipses are worked out from: all, or some and small clusters."""
    every = max(1, len(labels) // _AT_ONCE)
    names, sizes = np.unique(labels, return_counts=True)
    small = np.flatnonzero(np.isin(labels, names[sizes <= _FEW]))
    return np.union1d(np.arange(0, len(labels), every), small)


def as_numbers(model: Mixture, cells: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return columns without gaps; levels become one column each."""
    columns, names = [], []
    used = [model.schema_.columns[j] for j in model.schema_.used]
    for j, (column, name) in enumerate(zip(used, model.schema_.labels(), strict=True)):
        if column.kind == "category" and len(column.values) > 2:
            for level, value in enumerate(column.values):
                columns.append((cells[:, j] == level).astype(np.float64))
                names.append(f"{name} = {value}")
        elif column.kind == "zeros":
            encoded = model.family_.column(j).encode(
                np.where(np.isnan(cells[:, [j]]), column.special, cells[:, [j]])
            )
            columns += list(gaps_filled_by_means(encoded).T)
            names += [name, f"{name} = {column.word(column.values[0])}"]
        else:
            columns.append(gaps_filled_by_means(cells[:, [j]].astype(np.float64))[:, 0])
            is_pair = column.kind in ("binary", "category") and len(column.values) == 2
            names.append(f"{name} = {column.word(column.values[1])}" if is_pair else name)
    return np.column_stack(columns), names


def _directions(X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return (E, 2): what to multiply centred rows by."""
    centred = X - X.mean(axis=0)
    numbers = np.unique(labels)
    centres = np.stack([centred[labels == k].mean(axis=0) for k in numbers])
    sizes = np.array([(labels == k).sum() for k in numbers])
    place = np.searchsorted(numbers, labels)
    within = np.sqrt(((centred - centres[place]) ** 2).mean(axis=0))
    is_level = ((X == 0.0) | (X == 1.0)).all(axis=0)  # where clusters are pure, rare ones would be far off
    scale = np.maximum(within, np.where(is_level, _LEVEL, 0.05 * np.maximum(X.std(axis=0), 1e-12)))
    between = centres / scale * np.sqrt(sizes / len(X))[:, None]
    found = _axes_of(between)[:2]
    if len(found) < 2:
        rest = centred / scale
        rest = rest - rest @ found.T @ found if len(found) else rest
        found = np.vstack([found, _axes_of(rest[:: max(1, len(rest) // 5000)])])[:2]
    while len(found) < 2:
        found = np.vstack([found, np.zeros(X.shape[1])])
    return (found / scale).T


def _axes_of(X: np.ndarray) -> np.ndarray:
    """Return the main directions of rows, those without length left out; signs do not depend on chance."""
    _, lengths, axes = np.linalg.svd(X, full_matrices=False)
    axes = axes[lengths > 1e-9 * max(lengths.max(initial=0.0), 1e-300)]
    signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
    return axes * signs[:, None]


def _moments(rows: np.ndarray) -> np.ndarray:
    """Return the number of rows, their sums, and the sums of squares and of products."""
    x, y = rows.T
    return np.array([len(rows), x.sum(), y.sum(), x @ x, x @ y, y @ y])


def ellipses_of(moments: np.ndarray) -> np.ndarray:
    """Return centre, half axes and angle of two standard deviations, from the moments of each cluster."""
    return np.array([_ellipse(*one) for one in moments])


def _ellipse(n: float, x: float, y: float, xx: float, xy: float, yy: float) -> np.ndarray:
    """Return centre, half axes and angle; fewer than three rows have no ring."""
    if n < 3:
        return np.array([x / max(n, 1.0), y / max(n, 1.0), 0.0, 0.0, 0.0])
    mean = np.array([x, y]) / n
    scatter = np.array([[xx, xy], [xy, yy]]) - n * np.outer(mean, mean)
    values, vectors = np.linalg.eigh(scatter / (n - 1.0))
    angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
    half = 2.0 * np.sqrt(np.maximum(values, 0.0))
    return np.array([*mean, half[1], half[0], angle])


def _axes(weights: np.ndarray, names: list[str]) -> tuple[str, str]:
    """Name each direction by the columns that matter most to it."""
    names_of_axes = []
    for weight in weights.T:
        order = [j for j in np.argsort(-np.abs(weight), kind="stable")[:_NAMED] if weight[j] != 0.0]
        names_of_axes.append(", ".join(f"{'+' if weight[j] > 0 else '-'} {names[j]}" for j in order))
    return names_of_axes[0], names_of_axes[1]
