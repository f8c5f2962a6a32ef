"""The density of new rows given a partition: a mixture of the clusters' predictives and a new one's."""

from collections.abc import Callable

import numpy as np

from mapdp.compiled.lanes import whole_lanes
from mapdp.data.moments import has_gaps
from mapdp.engine.score import score_rows
from mapdp.engine.state import State, new_workspace, predictive_bank
from mapdp.families import Mixed
from mapdp.families.base import Bank, Family
from mapdp.partitions.process import Process

_CHUNK_CELLS = 2**20  # scores held at once: 8 MB


def reduced_scores(
    rows: np.ndarray, weights: np.ndarray, bank: Bank, family: Family, reduce: Callable
) -> np.ndarray:
    """Apply `reduce` to log p(x, chair) of a block of encoded rows at a time, so that memory stays flat.

    `weights` are the log probabilities of the chairs of the bank, an empty one last. Rows with gaps are
    scored all at once.
    """
    if has_gaps(rows) and not (isinstance(family, Mixed) or family.is_whole):
        families = [family.posterior(bank, k) for k in range(len(weights))]
        return reduce(_scores_with_gaps(rows, weights, families))
    log_join = np.full(whole_lanes(len(weights)), -np.inf)
    log_join[: len(weights)] = weights
    chairs, work = family.handle(bank), new_workspace(family, 0, rows.shape[1])
    step = max(1, _CHUNK_CELLS // len(weights))
    out, reduced = np.empty((min(step, len(rows)), len(log_join))), []
    for begin in range(0, len(rows), step):
        block = rows[begin : begin + step]
        score_rows(block, log_join, chairs, work, out)
        reduced.append(reduce(out[: len(block), : len(weights)]))
    return np.concatenate(reduced)


def _scores_with_gaps(rows: np.ndarray, weights: np.ndarray, chairs: list[Family]) -> np.ndarray:
    """Return log p(x, chair) for rows with gaps; each chair is given as a family that has learned."""
    scores = np.empty((len(rows), len(weights)))
    observed = ~np.isnan(rows)
    patterns, which = np.unique(observed, axis=0, return_inverse=True)
    for k, family in enumerate(chairs):
        if family.has_columns:
            scores[:, k] = _density(rows, Mixed.of(family))
            continue
        for p, seen in enumerate(patterns):
            some, columns = np.flatnonzero(which.ravel() == p), np.flatnonzero(seen)
            part = np.ascontiguousarray(rows[np.ix_(some, columns)])
            among = family.among(columns) if len(columns) else None
            scores[some, k] = 0.0 if among is None else _density(among.encode(part), among)
    return scores + weights


def _density(rows: np.ndarray, family: Family) -> np.ndarray:
    """Return the log density of encoded rows under a prior."""
    return reduced_scores(rows, np.zeros(1), family.bank(1), family, lambda scores: scores[:, 0].copy())


def log_sum(scores: np.ndarray) -> np.ndarray:
    """Return the log of the sum of exponentials of each row."""
    return np.logaddexp.reduce(scores, axis=1)


def log_density(rows: np.ndarray, state: State, family: Family, process: Process) -> np.ndarray:
    """Return the log density of encoded rows; chairs 0, 1, ... of the state must be the taken ones."""
    n_clusters = state.n_clusters
    weights = process.log_seating(state.sizes[:n_clusters])
    return reduced_scores(rows, weights, predictive_bank(state.bank, family, n_clusters), family, log_sum)
