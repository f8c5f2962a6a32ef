"""Gaussian clusters of one common shape, each of a size of its own.

Rows are mapped so that the common shape is a sphere: the bank is that of `SphericalGaussian`, and a score
costs what a distance costs. Hyperparameters, and all that people see, are in the units of the table.
"""

import dataclasses
import functools
from typing import Any, Self

import numpy as np

from mapdp.data import checks
from mapdp.data.checks import Names
from mapdp.data.moments import column_moments
from mapdp.families.base import SCALE_HINT, Clusters, Family, Parameters
from mapdp.families.columns import Sums, plain_sums
from mapdp.families.gaussian.axes import along_own_axes
from mapdp.families.gaussian.diagonal import DiagonalGaussian
from mapdp.families.gaussian.learn_full import Frame, Scatters, checked_scale, conditioned
from mapdp.families.gaussian.learn_shared import SharedShape, learned_shape, log_hyperprior
from mapdp.families.gaussian.spherical import SphericalGaussianBank, SphericalPrior, spherical_bank
from mapdp.families.gaussian.student import blur_of
from mapdp.families.gaussian.student_rows import (
    log_density_by_length,
    log_determinant,
    squared_lengths,
)


@dataclasses.dataclass(frozen=True, eq=False)
class SharedGaussian(Family):
    """Gaussian clusters with the covariance `scale` / t, where each cluster has a t of its own.

    Parameters
    ----------
    mean : array of shape (D,)
        Prior mean of a cluster's centre.
    strength : float
        How many rows the prior mean is worth.
    shape : float
        Of the Gamma density of t, whose mean is 1: large values make all clusters the same size.
    scale : array of shape (D, D)
        The common shape: the covariance of a cluster of ordinary size.
    resolution : array of shape (D,), default 0.0
        The step that a column's numbers are rounded to, see `DiagonalGaussian`.

    Examples
    --------
    >>> family = SharedGaussian(mean=[0.0], strength=1.0, shape=1.0, scale=[[1.0]])
    >>> round(family.log_marginal([[0.0]]), 6)  # one column: the Normal-Gamma with shape 1, rate 1
    -1.386294
    """

    has_columns = False

    mean: np.ndarray
    strength: float
    shape: float
    scale: np.ndarray
    resolution: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(1))

    def __post_init__(self) -> None:
        mean = checks.real_vector("mean", self.mean)
        scale = checked_scale(self.scale, len(mean))
        checks.positive("strength", self.strength, "10 / N lets centres roam the data.")
        checks.positive("shape", self.shape, "try 1.0.")
        step = np.broadcast_to(checks.steps("resolution", self.resolution), mean.shape)
        for name, value in (("mean", mean), ("scale", scale), ("resolution", np.array(step))):
            object.__setattr__(self, name, value)

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0) -> Self:
        """Sample mean, 10 / N, 1, and the sample covariance.

        `scale` multiplies the standard deviations that a cluster is expected to have.
        """
        X = np.asarray(X, dtype=np.float64)
        mean, variance = column_moments(X)
        centred = np.where(variance > 0.0, X - mean, 0.0)
        squared = checks.positive("scale", scale, SCALE_HINT) ** 2
        return cls(mean, 10.0 / len(X), 1.0, squared * conditioned(centred.T @ centred / len(X)))

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return len(self.mean)

    @functools.cached_property
    def _factor(self) -> np.ndarray:
        """Return the lower Cholesky factor of the shape: x = mean + factor y."""
        return np.linalg.cholesky(self.scale)

    @functools.cached_property
    def _inverse(self) -> np.ndarray:
        return np.linalg.inv(self._factor)

    def _spread(self, n_features: int) -> Self:
        mean, step = np.repeat(self.mean, n_features), np.repeat(self.resolution, n_features)
        return type(self)(mean, self.strength, self.shape, self.scale[0, 0] * np.eye(n_features), step)

    def to_guess_by(self, numbers: np.ndarray, encoded: np.ndarray) -> np.ndarray:
        """Return rows in coordinates that do not depend on how the columns were scaled or turned."""
        return along_own_axes(numbers, self.mean, self.scale)

    def encode(self, X: np.ndarray, names: Names = None) -> np.ndarray:
        """Map rows so that the common shape is a sphere around the prior mean."""
        checks.finite(X, names)
        return np.ascontiguousarray((X - self.mean) @ self._inverse.T)

    def decode(self, X: np.ndarray) -> np.ndarray:
        """Map rows back to the table."""
        return X @ self._factor.T + self.mean

    def new_bank(self, capacity: int) -> SphericalGaussianBank:
        """Return the arrays of a bank with `capacity` chairs."""
        log_det = 2.0 * float(np.log(np.diag(self._factor)).sum())
        ones, gamma = np.ones(self.n_features), (float(self.shape), float(self.shape), self._blur)
        return spherical_bank(SphericalPrior(float(self.strength), ones, log_det, *gamma), capacity)

    @property
    def _blur(self) -> float:
        """Return what rounding adds to the rate for each row."""
        return float((self._inverse**2 @ blur_of(self.resolution)).sum())

    def posterior(self, bank: SphericalGaussianBank, k: int) -> Self:
        """Return the family whose prior is the posterior of chair k."""
        shape = self.shape + 0.5 * self.n_features * bank.n[k]
        return dataclasses.replace(
            self,
            mean=self.mean + self._factor @ bank.mean[:, k],
            strength=self.strength + bank.n[k],
            shape=shape,
            scale=bank.rate[k] / shape * self.scale,
        )

    def column(self, j: int) -> DiagonalGaussian:
        """Return what the family says of column j by itself."""
        rate = self.shape * self.scale[j, j]
        return DiagonalGaussian(self.mean[j], self.strength, self.shape, rate, self.resolution[j])

    def among(self, columns: np.ndarray) -> Self:
        """Return what the family says of some of the columns."""
        scale = self.scale[np.ix_(columns, columns)]
        return type(self)(self.mean[columns], self.strength, self.shape, scale, self.resolution[columns])

    def without(self, x: np.ndarray) -> Self:
        """Return the family as it was before it learned row x of the table."""
        strength, shape = self.strength - 1.0, self.shape - 0.5 * self.n_features
        mean = (self.strength * self.mean - x) / strength
        far = ((self._inverse @ (x - mean)) ** 2).sum() * strength / self.strength
        rate = self.shape - 0.5 * far - self._blur
        return type(self)(mean, strength, shape, rate / shape * self.scale, self.resolution)

    def log_densities(self, seen: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the log density of new rows of which only these columns are known."""
        part = self.among(seen)
        far = squared_lengths(values - part.mean, part.scale)[..., 0]
        size = (len(seen), self.strength, self.shape, self.shape, part._blur)
        return log_density_by_length(far, *size) - 0.5 * log_determinant(part.scale)

    def given(self, seen: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of the other columns of new rows, given the values of these."""
        others = np.setdiff1d(np.arange(self.n_features), seen)
        across, part = self.scale[np.ix_(others, seen)], self.scale[np.ix_(seen, seen)]
        slope, gap = np.linalg.solve(part, across.T).T, values - self.mean[seen]
        far = squared_lengths(gap, part) * self.strength / (self.strength + 1.0)
        rest = np.diag(self.scale)[others] - (slope * across).sum(axis=1)
        room = max(self.shape + 0.5 * len(seen) - 1.0, 1e-9)
        wider = (self.shape + 0.5 * far) / room * (self.strength + 1.0) / self.strength
        return self.mean[others] + gap @ slope.T, rest * wider

    def sums(self, bank: SphericalGaussianBank, k: int) -> Sums:
        """Return the statistics of chair k, column by column; its squares are shared out by the shape."""
        n, total = bank.n[k], self._factor @ bank.sum_high[:, k]
        inverse = 1.0 / max(n, 1.0)
        within = (bank.second_high[:, k] - bank.sum_high[:, k] ** 2 * inverse).sum()
        squares = max(within, 0.0) / self.n_features * np.diag(self.scale)
        return plain_sums(n, total, squares + total**2 * inverse)

    def summary(self) -> dict[str, Any]:
        """Return mean, variance and covariance of the predictive (infinite where shape <= 1)."""
        spread = self.shape * self.scale * (self.strength + 1.0) / self.strength
        covariance = spread / (self.shape - 1.0) if self.shape > 1.0 else np.full_like(spread, np.inf)
        return {"mean": self.mean, "variance": np.diag(covariance), "covariance": covariance}

    def sample_parameters(self, n: int, rng: np.random.Generator) -> Parameters:
        """Draw centres and standard deviations of n clusters, as rows are encoded."""
        deviation = np.sqrt(self.shape / rng.gamma(self.shape, size=(n, 1)))
        shape = (n, self.n_features)
        return rng.normal(0.0, deviation / np.sqrt(self.strength), shape), deviation + np.zeros(shape)

    def sample_rows(self, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
        """Draw one encoded row for each drawn cluster."""
        return rng.normal(*parameters)

    @property
    def n_learned(self) -> int:
        """Return the number of hyperparameters that are learned: mean and shape."""
        return self.n_features + self.n_features * (self.n_features + 1) // 2

    @property
    def _theta(self) -> SharedShape:
        return SharedShape(self.mean, float(self.strength), float(self.shape), self.scale)

    def _scatters(self, clusters: Clusters) -> Scatters:
        """Return what clusters hold in the units of the table: a bank of spheres does not know."""
        scatters = Scatters.of_rows(clusters.rows, clusters.labels, clusters.n_clusters)
        return (
            scatters.mapped(np.zeros(self.n_features), self._factor)
            .moved(self.mean)
            .blurred(self.resolution)
        )

    def learned(self, clusters: Clusters, least_gain: float) -> Self:
        """Return the family with the highest joint of these clusters."""
        scatters = self._scatters(clusters)
        frame = Frame.of(scatters)
        theta = learned_shape(self._theta, scatters, frame, least_gain, is_diagonal=False)
        return type(self)(*theta, self.resolution)

    def log_hyperprior(self, clusters: Clusters) -> float:
        """Return the log density of the hyperparameters beside the whole table."""
        return log_hyperprior(self._theta.mapped(Frame.of(self._scatters(clusters))))
