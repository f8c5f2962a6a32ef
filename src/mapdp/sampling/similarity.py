"""What samples of a partition have in common: who sits with whom, how many clusters there are."""

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

_MOST_ROWS = 20_000  # the matrix then takes 1.6 GB


def coclustering(samples: np.ndarray) -> np.ndarray:
    """Return the share of samples in which two rows have the same label, for all pairs of rows."""
    n_rows = samples.shape[1]
    if n_rows > _MOST_ROWS:
        raise ValueError(
            f"a matrix of all pairs is for up to {_MOST_ROWS} rows, got {n_rows}. "
            "Hint: pass some columns of samples_ to mapdp.sampling.similarity.coclustering."
        )
    together = np.zeros((n_rows, n_rows), dtype=np.float32)
    for labels in samples:
        together += labels[:, None] == labels[None, :]
    together /= np.float32(len(samples))
    return together


def order_by_similarity(together: np.ndarray) -> np.ndarray:
    """Return an order of rows in which those that share a cluster are neighbours: the leaves of a tree."""
    if len(together) < 2:
        return np.arange(len(together))
    apart = 1.0 - np.asarray(together, dtype=np.float64)
    return leaves_list(linkage(squareform(apart, checks=False), method="average"))


def share_of_each(numbers: np.ndarray) -> np.ndarray:
    """Return how often 0, 1, 2, ... occur, as shares."""
    return np.bincount(numbers.ravel()) / numbers.size
