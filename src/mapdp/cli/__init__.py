"""Arguments to estimator to files: the only place that prints."""
