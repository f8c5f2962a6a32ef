"""What sets the branches of a cluster tree apart, column by column.

A split is introduced by the log Bayes factor of "the two branches have distributions of their own in this
column" against "they share one". Where columns are independent within a cluster, these and what the prior
over partitions says add up to what the merge loses.
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mapdp.data.column import Column
from mapdp.families.base import Family
from mapdp.families.columns import Sums, together
from mapdp.insights.describe import Description, introduced, nats_between
from mapdp.insights.tree import DRAWN, ClusterTree
from mapdp.insights.typical import Typical, typical_values

_NAMED = 2  # columns that a split of a drawing is introduced by


class Contrast(NamedTuple):
    """What one column says of a split."""

    name: str
    nats: float  # log Bayes factor of a distribution for each branch against one for both
    larger: Typical  # what is typical in the larger branch: text, with `numbers`
    smaller: Typical  # and in the smaller one

    def __str__(self) -> str:
        return f"{self.name}: {self.larger} | {self.smaller}"


@dataclasses.dataclass(frozen=True, eq=False)
class TreeDescription:
    """A tree with what sets its branches apart; prints as a drawing."""

    tree: ClusterTree
    nodes: Description  # each node beside all rows outside it; nodes are numbered as in the tree
    splits: tuple[tuple[Contrast, ...], ...]  # of each merge: the columns that decide most come first

    def __str__(self) -> str:
        return self.drawn()

    def drawn(self, n_clusters: int = DRAWN) -> str:
        """Return a drawing down to so many clusters."""
        return self.tree.drawn(n_clusters, self._by_columns)

    def _by_columns(self, node: int) -> list[str]:
        split = self.splits[node - self.tree.n_clusters]
        return [str(contrast) for contrast in split[:_NAMED] if contrast.nats > 0.0]


def described_tree(
    tree: ClusterTree, family: Family, clusters: list[Sums], columns: Sequence[Column], names: Sequence[str]
) -> TreeDescription:
    """Describe each node of a tree, and what decides each of its splits."""
    chairs = _sums_of_nodes(tree, clusters)
    values = [typical_values(family, chair, columns) for chair in chairs]
    nats = np.zeros((len(chairs), len(names)))
    nats[:-1] = nats_between(family, chairs[:-1], _sums_outside(tree, chairs))
    nodes = introduced(nats, values, values[-1], tree.sizes, float(tree.sizes[-1]), names)
    return TreeDescription(tree, nodes, _splits(tree, family, chairs, values, names))


def _sums_of_nodes(tree: ClusterTree, clusters: list[Sums]) -> list[Sums]:
    """Return the statistics of all nodes, from those of the clusters."""
    chairs = list(clusters)
    for a, b in tree.merges:
        chairs.append(together([chairs[a], chairs[b]]))
    return chairs


def _sums_outside(tree: ClusterTree, chairs: list[Sums]) -> list[Sums]:
    """Return the statistics of all rows outside each node, but for the top one: there are none."""
    outside: dict[int, Sums] = {}
    for node in reversed(range(tree.n_clusters, len(chairs))):
        a, b = tree.merges[node - tree.n_clusters]
        for own, sibling in ((a, b), (b, a)):
            beyond = [outside[node]] if node in outside else []
            outside[own] = together([chairs[sibling], *beyond])
    return [outside[node] for node in range(len(chairs) - 1)]


def _splits(
    tree: ClusterTree, family: Family, chairs: list[Sums], values: list[list[Typical]], names: Sequence[str]
) -> tuple[tuple[Contrast, ...], ...]:
    """Return for each merge what its columns say, the column that decides most first."""
    pairs = [tree.branches(node) for node in range(tree.n_clusters, len(chairs))]
    large, small = ([chairs[pair[side]] for pair in pairs] for side in (0, 1))
    nats = nats_between(family, large, small)
    contrasts = (
        map(Contrast, names, row.tolist(), values[a], values[b])
        for row, (a, b) in zip(nats, pairs, strict=True)
    )
    return tuple(tuple(sorted(some, key=lambda contrast: -contrast.nats)) for some in contrasts)
