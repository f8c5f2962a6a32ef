"""Learning the prior of Gaussian columns from what clusters hold: EM steps on the exact marginal.

Centres and precisions of the clusters are what EM takes as missing. A weak hyperprior keeps a prior sane
that few clusters speak for: it is as if there was one more cluster as wide as the whole table, the prior
mean was seen once at the table's mean, and the strength has a Gamma(2, 1) prior.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, Self, TypeVar

import numpy as np
from scipy.special import digamma, gammaln, zeta

from mapdp.compiled.special import LOG_2PI
from mapdp.families.columns import Sums

SHAPES = (
    0.1,
    1e4,
)  # between which a learned shape is: below, one cluster's variance says nothing of others
_LOG_WIDTHS = (-230.0, 230.0)  # of columns: their squares are ordinary floats
THINNEST = (
    1e-12  # share of the table's variance below which no cluster is expected to be: equal rows have none
)
_NEWTON_STEPS = 30
_FARTHEST = 100.0  # steps of EM that one leap is worth, or so
_MOST_STEPS = 1000  # of EM; it gains less and less long before


class Learnable(Protocol):
    """Hyperparameters as EM sees them."""

    def as_vector(self) -> np.ndarray:
        """Return the hyperparameters as numbers without bounds."""
        ...

    @classmethod
    def of_vector(cls, vector: np.ndarray) -> Self:
        """Return the hyperparameters of a vector."""
        ...


Theta = TypeVar("Theta", bound=Learnable)


class Cells(NamedTuple):
    """What clusters hold, column by column; means are relative to the prior mean."""

    n: np.ndarray  # (K, D) cells
    mean: np.ndarray  # (K, D)
    squares: np.ndarray  # (K, D) about the mean, with what rounding adds

    @classmethod
    def of(cls, chairs: Sequence[Sums], blur: np.ndarray) -> "Cells":
        """Return what chairs hold; rows are measured from the prior mean, so sums keep their digits."""
        n, total, total_lost, second, second_lost = (
            np.array([chair[i] for chair in chairs]) for i in range(5)
        )
        return cls.of_sums(n, total, total_lost, second, second_lost, blur)

    @classmethod
    def of_sums(
        cls,
        n: np.ndarray,
        total: np.ndarray,
        total_lost: np.ndarray,
        second: np.ndarray,
        second_lost: np.ndarray,
        blur: np.ndarray,
    ) -> "Cells":
        """Return what clusters hold from exact sums of cells and of their squares, (K, D) each."""
        mean = (total + total_lost) / np.maximum(n, 1e-12)
        squares = np.maximum(second - total * mean + second_lost, 0.0)
        return cls(n, mean, squares + 2.0 * n * blur)

    def without_rounding(self, origin: np.ndarray) -> "Cells":
        """Return the same with 0 where cells differ from the origin by no more than its rounding."""
        rounding = 8.0 * np.finfo(np.float64).eps * np.abs(origin)
        mean = np.where(np.abs(self.mean) > rounding, self.mean, 0.0)
        squares = np.where(self.squares > self.n * rounding**2, self.squares, 0.0)
        return Cells(self.n, mean, squares)

    def pooled(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of each column over all clusters; a variance of 0 is taken as 1."""
        n = np.maximum(self.n.sum(axis=0), 1e-12)
        mean = (self.n * self.mean).sum(axis=0) / n
        variance = (self.squares + self.n * (self.mean - mean) ** 2).sum(axis=0) / n
        return mean, np.where(variance > 0.0, variance, 1.0)


class NormalGamma(NamedTuple):
    """Hyperparameters of independent columns; the mean is relative to that of the family that learns."""

    mean: np.ndarray  # (D,)
    strength: float
    shape: float
    rate: np.ndarray  # (D,)

    def as_vector(self) -> np.ndarray:
        """Return the hyperparameters as numbers without bounds."""
        width = np.sqrt(self.rate / self.shape)
        return np.concatenate(
            [self.mean / width, [np.log(self.strength), np.log(self.shape)], np.log(width)]
        )

    @classmethod
    def of_vector(cls, vector: np.ndarray) -> "NormalGamma":
        """Return the hyperparameters of a vector."""
        d = len(vector) // 2 - 1
        strength, shape = np.exp(np.clip(vector[d : d + 2], -40.0, 40.0))
        width, shape = np.exp(np.clip(vector[d + 2 :], *_LOG_WIDTHS)), float(np.clip(shape, *SHAPES))
        return cls(vector[:d] * width, float(strength), shape, shape * width**2)


def log_marginal(theta: NormalGamma, cells: Cells) -> float:
    """Return the log density of all clusters' cells."""
    strength, shape = theta.strength + cells.n, theta.shape + 0.5 * cells.n
    pull = theta.strength * cells.n / strength * (cells.mean - theta.mean) ** 2
    log_growth = np.log1p(0.5 * (cells.squares + pull) / theta.rate)
    level = gammaln(shape) - gammaln(theta.shape) + 0.5 * np.log(theta.strength / strength)
    scale = 0.5 * cells.n * (LOG_2PI + np.log(theta.rate))
    return float((level - scale - shape * log_growth).sum())


def log_hyperprior(theta: NormalGamma, mean: np.ndarray, variance: np.ndarray) -> float:
    """Return the log density of hyperparameters, given mean and variance of the whole table."""
    ratio = theta.rate / variance
    wide = theta.shape * np.log(ratio) - ratio - gammaln(theta.shape)
    near = -0.5 * (theta.mean - mean) ** 2 / variance
    return float((wide + near).sum() + log_strength_prior(theta.strength))


def log_strength_prior(strength: float) -> float:
    """Return the log density of the strength: Gamma(2, 1) keeps centres together and apart."""
    return float(np.log(strength) - strength)


def em_step(theta: NormalGamma, cells: Cells, mean: np.ndarray, variance: np.ndarray) -> NormalGamma:
    """Return hyperparameters under which joint and hyperprior are no lower."""
    strength, shape = theta.strength + cells.n, theta.shape + 0.5 * cells.n
    gap = cells.mean - theta.mean
    rate = theta.rate + 0.5 * (cells.squares + theta.strength * cells.n / strength * gap**2)
    precision = shape / rate  # (K, D) expected
    centre = theta.mean + cells.n / strength * gap
    pull = theta.strength * precision
    new_mean = ((pull * centre).sum(axis=0) + mean / variance) / (pull.sum(axis=0) + 1.0 / variance)
    spread = (1.0 / strength + precision * (centre - new_mean) ** 2).sum()
    new_strength = (0.5 * cells.n.size + 1.0) / (0.5 * spread + 1.0)
    n_seen = len(cells.n) + 1.0
    typical = np.minimum((precision.sum(axis=0) + 1.0 / variance) / n_seen, 1.0 / (THINNEST * variance))
    log_precision = ((digamma(shape) - np.log(rate)).sum(axis=0) - np.log(variance)) / n_seen
    new_shape = shape_for(float((np.log(typical) - log_precision).mean()))
    return NormalGamma(new_mean, float(new_strength), new_shape, new_shape / typical)


def shape_for(gap: float) -> float:
    """Return the shape a with log a - digamma(a) = gap: the maximum likelihood shape of a Gamma density."""
    low, high = SHAPES
    if gap <= np.log(high) - digamma(high):
        return high
    if gap >= np.log(low) - digamma(low):
        return low
    shape = (3.0 - gap + np.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)  # within 1.5 %
    for _ in range(_NEWTON_STEPS):
        step = (np.log(shape) - digamma(shape) - gap) / (1.0 / shape - trigamma(shape))
        shape = shape - step if step < shape else 0.5 * shape
        if abs(step) <= 1e-13 * shape:
            break
    return float(shape)


def trigamma(x: np.ndarray) -> np.ndarray:
    """Return the derivative of digamma: Hurwitz's zeta function of 2."""
    return zeta(2.0, x)


def climbed(
    theta: Theta, step: Callable[[Theta], Theta], log_value: Callable[[Theta], float], least_gain: float
) -> Theta:
    """Take EM steps while each gains more than `least_gain` nats, and leaps where they lead higher."""
    best = log_value(theta)
    for _ in range(_MOST_STEPS):
        path = [theta]
        for _ in range(2):
            path.append(step(path[-1]))
            value = log_value(path[-1])
            if not value > best + least_gain:
                return path[-1] if value > best else path[-2]
            best = value
        leap = _leap(path)
        value = log_value(leap)
        theta, best = (leap, value) if value > best else (path[-1], best)
    return theta


def _leap(path: Sequence[Theta]) -> Theta:
    """Return where two steps of EM seem to lead (SQUAREM, Varadhan and Roland 2008, scheme S3)."""
    before, once, twice = (theta.as_vector() for theta in path)
    stride, bend = once - before, twice - 2.0 * once + before
    length = float(np.linalg.norm(stride)) / max(float(np.linalg.norm(bend)), 1e-300)
    length = min(max(length, 1.0), _FARTHEST)
    return path[0].of_vector(before + 2.0 * length * stride + length**2 * bend)


def highest(
    t: float, slopes: Callable[[float], tuple[float, float]], low: float, high: float, n_steps: int = 8
) -> float:
    """Return where a smooth function is highest, by guarded Newton steps; slopes are both derivatives."""
    for _ in range(n_steps):
        slope, curvature = slopes(t)
        step = -slope / curvature if curvature < 0.0 else np.sign(slope)
        step = min(max(step, -1.0), 1.0)
        t = min(max(t + step, low), high)
        if abs(step) < 1e-10:
            break
    return float(t)


def learned_normal_gamma(theta: NormalGamma, cells: Cells, least_gain: float) -> NormalGamma:
    """Return the hyperparameters that make joint and hyperprior highest, or are on the way there."""
    mean, variance = cells.pooled()
    best = climbed(
        theta,
        lambda theta: em_step(theta, cells, mean, variance),
        lambda theta: log_marginal(theta, cells) + log_hyperprior(theta, mean, variance),
        least_gain,
    )
    return best._replace(rate=np.maximum(best.rate, THINNEST * best.shape * variance))
