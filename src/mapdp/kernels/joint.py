"""Knows how statistics are built from labels, and what the clusters' rows are worth together."""

import math

from mapdp import family
from mapdp._jit import inlined, kernel
from mapdp.kernels.seat import fetch
from mapdp.state import CHAIRS, TAKEN


@kernel
def build(X, labels, sizes, origin, x, bank):
    """Insert every row that has a label into its chair, then refresh all chairs."""
    for i in range(X.shape[0]):
        if labels[i] >= 0:
            fetch(X, i, origin, x)
            family.insert(bank, labels[i], x)
    for k in range(sizes.shape[0]):
        family.refresh(bank, k)


@inlined
def log_joint_of_chairs(n_chairs, n_clusters, sizes, opens, discount, worth):
    """Return the joint of the rows on these chairs, but for the total weight of all partitions."""
    total = 0.0
    for k in range(n_chairs):
        if sizes[k] > 0:
            total += worth[k] + math.lgamma(sizes[k] - discount) - math.lgamma(1.0 - discount)
    for k in range(n_clusters):
        total += opens[k]
    return total


@kernel
def log_joint(state, worth):
    """Return the joint of a state, but for the total weight of all partitions.

    `worth[k]` becomes the log density of the rows on chair k, 0 where nobody sits.
    """
    labels, sizes, joins, opens, discount, counters, bank, origin, x, scores, scratch = state
    for k in range(counters[CHAIRS]):
        worth[k] = family.log_marginal(bank, k) if sizes[k] > 0 else 0.0
    return log_joint_of_chairs(counters[CHAIRS], counters[TAKEN], sizes, opens, discount, worth)
