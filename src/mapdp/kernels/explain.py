"""Knows what single columns say: of a cluster beside the others, of a row beside its second choice."""

from mapdp._jit import kernel
from mapdp.families.mixed import log_marginal_of_column, score_cell
from mapdp.kernels.seat import fetch


@kernel
def worth_of_columns(bank, n_chairs, out):
    """Fill out[j, k] with the log marginal density of column j on chair k."""
    for k in range(n_chairs):
        for j in range(bank.n.shape[0]):
            out[j, k] = log_marginal_of_column(bank, j, k)


@kernel
def odds_of_cells(X, origin, bank, own, other, x, scores, out):
    """Fill out[i, j] with the log odds of chair own[i] against other[i] by cell j; 0 for a gap."""
    for i in range(X.shape[0]):
        fetch(X, i, origin, x)
        for j in range(x.shape[0]):
            out[i, j] = 0.0
            if x[j] == x[j]:
                for k in range(scores.shape[0]):
                    scores[k] = 0.0
                score_cell(bank, j, x[j], scores.shape[0], scores)
                out[i, j] = scores[own[i]] - scores[other[i]]
