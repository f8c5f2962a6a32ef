"""Seatings with a structure: groups that share clusters or mixtures, and states that follow each other."""
