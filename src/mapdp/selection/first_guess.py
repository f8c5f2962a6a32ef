"""A first guess at the prior of Gaussian clusters: how far apart and how wide the parts of a table are.

It needs no search and no EM, so that many partitions can be compared before any of them is searched.
"""

from typing import NamedTuple

import numpy as np

from mapdp.families import DiagonalGaussian, Gaussian, SharedGaussian, SphericalGaussian
from mapdp.families.base import Family
from mapdp.families.gaussian import learn_full, learn_shared, learning
from mapdp.families.gaussian.learn_full import Scatters, conditioned
from mapdp.partitions.process import Process

_SHAPE = 3.0  # of the variances of clusters: they differ by a factor of two or so
_STRENGTHS = (1e-3, 10.0)  # between which the prior strength is guessed


class Moments(NamedTuple):
    """What a partition says of the prior."""

    scatters: Scatters  # with what rounding adds
    mean: np.ndarray  # (D,) of all rows
    within: np.ndarray  # (D, D) covariance within clusters
    strength: float  # how much closer rows are to their centre than centres to the mean
    resolution: np.ndarray  # (D,)

    @classmethod
    def of(cls, numbers: np.ndarray, labels: np.ndarray, resolution: np.ndarray) -> "Moments":
        """Return the moments of a partition of rows."""
        scatters = Scatters.of_rows(numbers, labels, int(labels.max()) + 1).blurred(resolution)
        mean, table = scatters.pooled()
        within = conditioned((scatters.scatter.sum(axis=0) + table) / (len(numbers) + 1.0))
        gap = scatters.mean - mean
        far = float(np.einsum("ki,ki->", gap, np.linalg.solve(within, gap.T).T))
        strength = (0.5 * gap.size + 1.0) / (0.5 * far + 1.0)
        return cls(scatters, mean, within, float(np.clip(strength, *_STRENGTHS)), resolution)


class Guess(NamedTuple):
    """A prior for the clusters of a partition."""

    family: Family
    log_joint: float
    labels: np.ndarray


def guessed(kind: type[Family], moments: Moments, labels: np.ndarray, process: Process) -> Guess:
    """Return a guess at the prior of a partition, with its exact joint."""
    family, log_marginal = _GUESSES[kind](moments)
    return Guess(family, log_marginal + process.log_eppf(moments.scatters.n.astype(np.int64)), labels)


def can_guess(kind: type[Family]) -> bool:
    """Say whether there is a first guess for a kind of family."""
    return kind in _GUESSES


def _diagonal(known: Moments) -> tuple[Family, float]:
    rate, scatters = _SHAPE * np.diag(known.within), known.scatters
    family = DiagonalGaussian(known.mean, known.strength, _SHAPE, rate, known.resolution)
    n = np.broadcast_to(scatters.n[:, None], scatters.mean.shape)
    cells = learning.Cells(n, scatters.mean, np.einsum("kii->ki", scatters.scatter))
    return family, learning.log_marginal(
        learning.NormalGamma(known.mean, known.strength, _SHAPE, rate), cells
    )


def _full(known: Moments) -> tuple[Family, float]:
    dof = len(known.mean) - 1.0 + 2.0 * _SHAPE
    theta = learn_full.NormalWishart(known.mean, known.strength, dof, dof * known.within)
    return Gaussian(*theta, known.resolution), learn_full.log_marginal(theta, known.scatters)


def _shared(known: Moments) -> tuple[Family, float]:
    theta = learn_shared.SharedShape(known.mean, known.strength, _SHAPE, known.within)
    return SharedGaussian(*theta, known.resolution), learn_shared.log_marginal(theta, known.scatters)


def _spherical(known: Moments) -> tuple[Family, float]:
    variance = np.diag(known.within)
    theta = learn_shared.SharedShape(known.mean, known.strength, _SHAPE, np.diag(variance))
    family = SphericalGaussian(
        known.mean, known.strength, _SHAPE, _SHAPE, np.sqrt(variance), known.resolution
    )
    return family, learn_shared.log_marginal(theta, known.scatters)


_GUESSES = {
    DiagonalGaussian: _diagonal,
    Gaussian: _full,
    SharedGaussian: _shared,
    SphericalGaussian: _spherical,
}
