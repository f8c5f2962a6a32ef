"""What files keep of a fitted estimator beside its parameters and mixture, and the type of each part."""

from typing import Any

import numpy as np

from mapdp.engine.trace import Chains, Init, Step
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
    "outliers_": np.ndarray | None,
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
