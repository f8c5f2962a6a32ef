"""Coordinates that follow from the rows alone, not from how they are scaled or turned.

Guesses at how rows could be parted look at columns one by one. Where clusters have a covariance, these are
the columns to look at: rows are mapped so that a typical cluster is a sphere, then turned to the axes of
their fourth moments (Tyler et al. 2009, invariant coordinate selection).
"""

import numpy as np

from mapdp.data.moments import gaps_filled_by_means


def along_own_axes(numbers: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return rows in these coordinates; `mean` and `scale` are those of a prior."""
    filled = gaps_filled_by_means(numbers)
    Y = np.linalg.solve(np.linalg.cholesky(scale), (filled - mean).T).T
    return np.ascontiguousarray(_turned(Y))


def _turned(Y: np.ndarray) -> np.ndarray:
    """Turn rows to the axes of their fourth moments; the longer tail of each is on the right."""
    far = (Y**2).sum(axis=1)
    far /= max(float(far.max()), 1e-300)
    Y = Y @ np.linalg.eigh((Y * far[:, None]).T @ Y)[1]
    return Y * np.where((Y * np.abs(Y)).sum(axis=0) < 0.0, -1.0, 1.0)
