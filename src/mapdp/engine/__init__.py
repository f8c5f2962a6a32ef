"""The state of a run, and every compiled pass over rows."""
