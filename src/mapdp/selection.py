"""Knows how to choose what users should not have to: alpha, the scale of the prior, one model of several.

The one idea: a change of alpha moves few rows, so labels are handed from one alpha to the next and a grid
costs little more than a fit.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mapdp import checks
from mapdp.concentration import alpha_for, discount_for, expected_clusters, make_prior, most_probable_alpha
from mapdp.predictive import log_density
from mapdp.process import PitmanYor
from mapdp.search.run import Found, Problem
from mapdp.search.searches import Start, from_every_start, search

__all__ = ["alpha_for", "discount_for", "expected_clusters", "map_alpha"]

ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
_MIDDLE = ALPHAS.index(1.0)
_FOLDS = 5


class Tried(NamedTuple):
    """What one alpha gave."""

    alpha: float
    n_clusters: float  # on average over folds in a cross-validation
    log_joint: float  # nan in a cross-validation
    held_out: float  # mean log density of rows left out; nan where that was not asked


def map_alpha(n: int, k: int, prior: object = ("gamma", 1.0, 1.0), discount: float = 0.0) -> float:
    """Return the most probable alpha given k clusters of n rows.

    It is the mode of the density of log alpha, which has one peak.

    Parameters
    ----------
    n, k : int
    prior : ("gamma", shape, rate) or "inverse-gamma"
        The latter has both parameters 1/2, as in the paper.
    discount : float
        Of a Pitman-Yor process.

    Examples
    --------
    >>> round(map_alpha(600, 18, prior="inverse-gamma"), 4)
    3.2875
    """
    n, k = checks.whole("n", n, 1), checks.whole("k", k, 1)
    if k > n:
        raise ValueError(f"k must be at most the number of rows, got k={k} and n={n}. Hint: swap them?")
    return most_probable_alpha(n, k, make_prior(prior), discount)


def _at(problem: Problem, alpha: float) -> Problem:
    """Return the same problem with another alpha."""
    return problem._replace(process=PitmanYor(alpha, problem.process.discount))


def _handed_on(problem: Problem, name: str, found: Found, alpha: float, rng: np.random.Generator) -> Found:
    """Search at another alpha, beginning with the labels that were found."""
    order = np.arange(len(problem.X), dtype=np.int32)
    return search(_at(problem, alpha), name, Start(found.state.labels, order, rng))


def by_joint(
    problem: Problem, name: str, starts: list[Start], n_jobs: int
) -> tuple[list[Found], list[Tried]]:
    """Find the alpha of the grid with the highest joint, and its partition.

    From the partition of one alpha the best alpha of the grid follows in closed form; it and its neighbours
    are searched from there, until the best alpha and its neighbours have all been searched.
    """
    found = from_every_start(_at(problem, ALPHAS[_MIDDLE]), name, starts, n_jobs)
    best = max(found, key=lambda one: one.log_joint)
    tried, rng = {_MIDDLE: best}, starts[0].rng
    while True:
        here = _best_of_grid(best, problem.process.discount)
        new = [g for g in (here, here - 1, here + 1) if 0 <= g < len(ALPHAS) and g not in tried]
        if not new:
            break
        tried[new[0]] = _handed_on(problem, name, best, ALPHAS[new[0]], rng)
        best = max(tried.values(), key=lambda one: one.log_joint)
    told = [Tried(ALPHAS[g], tried[g].state.n_clusters, tried[g].log_joint, np.nan) for g in sorted(tried)]
    return [best, *[one for one in found if one is not best]], told


def _best_of_grid(found: Found, discount: float) -> int:
    """Return the number of the alpha under which a partition is most probable."""
    sizes = found.state.sizes[: found.state.n_clusters]
    return int(np.argmax([PitmanYor(alpha, discount).log_eppf(sizes) for alpha in ALPHAS]))


def by_cross_validation(
    problem: Problem, name: str, starts: list[Start], n_jobs: int
) -> tuple[list[Found], list[Tried]]:
    """Find the alpha of the grid under which rows that were left out are most probable; fit with it."""
    n_folds = min(_FOLDS, len(problem.X))
    if n_folds < 2:
        return by_joint(problem, name, starts, n_jobs)
    fold_of = starts[0].rng.permutation(np.arange(len(problem.X)) % n_folds)
    tables = [
        np.array(list(_scored(problem, name, fold_of == fold, starts[0].rng))) for fold in range(n_folds)
    ]
    n_clusters, held_out = np.mean(tables, axis=0).T
    told = [
        Tried(alpha, float(k), np.nan, float(density))
        for alpha, k, density in zip(ALPHAS, n_clusters, held_out, strict=True)
    ]
    best = _at(problem, ALPHAS[int(held_out.argmax())])
    return from_every_start(best, name, starts, n_jobs), told


def _scored(
    problem: Problem, name: str, left_out: np.ndarray, rng: np.random.Generator
) -> Iterator[tuple[int, float]]:
    """Yield, for each alpha, the number of clusters and the mean log density of the rows left out."""
    kept = problem._replace(X=np.ascontiguousarray(problem.X[~left_out]))
    new = np.ascontiguousarray(problem.X[left_out])
    order = np.arange(len(kept.X), dtype=np.int32)
    first = search(_at(kept, ALPHAS[_MIDDLE]), name, Start("sequential", order, rng))
    found = {_MIDDLE: first}
    for g in (*range(_MIDDLE + 1, len(ALPHAS)), *range(_MIDDLE - 1, -1, -1)):
        neighbour = found[g - 1] if g > _MIDDLE else found[g + 1]
        found[g] = _handed_on(kept, name, neighbour, ALPHAS[g], rng)
    for g in range(len(ALPHAS)):
        density = log_density(new, found[g].state, problem.family, found[g].process)
        yield found[g].state.n_clusters, float(density.mean())
