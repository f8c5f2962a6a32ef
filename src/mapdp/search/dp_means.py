"""DP-means (Kulis and Jordan 2012): K-means that pays a penalty for each cluster.

It is what the sweep becomes when clusters have a fixed variance that goes to zero. What goes
down is the sum of squared distances to the clusters' means, plus the penalty times the number of clusters.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mapdp.compiled.lanes import whole_lanes
from mapdp.engine.nearest import assign_or_open, find_nearest, mean_of_each
from mapdp.partitions.labels import compact

_MOST_SEEDS = 64  # centres that a later start begins with; those without rows go
_MOST_TRIES = 60  # of penalties: halving their range so often leaves nothing of it


class Means(NamedTuple):
    """Where a run of DP-means ended."""

    labels: np.ndarray  # (N,)
    centres: np.ndarray  # (K, D)
    objectives: list[float]  # after each pass
    converged: bool


class MeansStart(NamedTuple):
    """How one run begins."""

    order: np.ndarray  # (N,) in which rows are visited
    centres: np.ndarray  # (K, D)


def starts(X: np.ndarray, n: int, n_seeds: int | None, rng: np.random.Generator | None) -> list[MeansStart]:
    """Return n ways to begin: one cluster, as the paper does, then `n_seeds` rows as centres, or some.

    Without a generator of its own the first start visits the rows in row order.
    """
    order, later = np.arange(len(X), dtype=np.int32), rng or np.random.default_rng(0)
    first = MeansStart(order if rng is None else rng.permutation(order), X.mean(axis=0, keepdims=True))
    few = min(len(X), _MOST_SEEDS)
    others = [later.permutation(order) for _ in range(n - 1)]
    return [first, *[MeansStart(o, X[o[: n_seeds or later.integers(1, few + 1)]]) for o in others]]


class _Centres:
    """The centres of a run, with room for more: columns of an array in whole lanes."""

    def __init__(self, centres: np.ndarray) -> None:
        self.n = np.full(1, len(centres), dtype=np.int64)
        self.places = np.full((centres.shape[1], whole_lanes(len(centres) + 1)), np.inf)
        self.places[:, : len(centres)] = centres.T

    def assign(self, X: np.ndarray, rows: np.ndarray, penalty: float, labels: np.ndarray) -> None:
        """Visit the rows in this order."""
        reached = np.int64(0)
        while True:
            closeness = np.empty(self.places.shape[1])
            reached = np.int64(
                assign_or_open(X, rows, penalty, self.places, self.n, closeness, labels, reached)
            )
            if reached == len(rows):
                return
            self.places = np.hstack([self.places, np.full_like(self.places, np.inf)])

    def settle(self, X: np.ndarray, labels: np.ndarray) -> None:
        """Put each centre at the mean of its rows."""
        self.n[0] = labels.max() + 1
        mean_of_each(X, labels, np.empty(self.places.shape[1], dtype=np.int64), self.places)

    def used(self) -> np.ndarray:
        """Return the centres in use, one in a row."""
        return np.ascontiguousarray(self.places[:, : self.n[0]].T)


def dp_means(X: np.ndarray, penalty: float, start: MeansStart, max_iter: int) -> Means:
    """Pass over the rows until none changes its cluster."""
    labels = np.full(len(X), -1, dtype=np.int32)
    centres, objectives = _Centres(start.centres), []
    for _ in range(max_iter):
        before = labels.copy()
        centres.assign(X, start.order, penalty, labels)
        labels = compact(labels)
        centres.settle(X, labels)
        objectives.append(objective_of(X, labels, centres.used(), penalty))
        if np.array_equal(labels, before):
            return Means(labels, centres.used(), objectives, True)
    return Means(labels, centres.used(), objectives, False)


def objective_of(X: np.ndarray, labels: np.ndarray, centres: np.ndarray, penalty: float) -> float:
    """Return the squared distances to the centres, and the penalty for each centre."""
    return float(((X - centres[labels]) ** 2).sum() + penalty * len(centres))


def nearest(X: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each row's nearest centre and its squared distance."""
    places = np.full((X.shape[1], whole_lanes(len(centres))), np.inf)
    places[:, : len(centres)] = centres.T
    labels, distances = np.empty(len(X), dtype=np.int32), np.empty(len(X))
    find_nearest(X, places, np.empty(places.shape[1]), labels, distances)
    return labels, distances


def farthest_first_penalty(X: np.ndarray, n_clusters: int) -> float:
    """Return the penalty that Kulis and Jordan suggest for a number of clusters.

    Beginning at the mean, the farthest row joins a set of centres, once for each cluster; the last
    squared distance is the penalty.
    """
    distances = ((X - X.mean(axis=0)) ** 2).sum(axis=1)
    for _ in range(n_clusters - 1):
        distances = np.minimum(distances, ((X - X[distances.argmax()]) ** 2).sum(axis=1))
    return float(distances.max())


def usual_penalty(X: np.ndarray) -> float:
    """Return the mean squared distance of centred rows to their mean, or the least positive number."""
    return max(float((X**2).sum(axis=1).mean()), float(np.finfo(float).tiny))


def penalty_for(X: np.ndarray, n_clusters: int, start: MeansStart, max_iter: int) -> tuple[float, Means]:
    """Return a penalty that gives this number of clusters, or one as near as can be found, and its run.

    The range of penalties is halved first. As the number of clusters is not monotone in the penalty, that
    may miss; then many penalties around the place are tried.
    """
    tried = list(_halved(X, n_clusters, start, max_iter))
    if len(tried[-1][1].centres) != n_clusters:
        around = tried[-1][0] * np.geomspace(0.25, 4.0, _MOST_TRIES)
        tried += [(penalty, dp_means(X, penalty, start, max_iter)) for penalty in around]
    return min(tried, key=lambda one: abs(len(one[1].centres) - n_clusters))


def _halved(
    X: np.ndarray, n_clusters: int, start: MeansStart, max_iter: int
) -> Iterator[tuple[float, Means]]:
    """Yield penalties and their runs, until one gives this number of clusters or the range is spent."""
    tiny = float(np.finfo(float).tiny)
    low, high = 0.0, max(2.0 * float(((X - X.mean(axis=0)) ** 2).sum(axis=1).max()), tiny)
    penalty = min(max(farthest_first_penalty(X, n_clusters), tiny), high)
    for _ in range(_MOST_TRIES):
        run = dp_means(X, penalty, start, max_iter)
        yield penalty, run
        if len(run.centres) == n_clusters:
            return
        low, high = (penalty, high) if len(run.centres) > n_clusters else (low, penalty)
        penalty = float(np.sqrt(low * high)) if low > 0.0 else 0.25 * high
