"""Plots of a fitted model: the public path of `mapdp.outputs.plots`."""

from mapdp.outputs.plots import clusters, coclustering, profile, sensitivity, sizes, trace, tree

__all__ = ["clusters", "coclustering", "profile", "sensitivity", "sizes", "trace", "tree"]
