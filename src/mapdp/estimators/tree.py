"""Coarser levels of a fitted partition: its tree, and models of the partitions where the tree is cut."""

import copy
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mapdp.estimators.fitted import FittedMixture
from mapdp.estimators.mixture import Mixture
from mapdp.insights.branches import TreeDescription
from mapdp.insights.tree import ClusterTree


class TreeMixin(Mixture):
    """A mixture with one partition, `labels_`, whose log joint is `log_joint_`."""

    log_joint_: float
    known_labels_: np.ndarray
    _tree: ClusterTree | None = None

    def _keep(self, mixture: FittedMixture, labels: Any) -> Self:
        self._tree = None
        return super()._keep(mixture, labels)

    @property
    def tree_(self) -> ClusterTree:
        """Return the tree of the clusters, which is worked out when it is first asked for."""
        check_is_fitted(self)
        if self._tree is None:
            self._tree = self.mixture_.tree(np.asarray(self.labels_), self._have_known_labels())
        return self._tree

    def _have_known_labels(self) -> np.ndarray:
        """Return (K,): whether the label of each cluster is known."""
        known = getattr(self, "known_labels_", None)
        if known is None:
            return np.zeros(self.n_clusters_, dtype=bool)
        return known != (-1 if known.dtype.kind == "i" else "")

    def describe_tree(self) -> TreeDescription:
        """Describe what sets the branches of the tree apart; prints as a drawing.

        The evidence of a column is the log Bayes factor, in nats, of "the two branches have distributions
        of their own in this column" against "they share one".

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from mapdp import MAPDP
        >>> X = load_iris(as_frame=True).data
        >>> tree = MAPDP(alpha=0.3, prior="paper").fit(X).describe_tree()
        >>> str(tree.splits[-1][0])
        'petal length (cm): 4.906 ± 0.82 | 1.462 ± 0.17'
        """
        tree = self.tree_
        return self.mixture_.describe_tree(tree)

    def cut(
        self, n_clusters: int | None = None, *, nats: float | None = None, share: float | None = None
    ) -> Self:
        """Return a fitted model of the partition where the tree is cut; give one of three.

        Parameters
        ----------
        n_clusters : int, default None
            Number of clusters.
        nats : float, default None
            Merge while the log joint is at most so far below that of this model.
        share : float, default None
            The same, as a share (0 to 1) of what merging all clusters loses.

        Returns
        -------
        model
            `labels_`, `log_joint_` and all that follows from the partition are its own; what tells of the
            search (`trace_`, `inits_`, ...) is that of this model.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from mapdp import MAPDP
        >>> X = load_iris().data
        >>> coarse = MAPDP(alpha=0.3, prior="paper").fit(X).cut(n_clusters=2)
        >>> coarse.cluster_sizes_.tolist()
        [100, 50]
        >>> bool(np.isclose(coarse.log_joint_, coarse.log_joint_of(X, coarse.labels_)))
        True
        """
        tree = self.tree_
        level = tree.level(n_clusters, nats=nats, share=share)
        into, coarse = tree.numbers(level), copy.copy(self)
        coarse._keep(self.mixture_.merged(into), into[np.asarray(self.labels_)])
        coarse.log_joint_ = self.log_joint_ - float(tree.accumulated[tree.n_clusters - level])
        if hasattr(self, "known_labels_"):
            coarse.known_labels_ = _known_after(self.known_labels_, self._have_known_labels(), into)
        return coarse

    def predict(self, X: Any, n_clusters: int | None = None) -> np.ndarray:
        """Return the most probable cluster of each row, -1 where that is a new cluster.

        With `n_clusters` the clusters are those of `cut(n_clusters)`.
        """
        check_is_fitted(self)
        return super(TreeMixin, self if n_clusters is None else self.cut(n_clusters)).predict(X)


def _known_after(known: np.ndarray, is_known: np.ndarray, into: np.ndarray) -> np.ndarray:
    """Return the known label of each merged cluster: no two that are known have merged."""
    merged = np.full(into.max() + 1, -1 if known.dtype.kind == "i" else "", dtype=known.dtype)
    merged[into[is_known]] = known[is_known]
    return merged
