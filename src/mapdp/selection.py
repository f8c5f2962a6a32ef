"""Knows how to choose what users should not have to: alpha, and the scale of the prior.

The one idea: choices that differ a little give partitions that differ a little, so labels are handed from
one to the next, and a whole grid costs little more than a fit.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mapdp import checks
from mapdp.concentration import alpha_for, discount_for, expected_clusters, make_prior, most_probable_alpha
from mapdp.families import DiagonalGaussian
from mapdp.family import Family
from mapdp.predictive import log_density
from mapdp.process import PitmanYor, Process
from mapdp.search.run import Found, Problem
from mapdp.search.searches import Start, crossed, from_every_start, search
from mapdp.trace import silent

__all__ = ["alpha_for", "discount_for", "expected_clusters", "map_alpha", "sensitivity"]

ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
SCALES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.17, 0.12)
_FIRST = ALPHAS.index(1.0)
_FOLDS = 5


class Tried(NamedTuple):
    """What one alpha of a grid gave."""

    alpha: float
    n_clusters: float  # on average over folds in a cross-validation
    log_joint: float  # nan in a cross-validation
    held_out: float  # mean log density of rows left out; nan where that was not asked


def map_alpha(n: int, k: int, prior: object = "inverse-gamma", discount: float = 0.0) -> float:
    """Return the most probable alpha given k clusters of n rows.

    It is the mode of the density of log alpha, which has one peak where there is no discount.

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
    3.2862
    """
    n, k, discount = checks.whole("n", n, 1), checks.whole("k", k, 1), checks.discount(discount)
    if k > n:
        raise ValueError(f"k must be at most the number of rows, got k={k} and n={n}. Hint: swap them?")
    return most_probable_alpha(n, k, make_prior(prior), discount)


def _with_alpha(problem: Problem, alpha: float) -> Problem:
    return problem._replace(process=PitmanYor(alpha, problem.process.discount, problem.process.rows))


def _handed_on(problem: Problem, name: str, found: Found, rng: np.random.Generator) -> Found:
    """Search beginning with the labels that were found for a similar problem."""
    order = np.arange(len(problem.X), dtype=np.int32)
    return search(problem, name, Start(found.state.labels, order, rng))


def _along(problems: Sequence[Problem], first: int, name: str, rng: np.random.Generator) -> list[Found]:
    """Solve one problem from the start, then its neighbours upwards and downwards, each from the last."""
    order = np.arange(len(problems[0].X), dtype=np.int32)
    found = {first: search(problems[first], name, Start("sequential", order, rng))}
    for g in (*range(first + 1, len(problems)), *range(first - 1, -1, -1)):
        neighbour = found[g - 1] if g > first else found[g + 1]
        found[g] = _handed_on(problems[g], name, neighbour, rng)
    return [found[g] for g in range(len(problems))]


class _HeldOut(NamedTuple):
    """What a cross-validation says of each of several problems."""

    n_clusters: np.ndarray  # mean over folds
    density: np.ndarray  # mean log density of the rows left out


def _cross_validated(
    problems: Sequence[Problem], first: int, name: str, n_folds: int, rng: np.random.Generator
) -> _HeldOut:
    """Judge problems with the same rows by rows that are left out in turn."""
    n_rows = len(problems[0].X)
    fold_of = rng.permutation(np.arange(n_rows) % n_folds)
    clusters, density = np.zeros((2, len(problems)))
    for fold in range(n_folds):
        new = problems[0].among(fold_of == fold).X
        smaller = [problem.among(fold_of != fold)._replace(tell=silent) for problem in problems]
        for g, found in enumerate(_along(smaller, first, name, rng)):
            clusters[g] += found.state.n_clusters / n_folds
            density[g] += log_density(new, found.state, problems[g].family, found.process).sum() / n_rows
    return _HeldOut(clusters, density)


class Choice(NamedTuple):
    """A search with a choice of alpha."""

    best: Found
    starts: list[Found]  # where each start ended
    tried: list[Tried]  # empty where no grid was tried


def as_given(problem: Problem, name: str, starts: list[Start], n_jobs: int) -> Choice:
    """Search with the problem's own alpha, or its own way to learn it."""
    found = from_every_start(problem, name, starts, n_jobs)
    return Choice(crossed(problem, name, found, starts[0].rng), found, [])


def by_joint(problem: Problem, name: str, starts: list[Start], n_jobs: int) -> Choice:
    """Find the alpha of the grid with the highest joint, and its partition.

    From the partition of one alpha the best alpha of the grid follows in closed form; it and its neighbours
    are searched from there, until the best alpha and its neighbours have all been searched.
    """
    first = as_given(_with_alpha(problem, ALPHAS[_FIRST]), name, starts, n_jobs)
    best, tried = first.best, {_FIRST: first.best}
    while True:
        here = _best_of_grid(best, problem.process)
        new = [g for g in (here, here - 1, here + 1) if 0 <= g < len(ALPHAS) and g not in tried]
        if not new:
            break
        tried[new[0]] = _handed_on(_with_alpha(problem, ALPHAS[new[0]]), name, best, starts[0].rng)
        best = max(tried.values(), key=lambda one: one.log_joint)
    told = [Tried(ALPHAS[g], tried[g].state.n_clusters, tried[g].log_joint, np.nan) for g in sorted(tried)]
    return Choice(best, first.starts, told)


def _best_of_grid(found: Found, process: Process) -> int:
    """Return the number of the alpha under which a partition is most probable."""
    sizes, rest = found.state.sizes[: found.state.n_clusters], (process.discount, process.rows)
    return int(np.argmax([PitmanYor(alpha, *rest).log_eppf(sizes) for alpha in ALPHAS]))


def by_cross_validation(problem: Problem, name: str, starts: list[Start], n_jobs: int) -> Choice:
    """Find the alpha of the grid under which rows that were left out are most probable; fit with it."""
    if len(problem.X) < 2:
        return by_joint(problem, name, starts, n_jobs)
    problems = [_with_alpha(problem, alpha) for alpha in ALPHAS]
    held_out = _cross_validated(problems, _FIRST, name, min(_FOLDS, len(problem.X)), starts[0].rng)
    told = [Tried(alpha, float(k), np.nan, float(d)) for alpha, k, d in zip(ALPHAS, *held_out, strict=True)]
    chosen = problems[int(held_out.density.argmax())]
    return as_given(chosen, name, starts, n_jobs)._replace(tried=told)


RULES = {"nll": by_joint, "cv": by_cross_validation}  # how an alpha that is not given is chosen


def choose_family(problem: Problem, families: Sequence[Family], rule: str, name: str) -> Family:
    """Return the family with the highest joint, or by "cv" with the best density of rows left out."""
    problems = [problem._replace(family=family) for family in families]
    rng = np.random.default_rng(0)
    if rule == "cv" and len(problem.X) > 1:
        scores = _cross_validated(problems, 0, name, min(_FOLDS, len(problem.X)), rng).density
    else:
        scores = np.array([found.log_joint for found in _along(problems, 0, name, rng)])
    return families[int(scores.argmax())]


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
            Problem(encoded, encoded, family, PitmanYor(alpha, discount), None, 1000, 0.0, 1, silent)
            for alpha in ordered
        ]
        whole = _along(problems, len(problems) // 2, "split-merge", rng)
        held_out = _cross_validated(problems, len(problems) // 2, "split-merge", n_folds, rng).density
        found += [
            Sensitivity(alpha, float(scale), one.state.n_clusters, one.log_joint, float(density))
            for alpha, one, density in zip(ordered, whole, held_out, strict=True)
        ]
    return found
