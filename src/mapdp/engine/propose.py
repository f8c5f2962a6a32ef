"""Guesses at how rows could be parted, from their shape alone: no likelihood is needed.

Rows are whitened (mean 0, variance 1 in every column), so that distances mean the same in all columns. A
guess writes a part for each row.
"""

import math
from typing import NamedTuple

import numpy as np

from mapdp.compiled.jit import inlined, kernel

_POWER_STEPS = 5  # of the power iteration: a guess needs a direction, not an eigenvector
_ALIKE = 0.99  # cosine of two directions that are as good as one


class GuessBuffers(NamedTuple):
    """Working space for guesses about up to n rows, and for what came of them."""

    W: np.ndarray  # (n, D) whitened rows
    shift: np.ndarray  # (D,)
    scale: np.ndarray  # (D,)
    nearest: np.ndarray  # (n,) distance to the nearest seed
    guess: np.ndarray  # (n,) part of each row
    chosen: np.ndarray  # (n,) the part that it wants
    rows: np.ndarray  # (n,) the rows in hand
    parts: np.ndarray  # (n,) their parts after the best trial


def guess_buffers(n_rows: int, n_features: int) -> GuessBuffers:
    """Return working space for guesses about up to `n_rows` rows."""
    floats = [np.empty(shape) for shape in ((n_rows, n_features), n_features, n_features, n_rows)]
    return GuessBuffers(*floats, *np.empty((4, n_rows), dtype=np.int32))


@kernel
def guess_by_axis(X, rows, axis, buffers):
    """Part rows along their main axis; `axis` is a start for it."""
    n = rows.shape[0]
    whiten(X, rows, buffers.W[:n], buffers.shift, buffers.scale)
    part_by_axis(buffers.W[:n], axis, buffers.shift, buffers.guess[:n])


@kernel
def guess_by_seeds(X, rows, uniforms, buffers):
    """Part rows around seeds."""
    n = rows.shape[0]
    whiten(X, rows, buffers.W[:n], buffers.shift, buffers.scale)
    part_by_seeds(buffers.W[:n], uniforms, buffers.nearest, buffers.guess[:n])


@inlined
def whiten(X, rows, W, shift, scale):
    """Fill W with the rows, each column with mean 0 and variance 1 (0 where it does not vary)."""
    n, n_features, first = rows.shape[0], X.shape[1], rows[0]
    for j in range(n_features):
        shift[j] = scale[j] = 0.0
    for r in range(n):
        i = rows[r]
        for j in range(n_features):
            gap = X[i, j] - X[first, j]  # exactly 0 where the column does not vary
            W[r, j] = gap
            shift[j] += gap
            scale[j] += gap * gap
    for j in range(n_features):
        shift[j] /= n
        variance = scale[j] / n - shift[j] * shift[j]
        scale[j] = 1.0 / math.sqrt(variance) if variance > 0.0 else 0.0
    for r in range(n):
        for j in range(n_features):
            W[r, j] = (W[r, j] - shift[j]) * scale[j]


@inlined
def _projection(W, r, axis):
    total = 0.0
    for j in range(W.shape[1]):
        total += W[r, j] * axis[j]
    return total


@inlined
def part_by_axis(W, axis, turned, out):
    """Part rows by the sign of their projection on the main axis; `axis` is a start for it."""
    for step in range(_POWER_STEPS):
        for j in range(W.shape[1]):
            turned[j] = 0.0
        for r in range(W.shape[0]):
            projection = _projection(W, r, axis)
            for j in range(W.shape[1]):
                turned[j] += projection * W[r, j]
        length = 0.0
        for j in range(W.shape[1]):
            length += turned[j] * turned[j]
        if length == 0.0:
            break
        likeness = 0.0
        for j in range(W.shape[1]):
            turned[j] /= math.sqrt(length)
            likeness += axis[j] * turned[j]
            axis[j] = turned[j]
        if step > 0 and likeness > _ALIKE:  # the first axis has any length
            break
    for r in range(W.shape[0]):
        out[r] = 1 if _projection(W, r, axis) > 0.0 else 0


@inlined
def part_by_seeds(W, uniforms, nearest, out):
    """Part rows by the nearest of several seeds, which keep their distance.

    Each seed is drawn with the weight of its squared distance to those before it (the first: to the
    mean); a number of 1 in `uniforms` takes the row that is farthest instead.
    """
    total, farthest = 0.0, 0
    for r in range(W.shape[0]):
        nearest[r] = 0.0
        for j in range(W.shape[1]):
            nearest[r] += W[r, j] * W[r, j]
        total += nearest[r]
        if nearest[r] > nearest[farthest]:
            farthest = r
    for k in range(uniforms.shape[0]):
        seed = farthest
        if uniforms[k] < 1.0:
            seed = _drawn(nearest, W.shape[0], uniforms[k] * total, farthest)
        total, farthest = _gather(W, seed, k, nearest, out)


@inlined
def _gather(W, seed, k, nearest, out):
    """Let rows that are nearest to this seed join it; return the total distance and the farthest row."""
    total, farthest, longest = 0.0, 0, -1.0
    for r in range(W.shape[0]):
        distance = 0.0
        for j in range(W.shape[1]):
            gap = W[r, j] - W[seed, j]
            distance += gap * gap
        if k == 0 or distance < nearest[r]:
            nearest[r] = distance
            out[r] = k
        distance = nearest[r]
        total += distance
        if distance > longest:
            farthest, longest = r, distance
    return total, farthest


@inlined
def _drawn(weight, n, left, otherwise):
    """Return the row at which the running total of the n weights passes `left`."""
    for r in range(n):
        left -= weight[r]
        if left < 0.0:
            return r
    return otherwise
