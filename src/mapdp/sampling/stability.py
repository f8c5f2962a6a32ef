"""How sure a partition is, from samples of the posterior.

Clusters of a sample have no names, so each is paired with the cluster of the given partition that it
resembles most (Jaccard: rows in both over rows in either), one to one. A row's membership is then how
often it sat in the cluster paired with each; clusters without a pair are "another cluster". A cluster is
stable if samples contain a cluster much like it.
"""

import dataclasses

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import entr

from mapdp.sampling.similarity import share_of_each


@dataclasses.dataclass(frozen=True)
class Uncertainty:
    """How sure a partition is.

    Attributes
    ----------
    membership : array of shape (N, K + 1)
        Probability of each row to be in each cluster; the last column is "another cluster".
    entropy : array of shape (N,)
        Entropy of that, in nats: 0 where a row is sure, log(K + 1) where it could be anywhere.
    stability : array of shape (K,)
        Mean resemblance (Jaccard, 0 to 1) of each cluster to the cluster of a sample that is most like
        it: 1 where every sample has that very cluster.
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
        unsure = (self.membership.max(axis=1) < 0.5).mean()
        return (
            f"{self.n_samples} samples; number of clusters most likely {numbers}; "
            f"stability from {self.stability.min():.2f} to {self.stability.max():.2f}; "
            f"{unsure:.0%} of the rows have no cluster with a probability above 1/2"
        )


def uncertainty_of(labels: np.ndarray, samples: np.ndarray) -> Uncertainty:
    """Judge a partition by samples of partitions; clusters of all of them are numbered 0, 1, ..."""
    sizes = np.bincount(labels)
    membership = np.zeros((len(labels), len(sizes) + 1), dtype=np.float32)
    stability, everyone = np.zeros(len(sizes)), np.arange(len(labels))
    for sample in samples:
        resemblance = _resemblance(labels, sizes, sample)
        membership[everyone, _paired(resemblance)[sample]] += 1.0
        stability += resemblance.max(axis=0)
    membership /= len(samples)
    entropy = entr(membership).sum(axis=1)
    counts = samples.max(axis=1).astype(np.int64) + 1
    return Uncertainty(membership, entropy, stability / len(samples), share_of_each(counts), len(samples))


def _paired(resemblance: np.ndarray) -> np.ndarray:
    """Return the cluster that each cluster of a sample is paired with, K for those without a pair."""
    pairs = np.full(len(resemblance), resemblance.shape[1])
    theirs, ours = linear_sum_assignment(resemblance, maximize=True)
    alike = resemblance[theirs, ours] > 0.0
    pairs[theirs[alike]] = ours[alike]
    return pairs


def _resemblance(labels: np.ndarray, sizes: np.ndarray, sample: np.ndarray) -> np.ndarray:
    """Return the Jaccard index of each cluster of a sample with each cluster of the partition."""
    pairs = sample.astype(np.int64) * len(sizes) + labels
    n_others = int(sample.max()) + 1
    both = np.bincount(pairs, minlength=n_others * len(sizes)).reshape(n_others, len(sizes))
    return both / (both.sum(axis=1, keepdims=True) + sizes - both)
