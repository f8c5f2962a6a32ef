"""Fitting beside a background of outliers: the model is learned without rows that are far from most."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing

from mapdp.data.columns import Schema
from mapdp.engine.build import seated
from mapdp.estimators.fitted import FittedMixture
from mapdp.estimators.learned_model import ModelChoice
from mapdp.estimators.map_fit import MapFit
from mapdp.estimators.reader import Reading
from mapdp.estimators.settings import Settings, silent_copy
from mapdp.families.background import Background
from mapdp.partitions.labels import compact
from mapdp.selection.alpha import Choice

_FAR = 10.0  # spreads from the median beyond which a row does not teach the model
_MOST = 0.1  # share of the rows that are set aside so, at most: those that are farthest
_FEW = 20  # values of a column that are counted for the background
_LEVELS = ("binary", "category", "ordered")


class BackgroundFit(NamedTuple):
    """A partition of all rows; outliers are in the last cluster of the mixture, where there are any."""

    fit: MapFit
    choice: Choice
    mixture: FittedMixture
    labels: np.ndarray  # (N,) -1 for outliers
    outliers: np.ndarray  # rows, the farthest first
    models: list  # structures that were tried


def fit_with_background(model: Any, X: Any, seen: Reading, blocks: Any, budget: Any) -> BackgroundFit:
    """Learn the model from rows that are not far from most, then search all rows with a background."""
    _check_takes_background(seen, blocks)
    core = _core(seen.numbers, _is_level(seen.schema))
    first = silent_copy(model, background=False)
    if model.covariance == "auto" and ModelChoice.of(model).gaps_to_fill(seen) is not None:
        first.covariance = "diagonal"  # of columns that vary together, none may be missing
    first.columns = {**_without_logs(seen), **(model.columns or {})} or None
    if not isinstance(first.init, str):
        first.init = np.asarray(first.init)[core]
    first.fit(_safe_indexing(X, core))
    schema, numbers = first.schema_, first.numbers_of(X)
    special = np.array([schema.columns[j].special for j in schema.used])
    is_level = _is_level(schema) | (_has_few_values(numbers) & np.isnan(special))
    family = Background.around(first.family_, numbers, is_level, special)
    labels = np.full(len(numbers), first.n_clusters_, dtype=np.int32)
    labels[core] = first.labels_
    reading = Reading(schema, family, numbers, family.encode(numbers), False, schema.log_units(numbers))
    settings = Settings.of(model)._replace(process=first.mixture_.process, init=compact(labels), n_init=1)
    fit = MapFit(settings, ModelChoice("paper", "auto", family), reading, None, "given", budget)
    return _sorted(fit, fit.solved(), family, list(first._models))


def _check_takes_background(seen: Reading, blocks: Any) -> None:
    """Raise where rows count more or less than once, or their family does not describe all columns."""
    if blocks is not None:
        raise ValueError(
            "background=True takes neither weights, groups nor known labels. "
            "Hint: leave them out, or background at False."
        )
    if seen.family.is_whole:
        raise ValueError(
            f"background=True needs a density of all columns, got {type(seen.family).__name__}. "
            "Hint: drop background, or use a family such as StudentT."
        )


def _without_logs(seen: Reading) -> dict[object, str]:
    """Return the kinds of measurements that have no logarithm in some row, which may be an outlier."""
    schema, lowest = seen.schema, np.nanmin(seen.numbers, axis=0)
    used = zip(schema.used, schema.names() or schema.used, lowest, strict=True)
    return {name: "real" for j, name, low in used if schema.columns[j].kind == "real" and low <= 0.0}


def _is_level(schema: Schema) -> np.ndarray:
    """Say of each used column whether its numbers only name levels."""
    return np.array([schema.columns[j].kind in _LEVELS for j in schema.used])


def _has_few_values(numbers: np.ndarray) -> np.ndarray:
    """Say of each column whether it has so few values that their frequencies say more than a curve."""
    return np.array([len(np.unique(cells[~np.isnan(cells)])) <= _FEW for cells in numbers.T])


def _core(numbers: np.ndarray, is_level: np.ndarray) -> np.ndarray:
    """Return the rows that teach the model: those that are not far from the median in any column."""
    low, middle, high = np.nanquantile(numbers, [0.25, 0.5, 0.75], axis=0)
    spread = np.where(high > low, (high - low) / 1.349, np.nanstd(numbers, axis=0))  # of a Gaussian
    spread = np.where((spread > 0.0) & ~is_level, spread, np.inf)
    far = np.nanmax(np.abs(numbers - middle) / spread, axis=1, initial=0.0)
    n_kept = max(int(np.ceil((1.0 - _MOST) * len(far))), int((far <= _FAR).sum()))
    return np.sort(np.argsort(far, kind="stable")[:n_kept])


def _sorted(fit: MapFit, choice: Choice, family: Background, models: list) -> BackgroundFit:
    """Return the outcome with all outliers in one cluster, the last."""
    state, rows = choice.best.state, fit.reading.rows
    n_clusters, process = state.n_clusters, choice.best.process
    is_broad = family.is_background(state.bank, n_clusters)
    if is_broad.all():  # there is nothing that they are beside
        is_broad[:] = False
    new = np.where(is_broad, (~is_broad).sum(), np.cumsum(~is_broad) - 1)
    labels = new[state.labels].astype(np.int32)
    again = seated(rows, labels, family, process)
    best = choice.best._replace(state=again)
    mixture = FittedMixture.of(fit.reading.schema, family, process, again)
    is_outlier = is_broad[state.labels]
    outliers = np.flatnonzero(is_outlier)
    order = np.argsort(family.log_broad(fit.reading.numbers[outliers]), kind="stable")
    shown = np.where(is_outlier, -1, labels).astype(np.int32)
    return BackgroundFit(fit, choice._replace(best=best), mixture, shown, outliers[order], models)
