"""What belongs in the gaps of measurements, were all rows draws from one Gaussian."""

import numpy as np

_ROUNDS = 30  # of filling gaps and working out mean and covariance again
_STILL = 1e-3  # standard deviations by which the covariance changes at most when it counts as settled
_RIDGE = 1e-6  # of each variance that is added to it, so that columns may repeat each other
_MOST_ROWS = 20_000  # that mean and covariance are worked out from


def gap_patterns(gaps: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return (rows, columns that are missing, columns that are there) of rows that have some of both."""
    rows = np.flatnonzero(gaps.any(axis=1) & ~gaps.all(axis=1))
    if not len(rows):
        return []
    patterns, which = np.unique(np.packbits(gaps[rows], axis=1), axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(which.ravel(), minlength=len(patterns)))[:-1]
    groups = [rows[some] for some in np.split(order, ends)]
    return [(some, np.flatnonzero(gaps[some[0]]), np.flatnonzero(~gaps[some[0]])) for some in groups]


def filled_as_one_gaussian(cells: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return cells with expected values in the gaps of rows that have some cells; others are as they were.

    Mean and covariance are the most probable ones, by expectation and maximisation in turn.
    """
    weights = np.ones(len(cells)) if weights is None else weights
    middle, width = _spread(cells, weights)
    scaled = (cells - middle) / width
    some = np.linspace(0, len(cells) - 1, min(len(cells), _MOST_ROWS)).astype(np.int64)
    mean, covariance = _moments(scaled[some], weights[some])
    for rows, missing, seen in gap_patterns(np.isnan(cells)):
        slope = _slope(covariance, missing, seen)
        scaled[np.ix_(rows, missing)] = mean[missing] + (scaled[np.ix_(rows, seen)] - mean[seen]) @ slope
    return np.where(np.isnan(cells), middle + width * scaled, cells)


def _spread(cells: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of the cells of each column; 1 where they are all the same."""
    times = weights[:, None] * ~np.isnan(cells)
    total = np.maximum(times.sum(axis=0), 1e-300)
    middle = np.nansum(times * cells, axis=0) / total
    width = np.sqrt(np.nansum(times * (cells - middle) ** 2, axis=0) / total)
    return middle, np.where(width > 0.0, width, 1.0)


def _slope(covariance: np.ndarray, missing: np.ndarray, seen: np.ndarray) -> np.ndarray:
    return np.linalg.solve(covariance[np.ix_(seen, seen)], covariance[np.ix_(seen, missing)])


def _moments(X: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of one Gaussian, of which rows with gaps are draws, too."""
    gaps = np.isnan(X)
    counted = ~gaps.all(axis=1) & (weights > 0.0)
    X, gaps, weights = np.where(gaps, 0.0, X)[counted], gaps[counted], weights[counted]
    patterns, mean, covariance = gap_patterns(gaps), np.zeros(X.shape[1]), np.eye(X.shape[1])
    for _ in range(_ROUNDS):
        unseen = np.zeros_like(covariance)
        for rows, missing, seen in patterns:
            slope = _slope(covariance, missing, seen)
            X[np.ix_(rows, missing)] = mean[missing] + (X[np.ix_(rows, seen)] - mean[seen]) @ slope
            left = covariance[np.ix_(missing, missing)] - covariance[np.ix_(missing, seen)] @ slope
            unseen[np.ix_(missing, missing)] += weights[rows].sum() * left
        mean = weights @ X / weights.sum()
        before, gap = covariance, X - mean
        covariance = ((weights * gap.T) @ gap + unseen) / weights.sum()
        covariance[np.diag_indices_from(covariance)] *= 1.0 + _RIDGE
        if np.abs(covariance - before).max() <= _STILL:
            break
    return mean, covariance
