"""Fitted models side by side: how probable they make the data, and rows they have not seen."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from mapdp.data import checks
from mapdp.data.frames import count_rows, some_rows


@dataclasses.dataclass(frozen=True)
class Compared:
    """One model beside the others."""

    position: int  # in the list that was given
    name: str
    n_clusters: int
    log_joint: float
    held_out: float  # mean log density of rows left out in turn
    held_out_error: float  # its standard error
    behind: float  # by which the best model's held-out density is higher
    behind_error: float  # the standard error of that difference, row by row


class Comparison(list[Compared]):
    """The models, best held-out density first; prints as a table."""

    def __str__(self) -> str:
        width = max((len(one.name) for one in self), default=5)
        head = f"    {'model':{width}s}  clusters     log joint      held-out (s.e.)     behind (s.e.)"
        lines = [
            f"{one.position:2d}  {one.name:{width}s}  {one.n_clusters:8d}  {one.log_joint:12.1f}  "
            f"{one.held_out:10.4f} ({one.held_out_error:.4f})  {one.behind:8.4f} ({one.behind_error:.4f})"
            for one in self
        ]
        return "\n".join([head, *lines])

    __repr__ = __str__


def compare(
    models: Sequence[Any], X: Any, *, n_folds: int = 5, names: Sequence[str] | None = None
) -> Comparison:
    """Compare fitted models by their joint and by the density of rows that they have not seen.

    Parameters
    ----------
    models : sequence of fitted MAPDP or GibbsDPM
    X : array or data frame of shape (N, D)
        The rows that were fitted.
    n_folds : int, default 5
        Rows are left out in so many parts; each model is fitted again without each part.
    names : sequence of str, default None
        What to call the models; None is their class with its non-default parameters.

    Returns
    -------
    Comparison
        A list that prints as a table, best held-out density first. Joints can be compared where the
        columns are of the same kinds: all are log p(x, z). Give classes of families, not priors made from
        all rows, as those have seen the rows that are left out; only `Categorical` needs its levels from
        all of them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mapdp import MAPDP, Gaussian, compare
    >>> X = load_iris().data
    >>> models = [MAPDP(1.0, family=Gaussian).fit(X), MAPDP(1.0).fit(X)]
    >>> [one.name for one in compare(models, X)]
    ['MAPDP(alpha=1.0)', 'MAPDP(alpha=1.0, family=Gaussian)']
    """
    n_folds, n_rows = checks.whole("n_folds", n_folds, 2), count_rows(X)
    for model in models:
        _check(model, n_rows)
    densities = [_left_out(model, X, n_rows, n_folds) for model in models]
    best = max(densities, key=lambda density: density.mean(), default=None)
    called = [_name_of(model) for model in models] if names is None else names
    rows = [
        _compared(place, called[place], models[place], density, best)
        for place, density in enumerate(densities)
    ]
    return Comparison(sorted(rows, key=lambda one: -one.held_out))


def _check(model: Any, n_rows: int) -> None:
    """Raise if a model cannot be compared, before any is fitted again."""
    check_is_fitted(model)
    if not hasattr(model, "log_joint_"):
        raise TypeError(
            f"models must have a joint and a density, got {type(model).__name__}. "
            "Hint: MAPDP and GibbsDPM have."
        )
    if len(model.labels_) != n_rows:
        raise ValueError(
            f"X must be the {len(model.labels_)} rows that were fitted, got {n_rows}. "
            "Hint: fit all models with the same rows first."
        )


def _left_out(model: Any, X: Any, n_rows: int, n_folds: int) -> np.ndarray:
    """Return the log density of each row under the model fitted without its part."""
    density = np.empty(n_rows)
    part_of = np.random.default_rng(0).permutation(np.arange(n_rows) % n_folds)
    for part in range(n_folds):
        kept, new = np.flatnonzero(part_of != part), np.flatnonzero(part_of == part)
        fitted = _without_labels_of(model, new).fit(some_rows(X, kept))
        density[new] = fitted.score_samples(some_rows(X, new))
    return density


def _without_labels_of(model: Any, rows: np.ndarray) -> Any:
    """Return the model to be fitted again; labels that it begins with lose these rows."""
    again = clone(model)
    if not isinstance(again.init, str):
        again.set_params(init=np.delete(np.asarray(again.init), rows))
    return again


def _compared(position: int, name: str, model: Any, density: np.ndarray, best: Any) -> Compared:
    return Compared(
        position=position,
        name=name,
        n_clusters=model.n_clusters_,
        log_joint=model.log_joint_,
        held_out=float(density.mean()),
        held_out_error=_standard_error(density),
        behind=float((best - density).mean()),
        behind_error=_standard_error(best - density),
    )


def _standard_error(numbers: np.ndarray) -> float:
    return float(numbers.std(ddof=1) / np.sqrt(len(numbers)))


def _name_of(model: Any) -> str:
    """Return the class of a model with its non-default parameters."""
    usual = type(model)().get_params()
    changed = {name: value for name, value in model.get_params().items() if value is not usual[name]}
    changed = {name: value for name, value in changed.items() if not _same(value, usual[name])}
    parts = [f"{name}={_short(value)}" for name, value in changed.items()]
    return f"{type(model).__name__}({', '.join(parts)})"


def _same(value: Any, usual: Any) -> bool:
    return isinstance(value, (int, float, str, tuple)) and value == usual


def _short(value: Any) -> str:
    """Return a value as one would write it; objects by their class."""
    if isinstance(value, type):
        return value.__name__
    plain = isinstance(value, (int, float, str, tuple)) or value is None
    return repr(value) if plain else type(value).__name__
