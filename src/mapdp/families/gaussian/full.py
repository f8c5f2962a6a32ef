"""Gaussian clusters with a full covariance matrix, under a Normal-Wishart prior."""

import dataclasses
import functools
from typing import Self

import numpy as np
from scipy import stats
from scipy.special import gammaln

from mapdp.compiled.lanes import LANES
from mapdp.data import checks
from mapdp.data.moments import column_moments
from mapdp.families.base import SCALE_HINT, Clusters, Parameters
from mapdp.families.columns import Sums, exact_sums
from mapdp.families.gaussian.axes import along_own_axes
from mapdp.families.gaussian.diagonal import DiagonalGaussian
from mapdp.families.gaussian.full_bank import GaussianBank, GaussianPrior, GaussianScratch
from mapdp.families.gaussian.learn_full import (
    NormalWishart,
    Scatters,
    checked_scale,
    learned_normal_wishart,
    log_hyperprior_of,
)
from mapdp.families.gaussian.located import Located
from mapdp.families.gaussian.student import blur_of
from mapdp.families.gaussian.student_rows import log_determinant, squared_lengths


@dataclasses.dataclass(frozen=True, eq=False)
class Gaussian(Located):
    """Gaussian clusters with full covariance; the Normal-Wishart prior.

    Parameters
    ----------
    mean : array of shape (D,)
        Prior mean of a cluster's centre.
    strength : float
        How many rows the prior mean is worth.
    dof : float
        Degrees of freedom, above D - 1.
    scale : array of shape (D, D)
        Prior sum of squares and products: the expected covariance is scale / (dof - D - 1).
    resolution : array of shape (D,), default 0.0
        The step that a column's numbers are rounded to, see `DiagonalGaussian`.

    Examples
    --------
    >>> family = Gaussian(mean=[0.0], strength=1.0, dof=2.0, scale=[[2.0]])
    >>> round(family.log_marginal([[0.0]]), 6)  # one column: the Normal-Gamma with shape 1, rate 1
    -1.386294
    """

    has_columns = False

    mean: np.ndarray
    strength: float
    dof: float
    scale: np.ndarray
    resolution: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(1))

    def __post_init__(self) -> None:
        mean = checks.real_vector("mean", self.mean)
        scale = checked_scale(self.scale, len(mean))
        if not checks.positive("dof", self.dof, "columns + 2.") > len(mean) - 1:
            raise ValueError(f"dof must be above {len(mean) - 1}, got {self.dof}. Hint: columns + 2.")
        checks.positive_vector("diagonal of scale", np.diag(scale), "the variances of the data.")
        checks.positive("strength", self.strength, "10 / N lets centres roam the data.")
        step = np.broadcast_to(checks.steps("resolution", self.resolution), mean.shape)
        for name, value in (("mean", mean), ("scale", scale), ("resolution", np.array(step))):
            object.__setattr__(self, name, value)

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0) -> Self:
        """Sample mean, 10 / N, D + 1 degrees of freedom, and twice the sample covariance.

        `scale` multiplies the standard deviations that a cluster is expected to have. In one column this
        is the prior of `DiagonalGaussian.empirical`. Where the covariance is singular its diagonal is
        raised until it is not.
        """
        X = np.asarray(X, dtype=np.float64)
        mean, variance = column_moments(X)
        centred = np.where(variance > 0.0, X - mean, 0.0)
        squared = checks.positive("scale", scale, SCALE_HINT) ** 2
        products = _conditioned(2.0 * centred.T @ centred / len(X))
        return cls(mean, 10.0 / len(X), X.shape[1] + 1.0, squared * products)

    def to_guess_by(self, numbers: np.ndarray, encoded: np.ndarray) -> np.ndarray:
        """Return rows in coordinates that do not depend on how the columns were scaled or turned."""
        return along_own_axes(numbers, self.mean, self.scale)

    def scratch(self) -> GaussianScratch:
        """Return room for the residuals of a row."""
        d = self.n_features
        return GaussianScratch(np.zeros((d, LANES)), np.zeros(d), np.zeros((d, d, 1)), np.zeros((d, 1)))

    def _spread(self, n_features: int) -> Self:
        mean, scale = np.repeat(self.mean, n_features), self.scale[0, 0] * np.eye(n_features)
        return dataclasses.replace(self, mean=mean, dof=self.dof + n_features - 1, scale=scale)

    @property
    def widths(self) -> np.ndarray:
        """Return the prior width of a cluster in each column."""
        return np.diag(np.linalg.cholesky(self.scale))

    def new_bank(self, capacity: int) -> GaussianBank:
        """Return the arrays of a bank with `capacity` chairs."""
        d = self.n_features
        factor, *products = np.zeros((3, d, d, capacity))
        others = list(np.zeros((2, *factor.shape))) if self._is_rounded else [factor, factor]
        *sums, mean, pivot, low = np.zeros((5, d, capacity))
        n, *rest = np.zeros((5, capacity))
        arrays = [n, *sums, *products, factor, *others, mean, pivot, low, *rest]
        return GaussianBank(self._prior, *arrays)

    @property
    def _is_rounded(self) -> bool:
        return bool(self.resolution.any())

    @functools.cached_property
    def _prior(self) -> GaussianPrior:
        pivots = np.diag(np.linalg.cholesky(self.scale)).copy()
        log_det = 2.0 * float(np.log(pivots).sum())
        known = (float(self.strength), float(self.dof), self.scale, pivots, log_det)
        return GaussianPrior(*known, 2.0 * blur_of(self.resolution), int(self._is_rounded))

    def posterior(self, bank: GaussianBank, k: int) -> Self:
        """Return the family whose prior is the posterior of chair k."""
        return dataclasses.replace(
            self,
            mean=self.mean + bank.mean[:, k],
            strength=self.strength + bank.n[k],
            dof=self.dof + bank.n[k],
            scale=np.tril(bank.factor[:, :, k]) @ np.tril(bank.factor[:, :, k]).T,
        )

    def column(self, j: int) -> DiagonalGaussian:
        """Return what the family says of column j by itself."""
        one = self.among(np.array([j]))
        shape, rate = 0.5 * one.dof, 0.5 * one.scale[0]
        return DiagonalGaussian(one.mean, one.strength, shape, rate, one.resolution)

    def without(self, x: np.ndarray) -> Self:
        """Return the family as it was before it learned row x."""
        strength = self.strength - 1.0
        mean = (self.strength * self.mean - x) / strength
        gap = x - mean
        scale = self.scale - strength / self.strength * np.outer(gap, gap)
        scale -= np.diag(2.0 * blur_of(self.resolution))
        return type(self)(mean, strength, self.dof - 1.0, scale, self.resolution)

    def among(self, columns: np.ndarray) -> Self:
        """Return what the family says of some of the columns."""
        dof = self.dof - (self.n_features - len(columns))
        scale, steps = self.scale[np.ix_(columns, columns)], self.resolution[columns]
        return type(self)(self.mean[columns], self.strength, dof, scale, steps)

    def log_densities(self, seen: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the log density of new rows of which only these columns are known."""
        n, share = len(seen), self.strength / (self.strength + 1.0)
        dof, part = self.dof - (self.n_features - n), self.scale[np.ix_(seen, seen)]
        blurred = part + np.diag(2.0 * blur_of(self.resolution[seen]))
        far = squared_lengths(values - self.mean[seen], blurred)[..., 0]
        level = (
            gammaln(0.5 * (dof + 1.0)) - gammaln(0.5 * (dof + 1.0 - n)) + 0.5 * n * np.log(share / np.pi)
        )
        after = log_determinant(blurred) + np.log1p(share * far)
        return level + 0.5 * (dof * log_determinant(part) - (dof + 1.0) * after)

    def given(self, seen: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of the other columns of new rows, given the values of these."""
        if not len(seen):
            summary = self.summary()
            return summary["mean"], summary["variance"]
        others = np.setdiff1d(np.arange(self.n_features), seen)
        across = self.scale[np.ix_(others, seen)]
        part, gap = self.scale[np.ix_(seen, seen)], values - self.mean[seen]
        slope = np.linalg.solve(part, across.T).T
        far = squared_lengths(gap, part) * self.strength / (self.strength + 1.0)
        rest = np.diag(self.scale)[others] - (slope * across).sum(axis=1)
        room = self.dof - len(others) - 1.0  # degrees of freedom of the others, less two
        spread = rest * ((self.strength + 1.0) / self.strength * (1.0 + far))
        return self.mean[others] + gap @ slope.T, spread / max(room, 1e-9)

    def sums(self, bank: GaussianBank, k: int) -> Sums:
        """Return the statistics of chair k, column by column."""
        squares = [np.diag(array[:, :, k]) for array in (bank.product_high, bank.product_low)]
        n = np.full(self.n_features, bank.n[k])
        return exact_sums(n, bank.sum_high[:, k], bank.sum_low[:, k], *squares)

    @property
    def n_learned(self) -> int:
        """Return the number of hyperparameters that are learned: mean and scale."""
        return self.n_features + self.n_features * (self.n_features + 1) // 2

    @property
    def _theta(self) -> NormalWishart:
        """Return the hyperparameters; statistics are relative to the prior mean, so that is zero."""
        mean = np.zeros(self.n_features)
        return NormalWishart(mean, float(self.strength), float(self.dof), self.scale)

    def _scatters(self, clusters: Clusters) -> Scatters:
        """Return what clusters hold, relative to the prior mean."""
        bank, some = clusters.bank, slice(clusters.n_clusters)
        sums = [array[:, some].T for array in (bank.sum_high, bank.sum_low)]
        products = [np.moveaxis(array[:, :, some], 2, 0) for array in (bank.product_high, bank.product_low)]
        return Scatters.of_sums(bank.n[some], *sums, *products).blurred(self.resolution)

    def learned(self, clusters: Clusters, least_gain: float) -> Self:
        """Return the family with the highest joint of these clusters."""
        theta = learned_normal_wishart(self._theta, self._scatters(clusters), least_gain)
        return type(self)(self.mean + theta.mean, *theta[1:], self.resolution)

    def log_hyperprior(self, clusters: Clusters) -> float:
        """Return the log density of the hyperparameters beside the whole table."""
        return log_hyperprior_of(self._theta, self._scatters(clusters))

    def summary(self) -> dict[str, np.ndarray]:
        """Return mean, variance and covariance of the predictive (infinite where dof <= D + 1)."""
        room = self.dof - self.n_features - 1.0
        spread = self.scale * (self.strength + 1.0) / self.strength
        covariance = spread / room if room > 0.0 else np.full_like(spread, np.inf)
        return {"mean": self.mean, "variance": np.diag(covariance), "covariance": covariance}

    def sample_parameters(self, n: int, rng: np.random.Generator) -> Parameters:
        """Draw centres and covariances of n clusters."""
        draws = stats.invwishart.rvs(self.dof, self.scale, n, random_state=rng)
        covariance = np.reshape(draws, (n, self.n_features, self.n_features))
        return self.sample_rows((self.mean, covariance / self.strength), rng), covariance

    def sample_rows(self, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
        """Draw one row for each drawn cluster."""
        mean, covariance = parameters
        noise = rng.normal(size=(len(covariance), self.n_features, 1))
        return mean + (np.linalg.cholesky(covariance) @ noise)[:, :, 0]


def _conditioned(scale: np.ndarray) -> np.ndarray:
    """Give columns that do not vary a unit, and raise the diagonal until the matrix has a factor."""
    variance = np.diag(scale)
    unit = np.where(variance > 0.0, variance, 1.0)
    scale = scale + np.diag(unit - variance)
    ridge = 1e-9  # of each column's own variance: far below any scale that a cluster could show
    root = np.sqrt(unit)
    while np.linalg.eigvalsh(scale / root / root[:, None])[0] < 1e-9:
        scale = scale + np.diag(ridge * unit)
        ridge *= 10.0
    return scale
