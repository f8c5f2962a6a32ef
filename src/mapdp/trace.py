"""Knows what happened: one Step per sweep or round of moves, one Init per start, Chains of a sampler."""

from typing import NamedTuple

import numpy as np


class Step(NamedTuple):
    """What one sweep, or one round of moves, did.

    `move` is "start" or "sweep"; "survey" (nobody moves), "border" or "touched", which are about some of
    the rows; "merge", "split", "divide" or "dissolve"; "alpha"; and "gibbs" of a sampler.

    Examples
    --------
    >>> print(Step("sweep", sweep=1, n_clusters=3, n_moved=7, n_emptied=0, log_joint=-12.5, seconds=0.01))
    sweep      1    3 clusters       7 rows moved  log joint -12.5000  0.01 s
    """

    move: str
    sweep: int  # full sweeps so far
    n_clusters: int
    n_moved: int  # rows that changed their cluster
    n_emptied: int  # clusters that lost their last row
    log_joint: float  # log p(x, z), with the density of log alpha where that is learned
    seconds: float  # since this start began with all rows

    def __str__(self) -> str:
        return (
            f"{self.move:8s} {self.sweep:3d} {self.n_clusters:4d} clusters {self.n_moved:7d} rows moved  "
            f"log joint {self.log_joint:.4f}  {self.seconds:.2f} s"
        )


class StoppedError(Exception):
    """Raised by who is told of a step, to end the search there; what was found so far is kept."""


def silent(step: Step) -> None:
    """Tell nobody of a step."""


class Init(NamedTuple):
    """Where one start ended, beside the start that won."""

    log_joint: float
    n_clusters: int
    agreement: float  # adjusted Rand index with the winner: 1 is the same partition


class Chains(NamedTuple):
    """What a sampler's chains visited: a row for each chain, a column for each sweep."""

    n_clusters: np.ndarray  # (C, S)
    log_joint: np.ndarray  # (C, S) log p(x, z), with the density of log alpha where that is drawn
    n_emptied: np.ndarray  # (C, S) clusters that lost their last row
    alpha: np.ndarray  # (C, S) concentration


def adjusted_rand(a: np.ndarray, b: np.ndarray) -> float:
    """Return the adjusted Rand index of two partitions with clusters 0, 1, ...

    It is scikit-learn's, at a tenth of the time on labels that are known to be in order.
    """
    table = np.bincount(a.astype(np.int64) * (int(b.max()) + 1) + b).astype(np.float64)
    both, in_a, in_b = (_pairs(sizes) for sizes in (table, np.bincount(a), np.bincount(b)))
    expected = in_a * in_b / max(_pairs(np.array([len(a)])), 1.0)
    room = 0.5 * (in_a + in_b) - expected
    return float((both - expected) / room) if room > 0.0 else 1.0


def _pairs(sizes: np.ndarray) -> float:
    return float((sizes * (sizes - 1.0) / 2.0).sum())
