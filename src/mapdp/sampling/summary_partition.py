"""One partition that stands for many: the one whose expected distance to them is smallest.

The distance is the variation of information, or Binder's loss: the share of pairs of rows on which two
partitions differ. The search is that of SALSO (Dahl, Johnson and Mueller 2022): rows are seated one by one
where the expected loss grows least, then each is offered a better seat until none moves.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from mapdp.data import checks
from mapdp.partitions.labels import by_falling_size, compact

LOSSES = ("vi", "binder")
_STARTS = 6  # random orders of seating; so many samples are starts, too
_MOST_SAMPLES = 500  # that the search looks at: more hardly change an expectation
_MOST_SWEEPS = 50  # a search settles within ten


def loss_between(a: np.ndarray, b: np.ndarray, loss: str = "vi") -> float:
    """Return the distance of two partitions with clusters 0, 1, ...

    The variation of information is in nats, from 0 to log N; Binder's loss is from 0 to 1.

    Examples
    --------
    >>> round(loss_between(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 0])), 4)  # one bit
    0.6931
    """
    table = np.bincount(a.astype(np.int64) * (int(b.max()) + 1) + b)
    parts = (np.bincount(a), np.bincount(b), table)
    weights = (1.0, 1.0, -2.0)
    return float(sum(w * _measure(n, loss, len(a)).sum() for w, n in zip(weights, parts, strict=True)))


def _measure(sizes: np.ndarray, loss: str, n_rows: int) -> np.ndarray:
    """Return what clusters of these sizes add to the loss.

    A loss is the sum of this over the clusters of both partitions, less twice that over their
    intersections.
    """
    share = np.asarray(sizes, dtype=np.float64) / n_rows
    return xlogy(share, share) if loss == "vi" else share * share


class CredibleBall(NamedTuple):
    """The partitions around a summary that together have a given probability."""

    radius: float  # variation of information, in nats
    probability: float  # share of the samples within it
    farthest: np.ndarray  # (N,) the sample at its edge
    distances: np.ndarray  # (S,) of all samples


def credible_ball(labels: np.ndarray, samples: np.ndarray, probability: float = 0.95) -> CredibleBall:
    """Return how far samples reach around a partition (Wade and Ghahramani 2018)."""
    distances = np.array([loss_between(labels, sample) for sample in samples])
    order = np.argsort(distances, kind="stable")
    edge = order[int(np.ceil(probability * len(samples))) - 1]
    within = float((distances <= distances[edge] + 1e-12).mean())
    return CredibleBall(float(distances[edge]), within, samples[edge].astype(np.int32), distances)


def summary_partition(samples: np.ndarray, loss: str, rng: np.random.Generator) -> np.ndarray:
    """Return the partition with the least expected loss over samples that a search finds."""
    checks.one_of("loss", loss, LOSSES)
    samples = _evenly(samples, _MOST_SAMPLES)
    starts = [one.astype(np.int64) for one in _evenly(samples, _STARTS)]
    starts += [np.full(samples.shape[1], -1) for _ in range(_STARTS)]
    found = [_Search(samples, loss, start).settled(rng) for start in starts]
    best = min(found, key=lambda search: search.expected_loss())
    return by_falling_size(compact(best.labels))


def _evenly(samples: np.ndarray, most: int) -> np.ndarray:
    """Return so many samples at most, evenly spaced."""
    return samples[np.unique(np.linspace(0, len(samples) - 1, min(most, len(samples))).astype(np.int64))]


class _Search:
    """A partition under way, with its intersections with all samples."""

    def __init__(self, samples: np.ndarray, loss: str, labels: np.ndarray) -> None:
        self.samples, self.loss, self.labels = samples.astype(np.int64), loss, labels.copy()
        self._which = np.arange(len(samples))
        n_rows, n_chairs = samples.shape[1], int(max(samples.max(), labels.max())) + 2
        steps = _measure(np.arange(n_rows + 1), loss, n_rows)
        self._gain = np.append(np.diff(steps), 0.0)  # of one row more on a chair with so many
        self.sizes = np.zeros(n_chairs, dtype=np.int64)
        self.both = np.zeros((n_chairs, len(samples), int(samples.max()) + 1), dtype=np.int32)
        for i in np.flatnonzero(labels >= 0).tolist():
            self._seat(i, int(labels[i]), 1)

    def _seat(self, i: int, k: int, change: int) -> None:
        """Let row i sit down on chair k (+1) or stand up from it (-1)."""
        self.sizes[k] += change
        self.both[k, self._which, self.samples[:, i]] += change

    def _visit(self, i: int) -> bool:
        """Let row i sit where the expected loss is least; say whether it moved."""
        before = int(self.labels[i])
        if before >= 0:
            self._seat(i, before, -1)
        shared = self._gain[self.both[:, self._which, self.samples[:, i]]].mean(axis=1)
        growth = self._gain[self.sizes] - 2.0 * shared
        empty = np.flatnonzero(self.sizes == 0)[1:]  # one empty chair is enough
        growth[empty] = np.inf
        best = int(growth.argmin())
        if before >= 0 and growth[before] <= growth[best] + 1e-12:
            best = before
        self.labels[i] = best
        self._seat(i, best, 1)
        return best != before

    def settled(self, rng: np.random.Generator) -> "_Search":
        """Visit rows in random order until none moves."""
        for _ in range(_MOST_SWEEPS):
            moved = [self._visit(i) for i in rng.permutation(len(self.labels)).tolist()]
            if not any(moved):
                break
        return self

    def expected_loss(self) -> float:
        """Return the mean loss over the samples."""
        labels = compact(self.labels)
        return float(np.mean([loss_between(labels, sample, self.loss) for sample in self.samples]))
