"""What files keep of a fitted estimator beside its parameters and mixture, and the type of each part."""

from typing import Any

import numpy as np

from mapdp.engine.trace import Chains, Init, Step
from mapdp.estimators.filled_gaps import FilledCells
from mapdp.sampling.diagnostics import RafteryLewis
from mapdp.selection.alpha import Tried
from mapdp.selection.structure import TriedModel

MAP_DP: dict[str, Any] = {
    "labels_": np.ndarray,
    "known_labels_": np.ndarray | None,
    "alpha_": float,
    "alphas_": list[Tried],
    "_models": list[TriedModel],
    "log_joint_": float,
    "trace_": list[Step],
    "winning_climb_": int,
    "inits_": list[Init],
    "n_iter_": int,
    "converged_": bool,
    "n_features_in_": int,
    "_has_row_blocks": bool,
    "n_rows_seen_": int | None,
    "outliers_": np.ndarray | None,
    "_filled": FilledCells | None,
}

GIBBS: dict[str, Any] = {
    "labels_": np.ndarray,
    "samples_": np.ndarray,
    "alpha_": float,
    "log_joint_": float,
    "chains_": Chains,
    "burn_in_": int,
    "n_sweeps_": int,
    "raftery_lewis_": list[RafteryLewis],
    "n_features_in_": int,
    "_kept": Chains,
    "_rows": np.ndarray,
    "_coclustering": np.ndarray | None,
}

DP_MEANS: dict[str, Any] = {
    "labels_": np.ndarray,
    "n_clusters_": int,
    "cluster_centers_": np.ndarray,
    "lam_": float,
    "objective_": float,
    "objectives_": list[float],
    "n_iter_": int,
    "n_features_in_": int,
}

_STRUCTURED: dict[str, Any] = {
    "labels_": np.ndarray,
    "log_joint_": float,
    "trace_": list[Step],
    "inits_": list[Init],
    "n_iter_": int,
    "converged_": bool,
    "n_features_in_": int,
    "_filled": FilledCells | None,
}

HIERARCHICAL: dict[str, Any] = _STRUCTURED | {
    "alpha_": float,
    "gamma_": float,
    "groups_": np.ndarray,
    "tables_": np.ndarray,
    "_is_grouped": bool,
    "_customers": np.ndarray,
    "_tables": np.ndarray,
}

NESTED: dict[str, Any] = _STRUCTURED | {
    "alpha_": float,
    "beta_": float,
    "groups_": np.ndarray,
    "group_labels_": np.ndarray,
    "_is_grouped": bool,
    "_owner": np.ndarray,
}

HIDDEN_MARKOV: dict[str, Any] = _STRUCTURED | {
    "alpha_": float,
    "gamma_": float,
    "stickiness_": float,
    "durations_": np.ndarray,
    "_customers": np.ndarray,
    "_tables": np.ndarray,
    "_own": np.ndarray,
}
