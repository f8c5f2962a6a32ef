"""Whether chains agree: split R-hat and effective sample size, as numbers and in words.

Every chain is cut in two, so that one that drifts disagrees with itself. R-hat compares the variance
between the halves with that within them; the effective sample size is how many independent draws would
give a mean of the same accuracy (Gelman et al., Bayesian Data Analysis, 3rd edition, section 11.4-11.5).
"""

import math
from typing import NamedTuple

import numpy as np

from mapdp.engine.trace import Chains

AGREED = 1.05  # R-hat up to which chains are said to agree
_ENOUGH = 20.0  # effective samples below which nothing is said of a probability
_SURE = 0.99  # no probability is printed as higher
_MISSED = 3.0  # what never happened in n draws has a probability below 3 / n, nearly surely (exp(-3) = 5%)
_USUAL = 0.9  # probability that a range of numbers of clusters must have


def _halves(chains: np.ndarray) -> np.ndarray:
    """Return the first and the second half of each chain; a middle sweep is left out."""
    values = np.asarray(chains, dtype=np.float64)
    half = values.shape[1] // 2
    return np.concatenate([values[:, :half], values[:, values.shape[1] - half :]])


def split_r_hat(chains: np.ndarray) -> float:
    """Return the split R-hat of a number: 1 where all halves of chains have the same distribution.

    Parameters
    ----------
    chains : array of shape (C, S)
        A row for each chain, a number for each sweep.

    Returns
    -------
    float
        1 also where the number never changes, infinity where it only differs between chains, nan for
        chains of fewer than four sweeps.

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(size=(4, 500))
    >>> split_r_hat(draws) < 1.01 < split_r_hat(draws + np.arange(4)[:, None])
    True
    """
    halves = _halves(chains)
    n = halves.shape[1]
    if n < 2:
        return math.nan
    within, between = halves.var(axis=1, ddof=1).mean(), halves.mean(axis=1).var(ddof=1)
    if within == 0.0:
        return 1.0 if between == 0.0 else math.inf
    return math.sqrt((n - 1.0) / n + between / within)


def effective_sample_size(chains: np.ndarray) -> float:
    """Return how many independent draws determine the mean of a number as well as these chains do.

    Parameters
    ----------
    chains : array of shape (C, S)

    Returns
    -------
    float
        The number of draws where the number never changes.

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(size=(4, 500))
    >>> 1500 < effective_sample_size(draws) < 2500
    True
    >>> effective_sample_size(np.repeat(draws, 10, axis=1)) < 2500  # each draw ten times
    True
    """
    halves = _halves(chains)
    if halves.shape[1] < 5 or np.ptp(halves) == 0.0:
        return float(halves.size)
    most = halves.size * math.log10(halves.size)  # antithetic draws count for more than one
    return float(min(halves.size / _memory(_correlation(halves)), most))


def _correlation(halves: np.ndarray) -> np.ndarray:
    """Return the autocorrelation at each lag, differences between chains included."""
    n = halves.shape[1]
    centred = halves - halves.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(centred, 2 * n, axis=1)) ** 2
    covariance = (np.fft.irfft(power, axis=1)[:, :n] / n).mean(axis=0)
    within = covariance[0] * n / (n - 1.0)
    total = covariance[0] + halves.mean(axis=1).var(ddof=1)
    return 1.0 - (within - covariance) / total


def _memory(correlation: np.ndarray) -> float:
    """Return the sum of the autocorrelations on both sides, by Geyer's monotone sequence."""
    correlation = np.append(1.0, correlation[1:])
    n_pairs = (len(correlation) - 3) // 2  # the last lags have next to no pairs of sweeps behind them
    pairs = correlation[: 2 * n_pairs].reshape(-1, 2).sum(axis=1)
    n_positive = int(np.argmax(np.append(pairs, -1.0) < 0.0))
    rest = max(correlation[2 * n_positive], 0.0)
    return 2.0 * np.minimum.accumulate(pairs[:n_positive]).sum() - 1.0 + rest


class Agreement(NamedTuple):
    """How far chains agree, by the number of clusters, the log joint, and alpha where it is drawn."""

    r_hat: dict[str, float]
    n_effective: dict[str, float]
    numbers: tuple[int, int]  # fewest and most clusters of the shortest range with 90% probability
    probability: float  # of that range

    @property
    def is_good(self) -> bool:
        """Say whether the chains agree, and are long enough for a statement."""
        return max(self.r_hat.values()) <= AGREED and self.effective >= _ENOUGH

    @property
    def effective(self) -> float:
        """Return the least effective sample size."""
        return min(self.n_effective.values())

    def __str__(self) -> str:
        worst = max(self.r_hat.values())
        if worst > AGREED:
            return f"the chains disagree (R-hat {worst:.2f}): do not trust this number; run longer"
        if not self.is_good:
            return f"the chains are too short ({self.effective:.0f} effective samples) to say; run longer"
        few, many = self.numbers
        what = f"{few} cluster{'s' if few > 1 else ''}" if few == many else f"{few} to {many} clusters"
        return f"the chains agree: {what} ({in_words(self.probability, self.effective)})"


def in_words(probability: float, n_effective: float) -> str:
    """Return a probability that so many effective samples estimate; none is as high as 100%.

    Examples
    --------
    >>> in_words(0.938, 500.0), in_words(1.0, 500.0), in_words(1.0, 60.0), in_words(0.0, 60.0)
    ('94%', '> 99%', '> 95%', '< 5%')
    """
    limit = min(_SURE, max(1.0 - _MISSED / n_effective, 0.0))
    if probability > limit:
        return f"> {math.floor(100.0 * limit + 1e-9)}%"
    if probability < 1.0 - limit:
        return f"< {math.ceil(100.0 * (1.0 - limit) - 1e-9)}%"
    return f"{probability:.0%}"


def agreement_of(chains: Chains) -> Agreement:
    """Compare chains, of which only what is kept should be passed."""
    numbers = {"n_clusters": chains.n_clusters, "log_joint": chains.log_joint}
    if chains.alpha.min() < chains.alpha.max():
        numbers["alpha"] = chains.alpha
    range_, probability = shortest_range(np.bincount(chains.n_clusters.ravel()) / chains.n_clusters.size)
    return Agreement(
        {name: split_r_hat(values) for name, values in numbers.items()},
        {name: effective_sample_size(values) for name, values in numbers.items()},
        range_,
        probability,
    )


def shortest_range(posterior: np.ndarray, least: float = _USUAL) -> tuple[tuple[int, int], float]:
    """Return the shortest range with such a probability, the most probable of several, and what it has."""
    below = np.append(0.0, np.cumsum(posterior))
    for width in range(1, len(posterior) + 1):
        chances = below[width:] - below[:-width]
        few = int(chances.argmax())
        if chances[few] >= least:
            break
    return (few, few + width - 1), float(chances[few])
