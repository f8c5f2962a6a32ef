"""What a file says about a fitted estimator, checked part against part before kernels see it.

Kernels take sizes, labels and levels as places in memory, so none may come from a file unseen. A bank is
built from the family, as in a fit; only the chairs of clusters are taken from the file, in the shapes that
the family gives them, and what follows from their statistics is worked out again.
"""

import math
from typing import Any

import numpy as np

from mapdp.compiled.lanes import whole_lanes
from mapdp.data import checks
from mapdp.data.column import Column
from mapdp.data.column_kinds import DESCRIBED
from mapdp.data.columns import Schema
from mapdp.data.times import MEASURES, PARTS
from mapdp.engine.trace import Chains
from mapdp.estimators.dp_means import DPMeans
from mapdp.estimators.filled_gaps import FilledCells
from mapdp.estimators.fitted import FittedMixture
from mapdp.estimators.gibbs import GibbsDPM
from mapdp.estimators.map_dp import MAPDP
from mapdp.estimators.settings import Settings
from mapdp.estimators.structured import StructuredMixture
from mapdp.families import Mixed, Ordered, Product
from mapdp.families.base import Bank, Family, refresh_chairs
from mapdp.outputs.packing import check_is_a
from mapdp.outputs.saved_structure import check_structure
from mapdp.partitions.process import Process, make_process

_SET_ASIDE = ("constant", "copy", "identifier", "empty", "ignore", "given")
_MOST_HEIGHTS = 2**25  # heights of all curves of ordered columns: 256 MB
_MOST_ROWS = 1e8  # that a process may be told of: it may need a number for each
_ROUNDING = 1e-6  # by which sums of weights may differ, as a share of them


def arrays_of(bank: Bank) -> list[np.ndarray]:
    """Return all arrays of a bank that hold slots, in their order."""
    found: list[np.ndarray] = []
    for name, value in zip(bank._fields, bank, strict=True):
        if name != "prior":
            found += arrays_of(value) if hasattr(value, "_fields") else [value]
    return found


def _require(is_so: object, trouble: str) -> None:
    if not is_so:
        raise ValueError(trouble)


def checked_mixture(parts: dict[str, Any], tensors: dict[str, np.ndarray]) -> FittedMixture:
    """Return the mixture of these parts, and of the tensors that hold its bank, if they fit together."""
    types: dict[str, Any] = {"schema": Schema, "family": Family, "process": Process, "sizes": np.ndarray}
    for name, type_ in types.items():
        check_is_a(name, parts[name], type_)
    schema, family, process, sizes = (parts[name] for name in types)
    _check_schema(schema)
    _check_family(family, schema)
    _require(process.rows is None or 0.0 < process.rows <= _MOST_ROWS, "its process counts too many rows")
    _check_sizes(sizes)
    mixture = FittedMixture(schema, family, process, _bank(family, len(sizes), tensors), sizes)
    _require(np.isfinite(mixture.log_weights).all(), "its clusters have no weights")
    _check_counts(mixture)
    return mixture


def _check_schema(schema: Schema) -> None:
    for j, column in enumerate(schema.columns):
        _check_column(column)
        _require(column.kind != "copy" or _is_source(column.values, j), "a copy has no source")
    _require(schema.used, "no column is used")


def _is_source(values: tuple, j: int) -> bool:
    """Say whether values are the number of an earlier column and a line."""
    return len(values) == 3 and isinstance(values[0], int) and 0 <= values[0] < j


def _check_column(column: Column) -> None:
    check_is_a("name of a column", column.name, str | int | float | tuple | type(None))
    check_is_a("values of a column", column.values, tuple[str | int | float | bool, ...])
    _require(column.kind in DESCRIBED + _SET_ASIDE, f"there is no kind of column {column.kind[:30]!r}")
    _require(column.kind != "constant" or column.values, "a constant column has no value")
    _require(column.kind != "zeros" or _is_number(column.values), "a column of zeros has no zero")
    units = math.isfinite(column.shift) and 0.0 < column.unit < math.inf
    _require(units and column.n_missing >= 0, "a column has no unit")
    _require(column.measure in MEASURES, f"there is no measure {column.measure[:30]!r}")
    _require(column.part in ("", *PARTS), f"there is no part {column.part[:30]!r}")


def _is_number(values: tuple) -> bool:
    """Say whether values are one number."""
    return len(values) == 1 and isinstance(values[0], float) and math.isfinite(values[0])


def _check_family(family: Family, schema: Schema) -> None:
    """Raise unless the family is about the used columns, and its bank needs little room for each."""
    n_columns, n_used = family.n_features, len(schema.used)
    _require(n_columns == n_used, f"its family has {n_columns} columns and its schema {n_used}")
    _require(np.shape(family.origin) == (family.n_cells,), "its family has no origin")
    heights = sum(len(w) * len(levels) for levels, w in _curves(family))
    _require(heights <= _MOST_HEIGHTS, "its ordered columns have too many levels")
    has_levels = family.has_columns or isinstance(family, Product)
    for place, j in enumerate(schema.used if has_levels else ()):
        _check_levels(family.column(place), schema.columns[j])


def _curves(family: Family) -> list[tuple[Any, Any]]:
    """Return levels and curves of all ordered columns."""
    if isinstance(family, Ordered):
        return list(zip(family.levels, family.log_weights or (), strict=True))
    if isinstance(family, Mixed):
        return [pair for column in family.columns for pair in _curves(column)]
    return (
        [pair for part, _ in family.parts for pair in _curves(part)] if isinstance(family, Product) else []
    )


def _check_levels(family: Any, column: Column) -> None:
    """Raise where a column has not the values that its family has levels for."""
    levels = getattr(family, "levels", None)
    if column.kind in ("category", "ordered") and levels is not None:
        _require(len(levels[0]) == len(column.values), "a column has other values than its family")


def _check_sizes(sizes: np.ndarray) -> None:
    _require(sizes.ndim == 1 and sizes.dtype.kind in "if" and len(sizes), "its sizes are no numbers")
    _require(np.isfinite(sizes).all() and (sizes > 0).all(), "its sizes are not positive")


def _bank(family: Family, n_clusters: int, tensors: dict[str, np.ndarray]) -> Bank:
    """Return a bank that holds the clusters of a file, and empty chairs.

    A bank of a few chairs says what shapes to expect, before one of many is made.
    """
    slots = whole_lanes(n_clusters + 1)
    stored = [
        _stored(tensors, f"bank.{place:02d}", (*array.shape[:-1], slots))
        for place, array in enumerate(arrays_of(family.bank(1)))
    ]
    bank = family.bank(slots)
    for array, new in zip(arrays_of(bank), stored, strict=True):
        array[..., :n_clusters] = new[..., :n_clusters]
    refresh_chairs(bank, n_clusters, slots)
    _require(all(np.isfinite(array).all() for array in arrays_of(bank)), "its clusters have no density")
    return bank


def _stored(tensors: dict[str, np.ndarray], name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return a tensor of finite numbers, if it has this shape."""
    array = tensors.pop(name)
    _require(array.dtype == np.float64, f"{name} is of type {array.dtype}")
    _require(array.shape == shape, f"{name} has shape {array.shape}, and its family asks for {shape}")
    _require(np.isfinite(array).all(), f"{name} is not finite")
    return array


def _check_counts(mixture: FittedMixture) -> None:
    """Raise unless clusters have seen as many rows as they have; fewer cells, where there are gaps."""
    most, trouble = mixture.sizes * (1.0 + _ROUNDING), "its sizes are not those of its clusters"
    may_lack = isinstance(mixture.family, Product)  # rows may lack all cells of a part
    for n in _counts(mixture.bank):
        seen = n[..., : mixture.n_clusters]
        least = mixture.sizes * (1.0 - _ROUNDING) if n.ndim == 1 and not may_lack else 0.0
        _require((seen >= least).all() and (seen <= most).all(), trouble)


def _counts(bank: Bank) -> list[np.ndarray]:
    """Return the arrays that count rows or cells."""
    counts = [bank.n] if "n" in bank._fields else []
    return counts + [
        n for part in bank if hasattr(part, "left") or hasattr(part, "n") for n in _counts(part)
    ]


def check_estimator(model: Any) -> None:
    """Raise where what was fitted does not fit together."""
    n_columns = model.n_features_in_
    names = getattr(model, "feature_names_in_", None)
    _require(names is None or len(names) == n_columns, f"it names other than {n_columns} columns")
    _check_params(model)
    n_rows = getattr(model, "n_rows_seen_", len(model.labels_))  # labels of a stream are of its last batch
    _require(model.n_clusters_ <= n_rows, "it has more clusters than rows")
    _check_labels(model.labels_, model.n_clusters_, -1 if hasattr(model, "outliers_") else 0)
    if isinstance(model, DPMeans):
        _check_centres(model)
        return
    _require(len(model.schema_.columns) == n_columns, f"its schema has other than {n_columns} columns")
    if isinstance(model, GibbsDPM):
        _check_samples(model)
    if isinstance(model, StructuredMixture):
        check_structure(model)
    if model._filled is not None:
        _check_filled(model._filled, len(model.labels_), len(model.schema_.used))
    known = getattr(model, "known_labels_", None)
    _require(known is None or known.shape == (model.n_clusters_,), "its known labels are not its clusters'")
    if hasattr(model, "n_rows_seen_"):  # sizes are of a stream, labels of its last batch
        _require(len(model.labels_) <= model.n_rows_seen_, "it has more labels than rows")
    elif not getattr(model, "_has_row_blocks", False):
        counts = np.bincount(model.labels_[model.labels_ >= 0], minlength=model.n_clusters_)
        _require(np.array_equal(counts, model.cluster_sizes_), "its sizes are not those of its labels")


def _check_params(model: Any) -> None:
    """Raise where a parameter is one that a fit would not accept."""
    if isinstance(model, MAPDP):
        Settings.of(model)
        return
    model._check()
    if isinstance(model, GibbsDPM):
        make_process(model.alpha, model.discount, model.process)


def _check_centres(model: Any) -> None:
    centres, shape = model.cluster_centers_, (model.n_clusters_, model.n_features_in_)
    _require(centres.dtype == np.float64 and centres.shape == shape, "its centres are not its clusters'")
    _require(np.isfinite(centres).all() and 0.0 <= model.lam_ < math.inf, "its centres are not finite")


def _check_filled(filled: FilledCells, n_rows: int, n_columns: int) -> None:
    """Raise where cells that were filled are not cells of the table."""
    _require(
        _are_places(filled.rows, n_rows)
        and _are_places(filled.columns, n_columns)
        and filled.values.dtype == np.float64
        and filled.rows.shape == filled.columns.shape == filled.values.shape
        and np.isfinite([*filled.values, filled.total]).all(),
        "what it filled are no cells of its table",
    )


def _are_places(places: np.ndarray, n: int) -> bool:
    is_list = places.ndim == 1 and places.dtype.kind == "i" and len(places) > 0
    return is_list and bool(places.min() >= 0 and places.max() < n)


def _check_labels(labels: np.ndarray, n_clusters: int, least: int) -> None:
    _require(labels.ndim == 1 and labels.dtype.kind == "i" and len(labels), "its labels are no labels")
    is_within = labels.min() >= least and labels.max() < n_clusters
    _require(is_within, "its labels are not its clusters")


def _check_samples(model: Any) -> None:
    """Raise unless samples are partitions of rows that the family could have encoded."""
    samples, kept, n_rows = model.samples_, model._kept, len(model.labels_)
    _check_rows(model._rows, n_rows, model.family_)
    _check_chains(kept, n_rows)
    _check_chains(model.chains_, n_rows)
    has_alpha = ((kept.alpha >= 1.0 / checks.EXTREME) & (kept.alpha <= checks.EXTREME)).all()
    _require(has_alpha or model.process is not None, "its samples have no alpha")
    shape = (kept.alpha.size, n_rows)
    _require(
        samples.dtype.kind in "iu" and samples.shape == shape, "its samples are not those of its chains"
    )
    _require(samples.min() >= 0 and samples.max() < n_rows, "its samples have more clusters than rows")
    _require(all(np.bincount(labels).all() for labels in samples), "a cluster of a sample has no rows")
    if model._coclustering is not None:
        _require(model._coclustering.shape == (n_rows, n_rows), "its pairs of rows are others")


def _check_rows(rows: np.ndarray, n_rows: int, family: Family) -> None:
    _require(rows.dtype == np.float64 and rows.shape == (n_rows, family.n_cells), "its rows are others")
    if family.is_whole:
        _require(np.isfinite(rows).all(), "its rows are not finite")
        return
    takes_gaps = family.has_columns or family.takes_encoded_gaps(rows)
    cells = np.where(np.isnan(rows), 0.0, rows) if takes_gaps else rows
    again = np.where(np.isnan(rows), cells, family.encode(family.decode(cells)))
    _require(np.allclose(again, cells, rtol=1e-6, atol=1e-6), "its rows are not the family's")


def _check_chains(chains: Chains, n_rows: int) -> None:
    shape, counts = chains.alpha.shape, chains.n_clusters
    is_table = len(shape) == 2 and min(shape) > 0 and all(part.shape == shape for part in chains)
    _require(is_table and counts.dtype.kind == "i", "its chains are no table of sweeps")
    _require(counts.min() > 0 and counts.max() <= n_rows, "its chains have more clusters than rows")
