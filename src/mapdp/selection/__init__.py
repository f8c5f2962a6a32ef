"""Choosing alpha, and telling how the outcome depends on it."""

from mapdp.partitions.concentration import alpha_for, discount_for, expected_clusters
from mapdp.selection.alpha import map_alpha
from mapdp.selection.sensitivity import Sensitivity, sensitivity

__all__ = ["Sensitivity", "alpha_for", "discount_for", "expected_clusters", "map_alpha", "sensitivity"]
