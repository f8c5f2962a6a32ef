"""Likelihoods whose parameters are taken from a list of candidates."""
