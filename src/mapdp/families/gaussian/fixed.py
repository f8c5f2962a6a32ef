"""Gaussian clusters whose variance is known and the same for all; only their centres differ.

It is the model that K-means and DP-means are limits of.
"""

import dataclasses
from collections.abc import Sequence
from typing import Self

import numpy as np

from mapdp.data import checks
from mapdp.data.moments import column_moments
from mapdp.families.base import SCALE_HINT, Parameters
from mapdp.families.columns import Sums, exact_sums, gathered, no_levels, plain_sums
from mapdp.families.gaussian.fixed_bank import FixedGaussianBank, FixedPrior
from mapdp.families.gaussian.located import Located
from mapdp.families.gaussian.normal import NormalColumns, NormalPrior


@dataclasses.dataclass(frozen=True, eq=False)
class FixedGaussian(Located):
    """Gaussian clusters with a known variance in each column.

    Parameters
    ----------
    mean : array of shape (D,)
        Prior mean of a cluster's centre.
    strength : float
        How many rows the prior mean is worth: a centre's variance is `variance` / `strength`.
    variance : array of shape (D,)
        Variance of a cluster, in squared units of the column.

    Examples
    --------
    >>> family = FixedGaussian(mean=[0.0], strength=1.0, variance=[0.5])
    >>> round(family.log_marginal([[0.0]]), 6)  # a normal density with variance 1 at its mean
    -0.918939
    """

    columns_type = NormalColumns

    mean: np.ndarray
    strength: float
    variance: np.ndarray

    def __post_init__(self) -> None:
        mean = checks.real_vector("mean", self.mean)
        hint = "a tenth of the column's variance looks for tight clusters."
        variance = checks.positive_vector("variance", self.variance, hint)
        mean, variance = (np.array(a) for a in np.broadcast_arrays(mean, variance))
        checks.positive("strength", self.strength, "10 / N lets centres roam the data.")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "variance", variance)

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 0.5) -> Self:
        """Clusters `scale` times as wide as the table, with centres anywhere in it.

        A column that does not vary gets the variance 1; the partition does not depend on that value.
        """
        mean, variance = column_moments(np.asarray(X))
        squared = checks.positive("scale", scale, SCALE_HINT) ** 2
        return cls(mean, squared, np.where(variance > 0, squared * variance, 1.0))

    @property
    def widths(self) -> np.ndarray:
        """Return the prior width of a cluster in each column."""
        return np.sqrt(self.variance)

    def new_bank(self, capacity: int) -> FixedGaussianBank:
        """Return the arrays of a bank with `capacity` chairs."""
        row, table = (capacity,), (self.n_features, capacity)
        log_variances = float(np.log(self.variance).sum())
        prior = FixedPrior(float(self.strength), 1.0 / self.variance, log_variances)
        shapes = [row, table, table, table, table, table, row, row]
        return FixedGaussianBank(prior, *[np.zeros(shape) for shape in shapes])

    @classmethod
    def column_prior(cls, columns: Sequence[Self], place: np.ndarray) -> NormalPrior:
        """Return the prior of such columns in a mixed table."""
        return NormalPrior(place, no_levels(place), *gathered(columns, "strength", "variance"))

    def sums(self, bank: FixedGaussianBank, k: int) -> Sums:
        """Return the statistics of chair k; squares are as if all its rows were alike."""
        total = bank.sum_high[:, k]
        return plain_sums(bank.n[k], total, total**2 / max(bank.n[k], 1.0))

    def all_sums(self, bank: FixedGaussianBank, k: int) -> Sums:
        """Return the statistics of chair k with its squares."""
        exact = (bank.sum_high, bank.sum_low, bank.second_high, bank.second_low)
        return exact_sums(np.full(self.n_features, bank.n[k]), *[array[:, k] for array in exact])

    def updated(self, sums: Sums) -> Self:
        """Return the posterior after cells with these sums, as a prior; all columns have as many cells."""
        strength = self.strength + float(sums.n[0])
        return dataclasses.replace(self, mean=self.mean + sums.total / strength, strength=strength)

    def summary(self) -> dict[str, np.ndarray]:
        """Return mean and variance of the predictive."""
        return {"mean": self.mean, "variance": self.variance * (1.0 + 1.0 / self.strength)}

    def sample_parameters(self, n: int, rng: np.random.Generator) -> Parameters:
        """Draw the centres of n clusters."""
        spread_of_centres = np.sqrt(self.variance / self.strength)
        return (rng.normal(self.mean, spread_of_centres, size=(n, self.n_features)),)

    def sample_rows(self, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
        """Draw one row for each drawn cluster."""
        return rng.normal(parameters[0], np.sqrt(self.variance))
