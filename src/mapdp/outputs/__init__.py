"""A fitted estimator as a summary, a file, a plot or a report."""
