"""Clusters of waiting times whose hazard rises or falls: Weibull densities of unknown shape."""

import numpy as np
from scipy.special import gamma

from mapdp.families.grid.densities import WEIBULL
from mapdp.families.grid.family import centres_of, combined
from mapdp.families.grid.gamma import Gamma

_SHAPES = np.geomspace(0.5, 30.0, 10)  # coefficients of variation from 2.2 to 0.04


class Weibull(Gamma):
    """Columns of waiting times, independent within a cluster; scale and shape of a cluster are unknown.

    Parameters
    ----------
    candidates : sequence of arrays of shape (G, 2)
        For each column: scale and shape that a cluster may have.
    log_weights : sequence of arrays of shape (G,), default None
        Log prior probability of each candidate; None makes all equally probable.

    Examples
    --------
    >>> from scipy.stats import weibull_min
    >>> family = Weibull([[[2.0, 3.0]]])
    >>> bool(np.isclose(family.log_marginal([[1.5]]), weibull_min(3.0, scale=2.0).logpdf(1.5)))
    True
    """

    kind = WEIBULL
    names = ("scale", "shape")

    @classmethod
    def candidates_for(cls, cells: np.ndarray, scale: float) -> np.ndarray:
        """Put scales at quantiles; shapes are the same for every column."""
        return combined(centres_of(cells), _SHAPES / scale)

    @classmethod
    def coefficients(cls, candidates: np.ndarray) -> np.ndarray:
        """Return a constant, the shape, and the logarithm of the scale."""
        scale, shape = candidates.T
        return np.stack([np.log(shape / scale), shape, np.log(scale), 0.0 * scale], axis=1)

    @classmethod
    def moments(cls, candidates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance."""
        scale, shape = candidates.T
        first, second = gamma(1.0 + 1.0 / shape), gamma(1.0 + 2.0 / shape)
        return scale * first, scale**2 * (second - first**2)

    @classmethod
    def drawn(cls, candidates: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw a cell for each candidate."""
        scale, shape = candidates.T
        return np.maximum(scale * rng.weibull(shape), 1e-300)
