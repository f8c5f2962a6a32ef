"""Draws from the posterior over partitions."""
