"""Clusters of positive numbers under Gamma densities of unknown shape: waiting times, amounts."""

import numpy as np
from scipy.special import gammaln

from mapdp.data import checks
from mapdp.families.grid.densities import GAMMA
from mapdp.families.grid.family import GridFamily, centres_of, combined

_SHAPES = np.geomspace(0.5, 500.0, 10)  # coefficients of variation from 1.4 to 0.04


class Gamma(GridFamily):
    """Columns of positive numbers, independent within a cluster; mean and shape of a cluster are unknown.

    Parameters
    ----------
    candidates : sequence of arrays of shape (G, 2)
        For each column: mean and shape that a cluster may have.
    log_weights : sequence of arrays of shape (G,), default None
        Log prior probability of each candidate; None makes all equally probable.

    Examples
    --------
    >>> from scipy.stats import gamma
    >>> family = Gamma([[[2.0, 3.0]]])
    >>> bool(np.isclose(family.log_marginal([[1.5]]), gamma(3.0, scale=2.0 / 3.0).logpdf(1.5)))
    True
    """

    kind = GAMMA
    names = ("mean", "shape")

    @classmethod
    def candidates_for(cls, cells: np.ndarray, scale: float) -> np.ndarray:
        """Put means at quantiles; shapes are the same for every column."""
        return combined(centres_of(cells), _SHAPES / scale**2)

    @classmethod
    def coefficients(cls, candidates: np.ndarray) -> np.ndarray:
        """Return a constant, and what the logarithm and the number itself are multiplied by."""
        mean, shape = candidates.T
        constant = shape * np.log(shape / mean) - gammaln(shape)
        return np.stack([constant, shape - 1.0, -shape / mean, 0.0 * mean], axis=1)

    @classmethod
    def moments(cls, candidates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance."""
        mean, shape = candidates.T
        return mean, mean**2 / shape

    @classmethod
    def drawn(cls, candidates: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw a cell for each candidate."""
        mean, shape = candidates.T
        return np.maximum(rng.gamma(shape, mean / shape), 1e-300)

    @classmethod
    def _checked(cls, X: np.ndarray, names: checks.Names) -> np.ndarray:
        checks.finite(X, names)
        rule = f"{cls.__name__} columns must be positive"
        checks.every_cell(X, X > 0.0, rule, "leave rows of zeros out, or use a kind such as count.", names)
        return X

    def decode(self, X: np.ndarray) -> np.ndarray:
        """Return numbers as they are; 0 stands for none."""
        return np.where(X == 0.0, 1.0, X)
