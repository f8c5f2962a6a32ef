"""Knows the density of new rows given a partition: the clusters' predictives, mixed, with an open end."""

from collections.abc import Callable

import numpy as np

from mapdp._lanes import LANES, whole_lanes
from mapdp.families import Mixed
from mapdp.family import Bank, Family
from mapdp.kernels.score import score_rows
from mapdp.moments import has_gaps
from mapdp.process import Process
from mapdp.state import State, predictive_bank

_CHUNK_CELLS = 2**20  # scores held at once: 8 MB


def reduced_scores(
    rows: np.ndarray, weights: np.ndarray, bank: Bank, family: Family, reduce: Callable
) -> np.ndarray:
    """Apply `reduce` to log p(x, chair) of a block of encoded rows at a time, so that memory stays flat.

    `weights` are the log probabilities of the chairs of the bank, an empty one last. Rows with gaps are
    scored all at once.
    """
    if has_gaps(rows) and not isinstance(family, Mixed):
        chairs = [family.posterior(bank, k) for k in range(len(weights))]
        return reduce(_scores_with_gaps(rows, weights, chairs))
    joins = np.full(whole_lanes(len(weights)), -np.inf)
    joins[: len(weights)] = weights
    origin, x = np.ascontiguousarray(family.origin), np.empty(rows.shape[1])
    scratch = np.empty((family.scratch_rows, LANES))
    step = max(1, _CHUNK_CELLS // len(weights))
    out, reduced = np.empty((min(step, len(rows)), len(joins))), []
    for begin in range(0, len(rows), step):
        block = rows[begin : begin + step]
        score_rows(block, joins, bank, origin, x, scratch, out)
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
            scores[some, k] = _density(part, family.among(columns)) if len(columns) else 0.0
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
