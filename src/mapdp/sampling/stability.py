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

from mapdp.data import checks
from mapdp.sampling.agreement import Agreement
from mapdp.sampling.similarity import coclustering, share_of_each
from mapdp.sampling.summary_partition import CredibleBall, credible_ball, summary_partition


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
    samples : array of shape (S, N)
        The partitions behind all this, chain after chain; clusters are numbered by falling size. Rows that
        counted for nothing in the fit are left out, here and in what follows from samples.
    agreement : Agreement
        Whether the chains agree: `r_hat` and `n_effective` of the number of clusters and the log joint;
        prints as a sentence.
    """

    membership: np.ndarray
    entropy: np.ndarray
    stability: np.ndarray
    n_clusters_posterior: np.ndarray
    samples: np.ndarray
    agreement: Agreement

    @property
    def n_samples(self) -> int:
        """Return the number of samples behind all this."""
        return len(self.samples)

    def __str__(self) -> str:
        unsure = (self.membership.max(axis=1) < 0.5).mean()
        return (
            f"{self.n_samples} samples; {self.agreement}; "
            f"stability from {self.stability.min():.2f} to {self.stability.max():.2f}; "
            f"{unsure:.0%} of the rows have no cluster with a probability above 1/2"
        )

    def among(self, n_rows: int, rows: np.ndarray) -> "Uncertainty":
        """Return the same for a table of more rows; of the others nothing is known."""
        membership = np.full((n_rows, self.membership.shape[1]), np.nan, dtype=np.float32)
        entropy = np.full(n_rows, np.nan)
        membership[rows], entropy[rows] = self.membership, self.entropy
        return dataclasses.replace(self, membership=membership, entropy=entropy)

    def coclustering(self) -> np.ndarray:
        """Return the probability that two rows share a cluster, for all pairs of rows."""
        return coclustering(self.samples)

    def summary_partition(self, loss: str = "vi", random_state: int | None = None) -> np.ndarray:
        """Return the partition that minimises the expected loss over the samples.

        The most probable partition may be unlike all others; this one is as close as can be to what the
        posterior has in common.

        Parameters
        ----------
        loss : {"vi", "binder"}, default "vi"
            The variation of information, or the share of pairs of rows on which partitions differ.
        random_state : int or None, default None
            Seed of the search; None is always the same one.

        Returns
        -------
        array of shape (N,)
            Clusters are numbered by falling size.
        """
        return summary_partition(self.samples, loss, np.random.default_rng(random_state or 0))

    def credible_ball(self, labels: np.ndarray | None = None, probability: float = 0.95) -> CredibleBall:
        """Return how far the posterior reaches around a partition, by the variation of information.

        Parameters
        ----------
        labels : array of shape (N,), default None
            The centre of the ball; None is `summary_partition()`.
        probability : float, default 0.95
            What the ball holds.

        Returns
        -------
        CredibleBall
        """
        if not 0.0 < probability <= 1.0:
            raise ValueError(f"probability must be from 0 to 1, got {probability}. Hint: try 0.95.")
        given = self.summary_partition() if labels is None else labels
        return credible_ball(checks.partition(given, self.samples.shape[1]), self.samples, probability)


def uncertainty_of(labels: np.ndarray, samples: np.ndarray, agreement: Agreement) -> Uncertainty:
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
    posterior = share_of_each(counts)
    return Uncertainty(membership, entropy, stability / len(samples), posterior, samples, agreement)


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
