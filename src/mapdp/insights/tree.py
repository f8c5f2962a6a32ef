"""The cluster tree: clusters are merged, always the pair that loses least log joint, until one is left.

Every level of the tree is a partition whose exact log joint is known: that of the clusters, less what the
merges so far have lost. Nodes 0 to K - 1 are the clusters, node K + m is what merge m makes.
"""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from mapdp.data import checks
from mapdp.data.wording import counted
from mapdp.engine.merge import merge_path
from mapdp.families.base import Bank, Family
from mapdp.partitions.process import Process

SUGGESTED_SHARE = 0.1  # of the total loss: of some 40 rules the one that did no harm on 30 tables
_MOST = 5000  # clusters: the gains of all pairs take 200 MB
DRAWN = 20  # clusters of a drawing; more are for a plot


class Drawn(NamedTuple):
    """A node of a drawing."""

    node: int
    before: str  # what is drawn to the left of it ...
    below: str  # ... and of what is below
    is_end: bool  # whether it is drawn undivided


@dataclasses.dataclass(frozen=True, eq=False)
class ClusterTree:
    """Which clusters merge, in which order, and what that loses; prints as a drawing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mapdp import MAPDP
    >>> tree = MAPDP(alpha=0.3, prior="paper").fit(load_iris().data).tree_
    >>> print(tree)
    150 rows in 3 clusters; merging them all loses 298.6 nats. A suggestion: 3 clusters.
    all 150 rows: split +264.4 nats
    ├─ 100 rows: split +34.2 nats
    │  ├─ cluster 0: 64 rows
    │  └─ cluster 2: 36 rows
    └─ cluster 1: 50 rows
    """

    labels: np.ndarray  # (N,) cluster of each row
    sizes: np.ndarray  # (2 K - 1,) what the rows of each node count for
    merges: np.ndarray  # (K - 1, 2) the nodes that each merge joins
    losses: np.ndarray  # (K - 1,) by how much each merge lowers the log joint, in nats
    n_least: int = 1  # clusters that remain where known labels must be kept apart

    @property
    def n_clusters(self) -> int:
        """Return the number of clusters before any merge."""
        return len(self.merges) + 1

    @property
    def accumulated(self) -> np.ndarray:
        """Return (K,): what the first 0, 1, ..., K - 1 merges lose together, in nats."""
        return np.concatenate([[0.0], np.cumsum(self.losses)])

    @property
    def linkage(self) -> np.ndarray:
        """Return (K - 1, 4): the tree of clusters as scipy's functions take it.

        Heights are losses; where a loss is below that of an earlier merge, the height is the earlier one,
        as branches must not cross. The last column counts clusters.
        """
        counts = np.ones(2 * self.n_clusters - 1)
        for node, pair in enumerate(self.merges, self.n_clusters):
            counts[node] = counts[pair].sum()
        return np.column_stack([self.merges, self.heights[self.n_clusters :], counts[self.n_clusters :]])

    @property
    def heights(self) -> np.ndarray:
        """Return (2 K - 1,): how high each node is drawn: 0 for clusters, then losses that never drop."""
        merged = np.maximum.accumulate(np.maximum(self.losses, 0.0))
        return np.concatenate([np.zeros(self.n_clusters), merged])

    @property
    def suggested(self) -> int:
        """Return a number of clusters to look at: merges may lose a tenth of what merging all loses.

        It is a suggestion; the most probable partition is the one before any merge.
        """
        return self.level(share=SUGGESTED_SHARE)

    def level(
        self, n_clusters: int | None = None, *, nats: float | None = None, share: float | None = None
    ) -> int:
        """Return the number of clusters where `cut` cuts."""
        if (n_clusters is None) + (nats is None) + (share is None) != 2:
            raise ValueError(
                f"cut needs one of n_clusters, nats and share, got {n_clusters}, {nats}, {share}. "
                f"Hint: n_clusters={self.suggested} is a suggestion."
            )
        if n_clusters is not None:
            return self._checked(n_clusters)
        lost = self.accumulated[: self.n_clusters + 1 - self.n_least]
        limit = (
            _checked_share(share) * max(lost[-1], 0.0)
            if nats is None
            else checks.not_negative("nats", nats)
        )
        too_much = np.flatnonzero(lost > limit)
        return self.n_clusters + 1 - int(too_much[0] if len(too_much) else len(lost))

    def _checked(self, n_clusters: Any) -> int:
        """Return a number of clusters, if the tree has such a level."""
        wanted = checks.whole("n_clusters", n_clusters, 1)
        if wanted > self.n_clusters:
            raise ValueError(
                f"n_clusters must be at most {self.n_clusters}, the number of clusters that were found, "
                f"got {wanted}. Hint: a tree only merges; a larger alpha finds more."
            )
        if wanted < self.n_least:
            raise ValueError(
                f"n_clusters must be at least {self.n_least}, as known labels keep that many apart, "
                f"got {wanted}. Hint: fit without y."
            )
        return wanted

    def cut(
        self, n_clusters: int | None = None, *, nats: float | None = None, share: float | None = None
    ) -> np.ndarray:
        """Return the cluster of each row where the tree is cut; give one of three.

        Parameters
        ----------
        n_clusters : int, default None
            Number of clusters.
        nats : float, default None
            Merge while the log joint is at most so far below that of the most probable partition.
        share : float, default None
            The same, as a share (0 to 1) of what merging all clusters loses.

        Returns
        -------
        labels : array of shape (N,)
            Clusters are numbered by falling size.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from mapdp import MAPDP
        >>> tree = MAPDP(alpha=0.3, prior="paper").fit(load_iris().data).tree_
        >>> np.bincount(tree.cut(n_clusters=2)).tolist()
        [100, 50]
        """
        return self.numbers(self.level(n_clusters, nats=nats, share=share))[self.labels]

    def numbers(self, n_clusters: int) -> np.ndarray:
        """Return (K,): which of `n_clusters` clusters each cluster is part of."""
        tops = self._tops(n_clusters)
        names, first, place = np.unique(tops, return_index=True, return_inverse=True)
        ranks = np.empty(len(names), dtype=np.int32)
        ranks[np.lexsort((first, -self.sizes[names]))] = np.arange(len(names))
        return ranks[place]

    def _tops(self, n_clusters: int) -> np.ndarray:
        """Return (K,): the node that each cluster is in when `n_clusters` are left."""
        n_merges = self.n_clusters - n_clusters
        tops = np.arange(self.n_clusters + n_merges)
        for m in reversed(range(n_merges)):
            tops[self.merges[m]] = tops[self.n_clusters + m]
        return tops[: self.n_clusters]

    def branches(self, node: int) -> tuple[int, int]:
        """Return the nodes that a merged node is made of, the larger one first."""
        a, b = self.merges[node - self.n_clusters].tolist()
        return (a, b) if self.sizes[a] >= self.sizes[b] else (b, a)

    def drawn(self, n_clusters: int = DRAWN, words: Callable[[int], list[str]] | None = None) -> str:
        """Return a drawing down to so many clusters; `words` has lines to put below each divided node."""
        lines = [self._head()]
        for step in self.walk(n_clusters):
            lines.append(f"{step.before}{self._name(step.node)}")
            if words is not None and not step.is_end:
                lines += [f"{step.below}│    {line}" for line in words(step.node)]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.drawn()

    def _head(self) -> str:
        n, lost = self.n_clusters, self.accumulated[-1]
        head = f"{self.size(-1)} in {counted(n, 'cluster')}"
        if n == 1:
            return f"{head}."
        return f"{head}; merging them all loses {lost:.1f} nats. A suggestion: {self.suggested} clusters."

    def size(self, node: int) -> str:
        """Return in words how many rows a node has."""
        return counted(float(self.sizes[node]), "row")

    def _name(self, node: int) -> str:
        """Return in a few words what a node is."""
        size = self.size(node)
        if node < self.n_clusters:
            return f"cluster {node}: {size}"
        every = "all " if node == len(self.sizes) - 1 else ""
        return f"{every}{size}: split {self.losses[node - self.n_clusters]:+.1f} nats"

    def walk(self, n_clusters: int) -> Iterator[Drawn]:
        """Yield nodes from the top down to so many clusters, of two branches the larger one first."""
        least = len(self.sizes) - min(n_clusters, self.n_clusters)  # nodes above it are divided
        waiting = [Drawn(len(self.sizes) - 1, "", "", least == len(self.sizes) - 1)]
        while waiting:
            step = waiting.pop()
            yield step
            if not step.is_end:
                (large, small), below = self.branches(step.node), step.below
                waiting.append(Drawn(small, f"{below}└─ ", f"{below}   ", small <= least))
                waiting.append(Drawn(large, f"{below}├─ ", f"{below}│  ", large <= least))


def _checked_share(share: object) -> float:
    if checks.not_negative("share", share) > 1.0:
        raise ValueError(
            f"share must be from 0 to 1, got {share}. Hint: {SUGGESTED_SHARE} is a suggestion."
        )
    return float(share)  # type: ignore[arg-type]


def tree_of(
    labels: np.ndarray, sizes: np.ndarray, bank: Bank, family: Family, process: Process, apart: np.ndarray
) -> ClusterTree:
    """Return the tree of clusters; those that `apart` marks merge with each other last."""
    n_clusters = len(sizes)
    if n_clusters > _MOST:
        raise ValueError(
            f"a tree compares all pairs of at most {_MOST} clusters, got {n_clusters}. "
            "Hint: a smaller alpha finds fewer."
        )
    path = merge_path(bank, sizes, apart, family, process)
    node_of, merges, all_sizes = np.arange(n_clusters), np.empty_like(path.chairs), list(sizes)
    for m, (a, b) in enumerate(path.chairs):
        merges[m] = node_of[a], node_of[b]
        all_sizes.append(all_sizes[node_of[a]] + all_sizes[node_of[b]])
        node_of[a] = n_clusters + m
    return ClusterTree(labels, np.array(all_sizes), merges, -path.log_gains, n_clusters - path.n_allowed)
