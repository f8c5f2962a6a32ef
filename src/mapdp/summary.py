"""Knows what there is to say about a fitted model and its table: plain numbers and words, no HTML.

The one idea: everything that a person is shown, in the terminal or in the report, is worked out here once.
"""

import dataclasses
import importlib.metadata
import math
import platform
from typing import Any

import numpy as np

from mapdp import projection
from mapdp.estimators.map_dp import MAPDP
from mapdp.sampling.uncertainty import Uncertainty
from mapdp.trace import adjusted_rand

_MAPPED = 4000  # rows on the map; more would only cover each other
_FEATURES = 8  # columns by which a cluster is introduced
_NOVEL = 10  # rows that are listed as least like any cluster
_STEPS = 400  # of the trace


@dataclasses.dataclass(frozen=True)
class Summary:
    """A fitted model and its table in plain values; `dataclasses.asdict` is ready for JSON."""

    title: str
    n_rows: int
    columns: list[dict[str, Any]]  # name, kind, missing, note
    n_clusters: int
    log_joint: float
    alpha: float | None
    converged: bool
    seconds: float
    sweeps: int
    clusters: list[dict[str, Any]]  # number, size, share, stability, features
    starts: list[dict[str, Any]]  # log_joint, n_clusters, agreement
    alphas: list[dict[str, Any]]  # alpha, n_clusters, log_joint
    trace: list[dict[str, Any]]  # move, log_joint, n_clusters, seconds
    number: list[dict[str, Any]]  # n_clusters, probability; empty where it was not sampled
    rows: dict[str, list]  # the map: number, x, y, cluster, probability, novelty
    ellipses: list[list[float]]  # of each cluster: centre, half axes, angle
    axes: list[str]  # what the two directions of the map are made of
    novel: list[dict[str, Any]]  # rows least like any cluster
    scored: dict[str, float]  # NMI and ARI with a label column, where one was named
    notes: list[str]  # anything odd
    made_with: dict[str, str]


def summarise(
    model: MAPDP,
    table: Any,
    *,
    title: str = "table",
    label: np.ndarray | None = None,
    uncertainty: Uncertainty | None = None,
) -> Summary:
    """Return what there is to say; `label` is compared with the clusters, `uncertainty` adds to them."""
    numbers = model._as_numbers(model._read_new(table))
    chances, density = model._chances_and_density(numbers)
    shown = _some(len(numbers))
    picture = projection.of_numbers(model, numbers, model.labels_, shown)
    return Summary(
        title=title,
        n_rows=len(chances),
        columns=_columns(model),
        n_clusters=model.n_clusters_,
        log_joint=model.log_joint_,
        alpha=None if math.isnan(model.alpha_) else model.alpha_,
        converged=model.converged_,
        seconds=model.trace_[-1].seconds,
        sweeps=model.n_iter_,
        clusters=_clusters(model, uncertainty),
        starts=[start._asdict() for start in model.inits_],
        alphas=[{k: v for k, v in tried._asdict().items() if k != "held_out"} for tried in model.alphas_],
        trace=_trace(model),
        number=_number(uncertainty),
        rows=_map(shown, picture.rows, chances[shown], model.labels_[shown]),
        ellipses=[[round(float(v), 4) for v in ellipse] for ellipse in picture.ellipses],
        axes=list(picture.axes),
        novel=_novel(chances, density, model.labels_),
        scored={} if label is None else scores(label, model.labels_),
        notes=_notes(model, len(chances)),
        made_with=_versions(model),
    )


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


def _columns(model: MAPDP) -> list[dict[str, Any]]:
    return [
        {
            "name": f"column {j}" if column.name is None else str(column.name),
            "kind": column.kind,
            "missing": column.n_missing,
            "note": column.note(),
        }
        for j, column in enumerate(model.schema_.columns)
    ]


def _clusters(model: MAPDP, uncertainty: Uncertainty | None) -> list[dict[str, Any]]:
    stability = [None] * model.n_clusters_ if uncertainty is None else uncertainty.stability.tolist()
    return [
        {
            "number": cluster.number,
            "size": cluster.size,
            "share": cluster.share,
            "stability": stability[cluster.number],
            "features": [feature._asdict() for feature in cluster.features[:_FEATURES]],
        }
        for cluster in model.describe()
    ]


def _trace(model: MAPDP) -> list[dict[str, Any]]:
    steps = model.trace_[:: max(1, len(model.trace_) // _STEPS)]
    return [
        {"move": s.move, "log_joint": s.log_joint, "n_clusters": s.n_clusters, "seconds": s.seconds}
        for s in steps
    ]


def _number(uncertainty: Uncertainty | None) -> list[dict[str, Any]]:
    if uncertainty is None:
        return []
    chances = uncertainty.n_clusters_posterior
    return [
        {"n_clusters": int(k), "probability": float(chances[k])} for k in np.flatnonzero(chances > 0.005)
    ]


def _novel(chances: np.ndarray, density: np.ndarray, labels: np.ndarray) -> list[dict[str, Any]]:
    order = np.lexsort((density, -chances[:, -1]))[:_NOVEL]
    return [
        {
            "row": int(i),
            "cluster": int(labels[i]),
            "novelty": float(chances[i, -1]),
            "log_density": float(density[i]),
        }
        for i in order
    ]


def scores(label: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Return how well clusters agree with known classes."""
    from sklearn.metrics import normalized_mutual_info_score

    classes = np.unique(np.asarray(label).astype(str), return_inverse=True)[1]
    return {
        "classes": float(classes.max() + 1),
        "nmi": float(normalized_mutual_info_score(classes, labels)),
        "ari": float(adjusted_rand(classes, labels)),
    }


def _notes(model: MAPDP, n_rows: int) -> list[str]:
    """Return what is odd about the input or the outcome."""
    notes = []
    aside = [str(c.name) for c in model.schema_.columns if not c.is_used]
    if aside:
        more = f" and {len(aside) - 6} more" if len(aside) > 6 else ""
        notes.append(f"Set aside: {', '.join(aside[:6])}{more}.")
    if not model.converged_:
        notes.append("The search was ended before it settled: this is the best partition so far.")
    agreements = [start.agreement for start in model.inits_]
    if len(agreements) > 1 and min(agreements) < 0.8:
        notes.append(f"The starts disagree (adjusted Rand index down to {min(agreements):.2f}).")
    if n_rows > _MAPPED:
        notes.append(f"The map shows {_MAPPED:,} of {n_rows:,} rows.")
    alone = int((np.asarray(model.cluster_sizes_) == 1).sum())
    if alone:
        notes.append(f"{alone} cluster{'s have' if alone > 1 else ' has'} a single row.")
    return notes


def _versions(model: MAPDP) -> dict[str, str]:
    given = {k: v for k, v in model.get_params(deep=False).items() if k not in ("callback", "verbose")}
    changed = {k: v for k, v in given.items() if repr(v) != repr(getattr(MAPDP(), k))}
    code = f"MAPDP({', '.join(f'{k}={v!r}' for k, v in changed.items())}).fit(table)"
    return {"mapdp": importlib.metadata.version("mapdp"), "python": platform.python_version(), "code": code}
