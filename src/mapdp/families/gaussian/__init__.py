"""Gaussian clusters."""
