"""Round Gaussian clusters: one unknown variance for all columns, each in its own unit.

The statistics are those of the Gaussian of known variance; the unknown variance turns its normal
predictive into a Student t with as many observations as there are cells.
"""

import dataclasses
from typing import NamedTuple, Self

import numpy as np

from mapdp.compiled.exact import squares_about_mean
from mapdp.compiled.lanes import LANES, load, spread, store
from mapdp.compiled.special import LOG_2PI, log, log_rising
from mapdp.data import checks
from mapdp.data.moments import column_moments
from mapdp.families import verbs
from mapdp.families.base import SCALE_HINT, Clusters, Parameters
from mapdp.families.columns import Sums, plain_sums
from mapdp.families.gaussian import diagonal_bank as diagonal
from mapdp.families.gaussian import fixed_bank as fixed
from mapdp.families.gaussian.diagonal import DiagonalGaussian
from mapdp.families.gaussian.learn_full import Frame, Scatters
from mapdp.families.gaussian.learn_shared import SharedShape, learned_shape, log_hyperprior
from mapdp.families.gaussian.learning import Cells
from mapdp.families.gaussian.located import Located
from mapdp.families.gaussian.student import blur_of, inverse_of
from mapdp.families.gaussian.student_rows import log_density_by_length

_SPENT = 1e-4  # below this share of the rate, what remains without a row is worked out from the sums


class SphericalPrior(NamedTuple):
    """Hyperparameters in the form the verbs read."""

    strength: float
    precision: np.ndarray  # (D,) one over the squared width of a column
    log_variances: float  # sum over columns of the log of the squared width
    shape: float
    rate: float
    blur: float  # what rounding adds to the rate for each row


class SphericalGaussianBank(NamedTuple):
    """The statistics and cached predictives of all chairs; rows are measured from the prior mean."""

    prior: SphericalPrior
    n: np.ndarray  # (K,) rows
    sum_high: np.ndarray  # (D, K) exact sum of x ...
    sum_low: np.ndarray  # (D, K) ... and what its first part lost
    second_high: np.ndarray  # (D, K) exact sum of x^2
    second_low: np.ndarray  # (D, K)
    mean: np.ndarray  # (D, K) posterior mean
    rate: np.ndarray  # (K,) posterior rate
    weight: np.ndarray  # (K,) c / (2 (b + blur) (c + 1))
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
    resolution : array of shape (D,), default 0.0
        The step that a column's numbers are rounded to, see `DiagonalGaussian`.

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
    resolution: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(1))

    def __post_init__(self) -> None:
        mean = checks.real_vector("mean", self.mean)
        width = checks.positive_vector("width", self.width, "the standard deviation of the column.")
        checks.positive_vector("squared width", width**2, "the variance of the column.")
        step = checks.steps("resolution", self.resolution)
        mean, width, step = (np.array(a) for a in np.broadcast_arrays(mean, width, step))
        checks.positive("strength", self.strength, "10 / N lets centres roam the data.")
        checks.positive("shape", self.shape, "try 1.0.")
        checks.positive("rate", self.rate, "1.0 expects clusters as wide as `width`.")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "width", width)
        object.__setattr__(self, "resolution", step)

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0) -> Self:
        """Sample mean, 10 / N, 1, 1, and the standard deviation of each column as its width.

        `scale` multiplies the standard deviation that a cluster is expected to have.
        """
        mean, variance = column_moments(np.asarray(X))
        rate = checks.positive("scale", scale, SCALE_HINT) ** 2
        return cls(mean, 10.0 / len(X), 1.0, rate, np.sqrt(np.where(variance > 0, variance, 1.0)))

    @property
    def widths(self) -> np.ndarray:
        """Return the prior width of a cluster in each column."""
        return self.width * np.sqrt(self.rate)

    def new_bank(self, capacity: int) -> SphericalGaussianBank:
        """Return the arrays of a bank with `capacity` chairs."""
        precision, log_variances = self.width**-2.0, 2.0 * float(np.log(self.width).sum())
        blur = float((precision * blur_of(self.resolution)).sum())
        gamma = (float(self.shape), float(self.rate), blur)
        return spherical_bank(
            SphericalPrior(float(self.strength), precision, log_variances, *gamma), capacity
        )

    def posterior(self, bank: SphericalGaussianBank, k: int) -> Self:
        """Return the family whose prior is the posterior of chair k."""
        return dataclasses.replace(
            self,
            mean=self.mean + bank.mean[:, k],
            strength=self.strength + bank.n[k],
            shape=self.shape + 0.5 * self.n_features * bank.n[k],
            rate=float(bank.rate[k]),
        )

    def column(self, j: int) -> DiagonalGaussian:
        """Return what the family says of column j by itself."""
        rate = self.rate * self.width[j] ** 2
        return DiagonalGaussian(self.mean[j], self.strength, self.shape, rate, self.resolution[j])

    def without(self, x: np.ndarray) -> Self:
        """Return the family as it was before it learned row x."""
        strength = self.strength - 1.0
        mean = (self.strength * self.mean - x) / strength
        far = (((x - mean) / self.width) ** 2).sum() * strength / self.strength
        shape = self.shape - 0.5 * self.n_features
        rate = self.rate - 0.5 * far - (blur_of(self.resolution) / self.width**2).sum()
        return type(self)(mean, strength, shape, rate, self.width, self.resolution)

    def log_densities(self, seen: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the log density of new rows of which only these columns are known."""
        width = self.width[seen]
        far = (((values - self.mean[seen]) / width) ** 2).sum(axis=-1)
        blur = float((blur_of(self.resolution[seen]) / width**2).sum())
        size = (len(seen), self.strength, self.shape, self.rate, blur)
        return log_density_by_length(far, *size) - float(np.log(width).sum())

    def given(self, seen: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of the other columns of new rows, given the values of these."""
        others = np.setdiff1d(np.arange(self.n_features), seen)
        far = (((values - self.mean[seen]) / self.width[seen]) ** 2).sum(axis=-1, keepdims=True)
        rate = self.rate + 0.5 * far * self.strength / (self.strength + 1.0)
        room = max(self.shape + 0.5 * len(seen) - 1.0, 1e-9)
        variance = rate / room * (self.strength + 1.0) / self.strength * self.width[others] ** 2
        return np.broadcast_to(self.mean[others], variance.shape), variance

    def sums(self, bank: SphericalGaussianBank, k: int) -> Sums:
        """Return the statistics of chair k, column by column; its squares are shared out evenly."""
        n, totals, inverse_n = bank.n[k], bank.sum_high[:, k], inverse_of(bank.n[k])
        exact = (bank.sum_high, bank.sum_low, bank.second_high, bank.second_low)
        within = squares_about_mean(*[array[:, k] for array in exact], n, inverse_n) / self.width**2
        return plain_sums(n, totals, within.mean() * self.width**2 + totals**2 * inverse_n)

    @property
    def n_learned(self) -> int:
        """Return the number of hyperparameters that are learned: mean and width of each column."""
        return 2 * self.n_features

    @property
    def _theta(self) -> SharedShape:
        scale = np.diag(self.rate / self.shape * self.width**2)
        return SharedShape(self.mean, float(self.strength), float(self.shape), scale)

    def _scatters(self, clusters: Clusters) -> Scatters:
        """Return what clusters hold; columns are independent given a cluster's size, so squares suffice."""
        bank, some = clusters.bank, slice(clusters.n_clusters)
        exact = (bank.sum_high, bank.sum_low, bank.second_high, bank.second_low)
        total, lost, second, second_lost = (array[:, some].T for array in exact)
        blur = blur_of(self.resolution)
        cells = Cells.of_sums(bank.n[some, None], total, lost, second, second_lost, blur)
        squares = cells.squares[:, :, None] * np.eye(self.n_features)
        return Scatters(bank.n[some].copy(), self.mean + cells.mean, squares)

    def learned(self, clusters: Clusters, least_gain: float) -> Self:
        """Return the family with the highest joint of these clusters."""
        scatters = self._scatters(clusters)
        frame = Frame.of_columns(scatters)
        theta = learned_shape(self._theta, scatters, frame, least_gain, is_diagonal=True)
        width = np.sqrt(np.diag(theta.scale))
        return type(self)(theta.mean, theta.strength, theta.shape, theta.shape, width, self.resolution)

    def log_hyperprior(self, clusters: Clusters) -> float:
        """Return the log density of the hyperparameters beside the whole table."""
        return log_hyperprior(self._theta.mapped(Frame.of_columns(self._scatters(clusters))))

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


def spherical_bank(prior: SphericalPrior, capacity: int) -> SphericalGaussianBank:
    """Return the arrays of a bank with `capacity` chairs."""
    row, table = (capacity,), (len(prior.precision), capacity)
    shapes = [row, table, table, table, table, table, row, row, row, row]
    return SphericalGaussianBank(prior, *[np.zeros(shape) for shape in shapes])


verbs.clear.on(SphericalGaussianBank)(diagonal.clear)
verbs.insert.on(SphericalGaussianBank)(diagonal.insert)
verbs.remove.on(SphericalGaussianBank)(diagonal.remove)
verbs.pour.on(SphericalGaussianBank)(diagonal.pour)


@verbs.refresh.on(SphericalGaussianBank)
def refresh(bank, k):
    prior, cells = bank.prior, float(bank.mean.shape[0])
    strength, shape = prior.strength + bank.n[k], prior.shape + 0.5 * cells * bank.n[k]
    for j in range(bank.mean.shape[0]):
        bank.mean[j, k] = bank.sum_high[j, k] / strength
    bank.rate[k] = prior.rate + 0.5 * fixed.squares_of_chair(bank, k) + bank.n[k] * prior.blur
    share, blurred = strength / (strength + 1.0), bank.rate[k] + prior.blur
    bank.weight[k] = 0.5 * share / blurred
    bank.power[k] = shape + 0.5 * cells
    level = log_rising(shape, 0.5 * cells) + 0.5 * cells * (log(share / blurred) - LOG_2PI)
    bank.constant[k] = level - 0.5 * prior.log_variances - shape * log(blurred / bank.rate[k])


@verbs.log_predictive.on(SphericalGaussianBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    for k in range(0, n_chairs, LANES):
        distance = spread(0.0)
        for j in range(x.shape[0]):
            residual = x[j] - load(bank.mean[j], k)
            distance += bank.prior.precision[j] * (residual * residual)
        fall = load(bank.power, k) * log(1.0 + load(bank.weight, k) * distance)
        store(scores, k, load(scores, k) + (load(bank.constant, k) - fall))


@verbs.log_leave_one_out.on(SphericalGaussianBank)
def log_leave_one_out(bank, k, x, scratch):
    prior, cells = bank.prior, float(x.shape[0])
    strength, distance = prior.strength + bank.n[k], 0.0
    for j in range(x.shape[0]):
        residual = x[j] - bank.mean[j, k]
        distance += prior.precision[j] * (residual * residual)
    kept = bank.rate[k] - 0.5 * strength / (strength - 1.0) * distance - prior.blur
    if kept < _SPENT * bank.rate[k]:
        kept = prior.rate + 0.5 * fixed.squares_without(bank, k, x) + (bank.n[k] - 1.0) * prior.blur
    shape = prior.shape + 0.5 * cells * (bank.n[k] - 1.0)
    level = log_rising(shape, 0.5 * cells) + 0.5 * cells * (log((strength - 1.0) / strength) - LOG_2PI)
    fall = shape * log(kept) - (shape + 0.5 * cells) * log(bank.rate[k])
    return level - 0.5 * prior.log_variances + fall


@verbs.log_marginal.on(SphericalGaussianBank)
def log_marginal(bank, k):
    prior, n, cells = bank.prior, bank.n[k], float(bank.mean.shape[0])
    shape = prior.shape + 0.5 * cells * n
    growth = (0.5 * fixed.squares_of_chair(bank, k) + n * prior.blur) / prior.rate
    one = n * (LOG_2PI + log(prior.rate)) + log((prior.strength + n) / prior.strength)
    level = log_rising(prior.shape, 0.5 * cells * n) - 0.5 * (cells * one + n * prior.log_variances)
    return level - shape * log(1.0 + growth)
