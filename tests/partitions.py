"""Exact oracles: every partition of a few rows, and the algorithm written as the paper prints it."""

from collections.abc import Iterator

import numpy as np

from mapdp.compiled.lanes import LANES
from mapdp.families import verbs
from mapdp.families.slots import arrays_of, fill_slots
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


class SetsOfRows:
    """Statistics of sets of rows and what follows from them, by interpreted verbs; each worked out once."""

    def __init__(self, family, X: np.ndarray) -> None:
        self._family, self._scratch = family, family.scratch()
        self._rows = family.encode(np.asarray(X, dtype=np.float64)) - family.origin
        self._banks = {(): family.bank(1)}
        self._fresh: set[tuple[int, ...]] = set()  # sets whose predictive has been worked out
        self._marginals: dict[tuple[int, ...], float] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def _holding(self, rows: tuple[int, ...]):
        """Return a bank whose first chair has the statistics of rows: of all but the last, and of that."""
        if rows not in self._banks:
            bank = self._family.bank(1)
            fill_slots(bank, list(arrays_of(self._holding(rows[:-1]))))
            verbs.insert(bank, 0, self._rows[rows[-1]], self._scratch)
            self._banks[rows] = bank
        return self._banks[rows]

    def log_marginal(self, rows: tuple[int, ...]) -> float:
        """Do what the family's `log_marginal` does."""
        if rows not in self._marginals:
            self._marginals[rows] = float(verbs.log_marginal(self._holding(rows), 0))
        return self._marginals[rows]

    def log_predictive(self, i: int, rows: tuple[int, ...]) -> float:
        """Do what the family's `log_predictive` does, for row i given others."""
        bank, scores = self._holding(rows), np.zeros(LANES)
        if rows not in self._fresh:
            verbs.refresh(bank, 0)
            self._fresh.add(rows)
        verbs.log_predictive(bank, self._rows[i], 1, scores, self._scratch)
        return float(scores[0])


class ExactModel:
    """log p(x, z) from marginals of sets of rows."""

    def __init__(self, sets: SetsOfRows, process: Process) -> None:
        self.sets, self.process = sets, process
        self._priors: dict[tuple[int, ...], float] = {}

    def log_prior(self, sizes: tuple[int, ...]) -> float:
        if sizes not in self._priors:
            self._priors[sizes] = self.process.log_eppf(sizes)
        return self._priors[sizes]

    def log_joint(self, labels) -> float:
        return self.log_joint_of(clusters_of(labels))

    def log_joint_of(self, clusters: tuple[tuple[int, ...], ...]) -> float:
        likelihood = sum(map(self.sets.log_marginal, clusters))
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


def naive_sweep(sets: SetsOfRows, process: Process, labels: np.ndarray, order) -> np.ndarray:
    """Visit rows in order; statistics are those of the rows of each chair; -1 is standing."""
    labels = labels.copy()
    for i in order:
        others = np.flatnonzero((labels >= 0) & (np.arange(len(sets)) != i))
        chairs = np.unique(labels[others])
        members = [tuple(others[labels[others] == k].tolist()) for k in chairs]
        scores = [sets.log_predictive(i, rows) for rows in members]
        scores = np.array(scores) + process.log_join([len(rows) for rows in members])
        empty = sets.log_predictive(i, ()) + process.log_open(len(chairs), len(sets))
        if len(chairs) and scores.max() >= empty:
            labels[i] = chairs[int(np.argmax(scores))]
        elif labels[i] < 0 or labels[i] in chairs:
            labels[i] = labels.max() + 1
    return labels
