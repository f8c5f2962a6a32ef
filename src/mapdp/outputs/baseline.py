"""K-means, told our number of clusters: how far its partition is from ours, and both from known classes."""

import warnings
from typing import Any

import numpy as np

from mapdp.data.frames import is_gap
from mapdp.estimators.mixture import Mixture
from mapdp.outputs.projection import as_numbers
from mapdp.partitions.labels import adjusted_rand

_ROWS = (2000, 20_000)  # that are compared, at least and at most
_DISTANCES = 5e7  # numbers times clusters of a pass that takes a second or so
_CLUSTERS = 500  # beyond which it would take long


def kmeans_beside(
    model: Mixture, numbers: np.ndarray, labels: np.ndarray, label: np.ndarray | None
) -> dict[str, Any]:
    """Return how K-means with as many clusters agrees with ours; nothing for one cluster, or very many.

    Columns are scaled to variance one, levels have a column each, gaps are filled by means.
    """
    width = as_numbers(model, numbers[:1])[0].shape[1]
    most = int(np.clip(_DISTANCES / (model.n_clusters_ * width), *_ROWS))
    some = np.unique(np.linspace(0, len(labels) - 1, min(len(labels), most)).round().astype(np.int64))
    n_clusters = len(np.unique(labels[some]))
    if not 1 < n_clusters <= min(_CLUSTERS, len(some) - 1):
        return {}
    theirs, ours = _partition(as_numbers(model, numbers[some])[0], n_clusters), labels[some]
    found = {"n_clusters": n_clusters, "n_rows": len(some), "agreement": float(adjusted_rand(theirs, ours))}
    if label is None:
        return found
    known = np.array([not is_gap(one) for one in label[some]])
    codes = np.unique(label[some][known].astype(str), return_inverse=True)[1]
    with_classes = {
        "theirs": adjusted_rand(codes, theirs[known]),
        "ours": adjusted_rand(codes, ours[known]),
    }
    return found | {name: float(index) for name, index in with_classes.items()}


def _partition(X: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return the labels that K-means gives to scaled columns."""
    from sklearn.cluster import KMeans

    spread = X.std(axis=0)
    scaled = (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer different rows than clusters
        return KMeans(n_clusters, n_init=3, random_state=0).fit(scaled).labels_.astype(np.int64)
