"""The cluster tree as a dendrogram: branches one below the other, and brackets where they merge."""

from typing import Any, NamedTuple

import numpy as np

from mapdp.estimators.map_dp import MAPDP
from mapdp.insights.tree import ClusterTree

_NAMED = 2  # columns that a split is introduced by


class Layout(NamedTuple):
    """Which nodes are drawn, and where."""

    ends: list[int]  # nodes that are not divided, from top to bottom
    splits: list[int]  # nodes that are
    x: dict[int, float]  # nats
    y: dict[int, float]  # places among the ends


def laid_out(tree: ClusterTree, n_clusters: int) -> Layout:
    """Return where nodes stand when the drawing ends at so many branches."""
    shown, heights = list(tree.walk(n_clusters)), tree.heights.tolist()
    ends = [step.node for step in shown if step.is_end]
    splits = sorted(step.node for step in shown if not step.is_end)
    y = {node: float(place) for place, node in enumerate(ends)}
    for node in splits:
        y[node] = sum(y[branch] for branch in tree.branches(node)) / 2.0
    return Layout(ends, splits, dict.fromkeys(ends, 0.0) | {node: heights[node] for node in splits}, y)


def draw(model: MAPDP, n_clusters: int, ax: Any) -> None:
    """Draw the tree down to so many branches."""
    described = model.describe_tree()
    tree, layout = described.tree, laid_out(described.tree, n_clusters)
    for node in layout.splits:
        contrasts = described.splits[node - tree.n_clusters][:_NAMED]
        _draw_split(ax, layout, node, tree.branches(node), ", ".join(c.name for c in contrasts))
    ax.set_yticks(range(len(layout.ends)), [_name(tree, node) for node in layout.ends])
    ax.set_xscale("function", functions=(lambda x: np.sqrt(np.maximum(x, 0.0)), np.square))
    ax.set_xticks(_ticks(max(layout.x.values())))
    ax.set(xlabel="loss (nats)", xlim=(0.0, None), ylim=(len(layout.ends) - 0.5, -0.5))
    _draw_suggestion(ax, tree)


def _ticks(most: float) -> list[float]:
    """Return round numbers up to `most`, about evenly spaced by their roots."""
    squares = [most * (i / 5.0) ** 2 for i in range(6)]
    return sorted({float(f"{square:.1g}") for square in squares})


def _draw_split(ax: Any, layout: Layout, node: int, branches: tuple[int, int], columns: str) -> None:
    """Draw the bracket of two branches, with the columns that tell them apart inside."""
    (_, _, x, y), (a, b) = layout, branches
    ax.plot([x[a], x[node], x[node], x[b]], [y[a], y[a], y[b], y[b]], color="0.4", linewidth=1.2)
    words = {"fontsize": "small", "color": "0.25", "textcoords": "offset points"}
    if node == layout.splits[-1]:  # there is no room beyond the top bracket
        ax.annotate(columns, (x[node], y[node]), (-4, 0), ha="right", va="center", **words)
    else:
        ax.annotate(columns, (x[node], y[node]), (3, 2), ha="left", va="bottom", **words)


def _name(tree: ClusterTree, node: int) -> str:
    """Return what an end of the drawing is."""
    if node < tree.n_clusters:
        return f"cluster {node}: {tree.size(node)}"
    return f"{int(tree.linkage[node - tree.n_clusters, 3])} clusters: {tree.size(node)}"


def _draw_suggestion(ax: Any, tree: ClusterTree) -> None:
    """Draw a line between the merges before the suggested level and those after it."""
    if tree.suggested > 1:
        below, above = tree.heights[2 * tree.n_clusters - tree.suggested - 1 :][:2]
        middle = (np.sqrt(below) + np.sqrt(above)) ** 2 / 4.0
        ax.axvline(middle, color="C0", linestyle="--", linewidth=1.0)
        ax.set_title(f"dashed: a suggestion, {tree.suggested} clusters", fontsize="small", color="C0")
