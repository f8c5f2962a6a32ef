"""Choosing what users should not have to: alpha.

Choices that differ a little give partitions that differ a little, so labels are handed from one to the
next, and a whole grid costs little more than a fit.
"""

import copy
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mapdp.data import checks
from mapdp.engine.density import log_density
from mapdp.engine.problem import Problem
from mapdp.partitions.concentration import make_prior, most_probable_alpha
from mapdp.partitions.process import PitmanYor, Process
from mapdp.search.climb import SearchPlan, Start, search, searched_as_planned
from mapdp.search.run import Found, best_of

ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
_FIRST = ALPHAS.index(1.0)
_FOLDS = 5
_FEW = 2000  # rows up to which each alpha of a grid has a start of its own, too


class Tried(NamedTuple):
    """What one alpha of a grid gave."""

    alpha: float
    n_clusters: float  # on average over folds in a cross-validation
    log_joint: float  # nan in a cross-validation
    held_out: float  # mean log density of rows left out; nan where there is no cross-validation


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
    process = problem.model.process
    return problem.under(PitmanYor(alpha, process.discount, process.rows))


def _handed_on(problem: Problem, name: str, found: Found, rng: np.random.Generator) -> Found:
    """Search beginning with the labels that were found for a similar problem."""
    order = np.arange(len(problem.X), dtype=np.int32)
    return search(problem, name, Start(found.state.labels, order, rng))


def along(problems: Sequence[Problem], first: int, name: str, rng: np.random.Generator) -> list[Found]:
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


def cross_validated(
    problems: Sequence[Problem], first: int, name: str, n_folds: int, rng: np.random.Generator
) -> _HeldOut:
    """Judge problems with the same rows by rows that are left out in turn."""
    n_rows = len(problems[0].X)
    fold_of = rng.permutation(np.arange(n_rows) % n_folds)
    clusters, density = np.zeros((2, len(problems)))
    for fold in range(n_folds):
        new = problems[0].among(fold_of == fold).X
        smaller = [problem.among(fold_of != fold).silenced() for problem in problems]
        for g, found in enumerate(along(smaller, first, name, rng)):
            clusters[g] += found.state.n_clusters / n_folds
            density[g] += _density_of(new, found, problems[g]).sum() / n_rows
    return _HeldOut(clusters, density)


def _density_of(rows: np.ndarray, found: Found, problem: Problem) -> np.ndarray:
    """Return the log density of rows given what was found for a problem."""
    return log_density(rows, found.state, problem.model.family, found.process)


class Choice(NamedTuple):
    """A search with a choice of alpha."""

    best: Found
    starts: list[Found]  # where each start ended
    tried: list[Tried]  # empty where no grid was tried


def as_given(problem: Problem, plan: SearchPlan) -> Choice:
    """Search with the problem's own alpha, or its own way to learn it."""
    return Choice(*searched_as_planned(problem, plan), [])


def by_joint(problem: Problem, plan: SearchPlan) -> Choice:
    """Find the alpha of the grid with the highest joint, and its partition.

    From the partition of one alpha the best alpha of the grid follows in closed form; it and its neighbours
    are searched from there, until the best alpha and its neighbours have all been searched.
    """
    start = _again(plan.starts[0])
    first = as_given(_with_alpha(problem, ALPHAS[_FIRST]), plan)
    name, rng = plan.name, plan.starts[0].rng
    best, tried = first.best, {_FIRST: first.best}
    while True:
        here = _best_of_grid(best, problem.model.process)
        new = [g for g in (here, here - 1, here + 1) if 0 <= g < len(ALPHAS) and g not in tried]
        if not new:
            break
        tried[new[0]] = _next_of_grid(_with_alpha(problem, ALPHAS[new[0]]), name, best, start, rng)
        best = best_of(list(tried.values()))
    table = [Tried(ALPHAS[g], tried[g].state.n_clusters, tried[g].log_joint, np.nan) for g in sorted(tried)]
    return Choice(best, first.starts, table)


def _next_of_grid(
    problem: Problem, name: str, best: Found, start: Start, rng: np.random.Generator
) -> Found:
    """Search for another alpha from the best partition so far; with few rows, from the first start, too."""
    handed_on = _handed_on(problem, name, best, rng)
    if len(problem.X) > _FEW:
        return handed_on
    return best_of([handed_on, search(problem, name, _again(start))])


def _again(start: Start) -> Start:
    """Return a start whose generator goes through the same numbers for every alpha."""
    return start._replace(rng=copy.deepcopy(start.rng))


def _best_of_grid(found: Found, process: Process) -> int:
    """Return the number of the alpha under which a partition is most probable."""
    sizes, rest = found.state.sizes[: found.state.n_clusters], (process.discount, process.rows)
    return int(np.argmax([PitmanYor(alpha, *rest).log_eppf(sizes) for alpha in ALPHAS]))


def by_cross_validation(problem: Problem, plan: SearchPlan) -> Choice:
    """Find the alpha of the grid under which rows that were left out are most probable; fit with it."""
    if len(problem.X) < 2:
        return by_joint(problem, plan)
    problems = [_with_alpha(problem, alpha) for alpha in ALPHAS]
    held_out = cross_validated(problems, _FIRST, plan.name, min(_FOLDS, len(problem.X)), plan.starts[0].rng)
    table = [
        Tried(alpha, float(k), np.nan, float(d)) for alpha, k, d in zip(ALPHAS, *held_out, strict=True)
    ]
    chosen = problems[int(held_out.density.argmax())]
    return as_given(chosen, plan)._replace(tried=table)


RULES = {"nll": by_joint, "cv": by_cross_validation}  # how an alpha that is not given is chosen
