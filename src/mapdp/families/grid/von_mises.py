"""Clusters of angles, and of what goes round: times of day, days of the year."""

from typing import Any

import numpy as np
from scipy.special import i0e, ive

from mapdp.data import checks
from mapdp.families.grid.densities import VON_MISES
from mapdp.families.grid.family import GridFamily, combined

_ANGLES = np.linspace(-np.pi, np.pi, 72, endpoint=False)  # five degrees apart
_FOCI = np.geomspace(0.1, 500.0, 12)  # from nearly even to a standard deviation of 2.6 degrees


class VonMises(GridFamily):
    """Columns of angles in radians, independent within a cluster.

    Parameters
    ----------
    candidates : sequence of arrays of shape (G, 2)
        For each column: mean angle and focus (kappa) that a cluster may have.
    log_weights : sequence of arrays of shape (G,), default None
        Log prior probability of each candidate; None makes all equally probable.

    Examples
    --------
    >>> from scipy.stats import vonmises
    >>> family = VonMises([[[1.0, 3.0]]])
    >>> bool(np.isclose(family.log_marginal([[1.5]]), vonmises(3.0, 1.0).logpdf(1.5)))
    True
    """

    kind = VON_MISES
    has_units = False
    names = ("angle", "focus")

    @classmethod
    def candidates_for(cls, cells: np.ndarray, scale: float) -> np.ndarray:  # noqa: ARG003
        """Spread angles evenly, whatever the cells are."""
        return combined(_ANGLES, _FOCI / scale**2)

    @classmethod
    def coefficients(cls, candidates: np.ndarray) -> np.ndarray:
        """Return a constant, and what cosine and sine are multiplied by."""
        angle, focus = candidates.T
        constant = -np.log(2.0 * np.pi * i0e(focus)) - focus
        return np.stack([constant, focus * np.cos(angle), focus * np.sin(angle), 0.0 * focus], axis=1)

    @classmethod
    def moments(cls, candidates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean angle and the circular variance: one less the mean length of the resultant."""
        angle, focus = candidates.T
        return angle, 1.0 - ive(1, focus) / i0e(focus)

    def _moments_of(self, candidates: np.ndarray, log_weight: np.ndarray) -> tuple[float, float]:
        chance, (angles, variances) = np.exp(log_weight), self.moments(candidates)
        resultant = chance @ ((1.0 - variances) * np.exp(1j * angles))
        return float(np.angle(resultant)), float(1.0 - np.abs(resultant))

    def summary(self) -> dict[str, Any]:
        """Return the mean angle and the circular variance of the predictive density of each column."""
        known = super().summary()
        return {"angle": known["mean"], "circular_variance": known["variance"]} | known

    @classmethod
    def drawn(cls, candidates: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw a cell for each candidate."""
        return rng.vonmises(*candidates.T)

    @classmethod
    def _checked(cls, X: np.ndarray, names: checks.Names) -> np.ndarray:
        checks.finite(X, names)
        rule = "VonMises columns must be angles in radians, from -2 pi to 2 pi"
        hint = "np.radians turns degrees into radians, hours * 2 * np.pi / 24 times of day."
        checks.every_cell(X, np.abs(X) <= 2.0 * np.pi + 1e-9, rule, hint, names)
        return X
