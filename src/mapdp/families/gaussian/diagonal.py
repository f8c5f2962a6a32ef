"""Gaussian clusters with one variance per column, under a Normal-Gamma prior: the paper's model."""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from mapdp.data import checks
from mapdp.data.moments import column_moments
from mapdp.families.base import SCALE_HINT, Parameters
from mapdp.families.columns import Sums, exact_sums, gathered, no_levels
from mapdp.families.gaussian import learning
from mapdp.families.gaussian.diagonal_bank import DiagonalGaussianBank, DiagonalPrior
from mapdp.families.gaussian.located import Located
from mapdp.families.gaussian.student import StudentColumns, StudentPrior, blur_of, growth


@dataclasses.dataclass(frozen=True, eq=False)
class DiagonalGaussian(Located):
    """Gaussian clusters with independent columns; the Normal-Gamma prior of the paper.

    Parameters
    ----------
    mean : array of shape (D,)
        Prior mean of a cluster's centre (m0).
    strength : float
        How many rows the prior mean is worth (c0).
    shape : float
        Shape of the Gamma prior of the precision (a0).
    rate : array of shape (D,)
        Rate of that Gamma prior, in squared units of the column (b0).
    resolution : array of shape (D,), default 0.0
        The step that a column's numbers are rounded to. A cell then counts with its log density averaged
        over what is rounded to it, so no cluster gains by being narrower than that.

    Examples
    --------
    >>> family = DiagonalGaussian(mean=[0.0], strength=1.0, shape=1.0, rate=[1.0])
    >>> round(family.log_marginal([[0.0]]), 6)  # a Student t with 2 degrees of freedom, scale sqrt 2
    -1.386294
    """

    columns_type: ClassVar[Any] = StudentColumns

    mean: np.ndarray
    strength: float
    shape: float
    rate: np.ndarray
    resolution: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(1))

    def __post_init__(self) -> None:
        mean = checks.real_vector("mean", self.mean)
        rate = checks.positive_vector("rate", self.rate, "the variance of the column is a good start.")
        step = checks.steps("resolution", self.resolution)
        for name, value in zip(
            ("mean", "rate", "resolution"), np.broadcast_arrays(mean, rate, step), strict=True
        ):
            object.__setattr__(self, name, np.array(value))
        checks.positive("strength", self.strength, "10 / N lets centres roam the data.")
        checks.positive("shape", self.shape, "try 1.0.")

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0) -> Self:
        """Choose the paper's prior for real data: sample mean, 10 / N, 1, sample variance.

        `scale` multiplies the standard deviation that a cluster is expected to have. A column that does not
        vary gets the rate 1; the partition does not depend on that value.
        """
        mean, variance = column_moments(np.asarray(X))
        rate = np.where(variance > 0, checks.positive("scale", scale, SCALE_HINT) ** 2 * variance, 1.0)
        return cls(mean=mean, strength=10.0 / len(X), shape=1.0, rate=rate)

    @property
    def widths(self) -> np.ndarray:
        """Return the prior width of a cluster in each column."""
        return np.sqrt(self.rate)

    def new_bank(self, capacity: int) -> DiagonalGaussianBank:
        """Return the arrays of a bank with `capacity` chairs."""
        log_rates = float(np.log(self.rate).sum())
        known = (float(self.strength), float(self.shape), self.rate, 1.0 / self.rate, self.blur, log_rates)
        n, *vectors = np.zeros((4, capacity))
        tables = np.zeros((7, self.n_features, capacity))
        return DiagonalGaussianBank(DiagonalPrior(*known), n, *tables, *vectors)

    @property
    def blur(self) -> np.ndarray:
        """Return what rounding adds to the rate for each cell."""
        return blur_of(self.resolution)

    @classmethod
    def column_prior(cls, columns: Sequence[Self], place: np.ndarray) -> StudentPrior:
        """Return the prior of such columns in a mixed table."""
        return StudentPrior(
            place, no_levels(place), *gathered(columns, "strength", "shape", "rate", "blur")
        )

    def sums(self, bank: DiagonalGaussianBank, k: int) -> Sums:
        """Return the statistics of chair k, column by column."""
        exact = (bank.sum_high, bank.sum_low, bank.second_high, bank.second_low)
        return exact_sums(np.full(self.n_features, bank.n[k]), *[array[:, k] for array in exact])

    def updated(self, sums: Sums) -> Self:
        """Return the posterior after cells with these sums, as a prior; all columns have as many cells."""
        n = float(sums.n[0])
        larger = growth(
            self.strength, 1.0 / self.rate, self.blur, *sums[1:5], n, 1.0 / n if n > 0.0 else 0.0
        )
        strength = self.strength + n
        return dataclasses.replace(
            self,
            mean=self.mean + sums.total / strength,
            strength=strength,
            shape=self.shape + 0.5 * n,
            rate=self.rate * larger,
        )

    @classmethod
    def joined(cls, columns: Sequence[Self]) -> Self:
        """Return one-column families as one; strength and shape are those of the first."""
        mean, rate, step = gathered(columns, "mean", "rate", "resolution")
        return cls(mean, columns[0].strength, columns[0].shape, rate, step)

    @property
    def n_learned(self) -> int:
        """Return the number of hyperparameters that are learned: mean and rate of each column."""
        return 2 * self.n_features

    def learned_from(self, chairs: Sequence[Sums], rows: np.ndarray, least_gain: float) -> Self:
        """Return the family with the highest joint of these clusters; columns share strength and shape."""
        cells = self._cells(chairs)
        mean, strength, shape, rate = learning.learned_normal_gamma(self._theta, cells, least_gain)
        return type(self)(self.mean + mean, strength, shape, rate, self.resolution)

    def log_hyperprior_from(self, chairs: Sequence[Sums]) -> float:
        """Return the log density of the hyperparameters beside the whole table."""
        return learning.log_hyperprior(self._theta, *self._cells(chairs).pooled())

    def _cells(self, chairs: Sequence[Sums]) -> learning.Cells:
        return learning.Cells.of(chairs, self.blur).without_rounding(self.mean)

    @property
    def _theta(self) -> learning.NormalGamma:
        """Return the hyperparameters; statistics are relative to the prior mean, so that is zero."""
        return learning.NormalGamma(
            np.zeros(self.n_features), float(self.strength), float(self.shape), self.rate
        )

    def summary(self) -> dict[str, np.ndarray]:
        """Return mean and variance of the predictive (infinite where shape <= 1)."""
        spread = self.rate * (self.strength + 1.0) / self.strength
        variance = spread / (self.shape - 1.0) if self.shape > 1.0 else np.full_like(spread, np.inf)
        return {"mean": self.mean, "variance": variance}

    def sample_parameters(self, n: int, rng: np.random.Generator) -> Parameters:
        """Draw centres and variances of n clusters."""
        variance = self.rate / rng.gamma(self.shape, size=(n, self.n_features))
        return rng.normal(self.mean, np.sqrt(variance / self.strength)), variance

    def sample_rows(self, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
        """Draw one row for each drawn cluster."""
        mean, variance = parameters
        return rng.normal(mean, np.sqrt(variance))
