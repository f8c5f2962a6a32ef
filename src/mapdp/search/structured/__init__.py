"""Searches for seatings with a structure: one climb, and the moves of each model."""
