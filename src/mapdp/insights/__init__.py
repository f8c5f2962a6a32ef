"""What a fitted mixture says about clusters, rows and gaps."""
