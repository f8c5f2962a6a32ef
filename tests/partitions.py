"""Exact oracles: every partition of a few rows, and the algorithm written as the paper prints it."""

from collections.abc import Iterator

import numpy as np

from mapdp.compiled.handles import copied
from mapdp.families import verbs
from mapdp.partitions.process import Process


def all_partitions(n: int) -> Iterator[np.ndarray]:
    """Yield every partition of n rows, clusters numbered in order of appearance."""

    def extend(prefix: list[int], n_clusters: int) -> Iterator[np.ndarray]:
        if len(prefix) == n:
            yield np.array(prefix)
            return
        for k in range(n_clusters + 1):
            yield from extend([*prefix, k], max(n_clusters, k + 1))

    yield from extend([], 0)


class ExactModel:
    """log p(x, z) from marginals of subsets of rows, each computed once by interpreted verbs."""

    def __init__(self, family, process: Process, X: np.ndarray) -> None:
        self.process, self._scratch = process, family.scratch()
        self._rows = family.encode(np.asarray(X, dtype=np.float64)) - family.origin
        self._banks = {(): family.bank(1)}
        self._marginals: dict[tuple[int, ...], float] = {}
        self._priors: dict[tuple[int, ...], float] = {}

    def log_marginal(self, rows: tuple[int, ...]) -> float:
        """Do what the family's `log_marginal` does with these rows, in increasing order."""
        if rows not in self._marginals:
            self._marginals[rows] = float(verbs.log_marginal(self._holding(rows), 0))
        return self._marginals[rows]

    def _holding(self, rows: tuple[int, ...]):
        """Return a bank whose first chair has the statistics of rows: of all but the last, and of that."""
        if rows not in self._banks:
            bank = copied(self._holding(rows[:-1]))
            verbs.insert(bank, 0, self._rows[rows[-1]], self._scratch)
            self._banks[rows] = bank
        return self._banks[rows]

    def log_prior(self, sizes: tuple[int, ...]) -> float:
        if sizes not in self._priors:
            self._priors[sizes] = self.process.log_eppf(sizes)
        return self._priors[sizes]

    def log_joint(self, labels) -> float:
        return self.log_joint_of(clusters_of(labels))

    def log_joint_of(self, clusters: tuple[tuple[int, ...], ...]) -> float:
        likelihood = sum(map(self.log_marginal, clusters))
        return likelihood + self.log_prior(tuple(sorted(map(len, clusters))))


def clusters_of(labels) -> tuple[tuple[int, ...], ...]:
    """Return the rows of each cluster."""
    clusters: dict[int, list[int]] = {}
    for i, k in enumerate(labels):
        clusters.setdefault(int(k), []).append(i)
    return tuple(map(tuple, clusters.values()))


def canonical(labels: np.ndarray) -> tuple[int, ...]:
    """Return the labels with clusters numbered in order of appearance."""
    names: dict[int, int] = {}
    return tuple(names.setdefault(int(k), len(names)) for k in labels)


def naive_sweep(family, process: Process, X: np.ndarray, labels: np.ndarray, order) -> np.ndarray:
    """Visit rows in order; statistics are worked out from the rows every time; -1 is standing."""
    labels = labels.copy()
    for i in order:
        others = np.flatnonzero((labels >= 0) & (np.arange(len(X)) != i))
        chairs = np.unique(labels[others])
        members = [others[labels[others] == k] for k in chairs]
        scores = [family.log_predictive(X[i], X[rows]) for rows in members]
        scores = np.array(scores) + process.log_join([len(rows) for rows in members])
        empty = family.log_predictive(X[i], X[:0]) + process.log_open(len(chairs), len(X))
        if len(chairs) and scores.max() >= empty:
            labels[i] = chairs[int(np.argmax(scores))]
        elif labels[i] < 0 or labels[i] in chairs:
            labels[i] = labels.max() + 1
    return labels
