"""How a partition is started, settled and improved."""
