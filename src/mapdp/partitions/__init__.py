"""Priors over partitions, and partitions as labels."""
