"""Learning a Normal-Wishart prior from the scatter of clusters.

All of it happens in coordinates in which the whole table has mean 0 and covariance 1, so that the outcome
does not depend on how rows are scaled or turned. The hyperprior is that of `learning`: one more cluster as
wide as the table.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, multigammaln

from mapdp.compiled.linalg import is_positive_definite
from mapdp.compiled.special import LOG_PI
from mapdp.families.gaussian.learning import (
    THINNEST,
    climbed,
    highest,
    log_strength_prior,
    trigamma,
)
from mapdp.families.gaussian.student import blur_of

_ROOMS = (0.5, 1e4)  # between which dof - D + 1 is learned
_LOG_VARIANCES = (np.log(THINNEST), 7.0)  # of clusters beside the table, that a leap may end at


class Scatters(NamedTuple):
    """What clusters hold; means are relative to the prior mean."""

    n: np.ndarray  # (K,) rows
    mean: np.ndarray  # (K, D)
    scatter: np.ndarray  # (K, D, D) sum of (x - mean)(x - mean)', with what rounding adds

    @classmethod
    def of_rows(cls, rows: np.ndarray, labels: np.ndarray, n_clusters: int) -> "Scatters":
        """Return what the clusters of rows hold; means are relative to the origin."""
        n = np.bincount(labels, minlength=n_clusters).astype(np.float64)
        order, ends = np.argsort(labels, kind="stable"), np.cumsum(n).astype(np.int64)[:-1]
        members = [rows[one] for one in np.split(order, ends)]
        mean = np.array([some.mean(axis=0) for some in members])
        gaps = [some - centre for some, centre in zip(members, mean, strict=True)]
        return cls(n, mean, np.array([gap.T @ gap for gap in gaps]))

    @classmethod
    def of_sums(
        cls,
        n: np.ndarray,
        total: np.ndarray,
        total_low: np.ndarray,
        products: np.ndarray,
        products_low: np.ndarray,
    ) -> "Scatters":
        """Return what clusters hold, from exact sums of cells (K, D) and of their products (K, D, D)."""
        mean = (total + total_low) / n[:, None]
        lower = np.tril(products - total[:, :, None] * mean[:, None, :] + products_low)
        return cls(n.copy(), mean, lower + np.swapaxes(np.tril(lower, -1), 1, 2))

    def moved(self, by: np.ndarray) -> "Scatters":
        """Return the same with all rows moved."""
        return self._replace(mean=self.mean + by)

    def blurred(self, resolution: np.ndarray) -> "Scatters":
        """Return the same with what rounding adds."""
        blur = 2.0 * np.diag(blur_of(resolution))
        return self._replace(scatter=self.scatter + self.n[:, None, None] * blur)

    def pooled(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and covariance of all rows."""
        total = self.n.sum()
        mean = self.n @ self.mean / total
        gap = self.mean - mean
        return mean, (self.scatter.sum(axis=0) + (self.n * gap.T) @ gap) / total

    def mapped(self, mean: np.ndarray, inverse: np.ndarray) -> "Scatters":
        """Return what clusters hold in the coordinates inverse (x - mean)."""
        return Scatters(self.n, (self.mean - mean) @ inverse.T, inverse @ self.scatter @ inverse.T)


class Frame(NamedTuple):
    """Coordinates in which a table has mean 0 and covariance 1."""

    mean: np.ndarray  # (D,)
    factor: np.ndarray  # (D, D) lower triangular: x = mean + factor y
    inverse: np.ndarray  # (D, D)

    @classmethod
    def of(cls, scatters: Scatters) -> "Frame":
        """Return the frame of all rows; directions without any spread are given a little."""
        mean, covariance = scatters.pooled()
        factor = np.linalg.cholesky(conditioned(covariance))
        return cls(mean, factor, np.linalg.inv(factor))

    @classmethod
    def of_columns(cls, scatters: Scatters) -> "Frame":
        """Return a frame in which columns have variance 1 and keep their directions."""
        mean, covariance = scatters.pooled()
        width = np.sqrt(np.where(np.diag(covariance) > 0.0, np.diag(covariance), 1.0))
        return cls(mean, np.diag(width), np.diag(1.0 / width))


def checked_scale(values: object, n_columns: int) -> np.ndarray:
    """Return the scale matrix of a prior, or raise where it is not one."""
    scale = np.atleast_2d(np.array(values, dtype=np.float64))
    if scale.shape != (n_columns, n_columns) or not is_positive_definite(scale):
        raise ValueError(
            f"scale must be a symmetric positive definite {n_columns} x {n_columns} matrix, "
            f"got shape {scale.shape}. Hint: the covariance of the data is a good start."
        )
    return scale


def conditioned(matrix: np.ndarray) -> np.ndarray:
    """Return a covariance matrix with its diagonal raised until it has a factor."""
    variance = np.where(np.diag(matrix) > 0.0, np.diag(matrix), 1.0)
    root = np.sqrt(variance)
    correlation = matrix / root / root[:, None]
    ridge = 0.0
    while np.linalg.eigvalsh(correlation + ridge * np.eye(len(root)))[0] < THINNEST:
        ridge = max(10.0 * ridge, 10.0 * THINNEST)
    return matrix + np.diag(ridge * variance + np.where(np.diag(matrix) > 0.0, 0.0, 1.0))


class NormalWishart(NamedTuple):
    """Hyperparameters of clusters with a full covariance."""

    mean: np.ndarray  # (D,)
    strength: float
    dof: float
    scale: np.ndarray  # (D, D)

    def mapped(self, frame: Frame) -> "NormalWishart":
        """Return the same prior in the coordinates of a frame."""
        mean = frame.inverse @ (self.mean - frame.mean)
        return self._replace(mean=mean, scale=_symmetric(frame.inverse @ self.scale @ frame.inverse.T))

    def mapped_back(self, frame: Frame) -> "NormalWishart":
        """Return the prior in the coordinates of the table."""
        mean = frame.mean + frame.factor @ self.mean
        scale = _symmetric(frame.factor @ self.scale @ frame.factor.T)
        return self._replace(mean=mean, scale=conditioned(scale))  # rounding may cost a thin one its factor

    def as_vector(self) -> np.ndarray:
        """Return the hyperparameters as numbers without bounds."""
        room = self.dof - len(self.mean) + 1.0
        known = [np.log(self.strength), np.log(room)]
        return np.concatenate([self.mean, known, matrix_as_vector(self.scale / self.dof)])

    @classmethod
    def of_vector(cls, vector: np.ndarray) -> "NormalWishart":
        """Return the hyperparameters of a vector."""
        d = columns_of(vector)
        strength, room = np.exp(np.clip(vector[d : d + 2], -40.0, 40.0))
        dof = d - 1.0 + float(np.clip(room, *_ROOMS))
        return cls(vector[:d], float(strength), dof, dof * vector_as_matrix(vector[d + 2 :], d))


def columns_of(vector: np.ndarray) -> int:
    """Return the number of columns that a vector of mean, two numbers and a matrix is about."""
    return round(np.sqrt(len(vector) - 1.75) - 0.5)


def matrix_as_vector(matrix: np.ndarray) -> np.ndarray:
    """Return the logarithm of a matrix as a vector, whose length does not depend on the axes."""
    values, axes = np.linalg.eigh(matrix)
    return ((axes * np.log(np.maximum(values, THINNEST))) @ axes.T).ravel()


def vector_as_matrix(vector: np.ndarray, d: int) -> np.ndarray:
    """Return the covariance matrix that a vector describes."""
    values, axes = np.linalg.eigh(vector.reshape(d, d))
    return (axes * np.exp(np.clip(values, *_LOG_VARIANCES))) @ axes.T


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return 0.5 * (matrix + matrix.T)


def _posterior_scales(theta: NormalWishart, scatters: Scatters) -> np.ndarray:
    """Return (K, D, D): the sums of squares and products that clusters have with the prior."""
    gap = scatters.mean - theta.mean
    pull = theta.strength * scatters.n / (theta.strength + scatters.n)
    return theta.scale + scatters.scatter + pull[:, None, None] * gap[:, :, None] * gap[:, None, :]


def log_marginal(theta: NormalWishart, scatters: Scatters) -> float:
    """Return the log density of all clusters' rows."""
    n, d = scatters.n, len(theta.mean)
    log_dets = np.linalg.slogdet(_posterior_scales(theta, scatters))[1]
    total = _log_gammas(theta.dof, n, d) + 0.5 * theta.dof * np.linalg.slogdet(theta.scale)[1]
    total = total - 0.5 * (theta.dof + n) * log_dets - 0.5 * d * n * LOG_PI
    return float((total + 0.5 * d * np.log(theta.strength / (theta.strength + n))).sum())


def _log_gammas(dof: float, n: np.ndarray, d: int) -> np.ndarray:
    """Return the log ratio of the multivariate gammas of posterior and prior."""
    halves = 0.5 * (dof - np.arange(d))
    return (gammaln(halves + 0.5 * n[:, None]) - gammaln(halves)).sum(axis=1)


def log_hyperprior(theta: NormalWishart) -> float:
    """Return the log density of hyperparameters in the coordinates of the table's frame."""
    d, dof = len(theta.mean), theta.dof
    wide = 0.5 * dof * (np.linalg.slogdet(theta.scale)[1] - d * np.log(2.0)) - multigammaln(0.5 * dof, d)
    near = -0.5 * (np.trace(theta.scale) + theta.mean @ theta.mean)
    return float(wide + near) + log_strength_prior(theta.strength)


def em_step(theta: NormalWishart, scatters: Scatters) -> NormalWishart:
    """Return hyperparameters under which joint and hyperprior are no lower."""
    n, d = scatters.n, len(theta.mean)
    strength = theta.strength + n
    precision = (theta.dof + n)[:, None, None] * np.linalg.inv(_posterior_scales(theta, scatters))
    centre = theta.mean + (n / strength)[:, None] * (scatters.mean - theta.mean)
    total, weighted = precision.sum(axis=0), np.einsum("kij,kj->i", precision, centre)
    mean = np.linalg.solve(theta.strength * total + np.eye(d), theta.strength * weighted)
    gap = centre - mean
    spread = (d / strength).sum() + np.einsum("ki,kij,kj->", gap, precision, gap)
    new_strength = (0.5 * len(n) * d + 1.0) / (0.5 * spread + 1.0)
    typical = _symmetric((len(n) + 1.0) * np.linalg.inv(total + np.eye(d))) + THINNEST * np.eye(d)
    return _with_better_dof(NormalWishart(mean, float(new_strength), theta.dof, typical), scatters)


def _with_better_dof(theta: NormalWishart, scatters: Scatters) -> NormalWishart:
    """Return the prior with better degrees of freedom for a typical covariance, given as its scale."""
    n, d = scatters.n, len(theta.mean)
    inverse = np.linalg.inv(np.linalg.cholesky(theta.scale))
    squares = _posterior_scales(theta._replace(scale=np.zeros((d, d))), scatters)
    eigenvalues = np.linalg.eigvalsh(inverse @ squares @ inverse.T)
    table = np.linalg.slogdet(theta.scale)[1] - float(np.trace(theta.scale)) - d * np.log(2.0)

    def slopes(log_room: float) -> tuple[float, float]:
        room = np.exp(log_room)
        slope, curvature = _slopes_of_dof(d - 1.0 + room, n, eigenvalues, table)
        return slope * room, (curvature * room + slope) * room

    low, high = np.log(_ROOMS)
    dof = d - 1.0 + np.exp(highest(float(np.log(theta.dof - d + 1.0)), slopes, low, high))
    return theta._replace(dof=float(dof), scale=dof * theta.scale)


def _slopes_of_dof(dof: float, n: np.ndarray, eigenvalues: np.ndarray, table: float) -> tuple[float, float]:
    """Return both derivatives, by the degrees of freedom, of joint and hyperprior; scale is in proportion.

    `eigenvalues` (K, D) are those of the clusters' squares beside the typical covariance; `table` is what
    the hyperprior adds to the slope and does not depend on dof.
    """
    n_clusters, d = eigenvalues.shape
    halves = 0.5 * (dof - np.arange(d))
    after = halves + 0.5 * n[:, None]
    grown = dof + eigenvalues
    level = d * (np.log(dof) + 1.0)
    gammas = digamma(after).sum() - (n_clusters + 1) * digamma(halves).sum()
    fall = (np.log(grown) + (dof + n)[:, None] / grown).sum()
    slope = 0.5 * (gammas + (n_clusters + 1) * level + table - fall)
    bend = 0.5 * (trigamma(after).sum() - (n_clusters + 1) * trigamma(halves).sum())
    bent = (2.0 / grown - (dof + n)[:, None] / grown**2).sum()
    return float(slope), float(0.5 * (bend + (n_clusters + 1) * d / dof - bent))


def learned_normal_wishart(theta: NormalWishart, scatters: Scatters, least_gain: float) -> NormalWishart:
    """Return the hyperparameters that make joint and hyperprior highest, or are on the way there."""
    frame = Frame.of(scatters)
    inside = scatters.mapped(frame.mean, frame.inverse)
    best = climbed(
        theta.mapped(frame),
        lambda theta: em_step(theta, inside),
        lambda theta: log_marginal(theta, inside) + log_hyperprior(theta),
        least_gain,
    )
    return best.mapped_back(frame)


def log_hyperprior_of(theta: NormalWishart, scatters: Scatters) -> float:
    """Return the log density of hyperparameters, beside the whole table."""
    return log_hyperprior(theta.mapped(Frame.of(scatters)))
