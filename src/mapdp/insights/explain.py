"""Why a row is in its cluster: log odds against its second choice, column by column, in nats."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mapdp.engine.columns import log_odds_of_cells
from mapdp.families import Mixed
from mapdp.families.base import Bank, Family, refresh_chairs


class Explanation(NamedTuple):
    """Why rows are where they are; all in nats."""

    labels: np.ndarray  # (N,) most probable cluster, -1 for a new one
    second: np.ndarray  # (N,) the next best
    log_odds: np.ndarray  # (N,) of the first against the second
    by_size: np.ndarray  # (N,) the part of it that comes from the sizes of the two
    by_column: np.ndarray  # (N, D) the part that each column adds; 0 for a gap
    names: tuple[str, ...]  # of the columns

    def reasons(self, i: int, n: int = 3) -> list[tuple[str, float]]:
        """Return the columns that say most about row i, for or against."""
        order = np.argsort(-np.abs(self.by_column[i]), kind="stable")[:n]
        return [(self.names[j], float(self.by_column[i, j])) for j in order]


def explained(
    family: Family,
    bank: Bank,
    rows: np.ndarray,
    scores: np.ndarray,
    weights: np.ndarray,
    names: Sequence[str],
) -> Explanation:
    """Explain why each row prefers its first choice; scores are log p(x, chair), an empty chair last."""
    n_chairs = scores.shape[1]
    order = np.argsort(-scores, axis=1, kind="stable")[:, :2]
    first, second = order[:, 0].copy(), order[:, 1].copy()
    everyone = np.arange(len(scores))
    log_odds = scores[everyone, first] - scores[everyone, second]
    by_size = weights[first] - weights[second]
    if family.is_whole:
        by_column, names = (log_odds - by_size)[:, None], ("row",)
    else:
        by_column = _by_column(family, bank, rows, first, second, n_chairs)
    first, second = (np.where(chair == n_chairs - 1, -1, chair) for chair in (first, second))
    return Explanation(first, second, log_odds, by_size, by_column, tuple(names))


def _by_column(
    family: Family, bank: Bank, rows: np.ndarray, first: np.ndarray, second: np.ndarray, n_chairs: int
) -> np.ndarray:
    """Return (N, D): the log odds of the first chair against the second by each cell."""
    columns, out = Mixed.of(family), np.empty(rows.shape)
    origin = np.ascontiguousarray(columns.origin)
    for part in columns.banks_of([family.sums(bank, k) for k in range(n_chairs)]):
        capacity = part.n.shape[1]
        refresh_chairs(part, capacity, capacity)
        log_odds_of_cells(rows, origin, part, first, second, np.zeros(capacity), out)
    return columns.layout.added(out)
