"""The nested Dirichlet process: groups are clustered, and groups of one cluster share a whole mixture.

Groups choose their cluster as rows do in a Dirichlet process with `alpha`; all rows of the groups of one
cluster choose theirs in a Dirichlet process with `beta`, which no other cluster of groups has a part in.
"""

import dataclasses

import numpy as np
from scipy.special import gammaln

from mapdp.data import checks
from mapdp.partitions.concentration import AlphaPrior
from mapdp.partitions.hierarchical import most_probable
from mapdp.partitions.process import DirichletProcess


@dataclasses.dataclass(frozen=True)
class NestedProcess:
    """The prior over clusters of groups, and of rows within them.

    Parameters
    ----------
    alpha : float
        Concentration of groups: larger values favour more clusters of groups.
    beta : float
        Concentration of rows: larger values favour more clusters within a cluster of groups.

    Examples
    --------
    >>> process = NestedProcess(alpha=1.0, beta=1.0)
    >>> round(float(np.exp(process.log_prior([0, 0], [0, 1], [0, 0]))), 9)  # two groups, all together
    0.25
    """

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        checks.positive("alpha", self.alpha, "small alpha gives few clusters of groups; try 1.0.")
        checks.positive("beta", self.beta, "small beta gives few clusters of rows; try 1.0.")

    def log_prior(self, group_labels: object, groups: object, labels: object) -> float:
        """Return the log probability that groups and rows are in these clusters."""
        clusters, rows = np.asarray(group_labels), np.asarray(labels).astype(np.int64)
        of_rows = clusters[np.asarray(groups)]
        sizes = _sizes(of_rows * (rows.max() + 1) + rows)
        return self.log_prior_of(_sizes(clusters), _sizes(of_rows), sizes)

    def log_prior_of(self, n_groups: np.ndarray, n_rows: np.ndarray, sizes: np.ndarray) -> float:
        """Return the same from groups and rows in each cluster of groups, and sizes of clusters of rows."""
        within = DirichletProcess(self.beta)
        log_weight = len(sizes) * np.log(self.beta) + gammaln(sizes).sum()
        log_totals = sum(within.log_total(n) for n in n_rows.tolist())
        return float(DirichletProcess(self.alpha).log_eppf(n_groups) + log_weight - log_totals)

    def learned(
        self,
        group_labels: np.ndarray,
        groups: np.ndarray,
        labels: np.ndarray,
        alpha_prior: AlphaPrior | None,
        beta_prior: AlphaPrior | None,
    ) -> "NestedProcess":
        """Return the process whose concentrations are most probable; None is for known ones."""
        alpha, beta = self.alpha, self.beta
        if alpha_prior is not None:
            n_clusters = len(np.unique(group_labels))
            alpha = most_probable(np.array([len(group_labels)]), n_clusters, alpha_prior)
        if beta_prior is not None:
            beta = most_probable(_sizes(group_labels[groups]), len(np.unique(labels)), beta_prior)
        return dataclasses.replace(self, alpha=alpha, beta=beta)


def _sizes(labels: np.ndarray) -> np.ndarray:
    return np.unique(labels, return_counts=True)[1]
