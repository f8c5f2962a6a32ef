"""Means, variances and gaps of the columns of a table, which may be too large to copy."""

import numpy as np

from mapdp.data.checks import has_finite_sum

MANY = 100  # columns: a covariance matrix of more takes longer than it tells


def column_moments(X: np.ndarray, chunk: int = 65536) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of each column, without a copy of X; 0 where only rounding varies."""
    mean = X.mean(axis=0, dtype=np.float64)
    total = np.zeros_like(mean)
    for i in range(0, len(X), chunk):
        total += ((X[i : i + chunk] - mean) ** 2).sum(axis=0)
    variance = total / len(X)
    rounding = 8.0 * np.finfo(np.float64).eps * np.abs(mean)
    return mean, np.where(variance > rounding**2, variance, 0.0)


def has_gaps(X: np.ndarray) -> bool:
    """Say whether any cell is missing."""
    return not has_finite_sum(X) and bool(np.isnan(X).any())


def gaps_filled_by_means(X: np.ndarray) -> np.ndarray:
    """Return rows with gaps filled by the mean of their column; the same array where there are none."""
    if not has_gaps(X):
        return X
    gaps = np.isnan(X)
    seen = np.maximum((~gaps).sum(axis=0), 1)
    return np.where(gaps, np.where(gaps, 0.0, X).sum(axis=0) / seen, X)


def distances_from_mean(numbers: np.ndarray) -> np.ndarray:
    """Return how far rows are from their mean, in the distance that their covariance defines.

    With many columns it is the distance that their variances define.
    """
    gap = gaps_filled_by_means(numbers)
    gap = gap - gap.mean(axis=0)
    scale = np.abs(gap).max(axis=0)
    gap /= np.where(scale > 0.0, scale, 1.0)
    if gap.shape[1] > MANY:
        variance = (gap**2).sum(axis=0)
        return (gap**2) @ np.where(variance > 0.0, 1.0 / np.where(variance > 0.0, variance, 1.0), 0.0)
    return np.einsum("ij,ji->i", gap, np.linalg.pinv(gap.T @ gap, hermitian=True) @ gap.T)
