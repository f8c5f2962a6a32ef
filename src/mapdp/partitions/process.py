"""Priors over partitions: how much a chair is worth before the row is looked at.

All priors here are of Gibbs type. A taken chair with n rows weighs n - discount; a new chair weighs what
`log_open` returns for the number of chairs taken. So compiled code needs one number and one short table,
and a new prior is a few lines here and none elsewhere.
"""

import dataclasses
import functools
import math
from typing import Any

import numpy as np
from scipy.special import gammaln

from mapdp.compiled.special import log_rising
from mapdp.data import checks

_LARGEST_RATE = 1e5  # components: the time and memory for a sum over them grow with it
_ALPHA_HINT = "small alpha gives few clusters; try 1.0."


class Process:
    """What every prior over partitions offers."""

    discount: float
    rows: float | None  # what all rows together count for; None where that is their number

    def counted_as(self, rows: float | None) -> "Process":
        """Return the same prior for rows that together count for so many."""
        raise NotImplementedError

    def log_open(self, n_clusters: Any, n_rows: float) -> np.ndarray:
        """Return the log weight of a new chair for the last of `n_rows`, `n_clusters` being taken."""
        raise NotImplementedError

    def log_total(self, n: float) -> float:
        """Return the log of the sum of weights of all partitions of n rows."""
        raise NotImplementedError

    def log_eppf(self, sizes: Any) -> float:
        """Return the log probability of a partition with these cluster sizes (paper, eq. 1)."""
        sizes = np.asarray(sizes, dtype=np.float64)
        opened = self.log_open(np.arange(len(sizes)), float(sizes.sum())).sum()
        joined = (gammaln(sizes - self.discount) - gammaln(1.0 - self.discount)).sum()
        return float(opened + joined) - self.log_total(sizes.sum())

    def log_join(self, sizes: Any) -> np.ndarray:
        """Return the log weight of a taken chair for each size."""
        return np.log(np.asarray(sizes, dtype=np.float64) - self.discount)

    def log_seating(self, sizes: Any) -> np.ndarray:
        """Return log probabilities for the next row: each taken chair, then a new one (paper, eq. 2)."""
        new = self.log_open(len(sizes), float(np.sum(sizes)) + 1.0)
        weights = np.append(self.log_join(sizes), new)
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
    rows : float, default None
        What all rows together count for, where that is not their number.

    Examples
    --------
    >>> round(float(np.exp(PitmanYor(1.0, 0.5).log_eppf([2, 1]))), 6)
    0.125
    """

    alpha: float
    discount: float = 0.0
    rows: float | None = None

    def __post_init__(self) -> None:
        checks.discount(self.discount)
        checks.positive("alpha", self.alpha, _ALPHA_HINT)

    def counted_as(self, rows: float | None) -> Process:
        """Return the same prior for rows that together count for so many."""
        return PitmanYor(self.alpha, self.discount, rows)

    def log_open(self, n_clusters: Any, n_rows: float) -> np.ndarray:
        """Return log(alpha + discount K): the number of rows does not matter."""
        return np.log(self.alpha + self.discount * np.asarray(n_clusters, dtype=np.float64))

    def log_total(self, n: float) -> float:
        """Return the log of alpha (alpha + 1) ... (alpha + n - 1)."""
        return _log_rising(self.alpha, n if self.rows is None else self.rows)


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


@dataclasses.dataclass(frozen=True)
class MixtureOfFiniteMixtures(Process):
    """A finite mixture whose number of components is unknown (Miller and Harrison 2018).

    The number of components is 1 + Poisson(`rate`), their weights are Dirichlet(`concentration`). Unlike a
    Dirichlet process it does not expect ever more small clusters among ever more rows.

    Parameters
    ----------
    concentration : float
        Of the weights: 1 makes all weights equally probable, larger values favour even sizes.
    rate : float
        Expected number of components, less one.
    rows : float, default None
        What all rows together count for, where that is not their number.

    Examples
    --------
    >>> process = MixtureOfFiniteMixtures()
    >>> round(float(np.exp(process.log_eppf([3])) + np.exp(process.log_eppf([1, 1, 1]))
    ...             + 3 * np.exp(process.log_eppf([2, 1]))), 9)  # all partitions of three rows
    1.0
    """

    concentration: float = 1.0
    rate: float = 1.0
    rows: float | None = None

    def __post_init__(self) -> None:
        checks.positive("concentration", self.concentration, "1.0 makes all weights equally probable.")
        rate = checks.positive("rate", self.rate, "one less than the number of components you expect.")
        if rate > _LARGEST_RATE:
            raise ValueError(f"rate must be at most {_LARGEST_RATE:g}, got {rate:g}. Hint: try 10.0.")

    def counted_as(self, rows: float | None) -> Process:
        """Return the same prior for rows that together count for so many."""
        return dataclasses.replace(self, rows=rows)

    @property
    def discount(self) -> float:  # type: ignore[override]
        """A taken chair with n rows weighs n + concentration."""
        return -self.concentration

    def log_open(self, n_clusters: Any, n_rows: float) -> np.ndarray:
        """Return log(concentration V(K + 1) / V(K)), where V(0) stands for 1."""
        n_rows = n_rows if self.rows is None else self.rows
        taken = np.asarray(n_clusters)
        least, most = int(taken.min()), int(taken.max())
        log_v = _log_v(self.concentration, self.rate, least, most + 1, n_rows)
        return math.log(self.concentration) + (log_v[1:] - log_v[:-1])[taken - least]

    def log_total(self, n: float) -> float:
        """The weights of all partitions add up to one."""
        return 0.0


@functools.lru_cache(maxsize=64)  # every step of a search asks for the same
def _log_rising(alpha: float, n: float) -> float:
    return float(log_rising(alpha, n))


@functools.lru_cache(maxsize=64)  # every state of a search asks for the same
def _log_v(concentration: float, rate: float, least: int, most: int, n: float) -> np.ndarray:
    """Return log V_n(t) of Miller and Harrison for t from least to most, 0 for t = 0.

    It is what the number of components beyond the t seen ones adds up to; the sum falls off at least as a
    Poisson distribution does.
    """
    t, extra = np.arange(least, most + 1), np.arange(int(rate + 20.0 * math.sqrt(rate)) + 60)
    k = t[:, None] + extra
    log_prior = np.log(np.maximum(k, 1)) + (k - 1) * math.log(rate) - gammaln(extra + 1.0) - rate
    spread = concentration * np.maximum(k, 1)
    log_v = np.logaddexp.reduce(log_prior + gammaln(spread) - gammaln(spread + n), axis=1)
    return np.where(t == 0, 0.0, log_v)


def make_process(alpha: object, discount: float, process: Process | str | None = None) -> Process:
    """Return the process that an estimator's parameters name."""
    if process is None:
        return PitmanYor(checks.positive("alpha", alpha, _ALPHA_HINT), checks.discount(discount))
    if discount != 0.0:
        raise ValueError(
            f"discount must be left at 0 beside process, got {discount}. Hint: it has its own."
        )
    if isinstance(process, Process):
        return process
    checks.one_of("process", process, ("mfm",), "a Process or ")
    return MixtureOfFiniteMixtures()
