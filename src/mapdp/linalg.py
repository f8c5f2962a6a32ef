"""Knows triangular factors of many matrices at once: chair k's factor is `factor[:, :, k]`.

The one idea: a row that comes or goes changes a scale matrix by one outer product, and its Cholesky
factor follows in D^2 steps. A cluster's scale never falls below its prior's, so a pivot that rounding
pushed lower is lifted back.
"""

import math

import numpy as np

from mapdp._jit import inlined


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


@inlined
def rank_one(factor, k, vector, sign, floor):
    """Make `factor[:, :, k]` the factor of its matrix + sign * vector vector'; spoil `vector`."""
    for j in range(vector.shape[0]):
        old = factor[j, j, k]
        new = math.sqrt(max(old * old + sign * vector[j] * vector[j], floor[j] * floor[j]))
        c, s = new / old, vector[j] / old
        factor[j, j, k] = new
        for i in range(j + 1, vector.shape[0]):
            factor[i, j, k] = (factor[i, j, k] + sign * s * vector[i]) / c
            vector[i] = c * vector[i] - s * factor[i, j, k]


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
