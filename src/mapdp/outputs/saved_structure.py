"""What a file says about groups and sequences, checked part against part."""

import math
from typing import Any

import numpy as np

from mapdp.estimators.hidden_markov import MAPHMM
from mapdp.estimators.hierarchical import HierarchicalMAPDP

_TROUBLE = "its tables are not those of its clusters"


def check_structure(model: Any) -> None:
    """Raise where what was fitted to groups or to a sequence does not fit together."""
    for name in ("alpha_", "beta_", "gamma_"):
        value = getattr(model, name, 1.0)
        _require(0.0 < value < math.inf, f"{name} is not positive")
    if isinstance(model, MAPHMM):
        _check_sequence(model)
        return
    groups = model.groups_
    _require(groups.ndim == 1 and len(groups), "it has no groups")
    _require((groups[:-1] < groups[1:]).all(), "its groups are not in order")
    if isinstance(model, HierarchicalMAPDP):
        _check_tables(model._customers, model._tables, len(groups), model)
        _require(model.tables_.shape == model.labels_.shape, _TROUBLE)
    else:
        _check_mixtures(model)


def _require(is_so: object, trouble: str) -> None:
    if not is_so:
        raise ValueError(trouble)


def _check_tables(customers: np.ndarray, tables: np.ndarray, n_restaurants: int, model: Any) -> None:
    shape = (n_restaurants, model.n_clusters_)
    for part in (customers, tables):
        _require(part.shape == shape and part.dtype.kind == "i" and (part >= 0).all(), _TROUBLE)
    _require((tables <= customers).all(), _TROUBLE)
    _require((customers.sum(axis=0) == model.cluster_sizes_).all(), _TROUBLE)
    _require(tables.sum(axis=0).all(), "a cluster has no table")


def _check_sequence(model: Any) -> None:
    _check_tables(model._customers, model._tables, model.n_clusters_ + 1, model)
    _require(model._own.shape == model._tables.shape and (model._own >= 0).all(), _TROUBLE)
    _require(model.durations_.shape == (model.n_clusters_,), "its durations are not its states'")
    _require(0.0 <= model.stickiness_ < math.inf, "stickiness_ is negative")


def _check_mixtures(model: Any) -> None:
    labels, owner = model.group_labels_, model._owner
    trouble = "its clusters of groups are not its groups'"
    _require(labels.shape == model.groups_.shape and labels.dtype.kind == "i", trouble)
    _require(labels.min() >= 0 and np.bincount(labels).all(), trouble)
    _require(owner.shape == (model.n_clusters_,) and owner.dtype.kind == "i", trouble)
    _require(set(np.unique(owner)) == set(np.unique(labels)), trouble)
