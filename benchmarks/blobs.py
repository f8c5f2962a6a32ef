"""The data of the speed benchmarks: diagonal Gaussian blobs of unequal size."""

import numpy as np

# name: (rows, columns, clusters, spread of the centres)
CASES = {
    "1M x 10, K = 20": (1_000_000, 10, 20, 1.5),
    "1M x 32, K = 50": (1_000_000, 32, 50, 1.0),
    "1M x 2, K = 100": (1_000_000, 2, 100, 20.0),
    "100k x 10, K = 20": (100_000, 10, 20, 1.5),
}


def blobs(n, d, k, spread, seed):
    """Return rows, their true labels, and the labels that the true parameters would give."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=spread, size=(k, d))
    scales = np.exp(rng.normal(scale=0.3, size=(k, d)))
    weights = 1.0 / np.arange(1, k + 1)
    weights /= weights.sum()
    truth = rng.choice(k, size=n, p=weights)
    X = centres[truth] + scales[truth] * rng.normal(size=(n, d))
    return X, truth, best_labels(X, centres, scales, weights)


def best_labels(X, centres, scales, weights, chunk=65536):
    """Return the most probable component of each row under the true parameters."""
    labels = np.empty(len(X), dtype=np.int32)
    level = np.log(weights) - np.log(scales).sum(axis=1)
    for i in range(0, len(X), chunk):
        rows = X[i : i + chunk, None, :]
        labels[i : i + chunk] = (level - 0.5 * (((rows - centres) / scales) ** 2).sum(axis=2)).argmax(
            axis=1
        )
    return labels
