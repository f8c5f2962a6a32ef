"""The pass of DP-means: a row goes to the nearest centre, or becomes one where all are too far."""

import numpy as np

from mapdp.compiled.jit import inlined, kernel
from mapdp.compiled.lanes import LANES, load, spread, store
from mapdp.engine.score import highest


@inlined
def _measure(x, centres, closeness):
    """Fill closeness[k] with minus the squared distance to centre k; unused centres are infinite."""
    for k in range(0, closeness.shape[0], LANES):
        distance = spread(0.0)
        for j in range(x.shape[0]):
            residual = x[j] - load(centres[j], k)
            distance += residual * residual
        store(closeness, k, 0.0 - distance)


@inlined
def _nearest(closeness, best):
    k = 0
    while closeness[k] < best:
        k += 1
    return k


@kernel
def find_nearest(X, centres, closeness, labels, distances):
    """Fill in each row's nearest centre and its squared distance."""
    for i in range(X.shape[0]):
        _measure(X[i], centres, closeness)
        best = highest(closeness, closeness.shape[0])
        labels[i] = _nearest(closeness, best)
        distances[i] = -best


@kernel
def assign_or_open(X, rows, penalty, centres, n_centres, closeness, labels, start):
    """Visit `rows[start:]`; return how far it came, less than all where there is no room for a centre.

    A row farther than `penalty` (squared) from all centres becomes a centre. `n_centres` counts them.
    """
    for position in range(start, rows.shape[0]):
        i = rows[position]
        _measure(X[i], centres, closeness)
        best = highest(closeness, closeness.shape[0])
        if -best <= penalty:
            labels[i] = _nearest(closeness, best)
        elif n_centres[0] == closeness.shape[0]:
            return position
        else:
            labels[i] = n_centres[0]
            for j in range(X.shape[1]):
                centres[j, labels[i]] = X[i, j]
            n_centres[0] += 1
    return rows.shape[0]


@kernel
def mean_of_each(X, labels, sizes, centres):
    """Put each centre at the mean of its rows; centres without rows are infinite."""
    for k in range(sizes.shape[0]):
        sizes[k] = 0
        for j in range(X.shape[1]):
            centres[j, k] = 0.0
    for i in range(X.shape[0]):
        sizes[labels[i]] += 1
        for j in range(X.shape[1]):
            centres[j, labels[i]] += X[i, j]
    for k in range(sizes.shape[0]):
        for j in range(X.shape[1]):
            centres[j, k] = centres[j, k] / sizes[k] if sizes[k] > 0 else np.inf
