"""What single columns say about clusters and rows; banks hold columns of one kind."""

from mapdp.compiled.jit import kernel
from mapdp.families import verbs


@kernel
def log_marginals_of_columns(bank, n_chairs, out):
    """Fill out[j, k] with the log marginal density of column j on chair k."""
    for k in range(n_chairs):
        for j in range(bank.n.shape[0]):
            out[j, k] = verbs.log_marginal_of_column(bank, j, k)


@kernel
def log_odds_of_cells(X, origin, bank, own, other, scores, out):
    """Fill in the log odds of chair own[i] against other[i] by each cell of row i; 0 for a gap.

    Cells stand in `out` where they stand in a row; those of other kinds of columns are left alone.
    """
    for i in range(X.shape[0]):
        for j in range(bank.n.shape[0]):
            p = bank.prior.place[j]
            v = X[i, p] - origin[p]
            out[i, p] = 0.0
            if v == v:
                for k in range(scores.shape[0]):
                    scores[k] = 0.0
                verbs.score_cell(bank, j, v, scores.shape[0], scores)
                out[i, p] = scores[own[i]] - scores[other[i]]
