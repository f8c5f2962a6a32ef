"""Clusters of shares between 0 and 1: Beta densities whose two parameters are unknown."""

import numpy as np
from scipy.special import betaln

from mapdp.data import checks
from mapdp.families.grid.densities import BETA
from mapdp.families.grid.family import GridFamily, centres_of, combined

_STRENGTHS = np.geomspace(1.0, 1000.0, 10)  # as of so many cells: from a valley to a narrow peak


class Beta(GridFamily):
    """Columns of shares between 0 and 1, independent within a cluster.

    Parameters
    ----------
    candidates : sequence of arrays of shape (G, 2)
        For each column: mean and strength that a cluster may have; the parameters of the density are
        mean * strength and (1 - mean) * strength.
    log_weights : sequence of arrays of shape (G,), default None
        Log prior probability of each candidate; None makes all equally probable.

    Examples
    --------
    >>> from scipy.stats import beta
    >>> family = Beta([[[0.25, 4.0]]])
    >>> bool(np.isclose(family.log_marginal([[0.4]]), beta(1.0, 3.0).logpdf(0.4)))
    True
    """

    kind = BETA
    has_units = False
    names = ("mean", "strength")

    def _check_candidates(self, every: np.ndarray) -> None:
        super()._check_candidates(every)
        if not (every[:, 0] < 1.0).all():
            raise ValueError(f"mean must be between 0 and 1, got {every[:, 0].max()}.")

    @classmethod
    def candidates_for(cls, cells: np.ndarray, scale: float) -> np.ndarray:
        """Put means at quantiles; strengths are the same for every column."""
        return combined(centres_of(cells), _STRENGTHS / scale**2)

    @classmethod
    def coefficients(cls, candidates: np.ndarray) -> np.ndarray:
        """Return a constant, and what the logarithms of a share and of the rest are multiplied by."""
        mean, strength = candidates.T
        a, b = mean * strength, (1.0 - mean) * strength
        return np.stack([-betaln(a, b), a - 1.0, b - 1.0, 0.0 * mean], axis=1)

    @classmethod
    def moments(cls, candidates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance."""
        mean, strength = candidates.T
        return mean, mean * (1.0 - mean) / (strength + 1.0)

    @classmethod
    def drawn(cls, candidates: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw a cell for each candidate."""
        mean, strength = candidates.T
        drawn = rng.beta(mean * strength, (1.0 - mean) * strength)
        return np.clip(drawn, 1e-300, 1.0 - 2.0**-53)

    @classmethod
    def _checked(cls, X: np.ndarray, names: checks.Names) -> np.ndarray:
        checks.finite(X, names)
        rule = "Beta columns must be above 0 and below 1"
        hint = "divide percentages by 100; for shares of 0 or 1 say what they are, such as 0.001 or 0.999."
        checks.every_cell(X, (X > 0.0) & (X < 1.0), rule, hint, names)
        return X

    def decode(self, X: np.ndarray) -> np.ndarray:
        """Return shares as they are; 0 stands for none."""
        return np.where(X == 0.0, 0.5, X)
