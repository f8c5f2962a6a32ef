"""What there is to say about a fitted model and its table: plain numbers and words, no HTML.

Everything that a person is shown, in the terminal or in the report, is worked out here once.
"""

import dataclasses
import importlib.metadata
import math
import platform
from typing import Any, NamedTuple

import numpy as np

from mapdp.data.frames import is_gap
from mapdp.engine.trace import Step
from mapdp.estimators.map_dp import MAPDP
from mapdp.estimators.mixture import Mixture
from mapdp.estimators.structured import StructuredMixture
from mapdp.insights.describe import Description
from mapdp.outputs import distributions as counts
from mapdp.outputs import projection
from mapdp.outputs.baseline import kmeans_beside
from mapdp.outputs.structure_summary import search_of, structure_of
from mapdp.outputs.tree_summary import tree_on_map
from mapdp.outputs.unusual import unusual_rows
from mapdp.partitions.labels import adjusted_rand
from mapdp.sampling.agreement import in_words
from mapdp.sampling.stability import Uncertainty

_MAPPED = 4000  # rows on the map; more would only cover each other
_LABELLED = 500_000  # rows whose labels the report holds, in some 2 MB
_FEATURES = 8  # columns by which a cluster is introduced
_STEPS = 400  # of the trace
_UNSEEN = ("callback", "verbose")  # parameters that do not change what is found


@dataclasses.dataclass(frozen=True)
class Summary:
    """A fitted model and its table in plain values; `dataclasses.asdict` is ready for JSON."""

    title: str
    n_rows: int
    columns: list[dict[str, Any]]  # name, kind, missing, note
    n_clusters: int
    model: str  # which structure was learned, and by how much; empty where the prior was given
    log_joint: float
    alpha: float | None
    converged: bool
    seconds: float  # of the whole fit
    sweeps: int  # of the whole fit
    climbs: int  # how often the search climbed: from several starts, for several values of alpha
    won: int  # the climb whose outcome this is
    clusters: list[dict[str, Any]]  # number, size, share, stability, features
    starts: list[dict[str, Any]]  # log_joint, n_clusters, agreement
    alphas: list[dict[str, Any]]  # alpha, n_clusters, log_joint
    trace: list[dict[str, Any]]  # of the climb that won: move, log_joint, n_clusters, seconds
    sure: str  # whether chains agree on the number of clusters, in words; empty where it was not sampled
    number: list[dict[str, Any]]  # n_clusters, probability, words; empty where chains do not support it
    tree: dict[str, Any] | None  # merges, losses, nodes, splits, the level that is shown at first
    labels: list[int]  # cluster of each row; empty where there are very many
    rows: dict[str, list]  # the map: number, x, y, cluster, probability, novelty
    ellipses: list[list[float]]  # of each cluster: centre, half axes, angle
    axes: list[str]  # what the two directions of the map are made of
    novel: list[dict[str, Any]]  # rows least like any cluster: values, and what is odd about them
    scored: dict[str, float]  # NMI and ARI with a label column, where one was named
    classes: dict[str, Any]  # names, and rows of each cluster in each known class
    distributions: list[dict[str, Any]]  # of columns: name, kind, bins, and rows of each cluster in them
    gaps: list[dict[str, Any]]  # of columns with gaps: name, and rows of each cluster with one
    models: list[dict[str, Any]]  # the structures that were tried, best first
    structure: dict[str, Any]  # groups, or a sequence; empty for rows in a bag
    baseline: dict[str, Any]  # K-means, told the number of clusters, beside ours
    notes: list[str]  # anything odd
    made_with: dict[str, str]


class TableView(NamedTuple):
    """A table as a model sees it."""

    numbers: np.ndarray  # (N, D) of the columns that are used
    labels: np.ndarray  # (N,) cluster of each row
    probabilities: np.ndarray  # (N, K + 1) of each cluster, and of a new one
    log_density: np.ndarray  # (N,)
    where: dict[str, Any]  # the groups of rows, or the lengths of sequences


def view_of(model: Mixture, table: Any, labels: np.ndarray | None = None, **where: Any) -> TableView:
    """Look at a table once; without labels its rows are where they are most probable.

    `where` are the `groups` or `lengths` that a structured model needs.
    """
    numbers = model.numbers_of(table)
    if isinstance(model, StructuredMixture):
        chances, density = model.predict_proba(table, **where), model.score_samples(table, **where)
        best = chances[:, :-1].argmax(axis=1).astype(np.int32)
    else:
        chances, density, best = model.mixture_.view(numbers)
    return TableView(numbers, best if labels is None else labels, chances, density, where)


def summarise(
    model: Mixture,
    view: TableView,
    *,
    title: str = "table",
    label: np.ndarray | None = None,
    uncertainty: Uncertainty | None = None,
    level: int | None = None,
    seconds: float | None = None,
) -> Summary:
    """Return what there is to say; `label` is compared with the clusters, `uncertainty` adds to them.

    The report opens where the cluster tree has `level` clusters, None for all of them. `seconds` is what
    the fit took; None takes the time of its last step.
    """
    numbers, shown, description = view.numbers, _some(len(view.numbers)), model.describe()
    picture = projection.of_numbers(model, numbers, view.labels, shown)
    return Summary(
        title=title,
        n_rows=len(numbers),
        columns=_columns(model),
        n_clusters=model.n_clusters_,
        **_search(model, seconds),
        clusters=_clusters(description, uncertainty),
        sure="" if uncertainty is None else str(uncertainty.agreement),
        number=_number(uncertainty),
        tree=tree_on_map(model, picture, level),
        labels=view.labels.tolist() if len(view.labels) <= _LABELLED else [],
        rows=_map(shown, picture.rows, view.probabilities[shown], view.labels[shown]),
        ellipses=[[round(float(v), 4) for v in ellipse] for ellipse in picture.ellipses],
        axes=list(picture.axes),
        novel=unusual_rows(model, numbers, view.labels, view.probabilities[:, -1], view.log_density),
        scored={} if label is None else scores(label, view.labels),
        classes=counts.classes(label, view.labels, model.n_clusters_),
        distributions=counts.distributions(model, description, numbers, view.labels),
        gaps=counts.gaps(model, numbers, view.labels),
        structure=structure_of(model, view, counts.places_shown(model, description)),
        baseline=kmeans_beside(model, numbers, view.labels, label),
        notes=_notes(model, len(view.numbers)),
        made_with=_versions(model, view.where),
    )


def _search(model: Any, seconds: float | None) -> dict[str, Any]:
    """Return what the search came to, and how."""
    of_kind = search_of(model) if isinstance(model, StructuredMixture) else _flat_search(model)
    return {
        **of_kind,
        "log_joint": model.log_joint_,
        "alpha": None if math.isnan(model.alpha_) else model.alpha_,
        "converged": model.converged_,
        "seconds": max(step.seconds for step in model.trace_) if seconds is None else seconds,
        "sweeps": model.n_iter_,
        "starts": [start._asdict() for start in model.inits_],
        "trace": _trace([step for step in model.trace_ if step.climb == of_kind["won"]]),
    }


def _flat_search(model: MAPDP) -> dict[str, Any]:
    """Return what was compared: structures of the prior, climbs, values of alpha."""
    return {
        "model": model.models_.sentence(),
        "models": [tried._asdict() for tried in model.models_],
        "alphas": [{k: v for k, v in one._asdict().items() if k != "held_out"} for one in model.alphas_],
        "climbs": model.trace_[-1].climb + 1,
        "won": model.winning_climb_,
    }


def _map(shown: np.ndarray, places: np.ndarray, chances: np.ndarray, labels: np.ndarray) -> dict[str, list]:
    """Return what the map shows of some of the rows."""
    return {
        "number": shown.tolist(),
        "x": _rounded(places[:, 0]),
        "y": _rounded(places[:, 1]),
        "cluster": labels.tolist(),
        "probability": _rounded(chances[np.arange(len(shown)), labels]),
        "novelty": _rounded(chances[:, -1]),
    }


def _rounded(values: np.ndarray) -> list[float]:
    return np.round(values.astype(np.float64), 5).tolist()


def _some(n_rows: int) -> np.ndarray:
    """Return the rows that are shown on the map: all, or evenly spaced ones."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, _MAPPED)).round().astype(np.int64))


def _columns(model: Mixture) -> list[dict[str, Any]]:
    return [
        {
            "name": f"column {j}" if column.name is None else str(column.name),
            "kind": column.kind,
            "missing": column.n_missing,
            "note": column.note(),
        }
        for j, column in enumerate(model.schema_.columns)
    ]


def _clusters(description: Description, uncertainty: Uncertainty | None) -> list[dict[str, Any]]:
    stability = [None] * len(description) if uncertainty is None else uncertainty.stability.tolist()
    return [
        {
            "number": cluster.number,
            "size": cluster.size,
            "share": cluster.share,
            "stability": stability[cluster.number],
            "features": [feature._asdict() for feature in cluster.features[:_FEATURES]],
        }
        for cluster in description
    ]


def _trace(climb: list[Step]) -> list[dict[str, Any]]:
    steps = climb[:: max(1, len(climb) // _STEPS)]
    return [
        {"move": s.move, "log_joint": s.log_joint, "n_clusters": s.n_clusters, "seconds": s.seconds}
        for s in steps
    ]


def _number(uncertainty: Uncertainty | None) -> list[dict[str, Any]]:
    if uncertainty is None or not uncertainty.agreement.is_good:
        return []
    chances, n_effective = uncertainty.n_clusters_posterior, uncertainty.agreement.effective
    return [
        {"n_clusters": int(k), "probability": float(p), "words": in_words(p, n_effective)}
        for k, p in enumerate(chances)
        if p > 0.005
    ]


def scores(label: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Return how well clusters agree with known classes; rows without a class are left out."""
    from sklearn.metrics import normalized_mutual_info_score

    known = np.array([not is_gap(one) for one in label])
    classes = np.unique(np.asarray(label)[known].astype(str), return_inverse=True)[1]
    labels = labels[known]
    return {
        "classes": float(classes.max() + 1),
        "nmi": float(normalized_mutual_info_score(classes, labels)),
        "ari": float(adjusted_rand(classes, labels)),
    }


def _notes(model: Mixture, n_rows: int) -> list[str]:
    """Return what is odd about the input or the outcome."""
    notes = []
    aside = [str(c.name) for c in model.schema_.columns if not c.is_used]
    if aside:
        more = f" and {len(aside) - 6} more" if len(aside) > 6 else ""
        notes.append(f"Set aside: {', '.join(aside[:6])}{more}.")
    if not model.converged_:
        notes.append("The search was ended before it settled: this is the best partition so far.")
    notes += model.warnings_ if isinstance(model, MAPDP) else []
    if n_rows > _MAPPED:
        notes.append(f"The map shows {_MAPPED:,} of {n_rows:,} rows.")
    alone = int((np.asarray(model.cluster_sizes_) == 1).sum())
    if alone:
        notes.append(f"{alone} cluster{'s have' if alone > 1 else ' has'} a single row.")
    return notes


def _versions(model: Mixture, where: dict[str, Any]) -> dict[str, str]:
    kind, given = type(model), model.get_params(deep=False)
    usual = kind().get_params(deep=False)
    changed = {k: v for k, v in given.items() if k not in _UNSEEN and repr(v) != repr(usual[k])}
    told = ", ".join(["table", *(f"{name}={name}" for name, value in where.items() if value is not None)])
    code = f"{kind.__name__}({', '.join(f'{k}={v!r}' for k, v in changed.items())}).fit({told})"
    return {"mapdp": importlib.metadata.version("mapdp"), "python": platform.python_version(), "code": code}
