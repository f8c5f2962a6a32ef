"""Knows priors over partitions: how much a chair is worth before the row is looked at.

The one idea: all priors here are of Gibbs type. A taken chair with n rows weighs n - discount, a new
chair weighs what `log_open` says for the number of chairs taken; so compiled code needs one number and
one short table, and a new prior is a few lines here and none elsewhere.
"""

import dataclasses
import math
from typing import Any

import numpy as np
from scipy.special import gammaln

from mapdp import checks

_ALPHA_HINT = "small alpha gives few clusters; try 1.0."


class Process:
    """What every prior over partitions offers."""

    discount: float

    def log_open(self, n_clusters: Any) -> np.ndarray:
        """Return the log weight of a new chair when `n_clusters` are taken."""
        raise NotImplementedError

    def log_total(self, n: float) -> float:
        """Return the log of the sum of weights of all partitions of n rows."""
        raise NotImplementedError

    def log_eppf(self, sizes: Any) -> float:
        """Return the log probability of a partition with these cluster sizes (paper, eq. 1)."""
        sizes = np.asarray(sizes, dtype=np.float64)
        opened = self.log_open(np.arange(len(sizes))).sum()
        joined = (gammaln(sizes - self.discount) - gammaln(1.0 - self.discount)).sum()
        return float(opened + joined) - self.log_total(sizes.sum())

    def log_join(self, sizes: Any) -> np.ndarray:
        """Return the log weight of a taken chair for each size."""
        return np.log(np.asarray(sizes, dtype=np.float64) - self.discount)

    def log_seating(self, sizes: Any) -> np.ndarray:
        """Return log probabilities for the next row: each taken chair, then a new one (paper, eq. 2)."""
        weights = np.append(self.log_join(sizes), self.log_open(len(sizes)))
        return weights - np.logaddexp.reduce(weights)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Seat n rows one by one; clusters are numbered in order of appearance."""
        labels = np.zeros(n, dtype=np.int32)
        sizes: list[int] = []
        for i in range(n):
            cumulative = np.cumsum(np.exp(self.log_seating(sizes)))
            k = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
            if k == len(sizes):
                sizes.append(0)
            sizes[k] += 1
            labels[i] = k
        return labels


@dataclasses.dataclass(frozen=True)
class PitmanYor(Process):
    """The two-parameter Chinese restaurant process.

    Parameters
    ----------
    alpha : float
        Concentration, positive.
    discount : float
        From 0 (the Dirichlet process) to below 1 (many small clusters, sizes like a power law).

    Examples
    --------
    >>> round(float(np.exp(PitmanYor(1.0, 0.5).log_eppf([2, 1]))), 6)
    0.125
    """

    alpha: float
    discount: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.discount < 1.0:
            raise ValueError(
                f"discount must be from 0 to below 1, got {self.discount}. "
                "Hint: 0 is the Dirichlet process; 0.25 allows more small clusters."
            )
        checks.positive("alpha", self.alpha, _ALPHA_HINT)

    def log_open(self, n_clusters: Any) -> np.ndarray:
        """Return the log weight of a new chair when `n_clusters` are taken."""
        return np.log(self.alpha + self.discount * np.asarray(n_clusters, dtype=np.float64))

    def log_total(self, n: float) -> float:
        """Return the log of alpha (alpha + 1) ... (alpha + n - 1)."""
        if self.alpha > 1e6:  # where the difference of two log gammas would lose digits
            return float(np.log(self.alpha + np.arange(n)).sum())
        return math.lgamma(self.alpha + n) - math.lgamma(self.alpha)


class DirichletProcess(PitmanYor):
    """The Chinese restaurant process with concentration `alpha`.

    Examples
    --------
    >>> process = DirichletProcess(1.0)
    >>> round(float(np.exp(process.log_eppf([2, 1]))), 6)  # 1 * 1 * 1 / (1 * 2 * 3)
    0.166667
    >>> np.exp(process.log_seating([2, 1])).round(2).tolist()
    [0.5, 0.25, 0.25]
    """

    def __init__(self, alpha: float) -> None:
        super().__init__(alpha, 0.0)


def make_process(alpha: float, discount: float) -> Process:
    """Return the process that an estimator's parameters name."""
    alpha = checks.positive("alpha", alpha, _ALPHA_HINT)
    return PitmanYor(alpha, checks.not_negative("discount", discount))
