"""Plots of a fitted model: the public path of `mapdp.outputs.plots` and `mapdp.outputs.structured_plots`."""

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
