"""Plots of a fitted model: the public path of `plots` and `structured_plots` in `mapdp.outputs`."""

from mapdp.outputs.plots import clusters, coclustering, profile, sensitivity, sizes, trace, tree
from mapdp.outputs.structured_plots import proportions, states, transitions

__all__ = [
    "clusters",
    "coclustering",
    "profile",
    "proportions",
    "sensitivity",
    "sizes",
    "states",
    "trace",
    "transitions",
    "tree",
]
