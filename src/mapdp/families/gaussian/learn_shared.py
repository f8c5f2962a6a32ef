"""Learning one shape for all clusters, each of a size of its own.

The covariance of cluster k is `scale` / t_k, where t_k has a Gamma density of mean 1. EM takes the t_k as
missing; centres are integrated out. All of it happens in the coordinates of a `Frame`, in which the whole
table has mean 0 and covariance 1.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from mapdp.compiled.special import LOG_2PI
from mapdp.families.gaussian.learn_full import (
    Frame,
    Scatters,
    columns_of,
    conditioned,
    matrix_as_vector,
    vector_as_matrix,
)
from mapdp.families.gaussian.learning import SHAPES, climbed, highest, log_strength_prior, shape_for

_LIKE_TABLE = 0.01  # rows for which the shape is like the table's: within clusters it can be far thinner
_FARTHEST = 10.0  # that the log of the scale's size moves in one step
_STRENGTHS = (-20.0, 5.0)  # between which the log strength is learned


class SharedShape(NamedTuple):
    """Hyperparameters of clusters that share a shape."""

    mean: np.ndarray  # (D,)
    strength: float
    shape: float  # of the Gamma density of a cluster's precision, whose mean is 1
    scale: np.ndarray  # (D, D)

    def mapped(self, frame: Frame) -> "SharedShape":
        """Return the same prior in the coordinates of a frame."""
        mean, scale = frame.inverse @ (self.mean - frame.mean), frame.inverse @ self.scale @ frame.inverse.T
        return self._replace(mean=mean, scale=conditioned(0.5 * (scale + scale.T)))

    def mapped_back(self, frame: Frame) -> "SharedShape":
        """Return the prior in the coordinates of the table."""
        mean, scale = frame.mean + frame.factor @ self.mean, frame.factor @ self.scale @ frame.factor.T
        return self._replace(mean=mean, scale=conditioned(0.5 * (scale + scale.T)))

    def as_vector(self) -> np.ndarray:
        """Return the hyperparameters as numbers without bounds."""
        known = [np.log(self.strength), np.log(self.shape)]
        return np.concatenate([self.mean, known, matrix_as_vector(self.scale)])

    @classmethod
    def of_vector(cls, vector: np.ndarray) -> "SharedShape":
        """Return the hyperparameters of a vector."""
        d = columns_of(vector)
        strength, shape = np.exp(np.clip(vector[d : d + 2], -40.0, 40.0))
        scale = vector_as_matrix(vector[d + 2 :], d)
        return cls(vector[:d], float(strength), float(np.clip(shape, *SHAPES)), scale)


class _Sizes(NamedTuple):
    """What clusters say of their own size, given a prior."""

    shape: np.ndarray  # (K,) posterior shape of t
    rate: np.ndarray  # (K,) posterior rate

    @classmethod
    def of(cls, theta: SharedShape, inverse: np.ndarray, scatters: Scatters) -> "_Sizes":
        """Return the Gamma densities of the clusters' t; `inverse` is that of the scale."""
        n, gap = scatters.n, scatters.mean - theta.mean
        within = scatters.scatter.reshape(len(n), -1) @ inverse.ravel()
        within = within + theta.strength * n / (theta.strength + n) * ((gap @ inverse) * gap).sum(axis=1)
        within = np.maximum(within, 0.0)  # an inverse of nearly singular numbers can miss the sign
        return cls(theta.shape + 0.5 * len(theta.mean) * n, theta.shape + 0.5 * within)

    def expected(self) -> np.ndarray:
        """Return the expected t of each cluster."""
        return self.shape / self.rate

    def spread(self) -> float:
        """Return what the best shape follows from: how unequal the t are, one more being 1."""
        log_expected = digamma(self.shape) - np.log(self.rate)
        return float((self.expected() - log_expected - 1.0).sum()) / (len(self.rate) + 1.0)


def log_marginal(theta: SharedShape, scatters: Scatters) -> float:
    """Return the log density of all clusters' rows."""
    n, d = scatters.n, len(theta.mean)
    sizes = _Sizes.of(theta, np.linalg.inv(theta.scale), scatters)
    gammas = gammaln(sizes.shape) - gammaln(theta.shape) + theta.shape * np.log(theta.shape)
    total = gammas - sizes.shape * np.log(sizes.rate) - 0.5 * n * np.linalg.slogdet(theta.scale)[1]
    return float((total + 0.5 * d * (np.log(theta.strength / (theta.strength + n)) - n * LOG_2PI)).sum())


def log_hyperprior(theta: SharedShape) -> float:
    """Return the log density of hyperparameters in the coordinates of the table's frame."""
    like = np.linalg.slogdet(theta.scale)[1] + np.trace(np.linalg.inv(theta.scale))
    even = theta.shape * np.log(theta.shape) - gammaln(theta.shape) - theta.shape
    near = -0.5 * (_LIKE_TABLE * like + theta.mean @ theta.mean)
    return float(even + near) + log_strength_prior(theta.strength)


def em_step(theta: SharedShape, scatters: Scatters, *, is_diagonal: bool) -> SharedShape:
    """Return hyperparameters under which joint and hyperprior are no lower."""
    n, d, inverse = scatters.n, len(theta.mean), np.linalg.inv(theta.scale)
    sizes = _Sizes.of(theta, inverse, scatters)
    expected = sizes.expected()
    weight = expected * theta.strength * n / (theta.strength + n)
    mean = np.linalg.solve(weight.sum() * inverse + np.eye(d), inverse @ (weight @ scatters.mean))
    gap = scatters.mean - mean
    far = expected * ((gap @ inverse) * gap).sum(axis=1)
    strength = _better_strength(theta.strength, n, d, far)
    squares = (expected @ scatters.scatter.reshape(len(n), -1)).reshape(d, d)
    squares = squares + (expected * strength * n / (strength + n) * gap.T) @ gap
    scale = (squares + _LIKE_TABLE * np.eye(d)) / (n.sum() + _LIKE_TABLE)
    scale = np.diag(np.diag(scale)) if is_diagonal else conditioned(0.5 * (scale + scale.T))
    return _resized(SharedShape(mean, strength, shape_for(sizes.spread()), scale), scatters)


def _better_strength(strength: float, n: np.ndarray, d: int, far: np.ndarray) -> float:
    """Return the best strength for centres that are so far from the prior mean, squared, in their units."""

    def slopes(log_strength: float) -> tuple[float, float]:
        c = np.exp(log_strength)
        share = n / (c + n)
        slope = 0.5 * (d * share - c * share**2 * far).sum() + 1.0 - c
        bend = -0.5 * (d * c * share**2 / n + c * share**2 * (1.0 - 2.0 * c / (c + n)) * far).sum() - c
        return float(slope), float(bend)

    return float(np.exp(highest(float(np.log(strength)), slopes, *_STRENGTHS)))


def _resized(theta: SharedShape, scatters: Scatters) -> SharedShape:
    """Return the prior with the best multiple of its scale; EM alone would creep there."""
    inverse, d = np.linalg.inv(theta.scale), len(theta.mean)
    sizes = _Sizes.of(theta, inverse, scatters)
    within, like = sizes.rate - theta.shape, _LIKE_TABLE * np.trace(inverse)
    n_cells = d * (scatters.n.sum() + _LIKE_TABLE)

    def slopes(log_size: float) -> tuple[float, float]:
        shrink = np.exp(-log_size)
        share = within * shrink / (theta.shape + within * shrink)
        slope = sizes.shape @ share - 0.5 * n_cells + 0.5 * like * shrink
        return float(slope), float(-(sizes.shape @ (share * (1.0 - share))) - 0.5 * like * shrink)

    return theta._replace(scale=np.exp(highest(0.0, slopes, -_FARTHEST, _FARTHEST)) * theta.scale)


def learned_shape(
    theta: SharedShape, scatters: Scatters, frame: Frame, least_gain: float, *, is_diagonal: bool
) -> SharedShape:
    """Return the hyperparameters that make joint and hyperprior highest, or are on the way there."""
    inside = scatters.mapped(frame.mean, frame.inverse)
    best = climbed(
        theta.mapped(frame),
        lambda theta: em_step(theta, inside, is_diagonal=is_diagonal),
        lambda theta: log_marginal(theta, inside) + log_hyperprior(theta),
        least_gain,
    )
    return best.mapped_back(frame)
