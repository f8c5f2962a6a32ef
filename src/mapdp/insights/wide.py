"""Tables of very many columns, as sparse ones are: clusters are described by the columns that matter.

Both families of such tables say of a column how many of a number of trials were its own: rows with a one,
or counts among all counts. So its log Bayes factor is a difference of log beta functions, for all columns
at once.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import betaln

from mapdp.families import Bernoulli, Mixed, Multinomial
from mapdp.families.base import Bank, Family
from mapdp.families.columns import Sums, tallied

WIDE = 10_000  # columns, from which on not all of them are described
_NAMED = 20  # columns of each cluster that are


class ColumnTrials(NamedTuple):
    """How many trials each column has on each chair, and how many were its own."""

    n: np.ndarray  # (K,)
    own: np.ndarray  # (K, D)

    def nats_apart(self, success: np.ndarray, failure: np.ndarray) -> np.ndarray:
        """Return (K, D): by how much columns are more probable with a share of their own in a cluster."""

        def log_marginal(n: float, own: np.ndarray) -> np.ndarray:
            return betaln(success + own, failure + (n - own)) - betaln(success, failure)

        n_all, all_own = self.n.sum(), self.own.sum(axis=0)
        together = log_marginal(n_all, all_own)
        return np.array(
            [
                log_marginal(n, own) + log_marginal(n_all - n, all_own - own) - together
                for n, own in zip(self.n, self.own, strict=True)
            ]
        )

    def sums(self, k: int, columns: np.ndarray) -> Sums:
        """Return the statistics of some columns on chair k."""
        own = self.own[k, columns]
        return tallied(self.n[k], list(np.stack([self.n[k] - own, own], axis=1)))


def is_wide(family: Family) -> bool:
    """Say whether a family has more columns than should be described."""
    return isinstance(family, Bernoulli | Multinomial) and family.n_features > WIDE


def narrowed(family: Family, bank: Bank, n_clusters: int) -> tuple[Mixed, list[Sums], np.ndarray]:
    """Return what describes the columns that set clusters apart most: a prior, statistics, and which."""
    trials, (success, failure) = _trials(family, bank, n_clusters)
    nats = trials.nats_apart(success, failure)
    columns = np.unique(np.argpartition(-nats, _NAMED, axis=1)[:, :_NAMED])
    chairs = [trials.sums(k, columns) for k in range(n_clusters)]
    return Mixed([family.column(j) for j in columns]), chairs, columns


def _trials(
    family: Family, bank: Bank, n_clusters: int
) -> tuple[ColumnTrials, tuple[np.ndarray, np.ndarray]]:
    """Return the trials of each chair, and the pseudo-counts of the columns."""
    if isinstance(family, Bernoulli):
        ones = bank.tally[1::2, :n_clusters].T
        return ColumnTrials(bank.n[:n_clusters], ones), (family.success, family.failure)
    assert isinstance(family, Multinomial)
    own = family.concentration
    others = np.maximum(own.sum() - own, 1e-30)
    return ColumnTrials(bank.mass[:n_clusters], bank.tally[:, :n_clusters].T), (own, others)
