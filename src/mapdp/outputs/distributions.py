"""How cells are distributed over each cluster: counts that add up at every level of the cluster tree."""

import itertools
from typing import Any

import numpy as np

from mapdp.data.column import Column
from mapdp.data.column_kinds import rows_to_look_at
from mapdp.data.frames import is_gap
from mapdp.estimators.mixture import Mixture
from mapdp.insights.describe import Description
from mapdp.insights.typical import plain, settled

_BINS = 20  # of a histogram
_LEVELS = 8  # that have bars of their own; the rest share one
_CLASSES = 12  # known classes that have a column of their own
_COLUMNS = 60  # that are shown: those that set clusters apart most
_CELLS = 300_000  # counts that a report holds, about
_TAILS = (0.005, 0.995)  # quantiles between which bins are of the same width


def distributions(
    model: Mixture, description: Description, numbers: np.ndarray, labels: np.ndarray
) -> list[dict[str, Any]]:
    """Return for each column that is shown its bins, and how many rows of each cluster are in them."""
    names, used = model.schema_.labels(), [model.schema_.columns[j] for j in model.schema_.used]
    return [
        {
            "name": names[j],
            "kind": used[j].kind,
            **_distribution(used[j], numbers[:, j], labels, model.n_clusters_),
        }
        for j in places_shown(model, description)
    ]


def places_shown(model: Mixture, description: Description) -> list[int]:
    """Return the places of the columns that are shown, by what they say about clusters."""
    most = min(_COLUMNS, max(8, _CELLS // (_BINS * model.n_clusters_)))
    nats: dict[str, float] = {}
    for cluster in description:
        for feature in cluster.features:
            nats[feature.name] = max(feature.nats, nats.get(feature.name, -np.inf))
    names = model.schema_.labels()
    return sorted(range(len(names)), key=lambda j: -nats.get(names[j], 0.0))[:most]


def _distribution(column: Column, cells: np.ndarray, labels: np.ndarray, n_clusters: int) -> dict[str, Any]:
    """Return what the bins of one column are called, and the rows of each cluster in them."""
    bins, called = _levels(column, cells) if column.has_levels else _measured(column, cells)
    seen = bins >= 0
    places = labels[seen].astype(np.int64) * len(called) + bins[seen]
    counts = np.bincount(places, minlength=n_clusters * len(called)).reshape(n_clusters, len(called))
    return {"bins": called, "counts": counts.tolist()}


def _levels(column: Column, cells: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return the bar of each cell, -1 for a gap: frequent levels, and one for all others."""
    known = ~np.isnan(cells)
    tally = np.bincount(cells[known].astype(np.int64), minlength=len(column.values))
    has_others = len(column.values) > _LEVELS + 1 or column.kind == "ordered"
    kept = np.argsort(-tally, kind="stable")[: _LEVELS if has_others else None]
    if column.kind == "ordered" or len(kept) == 2:  # columns of yes and no read alike
        kept = np.sort(kept)
    bar = np.full(len(column.values), len(kept))
    bar[kept] = np.arange(len(kept))
    bins = np.where(known, bar[np.where(known, cells, 0.0).astype(np.int64)], -1)
    rest = len(column.values) - len(kept)
    return bins, [column.word(column.values[i]) for i in kept] + ([f"{rest} others"] if rest else [])


def _measured(column: Column, cells: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return the bar of each cell, -1 for a gap: a special value has its own, before all intervals."""
    is_special = cells == column.special
    if not is_special.any():
        return _intervals(column, cells)
    bins, called = _intervals(column, np.where(is_special, np.nan, cells))
    return np.where(is_special, 0, np.where(bins < 0, -1, bins + 1)), [
        in_words(column, column.special),
        *called,
    ]


def _intervals(column: Column, cells: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return the interval of each cell, -1 for a gap; the first and the last one are open."""
    known = ~np.isnan(cells)
    seen = cells[known].astype(np.float64)
    values = np.unique(rows_to_look_at(seen))
    if len(values) <= _BINS and len(values := np.unique(seen)) <= _BINS:
        bins = np.where(known, np.searchsorted(values, cells), -1)
        return bins, [in_words(column, value) for value in values]
    low, high = np.quantile(seen, _TAILS)
    low, high = (low, high) if high > low else (values[0], values[-1])
    edges = np.linspace(low, high, _BINS + 1)
    bins = np.where(known, np.clip(np.searchsorted(edges, cells, side="right") - 1, 0, _BINS - 1), -1)
    ends = [in_words(column, edge) for edge in edges]
    return bins, [f"{a} to {b}" for a, b in itertools.pairwise(ends)]


def in_words(column: Column, cell: float) -> str:
    """Return one of the family's numbers as people write the value."""
    if np.isnan(cell):
        return "missing"
    value = column.decoded(np.array([cell]))[0]
    if column.kind == "log":
        value = settled(float(value), column.shift)
    return column.word(value) if column.measure or column.has_levels else plain(float(value), 3)


def gaps(model: Mixture, numbers: np.ndarray, labels: np.ndarray) -> list[dict[str, Any]]:
    """Return for each column with gaps how many rows of each cluster have one."""
    missing = np.isnan(numbers)
    names = model.schema_.labels()
    return [
        {
            "name": names[j],
            "counts": np.bincount(labels[missing[:, j]], minlength=model.n_clusters_).tolist(),
        }
        for j in np.flatnonzero(missing.any(axis=0))
    ]


def classes(label: np.ndarray | None, labels: np.ndarray, n_clusters: int) -> dict[str, Any]:
    """Return how many rows of each cluster are of each known class, frequent ones first."""
    if label is None:
        return {}
    known = np.array([not is_gap(one) for one in label])
    names, codes = np.unique(np.asarray(label)[known].astype(str), return_inverse=True)
    order = np.argsort(-np.bincount(codes), kind="stable")
    rank = np.minimum(np.argsort(order, kind="stable"), _CLASSES)[codes]
    shown = names[order][:_CLASSES].tolist()
    called = shown + ([f"{len(names) - len(shown)} others"] if len(names) > len(shown) else [])
    places = labels[known].astype(np.int64) * len(called) + rank
    counts = np.bincount(places, minlength=n_clusters * len(called)).reshape(n_clusters, len(called))
    return {"names": called, "counts": counts.tolist()}
