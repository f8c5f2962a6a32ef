"""What there is to say about groups and sequences: plain numbers for the report and for scripts.

Groups come with the rows of each cluster in them; a sequence with its transitions, and with a series of
points, each of which stands for one row or, in long sequences, for several.
"""

from typing import Any

import numpy as np

from mapdp.data.groups import codes_among, read_lengths
from mapdp.estimators.hidden_markov import MAPHMM
from mapdp.estimators.hierarchical import HierarchicalMAPDP
from mapdp.estimators.nested import NestedMAPDP
from mapdp.estimators.structured import StructuredMixture

_GROUPS = 100  # that are shown: the largest
_POINTS = 1500  # of a series
_SERIES = 4  # columns that are drawn
_BEGINS = 100  # sequences whose beginnings are marked


def structure_of(model: Any, view: Any, shown: list[int]) -> dict[str, Any]:
    """Return groups or the sequence of a `TableView`; nothing for rows in a bag. `shown` orders columns."""
    if isinstance(model, MAPHMM):
        return _sequence(model, view, shown)
    if isinstance(model, HierarchicalMAPDP | NestedMAPDP):
        return _groups(model, view.labels, view.where)
    return {}


def search_of(model: StructuredMixture) -> dict[str, Any]:
    """Return how a structured search went: it climbs once, and compares no structures and no alphas."""
    return {
        "model": _sentence(model),
        "models": [],
        "alphas": [],
        "climbs": 1,
        "won": model.trace_[-1].climb,
    }


def _sentence(model: StructuredMixture) -> str:
    """Say what the model is, with its concentrations."""
    kinds = {
        HierarchicalMAPDP: "clusters that groups share, each group with proportions of its own",
        NestedMAPDP: "clusters of groups, where groups of one cluster share a whole mixture",
        MAPHMM: "states that follow each other",
    }
    names = ("gamma", "beta", "stickiness")  # alpha is told by itself
    given = [f"{name} {getattr(model, name + '_'):.3g}" for name in names if hasattr(model, name + "_")]
    return f"{kinds[type(model)]} ({', '.join(given)})"


def _groups(
    model: HierarchicalMAPDP | NestedMAPDP, labels: np.ndarray, where: dict[str, Any]
) -> dict[str, Any]:
    """Return rows of each cluster in each group, and what the model makes of the groups."""
    counts = _counts(model, labels, where)
    largest = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:_GROUPS])
    about = _about_groups(model)
    rows = [
        {"name": str(model.groups_[g]), "rows": int(counts[g].sum()), "counts": counts[g].tolist()}
        | {name: values[g].tolist() for name, values in about.items()}
        for g in largest
    ]
    kind = "hierarchical" if isinstance(model, HierarchicalMAPDP) else "nested"
    return {"kind": kind, "n_groups": len(model.groups_), "groups": rows}


def _about_groups(model: HierarchicalMAPDP | NestedMAPDP) -> dict[str, np.ndarray]:
    if isinstance(model, HierarchicalMAPDP):
        return {"proportions": model.proportions_.round(5)}  # a new cluster is last
    return {"group_cluster": model.group_labels_}


def _counts(model: Any, labels: np.ndarray, where: dict[str, Any]) -> np.ndarray:
    """Return (G, K) rows; those of groups that were never seen are left out."""
    if where.get("groups") is None:
        codes = np.zeros(len(labels), dtype=np.int64)
    else:
        codes = codes_among(model.groups_, where["groups"], len(labels))
    counts = np.zeros((len(model.groups_) + 1, model.n_clusters_), dtype=np.int64)
    np.add.at(counts, (codes, labels), 1)
    return counts[:-1]


def _sequence(model: MAPHMM, view: Any, shown: list[int]) -> dict[str, Any]:
    """Return transitions, durations, and a few columns as series with the states under them."""
    labels = view.labels
    begins = np.flatnonzero(read_lengths(view.where.get("lengths"), len(labels)))
    edges = np.unique(np.linspace(0, len(labels), min(len(labels), _POINTS) + 1).astype(np.int64))
    used = [model.schema_.columns[j] for j in model.schema_.used]
    drawn = [j for j in shown if not (used[j].has_levels or used[j].measure)][:_SERIES]
    names = model.schema_.labels()
    return {
        "kind": "sequence",
        "transition": model.transition_.round(5).tolist(),  # to a new state last
        "start": model.start_.round(5).tolist(),
        "durations": model.durations_.round(3).tolist(),
        "n_sequences": len(begins),
        "begins": begins[1 : _BEGINS + 1].tolist(),
        "points": edges[:-1].tolist(),  # first row of each point
        "states": _most_frequent(labels, edges, model.n_clusters_).tolist(),
        "series": [
            {"name": names[j], "values": _means(used[j].decoded(view.numbers[:, j]), edges)} for j in drawn
        ],
    }


def _most_frequent(labels: np.ndarray, edges: np.ndarray, n_states: int) -> np.ndarray:
    """Return the state that most rows of each point have."""
    point = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
    tally = np.zeros((len(edges) - 1, n_states), dtype=np.int64)
    np.add.at(tally, (point, labels), 1)
    return tally.argmax(axis=1)


def _means(values: Any, edges: np.ndarray) -> list[float | None]:
    """Return the mean of the rows of each point; None where all of them are missing."""
    cells = np.asarray(values, dtype=np.float64)
    known = ~np.isnan(cells)
    totals = np.add.reduceat(np.where(known, cells, 0.0), edges[:-1])
    n_known = np.add.reduceat(known.astype(np.int64), edges[:-1])
    return [float(f"{total / n:.5g}") if n else None for total, n in zip(totals, n_known, strict=True)]
