"""Knows Gaussian clusters that are round: one unknown variance for all columns, in units of each.

The one idea: it keeps what the Gaussian of known variance keeps, and the unknown variance turns its normal
predictive into a Student t with as many rows as there are cells.
"""

import dataclasses
from typing import NamedTuple, Self

import numpy as np

from mapdp import checks, family
from mapdp._lanes import LANES, load, spread, store
from mapdp.families import fixed_gaussian as fixed
from mapdp.families.cells import BELL, Cell, Sums
from mapdp.family import SCALE_HINT, Located, Parameters
from mapdp.moments import column_moments
from mapdp.special import LOG_2PI, log, log_rising

_SPENT = 1e-4  # below this share of the rate, what remains without a row is worked out from the sums


class Prior(NamedTuple):
    """Hyperparameters in the form the verbs read."""

    strength: float
    precision: np.ndarray  # (D,) one over the squared width of a column
    log_variances: float  # sum over columns of the log of the squared width
    shape: float
    rate: float


class SphericalGaussianBank(NamedTuple):
    """What the clusters know; rows are measured from the prior mean."""

    prior: Prior
    n: np.ndarray  # (K,) rows
    sum_high: np.ndarray  # (D, K) exact sum of x ...
    sum_low: np.ndarray  # (D, K) ... and what its first part lost
    square_high: np.ndarray  # (K,) exact sum of (x / width)^2 over rows and columns
    square_low: np.ndarray  # (K,)
    mean: np.ndarray  # (D, K) posterior mean
    rate: np.ndarray  # (K,) posterior rate
    weight: np.ndarray  # (K,) c / (2 b (c + 1))
    power: np.ndarray  # (K,) a + D / 2
    constant: np.ndarray  # (K,) log density at the mean


@dataclasses.dataclass(frozen=True, eq=False)
class SphericalGaussian(Located):
    """Gaussian clusters with the same variance in every column, unknown and their own.

    Parameters
    ----------
    mean : array of shape (D,)
        Prior mean of a cluster's centre.
    strength : float
        How many rows the prior mean is worth.
    shape, rate : float
        Of the Gamma prior of a cluster's precision.
    width : array of shape (D,), default 1.0
        Unit of each column: a cluster's standard deviation there is `width` times its own.

    Examples
    --------
    >>> family = SphericalGaussian(mean=[0.0], strength=1.0, shape=1.0, rate=1.0)
    >>> round(family.log_marginal([[0.0]]), 6)  # one column: the Normal-Gamma
    -1.386294
    """

    has_columns = False

    mean: np.ndarray
    strength: float
    shape: float
    rate: float
    width: np.ndarray = dataclasses.field(default_factory=lambda: np.ones(1))

    def __post_init__(self) -> None:
        mean = checks.real_vector("mean", self.mean)
        width = checks.positive_vector("width", self.width, "the standard deviation of the column.")
        mean, width = (np.array(a) for a in np.broadcast_arrays(mean, width))
        checks.positive("strength", self.strength, "10 / N lets centres roam the data.")
        checks.positive("shape", self.shape, "try 1.0.")
        checks.positive("rate", self.rate, "1.0 expects clusters as wide as `width`.")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "width", width)

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0) -> Self:
        """Sample mean, 10 / N, 1, 1, and the standard deviation of each column as its width.

        `scale` multiplies the standard deviation that a cluster is expected to have.
        """
        mean, variance = column_moments(np.asarray(X))
        rate = checks.positive("scale", scale, SCALE_HINT) ** 2
        return cls(mean, 10.0 / len(X), 1.0, rate, np.sqrt(np.where(variance > 0, variance, 1.0)))

    def new_bank(self, capacity: int) -> SphericalGaussianBank:
        """Return the arrays of a bank with `capacity` chairs."""
        row, table = (capacity,), (self.n_features, capacity)
        precision, log_variances = self.width**-2.0, 2.0 * float(np.log(self.width).sum())
        gamma = (float(self.shape), float(self.rate))
        prior = Prior(float(self.strength), precision, log_variances, *gamma)
        shapes = [row, table, table, row, row, table, row, row, row, row]
        return SphericalGaussianBank(prior, *[np.zeros(shape) for shape in shapes])

    def posterior(self, bank: SphericalGaussianBank, k: int) -> Self:
        """Return the family whose prior is what chair k knows."""
        return dataclasses.replace(
            self,
            mean=self.mean + bank.mean[:, k],
            strength=self.strength + bank.n[k],
            shape=self.shape + 0.5 * self.n_features * bank.n[k],
            rate=float(bank.rate[k]),
        )

    def column(self, j: int) -> Self:
        """Return what the family says of column j by itself."""
        return self.among(np.array([j]))

    @property
    def cell(self) -> Cell:
        """Return the prior of the one column."""
        rate = float(self.rate * self.width[0] ** 2)
        return Cell(BELL, (float(self.strength), float(self.shape), rate))

    def without(self, x: np.ndarray) -> Self:
        """Return the family as it was before it learned row x."""
        strength = self.strength - 1.0
        mean = (self.strength * self.mean - x) / strength
        far = (((x - mean) / self.width) ** 2).sum() * strength / self.strength
        shape = self.shape - 0.5 * self.n_features
        return type(self)(mean, strength, shape, self.rate - 0.5 * far, self.width)

    def among(self, columns: np.ndarray) -> Self:
        """Return what the family says of some of the columns."""
        return dataclasses.replace(self, mean=self.mean[columns], width=self.width[columns])

    def given(self, seen: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of the other columns of a new row, given the values of these."""
        others = np.setdiff1d(np.arange(self.n_features), seen)
        far = (((values - self.mean[seen]) / self.width[seen]) ** 2).sum()
        rate = self.rate + 0.5 * far * self.strength / (self.strength + 1.0)
        room = max(self.shape + 0.5 * len(seen) - 1.0, 1e-9)
        variance = rate / room * (self.strength + 1.0) / self.strength * self.width[others] ** 2
        return self.mean[others], variance

    def sums(self, bank: SphericalGaussianBank, k: int) -> list[Sums]:
        """Return what each column of chair k knows; its squares are shared out evenly."""
        n, totals = max(bank.n[k], 1.0), bank.sum_high[:, k]
        within = bank.square_high[k] - ((totals / self.width) ** 2).sum() / n
        squares = max(within, 0.0) / self.n_features * self.width**2 + totals**2 / n
        return [Sums(bank.n[k], *column) for column in zip(totals, squares, strict=True)]

    def summary(self) -> dict[str, np.ndarray]:
        """Return mean and variance of the predictive (infinite where shape <= 1)."""
        spread_ = self.rate * self.width**2 * (self.strength + 1.0) / self.strength
        variance = spread_ / (self.shape - 1.0) if self.shape > 1.0 else np.full_like(spread_, np.inf)
        return {"mean": self.mean, "variance": variance}

    def sample_parameters(self, n: int, rng: np.random.Generator) -> Parameters:
        """Draw centres and standard deviations of n clusters."""
        deviation = np.sqrt(self.rate / rng.gamma(self.shape, size=(n, 1))) * self.width
        return rng.normal(self.mean, deviation / np.sqrt(self.strength)), deviation

    def sample_rows(self, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
        """Draw one row for each drawn cluster."""
        return rng.normal(*parameters)


family.clear.on(SphericalGaussianBank)(fixed.clear)
family.insert.on(SphericalGaussianBank)(fixed.insert)
family.remove.on(SphericalGaussianBank)(fixed.remove)
family.pour.on(SphericalGaussianBank)(fixed.pour)


@family.refresh.on(SphericalGaussianBank)
def refresh(bank, k):
    prior, cells = bank.prior, float(bank.mean.shape[0])
    strength, shape = prior.strength + bank.n[k], prior.shape + 0.5 * cells * bank.n[k]
    for j in range(bank.mean.shape[0]):
        bank.mean[j, k] = bank.sum_high[j, k] / strength
    bank.rate[k] = prior.rate + 0.5 * fixed.squares_about_posterior(bank, k)
    share = strength / (strength + 1.0)
    bank.weight[k] = 0.5 * share / bank.rate[k]
    bank.power[k] = shape + 0.5 * cells
    level = log_rising(shape, 0.5 * cells) + 0.5 * cells * (log(share / bank.rate[k]) - LOG_2PI)
    bank.constant[k] = level - 0.5 * prior.log_variances


@family.log_predictive.on(SphericalGaussianBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    for k in range(0, n_chairs, LANES):
        distance = spread(0.0)
        for j in range(x.shape[0]):
            residual = x[j] - load(bank.mean[j], k)
            distance += bank.prior.precision[j] * (residual * residual)
        fall = load(bank.power, k) * log(1.0 + load(bank.weight, k) * distance)
        store(scores, k, load(scores, k) + (load(bank.constant, k) - fall))


@family.log_leave_one_out.on(SphericalGaussianBank)
def log_leave_one_out(bank, k, x):
    prior, cells = bank.prior, float(x.shape[0])
    strength, distance = prior.strength + bank.n[k], 0.0
    for j in range(x.shape[0]):
        residual = x[j] - bank.mean[j, k]
        distance += prior.precision[j] * (residual * residual)
    kept = bank.rate[k] - 0.5 * strength / (strength - 1.0) * distance
    if kept < _SPENT * bank.rate[k]:
        kept = prior.rate + 0.5 * fixed.squares_without(bank, k, x)
    shape = prior.shape + 0.5 * cells * (bank.n[k] - 1.0)
    level = log_rising(shape, 0.5 * cells) + 0.5 * cells * (log((strength - 1.0) / strength) - LOG_2PI)
    fall = shape * log(kept) - (shape + 0.5 * cells) * log(bank.rate[k])
    return level - 0.5 * prior.log_variances + fall


@family.log_marginal.on(SphericalGaussianBank)
def log_marginal(bank, k):
    prior, n, cells = bank.prior, bank.n[k], float(bank.mean.shape[0])
    shape = prior.shape + 0.5 * cells * n
    growth = 0.5 * fixed.squares_about_posterior(bank, k) / prior.rate
    one = n * (LOG_2PI + log(prior.rate)) + log((prior.strength + n) / prior.strength)
    level = log_rising(prior.shape, 0.5 * cells * n) - 0.5 * (cells * one + n * prior.log_variances)
    return level - shape * log(1.0 + growth)
