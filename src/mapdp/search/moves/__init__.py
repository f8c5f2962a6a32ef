"""Moves of whole clusters."""
