"""DP-means as a scikit-learn estimator: the fast and hard relative of MAPDP."""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mapdp.data import checks
from mapdp.data.matrices import matrix_for, names_of
from mapdp.estimators import saved
from mapdp.estimators.settings import generator
from mapdp.partitions.labels import by_falling_size
from mapdp.search.dp_means import Means, MeansStart, dp_means, nearest, penalty_for, starts, usual_penalty


class DPMeans(ClusterMixin, BaseEstimator):
    """Cluster rows by K-means with a price for each cluster (Kulis and Jordan 2012).

    What is made small is the sum of squared distances to the clusters' means plus `lam` for each cluster.
    It is the limit of the Dirichlet process mixture for clusters of equal, vanishing variance: no
    probabilities, round clusters of one size, units that matter. It is here for comparison; `MAPDP` has
    none of these limits.

    Parameters
    ----------
    lam : float, default None
        Price of a cluster: the squared distance from which a row is a cluster of its own. None is the mean
        squared distance of the rows to their mean: what a row would have to itself if all were one cluster.
    n_clusters : int, default None
        Instead of `lam`: the number of clusters for which it is searched.
    n_init : int, default 1
        Number of starts; the lowest objective wins. The first begins with one cluster, as Kulis and
        Jordan do, the others with some of the rows as centres.
    max_iter : int, default 1000
        Largest number of passes of one run.
    random_state : int, Generator or None, default None
        Seed of the orders in which rows are visited; None visits them in row order first.

    Attributes
    ----------
    labels_ : array of shape (N,)
        Cluster of each row; clusters are numbered by falling size.
    n_clusters_ : int
    cluster_centers_ : array of shape (n_clusters, D)
    lam_ : float
        The price that was used.
    objective_ : float
    objectives_ : list of float
        The objective after each pass; it never rises.
    n_iter_ : int
        Number of passes.

    Examples
    --------
    >>> from mapdp import DPMeans
    >>> X = [[0.0], [1.0], [9.0], [10.0]]
    >>> DPMeans(lam=5.0).fit(X).labels_.tolist()
    [0, 0, 1, 1]
    >>> DPMeans(n_clusters=2).fit(X).cluster_centers_.ravel().tolist()
    [0.5, 9.5]
    """

    _saved = saved.DP_MEANS

    def __init__(
        self,
        lam: float | None = None,
        *,
        n_clusters: int | None = None,
        n_init: int = 1,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.lam = lam
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find clusters of the rows of X.

        Parameters
        ----------
        X : array or data frame of shape (N, D)
        y : ignored

        Returns
        -------
        self
        """
        self._check()
        rows = self._read(X, reset=True)
        middle = rows.mean(axis=0)
        rows = rows - middle
        rng = None if self.random_state is None else generator(self.random_state)
        runs = [self._run(rows, start) for start in starts(rows, self.n_init, self.n_clusters, rng)]
        self.lam_, best = min(runs, key=lambda run: (self._miss(run[1]), run[1].objectives[-1]))
        self._warn_of(best)
        self.labels_ = by_falling_size(best.labels)
        self.n_clusters_ = len(best.centres)
        self.cluster_centers_ = np.empty_like(best.centres)
        self.cluster_centers_[self.labels_] = best.centres[best.labels] + middle
        self.objectives_ = best.objectives
        self.objective_ = best.objectives[-1]
        self.n_iter_ = len(best.objectives)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the nearest cluster of each row, -1 where all are farther than `lam_` (squared)."""
        check_is_fitted(self)
        labels, distances = nearest(self._read(X, reset=False), self.cluster_centers_)
        slack = 1e-9 * self.lam_  # training rows at exactly that distance stay where they are
        return np.where(distances > self.lam_ + slack, -1, labels).astype(np.int32)

    def _read(self, X: Any, *, reset: bool) -> np.ndarray:
        rows = np.asarray(matrix_for(self, X, reset=reset), dtype=np.float64)
        checks.finite(rows, names_of(self))
        return rows

    def _check(self) -> None:
        if self.lam is not None and self.n_clusters is not None:
            raise ValueError(
                f"give one of lam and n_clusters, got lam={self.lam!r} and n_clusters={self.n_clusters!r}. "
                "Hint: n_clusters=3 searches lam for you."
            )
        if self.lam is not None:
            checks.positive("lam", self.lam, "it is in squared units of the data.")
        if self.n_clusters is not None:
            checks.whole("n_clusters", self.n_clusters, 1)
        checks.whole("n_init", self.n_init, 1)
        checks.whole("max_iter", self.max_iter, 1)

    def _run(self, rows: np.ndarray, start: MeansStart) -> tuple[float, Means]:
        if self.n_clusters is not None:
            return penalty_for(rows, self.n_clusters, start, self.max_iter)
        lam = usual_penalty(rows) if self.lam is None else float(self.lam)
        return lam, dp_means(rows, lam, start, self.max_iter)

    def _miss(self, run: Means) -> int:
        """Return how far a run is from the wanted number of clusters."""
        return 0 if self.n_clusters is None else abs(len(run.centres) - self.n_clusters)

    def _warn_of(self, run: Means) -> None:
        if self._miss(run):
            warnings.warn(
                f"found no lam for {self.n_clusters} clusters, the nearest gives {len(run.centres)}. "
                "Hint: raise n_init, or the rows have fewer distinct values.",
                ConvergenceWarning,
                stacklevel=3,
            )
        if not run.converged:
            warnings.warn(
                f"rows were still moving after max_iter={self.max_iter} passes. Hint: raise max_iter.",
                ConvergenceWarning,
                stacklevel=3,
            )
