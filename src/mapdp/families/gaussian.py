"""Knows Gaussian clusters with a full covariance matrix, under a Normal-Wishart prior.

The one idea: each chair carries the Cholesky factor of its posterior scale matrix. A row that comes or
goes changes it by one outer product, and a score is one triangular solve, done for all chairs at once.
"""

import dataclasses
from typing import Self

import numpy as np
from scipy import stats

from mapdp import checks
from mapdp.families.cells import BELL, Cell, Sums
from mapdp.families.gaussian_bank import GaussianBank, Prior
from mapdp.family import SCALE_HINT, Located, Parameters
from mapdp.linalg import is_positive_definite
from mapdp.moments import column_moments


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

    def __post_init__(self) -> None:
        mean = checks.real_vector("mean", self.mean)
        scale = np.atleast_2d(np.array(self.scale, dtype=np.float64))
        if scale.shape != (len(mean), len(mean)) or not is_positive_definite(scale):
            raise ValueError(
                f"scale must be a symmetric positive definite {len(mean)} x {len(mean)} matrix, "
                f"got shape {scale.shape}. Hint: the covariance of the data is a good start."
            )
        if not self.dof > len(mean) - 1:
            raise ValueError(f"dof must be above {len(mean) - 1}, got {self.dof}. Hint: columns + 2.")
        checks.positive("strength", self.strength, "10 / N lets centres roam the data.")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "scale", scale)

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

    @property
    def scratch_rows(self) -> int:  # type: ignore[override]
        """Scoring solves for D residuals."""
        return self.n_features

    def _spread(self, n_features: int) -> Self:
        mean, scale = np.repeat(self.mean, n_features), self.scale[0, 0] * np.eye(n_features)
        return dataclasses.replace(self, mean=mean, dof=self.dof + n_features - 1, scale=scale)

    def new_bank(self, capacity: int) -> GaussianBank:
        """Return the arrays of a bank with `capacity` chairs."""
        d = self.n_features
        factor = np.linalg.cholesky(self.scale)
        pivots = np.diag(factor).copy()
        log_det = 2.0 * float(np.log(pivots).sum())
        prior = Prior(
            float(self.strength), float(self.dof), self.scale, factor, pivots, log_det, np.zeros(d)
        )
        vectors, cubes = (d, capacity), (d, d, capacity)
        shapes = [(capacity,), vectors, cubes, cubes, vectors, vectors, *[(capacity,)] * 5]
        return GaussianBank(prior, *[np.zeros(shape) for shape in shapes])

    def posterior(self, bank: GaussianBank, k: int) -> Self:
        """Return the family whose prior is what chair k knows."""
        return dataclasses.replace(
            self,
            mean=self.mean + bank.mean[:, k],
            strength=self.strength + bank.n[k],
            dof=self.dof + bank.n[k],
            scale=bank.factor[:, :, k] @ bank.factor[:, :, k].T,
        )

    def column(self, j: int) -> Self:
        """Return what the family says of column j by itself."""
        return self.among(np.array([j]))

    @property
    def cell(self) -> Cell:
        """Return the prior of the one column."""
        return Cell(BELL, (float(self.strength), 0.5 * float(self.dof), 0.5 * float(self.scale[0, 0])))

    def without(self, x: np.ndarray) -> Self:
        """Return the family as it was before it learned row x."""
        strength = self.strength - 1.0
        mean = (self.strength * self.mean - x) / strength
        gap = x - mean
        scale = self.scale - strength / self.strength * np.outer(gap, gap)
        return type(self)(mean, strength, self.dof - 1.0, scale)

    def among(self, columns: np.ndarray) -> Self:
        """Return what the family says of some of the columns."""
        dof = self.dof - (self.n_features - len(columns))
        return type(self)(self.mean[columns], self.strength, dof, self.scale[np.ix_(columns, columns)])

    def given(self, seen: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of the other columns of a new row, given the values of these."""
        if not len(seen):
            summary = self.summary()
            return summary["mean"], summary["variance"]
        others = np.setdiff1d(np.arange(self.n_features), seen)
        across = self.scale[np.ix_(others, seen)]
        slope = np.linalg.solve(self.scale[np.ix_(seen, seen)], across.T).T
        gap, part = values - self.mean[seen], self.among(seen)
        far = gap @ np.linalg.solve(part.scale, gap) * self.strength / (self.strength + 1.0)
        rest = np.diag(self.scale)[others] - (slope * across).sum(axis=1)
        room = self.dof - len(others) - 1.0  # degrees of freedom of the others, less two
        spread = rest * (self.strength + 1.0) / self.strength * (1.0 + far)
        return self.mean[others] + slope @ gap, spread / max(room, 1e-9)

    def sums(self, bank: GaussianBank, k: int) -> list[Sums]:
        """Return what each column of chair k knows by itself."""
        n, centre = bank.n[k], bank.centre[:, k]
        squares = np.diag(bank.scatter[:, :, k]) + n * centre**2
        return [Sums(n, *column) for column in zip(n * centre, squares, strict=True)]

    def summary(self) -> dict[str, np.ndarray]:
        """Return mean, variance and covariance of the predictive (infinite where dof <= D + 1)."""
        room = self.dof - self.n_features - 1.0
        spread = self.scale * (self.strength + 1.0) / self.strength
        covariance = spread / room if room > 0.0 else np.full_like(spread, np.inf)
        return {"mean": self.mean, "variance": np.diag(covariance), "covariance": covariance}

    def sample_parameters(self, n: int, rng: np.random.Generator) -> Parameters:
        """Draw centres and covariances of n clusters."""
        draws = stats.invwishart(self.dof, self.scale).rvs(n, random_state=rng)
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
