"""Knows how sure a partition is, judged by samples from the posterior.

The one idea: clusters of a sample have no names, so each is named after the cluster of the given
partition that it resembles most (Jaccard: rows in both over rows in either). A row's membership is then
how often it sat in a cluster of each name, and a cluster is stable where samples hold a cluster much like
it.
"""

import dataclasses

import numpy as np
from scipy.special import entr

from mapdp.sampling.similarity import share_of_each


@dataclasses.dataclass(frozen=True)
class Uncertainty:
    """How sure a partition is.

    Attributes
    ----------
    membership : array of shape (N, K)
        Probability of each row to be in each cluster.
    entropy : array of shape (N,)
        Entropy of that, in nats: 0 where a row is sure, log K where it could be anywhere.
    stability : array of shape (K,)
        Mean resemblance (Jaccard, 0 to 1) of each cluster to the cluster of a sample that is most like
        it. Above 0.75 a cluster may be relied on; below 0.5 it is not really there.
    n_clusters_posterior : array
        Entry k is the posterior probability of k clusters.
    n_samples : int
        Number of samples behind all this.
    """

    membership: np.ndarray
    entropy: np.ndarray
    stability: np.ndarray
    n_clusters_posterior: np.ndarray
    n_samples: int

    def __str__(self) -> str:
        likely = np.argsort(-self.n_clusters_posterior, kind="stable")[:3]
        posterior = self.n_clusters_posterior
        numbers = ", ".join(f"{k} ({posterior[k]:.0%})" for k in likely if posterior[k] >= 0.01)
        own = self.membership.max(axis=1)
        return (
            f"{self.n_samples} samples; number of clusters most likely {numbers}; "
            f"stability from {self.stability.min():.2f} to {self.stability.max():.2f}; "
            f"{(own < 0.5).mean():.0%} of the rows have no cluster with a probability above 1/2"
        )


def uncertainty_of(labels: np.ndarray, samples: np.ndarray) -> Uncertainty:
    """Judge a partition by samples of partitions; clusters of all of them are numbered 0, 1, ..."""
    sizes = np.bincount(labels)
    membership = np.zeros((len(labels), len(sizes)), dtype=np.float32)
    stability, everyone = np.zeros(len(sizes)), np.arange(len(labels))
    for sample in samples:
        resemblance = _resemblance(labels, sizes, sample)
        membership[everyone, resemblance.argmax(axis=1)[sample]] += 1.0
        stability += resemblance.max(axis=0)
    membership /= len(samples)
    entropy = entr(membership).sum(axis=1)
    counts = samples.max(axis=1).astype(np.int64) + 1
    return Uncertainty(membership, entropy, stability / len(samples), share_of_each(counts), len(samples))


def _resemblance(labels: np.ndarray, sizes: np.ndarray, sample: np.ndarray) -> np.ndarray:
    """Return the Jaccard index of each cluster of a sample with each cluster of the partition."""
    pairs = sample.astype(np.int64) * len(sizes) + labels
    n_others = int(sample.max()) + 1
    both = np.bincount(pairs, minlength=n_others * len(sizes)).reshape(n_others, len(sizes))
    return both / (both.sum(axis=1, keepdims=True) + sizes - both)
