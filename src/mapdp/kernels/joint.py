"""Knows how a state is built from labels, and what the clusters' rows are worth together."""

import numpy as np

from mapdp import family
from mapdp._jit import inlined, kernel
from mapdp.kernels.seat import fetch
from mapdp.special import log, log_rising
from mapdp.state import CHAIRS, OPEN, TAKEN


@inlined
def _insert_rows(X, begin, end, labels, origin, x, bank):
    """Insert rows into the chairs that their labels name."""
    for i in range(begin, end):
        fetch(X, i, origin, x)
        family.insert(bank, labels[i], x)


@kernel
def build_part(X, begin, end, labels, origin, x, bank):
    """Insert some of the rows into a bank of empty chairs."""
    _insert_rows(X, begin, end, labels, origin, x, bank)


@kernel
def pour_parts(state, part):
    """Pour all chairs of another bank into those of a state."""
    for k in range(state.sizes.shape[0]):
        family.pour(state.bank, k, part, k, 1.0)


@kernel
def build(X, begin, state):
    """Make all of a state follow from its labels; chairs 0, 1, ... must all be taken, and one be free.

    The rows before `begin` are in the bank already.
    """
    labels, sizes, joins, opens, discount, counters, bank, origin, x, scores, scratch = state
    if begin == 0:
        for k in range(sizes.shape[0]):
            family.clear(bank, k)
    _insert_rows(X, begin, X.shape[0], labels, origin, x, bank)
    for k in range(sizes.shape[0]):
        sizes[k] = 0
        joins[k] = -np.inf
    n_clusters = 0
    for i in range(X.shape[0]):
        sizes[labels[i]] += 1
        n_clusters = max(n_clusters, labels[i] + 1)
    for k in range(sizes.shape[0]):
        family.refresh(bank, k)
        if sizes[k] > 0:
            joins[k] = log(sizes[k] - discount)
    joins[n_clusters] = opens[n_clusters]
    counters[TAKEN] = n_clusters
    counters[OPEN] = n_clusters
    counters[CHAIRS] = n_clusters + 1


@kernel
def sort_by_chair(labels, sizes, order, ends):
    """Fill `order` with the rows, chair by chair; those of chair k stop before ends[k]."""
    total = 0
    for k in range(sizes.shape[0]):
        ends[k] = total
        total += sizes[k]
    for i in range(labels.shape[0]):
        order[ends[labels[i]]] = i
        ends[labels[i]] += 1


@inlined
def worth_of_chair(bank, k, size, discount):
    """Return what chair k adds to the joint: the log density of its rows and of their sitting together."""
    if size == 0:
        return 0.0
    return family.log_marginal(bank, k) + log_rising(1.0 - discount, size - 1.0)


@inlined
def log_joint_of_chairs(n_chairs, n_clusters, opens, worth):
    """Return the joint of the rows on these chairs, but for the total weight of all partitions."""
    total = 0.0
    for k in range(n_chairs):
        total += worth[k]
    for k in range(n_clusters):
        total += opens[k]
    return total


@kernel
def log_joint(state, worth):
    """Return the joint of a state, but for the total weight of all partitions.

    `worth[k]` becomes what chair k adds to it.
    """
    labels, sizes, joins, opens, discount, counters, bank, origin, x, scores, scratch = state
    for k in range(counters[CHAIRS]):
        worth[k] = worth_of_chair(bank, k, sizes[k], discount)
    return log_joint_of_chairs(counters[CHAIRS], counters[TAKEN], opens, worth)
