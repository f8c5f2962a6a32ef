"""Knows Gaussian clusters whose variance is known and the same for all; only their centres differ.

The one idea: it is the model that K-means and DP-means are limits of. A row's score is its squared
distance to the posterior mean, in units of the known variance, and nothing else depends on the row.
"""

import dataclasses
from typing import NamedTuple, Self

import numpy as np

from mapdp import checks, family
from mapdp._jit import inlined
from mapdp._lanes import LANES, load, spread, store
from mapdp.exact import accumulate, added, several, two_product
from mapdp.families.cells import FIXED_BELL, Cell, Sums
from mapdp.family import SCALE_HINT, Located, Parameters
from mapdp.moments import column_moments
from mapdp.special import LOG_2PI, log


class Prior(NamedTuple):
    """Hyperparameters in the form the verbs read."""

    strength: float
    precision: np.ndarray  # (D,) one over the variance
    log_variances: float  # sum over columns of log variance


class FixedGaussianBank(NamedTuple):
    """What the clusters know; rows are measured from the prior mean."""

    prior: Prior
    n: np.ndarray  # (K,) rows
    sum_high: np.ndarray  # (D, K) exact sum of x ...
    sum_low: np.ndarray  # (D, K) ... and what its first part lost
    square_high: np.ndarray  # (K,) exact sum of x^2 / variance over rows and columns
    square_low: np.ndarray  # (K,)
    mean: np.ndarray  # (D, K) posterior mean
    weight: np.ndarray  # (K,) c / (2 (c + 1))
    constant: np.ndarray  # (K,) log density at the mean


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

    def new_bank(self, capacity: int) -> FixedGaussianBank:
        """Return the arrays of a bank with `capacity` chairs."""
        row, table = (capacity,), (self.n_features, capacity)
        log_variances = float(np.log(self.variance).sum())
        prior = Prior(float(self.strength), 1.0 / self.variance, log_variances)
        shapes = [row, table, table, row, row, table, row, row]
        return FixedGaussianBank(prior, *[np.zeros(shape) for shape in shapes])

    def posterior(self, bank: FixedGaussianBank, k: int) -> Self:
        """Return the family whose prior is what chair k knows."""
        mean = self.mean + bank.mean[:, k]
        return dataclasses.replace(self, mean=mean, strength=self.strength + bank.n[k])

    @property
    def cell(self) -> Cell:
        """Return the prior of the one column."""
        return Cell(FIXED_BELL, (float(self.strength), float(self.variance[0])))

    def sums(self, bank: FixedGaussianBank, k: int) -> list[Sums]:
        """Return what each column of chair k knows; squares are as if all its rows were alike."""
        n = max(bank.n[k], 1.0)
        return [Sums(bank.n[k], total, total**2 / n) for total in bank.sum_high[:, k]]

    def learned(self, sums: Sums) -> Self:
        """Return the family of one column after n cells."""
        strength = self.strength + sums.n
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


@family.clear.on(FixedGaussianBank)
def clear(bank, k):
    bank.n[k] = bank.square_high[k] = bank.square_low[k] = 0.0
    for j in range(bank.mean.shape[0]):
        bank.sum_high[j, k] = bank.sum_low[j, k] = 0.0


@inlined
def _add_row(bank, k, x, sign):
    """Add a row to the exact sums of chair k (+1) or take it off (-1)."""
    bank.n[k] += sign
    high, low = bank.square_high[k], bank.square_low[k]
    for j in range(x.shape[0]):
        accumulate(bank.sum_high, bank.sum_low, j, k, sign * x[j], 0.0)
        square, lost = two_product(x[j] * bank.prior.precision[j], x[j])
        high, low = added(high, low, sign * square, sign * lost)
    bank.square_high[k] = high
    bank.square_low[k] = low


@family.insert.on(FixedGaussianBank)
def insert(bank, k, x):
    _add_row(bank, k, x, 1.0)


@family.remove.on(FixedGaussianBank)
def remove(bank, k, x):
    _add_row(bank, k, x, -1.0)


@family.pour.on(FixedGaussianBank)
def pour(bank, k, other, j, times):
    bank.n[k] += times * other.n[j]
    more, lost = several(other.square_high[j], other.square_low[j], times)
    high, low = added(bank.square_high[k], bank.square_low[k], more, lost)
    bank.square_high[k] = high
    bank.square_low[k] = low
    for d in range(bank.mean.shape[0]):
        more, lost = several(other.sum_high[d, j], other.sum_low[d, j], times)
        accumulate(bank.sum_high, bank.sum_low, d, k, more, lost)


@family.refresh.on(FixedGaussianBank)
def refresh(bank, k):
    strength = bank.prior.strength + bank.n[k]
    for j in range(bank.mean.shape[0]):
        bank.mean[j, k] = bank.sum_high[j, k] / strength
    bank.weight[k] = 0.5 * strength / (strength + 1.0)
    bank.constant[k] = _level(bank, strength)


@inlined
def _level(bank, strength):
    """Return the log density of the predictive at its mean."""
    one = LOG_2PI + log((strength + 1.0) / strength)
    return -0.5 * (bank.mean.shape[0] * one + bank.prior.log_variances)


@family.log_predictive.on(FixedGaussianBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    for k in range(0, n_chairs, LANES):
        distance = spread(0.0)
        for j in range(x.shape[0]):
            residual = x[j] - load(bank.mean[j], k)
            distance += bank.prior.precision[j] * (residual * residual)
        density = load(bank.constant, k) - load(bank.weight, k) * distance
        store(scores, k, load(scores, k) + density)


@family.log_leave_one_out.on(FixedGaussianBank)
def log_leave_one_out(bank, k, x):
    strength = bank.prior.strength + bank.n[k]
    distance = 0.0
    for j in range(x.shape[0]):
        residual = x[j] - bank.mean[j, k]
        distance += bank.prior.precision[j] * (residual * residual)
    # Without the row the mean is strength / (strength - 1) times as far from it.
    return _level(bank, strength - 1.0) - 0.5 * strength / (strength - 1.0) * distance


@inlined
def squares_about_posterior(bank, k):
    """Return the weighted squares of chair k about its posterior mean, with the prior mean's pull."""
    inverse = 1.0 / (bank.prior.strength + bank.n[k])
    gap, lost = bank.square_high[k], bank.square_low[k]
    for j in range(bank.mean.shape[0]):
        s = bank.sum_high[j, k] + bank.sum_low[j, k]
        square, rest = two_product(s * bank.prior.precision[j] * inverse, s)
        gap, lost = added(gap, lost, -square, -rest)
    return max(gap + lost, 0.0)


@inlined
def squares_without(bank, k, x):
    """Return the same as if row x had left chair k."""
    inverse = 1.0 / (bank.prior.strength + bank.n[k] - 1.0)
    gap, lost = bank.square_high[k], bank.square_low[k]
    for j in range(x.shape[0]):
        square, rest = two_product(x[j] * bank.prior.precision[j], x[j])
        gap, lost = added(gap, lost, -square, -rest)
        high, low = added(bank.sum_high[j, k], bank.sum_low[j, k], -x[j], 0.0)
        square, rest = two_product((high + low) * bank.prior.precision[j] * inverse, high + low)
        gap, lost = added(gap, lost, -square, -rest)
    return max(gap + lost, 0.0)


@family.log_marginal.on(FixedGaussianBank)
def log_marginal(bank, k):
    n, strength = bank.n[k], bank.prior.strength
    gap = squares_about_posterior(bank, k)
    one = n * LOG_2PI + log((strength + n) / strength)
    return -0.5 * (bank.mean.shape[0] * one + n * bank.prior.log_variances + gap)
