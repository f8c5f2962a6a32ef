"""Knows how statistics are built from labels, and what the clusters' rows are worth together."""

from mapdp import family
from mapdp._jit import kernel
from mapdp.kernels.seat import fetch


@kernel
def build(X, labels, sizes, origin, x, bank):
    """Insert every row that has a label into its chair, then refresh all chairs."""
    for i in range(X.shape[0]):
        if labels[i] >= 0:
            fetch(X, i, origin, x)
            family.insert(bank, labels[i], x)
    for k in range(sizes.shape[0]):
        family.refresh(bank, k)


@kernel
def log_marginals(sizes, bank):
    """Return the log density of all rows given who sits with whom."""
    total = 0.0
    for k in range(sizes.shape[0]):
        if sizes[k] > 0:
            total += family.log_marginal(bank, k)
    return total
