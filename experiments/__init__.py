"""Papers, run again."""
