"""The cluster tree in plain numbers and words, as the report and scripts read it."""

from typing import Any

import numpy as np

from mapdp.estimators.map_dp import MAPDP
from mapdp.estimators.mixture import Mixture
from mapdp.insights.branches import TreeDescription
from mapdp.outputs.projection import Picture, ellipses_of

_MOST = 1000  # clusters of a tree in a report
_FEATURES = 6  # columns by which a node is introduced
_CONTRASTS = 3  # and a split


def tree_as_dict(described: TreeDescription) -> dict[str, Any]:
    """Return a tree as plain values; nodes 0, 1, ... are the clusters, then what each merge makes."""
    tree = described.tree
    return {
        "merges": tree.merges.tolist(),
        "losses": tree.losses.tolist(),
        "heights": tree.heights.tolist(),
        "sizes": tree.sizes.tolist(),
        "suggested": tree.suggested,
        "least": tree.n_least,
        "nodes": [[f._asdict() for f in node.features[:_FEATURES]] for node in described.nodes],
        "splits": [[c._asdict() for c in split[:_CONTRASTS]] for split in described.splits],
    }


def tree_on_map(model: Mixture, picture: Picture, level: int | None) -> dict[str, Any] | None:
    """Return the tree with a ring on the map for each node.

    None for one cluster, for very many, and for models of groups and sequences.
    """
    if not (isinstance(model, MAPDP) and 1 < model.n_clusters_ <= _MOST):
        return None
    moments = list(picture.moments)
    for a, b in model.tree_.merges:
        moments.append(moments[a] + moments[b])
    rings = ellipses_of(np.array(moments)).round(4).tolist()
    shown = model.n_clusters_ if level is None else level
    return {**tree_as_dict(model.describe_tree()), "level": shown, "ellipses": rings}
