"""Coordinates that follow from the rows alone, not from how they are scaled or turned.

Guesses at how rows could be parted look at columns one by one. Where clusters have a covariance, these are
the columns to look at: rows are mapped so that a typical cluster is a sphere, then turned to the axes of
their fourth moments (Tyler et al. 2009, invariant coordinate selection).
"""

import numpy as np

from mapdp.data.moments import gaps_filled_by_means
from mapdp.families import Gaussian, Multinomial, Product, SharedGaussian
from mapdp.families.base import Family

MANY = 100  # columns: a covariance matrix of more takes longer than it tells


def rows_to_guess_by(family: Family, numbers: np.ndarray, encoded: np.ndarray) -> np.ndarray:
    """Return numbers without gaps; rows that are alike under the family have numbers that are."""
    if family.is_whole:
        return whole_rows_to_guess_by(family, numbers)
    if isinstance(family, Product):
        parts = [_part_to_guess_by(part, piece) for part, piece in family.pieces(encoded)]
        return np.ascontiguousarray(np.hstack(parts))
    if not isinstance(family, Gaussian | SharedGaussian):
        return gaps_filled_by_means(encoded)
    filled = gaps_filled_by_means(numbers)
    Y = np.linalg.solve(np.linalg.cholesky(family.scale), (filled - family.mean).T).T
    return np.ascontiguousarray(turned(Y))


def _part_to_guess_by(part: Family, encoded: np.ndarray) -> np.ndarray:
    """Return numbers for the cells of one part of a product."""
    return rows_to_guess_by(part, encoded if part.has_columns else part.decode(encoded), encoded)


def whole_rows_to_guess_by(family: Family, numbers: np.ndarray) -> np.ndarray:
    """Return numbers for rows that a family sees as a whole: roots of shares, where it sees shares."""
    filled = gaps_filled_by_means(numbers)
    if not isinstance(family, Multinomial):
        return filled
    return np.sqrt(filled / np.maximum(filled.sum(axis=1, keepdims=True), 1.0))


def turned(Y: np.ndarray) -> np.ndarray:
    """Turn rows to the axes of their fourth moments; the longer tail of each is on the right."""
    far = (Y**2).sum(axis=1)
    far /= max(float(far.max()), 1e-300)
    Y = Y @ np.linalg.eigh((Y * far[:, None]).T @ Y)[1]
    return Y * np.where((Y * np.abs(Y)).sum(axis=0) < 0.0, -1.0, 1.0)


def distances(numbers: np.ndarray) -> np.ndarray:
    """Return how far rows are from the mean, in the distance that their covariance defines.

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
