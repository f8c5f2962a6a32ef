"""Clusters of counts."""
