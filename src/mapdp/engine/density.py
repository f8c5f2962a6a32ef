"""The density of new rows given a partition: a mixture of the clusters' predictives and a new one's."""

from collections.abc import Callable

import numpy as np

from mapdp.compiled.lanes import whole_lanes
from mapdp.data.checks import Names
from mapdp.data.one_gaussian import gap_patterns
from mapdp.engine.score import score_rows
from mapdp.engine.state import State, new_workspace, predictive_bank
from mapdp.families import Mixed, Product
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
    if not family.takes_encoded_gaps(rows):
        return reduce(_scores_with_gaps(rows, bank, family, len(weights)) + weights)
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


def encoded_for_scores(numbers: np.ndarray, family: Family, names: Names = None) -> np.ndarray:
    """Return rows as `reduced_scores` wants them: encoded, or cell by cell where gaps forbid that."""
    if family.takes_gaps(numbers):
        return family.encode(numbers, names)
    if not isinstance(family, Product):
        return Mixed.of(family).encode(numbers, names)
    parts = [(Mixed.of(part), list(columns)) for part, columns in family.parts]
    named = range(numbers.shape[1]) if names is None else names
    return np.hstack([one.encode(numbers[:, some], [named[j] for j in some]) for one, some in parts])


def _scores_with_gaps(rows: np.ndarray, bank: Bank, family: Family, n_chairs: int) -> np.ndarray:
    """Return log p(x | chair) for rows with gaps, which are encoded cell by cell."""
    if isinstance(family, Product):
        pairs = zip(family.pieces(rows), family.banks(bank), strict=True)
        return np.sum(
            [_scores_with_gaps(piece, own, part, n_chairs) for (part, piece), own in pairs], axis=0
        )
    chairs = [family.posterior(bank, k) for k in range(n_chairs)]
    scores = [
        _density(rows, Mixed.of(one)) if one.has_columns else _density_by_patterns(rows, one)
        for one in chairs
    ]
    return np.array(scores).T


def _density_by_patterns(rows: np.ndarray, family: Family) -> np.ndarray:
    """Return the log density of rows with gaps under a prior whose columns are not independent."""
    gaps, columns = np.isnan(rows), np.arange(rows.shape[1])
    whole = (np.flatnonzero(~gaps.any(axis=1)), columns[:0], columns)
    density = np.zeros(len(rows))
    for some, _, seen in [*gap_patterns(gaps), whole]:
        density[some] = family.log_densities(seen, rows[np.ix_(some, seen)])
    return density


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
