"""How the outcome depends on alpha and on the scale of the prior."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mapdp.data import checks
from mapdp.engine.problem import Model, Problem
from mapdp.families import DiagonalGaussian
from mapdp.families.base import Family
from mapdp.partitions.process import PitmanYor
from mapdp.selection.alpha import along, cross_validated


class Sensitivity(NamedTuple):
    """What one pair of alpha and scale gives."""

    alpha: float
    scale: float
    n_clusters: int
    log_joint: float
    held_out: float  # mean log density of rows left out in turn


def sensitivity(
    X: Any,
    *,
    alphas: Sequence[float] = (0.1, 0.3, 1.0, 3.0, 10.0),
    scales: Sequence[float] = (1.0, 0.5, 0.25),
    kind: type[Family] = DiagonalGaussian,
    discount: float = 0.0,
    n_folds: int = 5,
) -> list[Sensitivity]:
    """Tell how the outcome depends on alpha and on the scale of the prior.

    Parameters
    ----------
    X : array of shape (N, D)
    alphas, scales : sequences of float
        Each pair of them is tried.
    kind : class of Family, default DiagonalGaussian
        Its `empirical` prior is used, with each scale.
    discount : float, default 0.0
    n_folds : int, default 5
        Of the cross-validation.

    Returns
    -------
    list of Sensitivity
        Number of clusters, log joint and held-out log density of each pair, scale by scale.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> table = sensitivity(load_iris().data, alphas=[0.3, 3.0], scales=[1.0])
    >>> [entry.n_clusters for entry in table]
    [3, 3]
    """
    rows = np.ascontiguousarray(X, dtype=np.float64)
    if rows.ndim != 2 or len(rows) < 2 or not len(alphas):
        raise ValueError(
            f"X must be a table of two rows or more, and alphas at least one, got shape {rows.shape} and "
            f"{len(alphas)} alphas. Hint: X.reshape(-1, 1) makes a table of one column."
        )
    checks.finite(rows, None)
    n_folds = min(checks.whole("n_folds", n_folds, 2), len(rows))
    ordered = sorted(checks.positive("alphas", alpha, "try [0.3, 1.0, 3.0].") for alpha in alphas)
    found = []
    for scale in scales:
        family = kind.empirical(rows, scale=scale)
        encoded, rng = family.encode(rows), np.random.default_rng(0)
        problems = [
            Problem(encoded, encoded, Model(family, PitmanYor(alpha, discount))) for alpha in ordered
        ]
        whole = along(problems, len(problems) // 2, "split-merge", rng)
        held_out = cross_validated(problems, len(problems) // 2, "split-merge", n_folds, rng).density
        found += [
            Sensitivity(alpha, float(scale), one.state.n_clusters, one.log_joint, float(density))
            for alpha, one, density in zip(ordered, whole, held_out, strict=True)
        ]
    return found
