"""What happened in a fit: one Step per sweep or round of moves, one Init per start, Chains of a sampler."""

from typing import NamedTuple

import numpy as np


class Step(NamedTuple):
    """What one sweep, or one round of moves, did.

    `move` is "start", or "prior" where hyperparameters have just been learned; "sweep"; "survey"
    (nobody wants to move), "border" or "touched", which are about some of the rows; "tol" where a round
    gained no more than that; "merge", "split", "divide", "dissolve" or "cut"; "alpha"; and "gibbs" of a
    sampler. A fit may climb several times, from several starts and for several values of alpha: `climb`
    numbers them.

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
    log_joint: float  # log p(x, z), with the density of what is learned: log alpha, hyperparameters
    seconds: float  # since the fit began
    climb: int = 0  # which of the climbs of a fit this is a step of

    def less(self, log_units: float) -> "Step":
        """Return the same step with the joint of the table as it came."""
        return self._replace(log_joint=self.log_joint - log_units)

    def __str__(self) -> str:
        return (
            f"{self.move:8s} {self.sweep:3d} {self.n_clusters:4d} clusters {self.n_moved:7d} rows moved  "
            f"log joint {self.log_joint:.4f}  {self.seconds:.2f} s"
        )


class StoppedError(Exception):
    """Raised by a callback to stop the search; the best partition so far is kept."""


def silent(step: Step) -> None:
    """Ignore a step."""


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
