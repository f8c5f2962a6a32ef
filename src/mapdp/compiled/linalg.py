"""Triangular factors of many matrices at once: chair k's factor is `factor[:, :, k]`.

A cluster's scale never falls below its prior's, so a pivot that rounding pushed lower is lifted back.
"""

import math

import numpy as np

from mapdp.compiled.exact import added, product_of, ratio_of, root_of
from mapdp.compiled.jit import called, inlined


@inlined
def factorise(matrix, factor, k, floor):
    """Write the lower Cholesky factor of `matrix[:, :, k]`, whose pivots have a floor, into `factor`."""
    for j in range(matrix.shape[0]):
        for i in range(j, matrix.shape[0]):
            total = matrix[i, j, k]
            for p in range(j):
                total -= factor[i, p, k] * factor[j, p, k]
            if i == j:
                factor[j, j, k] = math.sqrt(max(total, floor[j] * floor[j]))
            else:
                factor[i, j, k] = total / factor[j, j, k]


@called
def factorise_exactly(factor, pivot_low, k, floor):
    """Replace a matrix of exact sums in `factor[:, :, k]` by its lower Cholesky factor.

    What the first parts of the sums lost stands above the diagonal, that of the diagonal in `pivot_low`.
    It costs some twenty times `factorise`, and is for matrices that plain numbers cannot tell from
    singular ones: those of rows far from the prior mean.
    """
    for j in range(factor.shape[0]):
        a, b = _without_earlier(factor, factor[j, j, k], pivot_low[j, k], j, j, k)
        if a > floor[j] * floor[j]:
            a, b = root_of(a, b)
        else:
            a, b = floor[j], 0.0
        factor[j, j, k] = a
        pivot_low[j, k] = b
        for i in range(j + 1, factor.shape[0]):
            c, d = _without_earlier(factor, factor[i, j, k], factor[j, i, k], i, j, k)
            c, d = ratio_of(c, d, a, b)
            factor[i, j, k] = c
            factor[j, i, k] = d


@inlined
def _without_earlier(factor, a, b, i, j, k):
    """Subtract from cell (i, j) what the columns before j say of it."""
    for p in range(j):
        more, lost = product_of(factor[i, p, k], factor[p, i, k], factor[j, p, k], factor[p, j, k])
        a, b = added(a, b, -more, -lost)
    return a, b


@inlined
def squared_length(factor, k, vector):
    """Return vector' (L L')^-1 vector for the factor L of chair k; spoil `vector`."""
    total = 0.0
    for i in range(vector.shape[0]):
        for j in range(i):
            vector[i] -= factor[i, j, k] * vector[j]
        vector[i] /= factor[i, i, k]
        total += vector[i] * vector[i]
    return total


def is_positive_definite(matrix: np.ndarray) -> bool:
    """Say whether a symmetric matrix has a Cholesky factor."""
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return bool(np.abs(matrix - matrix.T).max() <= 1e-8 * np.abs(matrix).max())
