"""Clusters of measurements with heavy tails: an outlier does not widen a cluster."""

import numpy as np
from scipy.special import gammaln

from mapdp.families.grid.densities import STUDENT_T
from mapdp.families.grid.family import GridFamily, centres_of, combined

_DOF = 4.0  # the usual choice for robust measurements: Lange, Little and Taylor (1989)
_FACTOR = 1.6  # between neighbouring scales
_N_SCALES = 9  # of clusters: from twice the spread of the table to about a twentieth of it


class StudentT(GridFamily):
    """Columns of measurements with heavy tails, independent within a cluster.

    Parameters
    ----------
    candidates : sequence of arrays of shape (G, 3)
        For each column: centre, scale and degrees of freedom that a cluster may have.
    log_weights : sequence of arrays of shape (G,), default None
        Log prior probability of each candidate; None makes all equally probable.

    Examples
    --------
    >>> from scipy.stats import t
    >>> family = StudentT([[[0.0, 1.0, 4.0], [5.0, 2.0, 4.0]]])
    >>> expected = np.log(0.5 * t(4).pdf(1.0) + 0.5 * t(4, 5.0, 2.0).pdf(1.0))
    >>> bool(np.isclose(family.log_marginal([[1.0]]), expected))
    True
    """

    kind = STUDENT_T
    names = ("centre", "scale", "dof")

    @classmethod
    def candidates_for(cls, cells: np.ndarray, scale: float) -> np.ndarray:
        """Centre clusters at quantiles; their scales go down from twice the middle half of the cells."""
        low, high = np.quantile(cells, [0.25, 0.75])
        spread = (high - low) / 1.349 or cells.std() or 1.0  # of a Gaussian with such quartiles
        scales = 2.0 * scale * spread * _FACTOR ** -np.arange(_N_SCALES)
        return combined(centres_of(cells), scales, np.array([_DOF]))

    @classmethod
    def coefficients(cls, candidates: np.ndarray) -> np.ndarray:
        """Return log peak, centre, what a distance is multiplied by, and power."""
        centre, scale, dof = candidates.T
        peak = gammaln(0.5 * (dof + 1.0)) - gammaln(0.5 * dof) - 0.5 * np.log(np.pi * dof) - np.log(scale)
        return np.stack([peak, centre, 1.0 / (scale * np.sqrt(dof)), 0.5 * (dof + 1.0)], axis=1)

    @classmethod
    def moments(cls, candidates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance; the latter is infinite for up to 2 degrees of freedom."""
        centre, scale, dof = candidates.T
        with np.errstate(divide="ignore"):
            return centre, np.where(dof > 2.0, scale**2 * dof / np.maximum(dof - 2.0, 0.0), np.inf)

    @classmethod
    def drawn(cls, candidates: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw a cell for each candidate."""
        centre, scale, dof = candidates.T
        return centre + scale * rng.standard_t(dof)
