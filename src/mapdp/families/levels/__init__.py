"""Clusters of columns that take one of a few values."""
