"""Knows guesses at how rows could be parted, from their shape alone: no family is asked.

All work on whitened rows W (mean 0, variance 1 in every column) and write a chair for each row.
"""

import numpy as np

from mapdp._jit import inlined, kernel

_POWER_STEPS = 12  # of the power iteration: a guess needs a direction, not an eigenvector


@kernel
def whiten(X, rows, W):
    """Fill W with the rows, each column with mean 0 and variance 1 (0 where it does not vary)."""
    n = rows.shape[0]
    for j in range(X.shape[1]):
        first, mean, square = X[rows[0], j], 0.0, 0.0
        for r in range(n):
            W[r, j] = X[rows[r], j] - first  # exactly 0 where the column does not vary
            mean += W[r, j] / n
        for r in range(n):
            W[r, j] -= mean
            square += W[r, j] * W[r, j] / n
        scale = 1.0 / np.sqrt(square) if square > 0.0 else 0.0
        for r in range(n):
            W[r, j] *= scale


@inlined
def _distances(W, seed, out):
    """Fill out[r] with the squared distance of row r from a row."""
    for r in range(W.shape[0]):
        total = 0.0
        for j in range(W.shape[1]):
            total += (W[r, j] - W[seed, j]) ** 2
        out[r] = total


@kernel
def part_by_axis(W, axis, projection, out):
    """Part rows by the sign of their projection on the main axis; `axis` is a start for it."""
    for _ in range(_POWER_STEPS):
        _project(W, axis, projection)
        length = 0.0
        for j in range(W.shape[1]):
            axis[j] = 0.0
            for r in range(W.shape[0]):
                axis[j] += projection[r] * W[r, j]
            length += axis[j] * axis[j]
        if length == 0.0:
            break
        for j in range(W.shape[1]):
            axis[j] /= np.sqrt(length)
    _project(W, axis, projection)
    for r in range(W.shape[0]):
        out[r] = 1 if projection[r] > 0.0 else 0


@inlined
def _project(W, axis, projection):
    for r in range(W.shape[0]):
        total = 0.0
        for j in range(W.shape[1]):
            total += W[r, j] * axis[j]
        projection[r] = total


@kernel
def part_by_seeds(W, uniforms, nearest, distance, out):
    """Part rows by the nearest of several seeds, which keep their distance.

    Each seed is drawn with the weight of its squared distance to those before it; a number of 1 in
    `uniforms` takes the row that is farthest instead.
    """
    n = W.shape[0]
    for r in range(n):
        out[r] = 0
        nearest[r] = 0.0
        for j in range(W.shape[1]):
            nearest[r] += W[r, j] * W[r, j]
    for k in range(uniforms.shape[0]):
        seed = _drawn(nearest, uniforms[k])
        _distances(W, seed, distance)
        for r in range(n):
            if k == 0 or distance[r] < nearest[r]:
                nearest[r] = distance[r]
                out[r] = k


@inlined
def _drawn(weight, uniform):
    """Return the row at this share of the total weight, the heaviest row for a share of 1."""
    total, heaviest = 0.0, 0
    for r in range(weight.shape[0]):
        total += weight[r]
        if weight[r] > weight[heaviest]:
            heaviest = r
    left = uniform * total
    for r in range(weight.shape[0]):
        left -= weight[r]
        if left < 0.0 and uniform < 1.0:
            return r
    return heaviest
