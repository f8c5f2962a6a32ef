"""Partitions to begin with: rows divided around few and more centres.

The distance follows the spread within the parts, so that long parallel clusters can be seen, and neither
units nor a rotation of the rows change it.
"""

import numpy as np

from mapdp.data.moments import MANY
from mapdp.families.gaussian.learn_full import conditioned
from mapdp.partitions.labels import adjusted_rand, compact

_CENTRES = (3, 6, 9)
_DIVISIONS = 5  # of the rows around so many centres; most repeat themselves before
_PASSES = 6  # over the rows of one division
_SAME = 0.99  # adjusted Rand index of divisions that are the same but for a few rows
_THINNEST = 1e-4  # of the table's variance, that parts have in every direction


def divisions(X: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Return divisions of rows around 3, 6 and 9 centres, as far as there are enough rows.

    With many columns there are none: rows that are fewer than pairs of columns do not show how those vary.
    """
    if X.shape[1] > MANY:
        return []
    gap = X - X.mean(axis=0)
    table = conditioned(gap.T @ gap / len(X))
    return [divided_around_centres(gap, table, k, rng) for k in _CENTRES if 2 * k <= len(X)]


def divided_around_centres(
    X: np.ndarray, table: np.ndarray, n_centres: int, rng: np.random.Generator
) -> np.ndarray:
    """Divide rows around centres, in the distance that the spread within the parts defines.

    Every division defines a distance, and the next one begins from new centres; `table` is the covariance
    of all rows.
    """
    labels = np.zeros(len(X), dtype=np.int32)
    for _ in range(_DIVISIONS):
        Y = _whitened(X, table, labels)
        after = _around(Y, _spread_out(Y, n_centres, rng))
        if adjusted_rand(labels, after) > _SAME:
            return after
        labels = after
    return labels


def _around(Y: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Divide rows around the nearest of several centres, which move to the middle of their rows."""
    labels = np.full(len(Y), -1)
    for _ in range(_PASSES):
        after = ((centres**2).sum(axis=1) - 2.0 * Y @ centres.T).argmin(axis=1)
        if np.array_equal(after, labels):
            break
        labels, centres = after, _means(Y, after, centres)
    return compact(labels.astype(np.int32))


def _means(Y: np.ndarray, labels: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the mean of each part; one without rows stays where its centre was."""
    n = np.bincount(labels, minlength=len(centres)).astype(np.float64)
    totals = np.array([np.bincount(labels, column, minlength=len(centres)) for column in Y.T]).T
    return np.where(n[:, None] > 0.0, totals / np.maximum(n, 1.0)[:, None], centres)


def _whitened(X: np.ndarray, table: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return rows in coordinates in which the spread within parts is 1 in every direction."""
    n_parts = int(labels.max()) + 1
    gap = X - _means(X, labels, np.zeros((n_parts, X.shape[1])))[labels]
    within = gap.T @ gap / len(X) + _THINNEST * table
    return X @ np.linalg.inv(np.linalg.cholesky(conditioned(within))).T


def _spread_out(Y: np.ndarray, n_centres: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows that keep their distance, each drawn with the weight of its squared distance."""
    chosen = [int(rng.integers(len(Y)))]
    nearest = np.full(len(Y), np.inf)
    for u in rng.random(n_centres - 1):
        nearest = np.minimum(nearest, ((Y - Y[chosen[-1]]) ** 2).sum(axis=1))
        passed = np.cumsum(nearest)
        chosen.append(min(int(np.searchsorted(passed, u * passed[-1], side="right")), len(Y) - 1))
    return Y[chosen]
