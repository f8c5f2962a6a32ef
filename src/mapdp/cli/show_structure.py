"""Groups and sequences in the terminal: a line for each group, cluster of groups, or state."""

from typing import Any

from rich.markup import escape
from rich.table import Table

from mapdp.data.wording import counted

_LINES = 20  # that are shown; the report has more
_NAMED = 4  # clusters, states or groups that a line names
_LEAST = 0.01  # share of a cluster or state that is worth a word


def structure_table(structure: dict[str, Any]) -> Table:
    """Return what there is to say about groups or a sequence as a table."""
    head, lines = {"hierarchical": _shares, "nested": _alike, "sequence": _followed}[structure["kind"]](
        structure
    )
    table = Table(*head, box=None, header_style="dim", pad_edge=False)
    for line in lines[:_LINES]:
        table.add_row(*map(escape, line))
    if len(lines) > _LINES:
        table.add_row(f"... {len(lines) - _LINES} more")
    return table


Lines = tuple[list[str], list[list[str]]]


def _shares(structure: dict[str, Any]) -> Lines:
    """Return the proportions of clusters in each group."""
    lines = [
        [group["name"], f"{group['rows']:,}", _largest(group["proportions"], "cluster")]
        for group in structure["groups"]
    ]
    return ["group", "rows", "proportions"], lines


def _alike(structure: dict[str, Any]) -> Lines:
    """Return the groups of each cluster of groups."""
    names: dict[int, list[str]] = {}
    for group in structure["groups"]:
        names.setdefault(group["group_cluster"], []).append(group["name"])
    lines = [[str(c), counted(len(names[c]), "group"), _listed(names[c])] for c in sorted(names)]
    return ["cluster of groups", "", "groups"], lines


def _followed(structure: dict[str, Any]) -> Lines:
    """Return how long states last, and which follow."""
    lines = []
    for k, (length, chances) in enumerate(
        zip(structure["durations"], structure["transition"], strict=True)
    ):
        leaving = 1.0 - chances[k]
        after = [chance / leaving if j != k and leaving > 0.0 else 0.0 for j, chance in enumerate(chances)]
        lines.append([str(k), f"{length:.3g} rows", _largest(after, "state")])
    return ["state", "lasts", "then"], lines


def _largest(shares: list[float], what: str) -> str:
    """Return the largest shares in words; the last one is something new."""
    order = sorted(range(len(shares)), key=lambda k: -shares[k])
    names = [f"{what} {k}" if k < len(shares) - 1 else f"a new {what}" for k in order]
    told = [f"{name} {shares[k]:.0%}" for name, k in zip(names, order, strict=True) if shares[k] >= _LEAST]
    return ", ".join(told[:_NAMED]) + (", ..." if len(told) > _NAMED else "")


def _listed(names: list[str]) -> str:
    return ", ".join(names[: 2 * _NAMED]) + (", ..." if len(names) > 2 * _NAMED else "")
