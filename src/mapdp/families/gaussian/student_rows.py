"""Student t densities of whole rows, of which some cells may be missing."""

import numpy as np
from scipy.special import gammaln


def squared_lengths(gaps: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return how long vectors are, squared, in the measure of a covariance: (..., 1) of (..., D)."""
    return (gaps * np.linalg.solve(covariance, gaps.T).T).sum(axis=-1, keepdims=True)


def log_determinant(covariance: np.ndarray) -> float:
    """Return the log determinant of a covariance."""
    return 2.0 * float(np.log(np.diag(np.linalg.cholesky(covariance))).sum())


def log_density_by_length(
    far: np.ndarray, n: int, strength: float, shape: float, rate: float, blur: float
) -> np.ndarray:
    """Return the log density of rows of n cells, whose squared lengths are `far`, where sizes are unknown.

    Precisions of clusters have the shape and the rate of a gamma density; `blur` is what rounding adds to
    the rate for each row.
    """
    share, half = strength / (strength + 1.0), 0.5 * n
    level = gammaln(shape + half) - gammaln(shape) + half * np.log(share / (2.0 * np.pi))
    return level + shape * np.log(rate) - (shape + half) * np.log(rate + blur + 0.5 * share * far)
