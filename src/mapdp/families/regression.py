"""Clusters of rows that share a regression line, under a Normal-inverse-gamma prior.

Features are given: only the target has a density, which is a Student t around the line.
"""

import dataclasses
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln

from mapdp.data import checks
from mapdp.data.checks import Names
from mapdp.families.base import SCALE_HINT, Clusters, Family
from mapdp.families.columns import Sums, tallied
from mapdp.families.regression_bank import RegressionBank, RegressionPrior, new_regression_bank

_SPREAD = 2.0  # standard deviation of the logarithms of strength and shape, where they are learned
_NOISE = 0.1  # variance around a line that is expected, as a share of the target's


@dataclasses.dataclass(frozen=True, eq=False)
class LinearRegression(Family):
    """Rows whose target depends linearly on the other columns, in each cluster by other coefficients.

    Parameters
    ----------
    centre, width : arrays of shape (D,)
        What is subtracted from each column, and what features are then divided by.
    strength : float
        Prior precision of the coefficients, beside that of the noise.
    shape, rate : float
        Gamma prior of the precision of the noise.
    target : int, default -1
        The column that is explained; all others are features.

    Examples
    --------
    >>> x = np.linspace(0.0, 1.0, 30)
    >>> X = np.column_stack([x, 3.0 * x + 1.0])
    >>> family = LinearRegression.empirical(X)
    >>> near, far = family.log_predictive([0.5, 2.5], X), family.log_predictive([0.5, 1.5], X)
    >>> near > far
    True
    """

    has_columns = False
    is_whole = True
    has_words = True

    centre: np.ndarray
    width: np.ndarray
    strength: float
    shape: float
    rate: float
    target: int = -1

    def __post_init__(self) -> None:
        centre = checks.real_vector("centre", self.centre)
        width = checks.positive_vector("width", self.width, "1.0 leaves features as they are.")
        if len(centre) < 2 or len(width) != len(centre) or not -len(centre) <= self.target < len(centre):
            raise ValueError(
                f"LinearRegression needs a feature and a target, got {len(centre)} columns and "
                f"target {self.target}. Hint: the target is the last column, or the one that is named."
            )
        for name in ("strength", "shape", "rate"):
            object.__setattr__(self, name, checks.positive(name, getattr(self, name), SCALE_HINT))
        object.__setattr__(self, "centre", centre)
        object.__setattr__(self, "width", width)

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0, target: int = -1) -> Self:
        """Expect coefficients as of the table, and a tenth of the target's variance as noise.

        `scale` multiplies the width of the noise.
        """
        rows = np.asarray(X, dtype=np.float64)
        checks.finite(rows, None)
        width = rows.std(axis=0)
        width = np.where(width > 0.0, width, 1.0)
        noise = _NOISE * (checks.positive("scale", scale, SCALE_HINT) * width[target]) ** 2
        return cls(rows.mean(axis=0), width, _NOISE, 1.0, noise, target)

    @property
    def n_features(self) -> int:
        """Return the number of columns, the target's among them."""
        return len(self.centre)

    @property
    def n_cells(self) -> int:
        """Return the number of cells of an encoded row: a 1, the features, the target."""
        return self.n_features + 1

    @property
    def n_described(self) -> int:
        """Clusters are described by their lines."""
        return 1

    def _spread(self, n_features: int) -> Self:
        raise ValueError(f"LinearRegression describes {self.n_features} columns, but X has {n_features}.")

    def encode(self, X: np.ndarray, names: Names = None) -> np.ndarray:
        """Return a 1, the features in units of their width, and the target from its centre."""
        checks.finite(X, names)
        moved = X - self.centre
        features = np.delete(moved / self.width, self.target, axis=1)
        return np.column_stack([np.ones(len(X)), features, moved[:, self.target]])

    def new_bank(self, capacity: int) -> RegressionBank:
        """Return the arrays of a bank with `capacity` chairs."""
        prior = RegressionPrior(self.strength, self.shape, self.rate)
        return new_regression_bank(prior, self.n_features, capacity)

    def sums(self, bank: RegressionBank, k: int) -> Sums:
        """Return all sums of products of chair k as one tally."""
        parts = (bank.products[:, :, k].ravel(), bank.with_target[:, k], bank.squares[k : k + 1])
        return tallied(bank.n[k], [np.concatenate(parts)])

    def _posterior(self, sums: Sums) -> tuple[np.ndarray, np.ndarray, float, float]:
        """Return precision and mean of the coefficients, shape and rate of the noise, after these sums."""
        size, tally = self.n_features, sums.tallies[0]
        precision = tally[: size * size].reshape(size, size) + self.strength * np.eye(size)
        with_target = tally[size * size : -1]
        mean = np.linalg.solve(precision, with_target)
        rate = self.rate + 0.5 * max(tally[-1] - with_target @ mean, 0.0)
        return precision, mean, self.shape + 0.5 * float(sums.n[0]), rate

    def log_marginal_of(self, sums: Sums) -> float:
        """Return the log marginal density of rows with these sums."""
        precision, _, shape, rate = self._posterior(sums)
        log_det = np.linalg.slogdet(precision)[1] - self.n_features * np.log(self.strength)
        noise = gammaln(shape) - gammaln(self.shape) + self.shape * np.log(self.rate) - shape * np.log(rate)
        return float(noise - 0.5 * log_det - 0.5 * sums.n[0] * np.log(2.0 * np.pi))

    def learned(self, clusters: Clusters, least_gain: float) -> Self:
        """Return the family whose strength, shape and rate make these clusters most probable."""
        chairs = clusters.sums(self)

        def loss(logs: np.ndarray) -> float:
            family = self._with(np.clip(logs, -20.0, 20.0))
            return -sum(family.log_marginal_of(sums) for sums in chairs) - family.log_hyperprior(clusters)

        start = np.log([self.strength, self.shape, self.rate])
        simplex = start + np.eye(4, 3, -1)  # a nat wide: by default almost flat where a logarithm is near 0
        options = {"fatol": least_gain, "xatol": 0.01, "initial_simplex": simplex}
        found = minimize(loss, start, method="Nelder-Mead", options=options)
        return self._with(found.x) if found.fun < loss(start) else self

    def _with(self, logs: np.ndarray) -> Self:
        strength, shape, rate = np.exp(logs).tolist()
        return dataclasses.replace(self, strength=strength, shape=shape, rate=rate)

    def log_hyperprior(self, clusters: Clusters) -> float:
        """Return the log density of strength and shape; the noise may be of any size."""
        return float(-0.5 * (np.log([self.strength, self.shape]) ** 2).sum() / _SPREAD**2)

    @property
    def n_learned(self) -> int:
        """Return the number of hyperparameters that are learned."""
        return 3

    def line(self, bank: RegressionBank, k: int) -> tuple[float, np.ndarray]:
        """Return intercept and slopes of cluster k, for columns as they are."""
        return self._line(self.sums(bank, k))

    def _line(self, sums: Sums) -> tuple[float, np.ndarray]:
        mean = self._posterior(sums)[1]
        slopes = mean[1:] / np.delete(self.width, self.target)
        at_centre = mean[0] + self.centre[self.target]
        return float(at_centre - slopes @ np.delete(self.centre, self.target)), slopes

    def in_words(self, sums: Sums) -> str:
        """Return the line."""
        intercept, slopes = self._line(sums)
        _, _, shape, rate = self._posterior(sums)
        noise = np.sqrt(rate / shape)
        return f"{intercept:.4g}, slopes {', '.join(f'{one:.4g}' for one in slopes)} (± {noise:.2g})"

    def posterior(self, bank: RegressionBank, k: int) -> Self:
        """A line that was learned is no prior of this family."""
        raise _no_features()

    def summary(self) -> dict[str, Any]:
        """Return what is expected of the noise."""
        return {"noise": self.rate / self.shape}

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """There is nothing to draw features from."""
        raise _no_features()


def _no_features() -> ValueError:
    """Return what is raised where rows are to be drawn."""
    return ValueError("LinearRegression explains a target and cannot draw features. Hint: predict_target.")
