"""The concentration alpha: its priors, its most probable value, and the number of clusters it implies.

Under these processes the data inform alpha through two numbers only: how many rows there are and how many
clusters. With no discount p(K | alpha, N) is proportional to alpha^K Gamma(alpha) / Gamma(alpha + N),
whose logarithm is concave in log alpha; so are our priors, and Newton's method finds the one mode.
"""

import dataclasses
import math
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln

from mapdp.data import checks

_HINT = '("gamma", 1.0, 1.0) is a mild choice, "inverse-gamma" the paper\'s.'
_FEW = 10  # rows whose terms are added one by one, so that series have large arguments
_FARTHEST = 60.0  # |log alpha|: no table is large enough to distinguish values beyond


class AlphaPrior:
    """A prior of alpha, as a density of log alpha."""

    def log_density(self, alpha: float) -> float:
        """Return the log density of log alpha."""
        raise NotImplementedError

    def slope(self, alpha: float) -> float:
        """Return its derivative by log alpha."""
        raise NotImplementedError

    def curvature(self, alpha: float) -> float:
        """Return its second derivative by log alpha, which is negative."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class GammaPrior(AlphaPrior):
    """A Gamma distribution of alpha; its mean is shape / rate."""

    shape: float
    rate: float

    def log_density(self, alpha: float) -> float:
        """Return the log density of log alpha."""
        constant = self.shape * math.log(self.rate) - math.lgamma(self.shape)
        return constant + self.shape * math.log(alpha) - self.rate * alpha

    def slope(self, alpha: float) -> float:
        """Return its derivative by log alpha."""
        return self.shape - self.rate * alpha

    def curvature(self, alpha: float) -> float:
        """Return its second derivative by log alpha."""
        return -self.rate * alpha

    def draw(self, alpha: float, n: int, k: int, rng: np.random.Generator) -> float:
        """Draw alpha given k clusters of n rows, starting from its last value (Escobar and West 1995)."""
        rate = self.rate - math.log(rng.beta(alpha + 1.0, n))
        odds = (self.shape + k - 1.0) / (n * rate)
        shape = self.shape + k - (rng.random() * (1.0 + odds) > odds)
        least = 1e-290  # of what `checks.positive` takes; a vague prior may draw what a float cannot hold
        return max(float(rng.gamma(shape) / rate), least)


@dataclasses.dataclass(frozen=True)
class InverseGammaPrior(AlphaPrior):
    """An inverse Gamma distribution of alpha; the paper's has both parameters 1/2."""

    shape: float = 0.5
    scale: float = 0.5

    def log_density(self, alpha: float) -> float:
        """Return the log density of log alpha."""
        constant = self.shape * math.log(self.scale) - math.lgamma(self.shape)
        return constant - self.shape * math.log(alpha) - self.scale / alpha

    def slope(self, alpha: float) -> float:
        """Return its derivative by log alpha."""
        return self.scale / alpha - self.shape

    def curvature(self, alpha: float) -> float:
        """Return its second derivative by log alpha."""
        return -self.scale / alpha


def make_prior(prior: object) -> AlphaPrior:
    """Return the prior that a parameter names: ("gamma", shape, rate) or "inverse-gamma"."""
    if isinstance(prior, str) and prior == "inverse-gamma":
        return InverseGammaPrior()
    if not isinstance(prior, tuple) or len(prior) != 3 or prior[0] != "gamma":
        raise ValueError(
            f'the prior of alpha must be ("gamma", shape, rate) or "inverse-gamma", got {prior!r}. '
            f"Hint: {_HINT}"
        )
    return GammaPrior(*[checks.positive("the prior of alpha", number, _HINT) for number in prior[1:]])


def log_density_of(prior: AlphaPrior | None, process: Any) -> float:
    """Return the log density of a process' log alpha, 0 where alpha is not learned."""
    return 0.0 if prior is None else prior.log_density(process.alpha)


def most_probable_alpha(n: int, k: int, prior: AlphaPrior, discount: float = 0.0) -> float:
    """Return the mode of the density of log alpha given k clusters of n rows."""
    if discount > 0.0:
        return _mode_with_discount(n, k, prior, discount)
    low, high = -_FARTHEST, _FARTHEST
    u = math.log(max(k, 1) / math.log(n + 1.0))
    for _ in range(200):  # every step halves the range at least, so this is more than enough
        alpha = math.exp(u)
        slope = prior.slope(alpha) + (k - n) - _less_than_all(n, alpha)
        low, high = (u, high) if slope > 0.0 else (low, u)
        step = -slope / (prior.curvature(alpha) - _spread_of_k(alpha, n))
        u, before = u + step, u
        if not low < u < high:
            u = 0.5 * (low + high)
        if abs(u - before) <= 1e-15 * max(1.0, abs(u)):
            break
    return math.exp(u)


def _mode_with_discount(n: int, k: int, prior: AlphaPrior, discount: float) -> float:
    """Return the same under a Pitman-Yor process, where there may be several peaks: the highest one."""

    def slope(u: float) -> float:
        alpha = math.exp(u)
        of_clusters = _less_than_all(k, alpha / discount)  # they have the weights alpha + discount j
        return prior.slope(alpha) + (k - n) + of_clusters - _less_than_all(n, alpha)

    def height(u: float) -> float:
        alpha = math.exp(u)
        opened = float(np.log(alpha + discount * np.arange(k)).sum())
        return opened + float(gammaln(alpha) - gammaln(alpha + n)) + prior.log_density(alpha)

    grid = np.arange(-_FARTHEST, _FARTHEST + 0.5, 0.5)
    slopes = np.array([slope(u) for u in grid])
    tops = np.flatnonzero((slopes[:-1] > 0.0) & (slopes[1:] <= 0.0))
    peaks = [brentq(slope, grid[top], grid[top + 1], xtol=1e-13) for top in tops]
    return math.exp(max(peaks, key=height))


def _less_than_all(n: int, alpha: float) -> float:
    """Return the expected number of clusters less n, with few digits lost however large alpha is."""
    return -_expected_together(n, alpha) if alpha >= 10.0 * n else expected_clusters(n, alpha) - n


def _expected_together(n: int, alpha: float) -> float:
    """Return n minus the expected number of clusters, the sum of i / (alpha + i), for alpha >= 10 n."""
    if n <= _FEW:
        return float((np.arange(n) / (alpha + np.arange(n))).sum())
    a, m = alpha + _FEW, n - _FEW
    x = m / a
    early = float((np.arange(_FEW) / (alpha + np.arange(_FEW))).sum()) + _FEW * x
    x_minus_log = sum((-x) ** power / power for power in range(2, 18))  # x - log(1 + x) for x < 0.1
    return early + alpha * (x_minus_log - _stirling_step(a, m))


def _stirling_step(a: float, m: float) -> float:
    """Return psi(a + m) - psi(a) - log((a + m) / a) for a >= 10, from Stirling's series."""
    b = a + m
    step = 0.5 * m / (a * b)
    for power, weight in ((2, 1 / 12), (4, -1 / 120), (6, 1 / 252), (8, -1 / 240), (10, 1 / 132)):
        step += weight * (a**-power - b**-power)
    return step


def expected_clusters(n: int, alpha: float, discount: float = 0.0) -> float:
    """Return the expected number of clusters of n rows.

    Examples
    --------
    >>> round(expected_clusters(3, 1.0), 6)  # 1 + 1/2 + 1/3
    1.833333
    """
    checks.positive("alpha", alpha, "try 1.0.")
    if checks.discount(discount) > 0.0:
        return alpha / discount * math.expm1(_log_growth(n, alpha, discount))
    first = np.arange(min(n, _FEW))
    a, m = alpha + _FEW, n - _FEW
    rest = alpha * (math.log1p(m / a) + _stirling_step(a, m)) if m > 0 else 0.0
    return float((alpha / (alpha + first)).sum()) + rest


def _log_growth(n: int, alpha: float, discount: float) -> float:
    """Return the sum of log(1 + discount / (alpha + i)) over i < n, by Euler and Maclaurin's formula."""
    first = np.arange(min(n, _FEW))
    total = float(np.log1p(discount / (alpha + first)).sum())
    if n <= _FEW:
        return total
    a, b = alpha + _FEW, alpha + n
    total += b * math.log1p(discount / b) - a * math.log1p(discount / a)
    total += discount * math.log1p((n - _FEW) / (a + discount))
    total += 0.5 * (math.log1p(discount / a) - math.log1p(discount / b))
    for power, weight in ((1, 1 / 12), (3, -1 / 360), (5, 1 / 1260), (7, -1 / 1680)):
        steps = [-(x**-power) * math.expm1(-power * math.log1p(discount / x)) for x in (a, b)]
        total += weight * (steps[0] - steps[1])
    return total


def _spread_of_k(alpha: float, n: int) -> float:
    """Return the variance of the number of clusters: sum of alpha i / (alpha + i)^2."""
    first = np.arange(min(n, _FEW))
    total = float((alpha * first / (alpha + first) ** 2).sum())
    if n > _FEW:  # the integral of the same, good to a part in a hundred, which is enough for Newton
        a, b = alpha + _FEW - 0.5, alpha + n - 0.5
        total += alpha * (math.log(b / a) - alpha * (1.0 / a - 1.0 / b))
    return max(total, 1e-300)


def alpha_for(n: int, k: float, discount: float = 0.0) -> float:
    """Return the alpha under which n rows are expected to have k clusters.

    Examples
    --------
    >>> alpha = alpha_for(1000, 12.0)
    >>> round(expected_clusters(1000, alpha), 9)
    12.0
    """
    least = expected_clusters(n, math.exp(-30.0), discount)
    if not least < k < n:
        raise ValueError(
            f"expected clusters must be above {least:.4g} and below the {n} rows, got {k}. "
            "Hint: 1.1 says that more than one would surprise you; a discount raises the lower limit."
        )
    most = _FARTHEST if discount == 0.0 else math.log(alpha_for(n, k))  # a discount adds clusters
    if discount > 0.0 and expected_clusters(n, math.exp(most), discount) <= k:
        return math.exp(most)  # so close to all rows that the discount is lost in rounding
    return math.exp(
        brentq(lambda u: expected_clusters(n, math.exp(u), discount) - k, -30.0, most, xtol=1e-14)
    )


def discount_for(n: int, k: float, alpha: float) -> float:
    """Return the Pitman-Yor discount under which n rows are expected to have k clusters.

    Examples
    --------
    >>> discount = discount_for(1000, 30.0, alpha=1.0)
    >>> round(expected_clusters(1000, 1.0, discount), 9)
    30.0
    """
    least, most = expected_clusters(n, alpha), expected_clusters(n, alpha, 1.0 - 1e-9)
    if not least <= k < most:
        raise ValueError(
            f"with alpha={alpha} a discount gives from {least:.4g} to {most:.4g} expected clusters, "
            f"got {k}. Hint: change alpha."
        )
    if k == least:
        return 0.0
    return float(brentq(lambda d: expected_clusters(n, alpha, d) - k, 0.0, 1.0 - 1e-9, xtol=1e-14))
