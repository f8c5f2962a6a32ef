"""NestedMAPDP: clusters of groups, where groups of one cluster share a whole mixture."""

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mapdp.data import checks
from mapdp.data.frames import read_table
from mapdp.data.groups import codes_among, read_groups
from mapdp.engine.density import log_sum
from mapdp.engine.trace import Step
from mapdp.estimators import saved
from mapdp.estimators.structured import StructuredMixture
from mapdp.families.base import Family
from mapdp.partitions.labels import by_falling_size
from mapdp.partitions.nested import NestedProcess
from mapdp.search.structured.nested import NestedRun
from mapdp.search.structured.run import Task


class NestedMAPDP(StructuredMixture):
    """Cluster groups of rows: groups of one cluster share a whole mixture.

    The model is a nested Dirichlet process mixture. Groups are clustered by a Dirichlet process with
    `alpha`; all rows of the groups of one cluster are clustered by one with `beta`. The most probable pair
    of partitions is searched for, and its joint is exact.

    Parameters
    ----------
    alpha : float or "map", default "map"
        Concentration of groups: larger values favour more clusters of groups. "map" learns it along with
        the partitions, under `alpha_prior`.
    beta : float or "map", default "map"
        Concentration of rows: larger values favour more clusters within a cluster of groups.
    alpha_prior : ("gamma", shape, rate) or "inverse-gamma", default ("gamma", 1.0, 1.0)
        Prior of concentrations that are learned.
    family, covariance, prior, columns
        As in `MAPDP`; what is learned begins with a flat `MAPDP` of all rows.
    n_init : int, default 1
        Number of starts: the clusters of the flat model, then around seeds; each with groups together, and,
        for up to 30 groups, with groups apart.
    max_iter, seconds, random_state, verbose, callback
        As in `MAPDP`.

    Attributes
    ----------
    group_labels_ : array of shape (G,)
        Cluster of each group, numbered by falling number of groups.
    groups_ : array of shape (G,)
        Names of the groups.
    labels_ : array of shape (N,)
        Cluster of each row; clusters of two clusters of groups are never the same.
    log_joint_ : float
        Exact log p(x, both partitions) under `alpha_` and `beta_`.
    alpha_, beta_ : float
    n_clusters_, cluster_sizes_, family_, schema_, mixture_, trace_, inits_, converged_, n_iter_
        As in `MAPDP`; `mixture_` sees all groups together, and so do `describe`, `explain` and `impute`.

    Examples
    --------
    >>> import numpy as np
    >>> from mapdp import NestedMAPDP
    >>> rng = np.random.default_rng(0)
    >>> groups = np.repeat(["a", "b", "c", "d"], 40)
    >>> share = np.where(np.isin(groups, ["a", "b"]), 0.9, 0.1)
    >>> X = rng.normal(size=(160, 2)) + 8.0 * (rng.random(160) < share)[:, None]
    >>> model = NestedMAPDP().fit(X, groups=groups)
    >>> int(model.group_labels_[0] == model.group_labels_[1]), len(set(model.group_labels_.tolist()))
    (1, 2)
    """

    _saved = saved.NESTED
    _kind = NestedRun
    _concentrations = ("alpha", "beta")

    def __init__(
        self,
        alpha: float | str = "map",
        beta: float | str = "map",
        *,
        alpha_prior: object = ("gamma", 1.0, 1.0),
        family: Family | type[Family] | None = None,
        covariance: str = "auto",
        prior: str | None = None,
        columns: Mapping[object, str] | None = None,
        n_init: int = 1,
        max_iter: int = 1000,
        seconds: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callback: Callable[[Step], object] | None = None,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.alpha_prior = alpha_prior
        self.family = family
        self.covariance = covariance
        self.prior = prior
        self.columns = columns
        self.n_init = n_init
        self.max_iter = max_iter
        self.seconds = seconds
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Find the most probable clusters of groups, and of rows.

        Parameters
        ----------
        X : array or data frame of shape (N, D)
            NaN, null and masked cells are gaps.
        y : ignored
        groups : array of shape (N,), default None
            Name of each row's group, numbers or words; None is one group.

        Returns
        -------
        self
        """
        self._check()
        n_rows = len(read_table(self, X, reset=True)[0].cells)
        self.groups_, codes = read_groups(groups, n_rows)
        self._is_grouped = groups is not None
        process = NestedProcess(self._first("alpha"), self._first("beta"))
        best = self._searched(X, codes, process, self._priors())
        self.alpha_, self.beta_ = best.process.alpha, best.process.beta
        self.group_labels_ = by_falling_size(best.run.group_labels)
        self._owner = np.zeros(int(best.labels.max()) + 1, dtype=np.int32)
        self._owner[best.labels] = self.group_labels_[codes]
        self._keep_seating(best, self.beta_)
        return self

    def _log_weights(self) -> np.ndarray:
        """Return log probabilities of clusters, a new one last, in each cluster of groups and a new one."""
        n_mixtures = int(self.group_labels_.max()) + 1
        inside = self._owner == np.arange(n_mixtures + 1)[:, None]
        sizes = np.column_stack(
            [np.where(inside, self.cluster_sizes_, 0.0), np.full(n_mixtures + 1, self.beta_)]
        )
        with np.errstate(divide="ignore"):
            return np.log(sizes / sizes.sum(axis=1, keepdims=True))

    def _codes(self, groups: Any, n_rows: int) -> np.ndarray:
        if groups is None and not self._is_grouped:
            return np.zeros(n_rows, dtype=np.int64)
        return codes_among(self.groups_, groups, n_rows)

    def predict_groups(self, X: Any, groups: Any = None) -> np.ndarray:
        """Return the cluster of each row's group; for a new cluster of groups, -1.

        The rows of a group that was never seen are judged together; so are all rows where none are named.
        """
        scores = self._scores_by_mixture(X)
        mixtures = self._mixtures(scores, groups)
        return np.where(mixtures == scores.shape[1] - 1, -1, mixtures).astype(np.int32)

    def _scores_by_mixture(self, X: Any) -> np.ndarray:
        """Return log p(x, cluster) of each row in each cluster of groups: (N, C + 1, K + 1)."""
        return self._densities(X)[:, None, :] + self._log_weights()

    def _mixtures(self, scores: np.ndarray, groups: Any) -> np.ndarray:
        """Return the cluster of each row's group."""
        codes, n_groups = self._codes(groups, len(scores)), len(self.groups_)
        mixtures = np.append(self.group_labels_, 0)[codes].astype(np.int64)
        log_density = np.logaddexp.reduce(scores, axis=2)
        log_sizes = np.log(np.append(np.bincount(self.group_labels_), self.alpha_))
        is_new = codes == n_groups
        names = np.zeros(len(scores)) if groups is None else np.asarray(groups).astype(str)
        for name in np.unique(names[is_new]):
            rows = is_new & (names == name)
            mixtures[rows] = (log_density[rows].sum(axis=0) + log_sizes).argmax()
        return mixtures

    def _scores(self, X: Any, groups: Any) -> np.ndarray:
        scores = self._scores_by_mixture(X)
        return scores[np.arange(len(scores)), self._mixtures(scores, groups)]

    def predict(self, X: Any, groups: Any = None) -> np.ndarray:
        """Return the most probable cluster of each row in its group, -1 where that is a new cluster."""
        check_is_fitted(self)
        return self.mixture_.as_labels(self._scores(X, groups).argmax(axis=1))

    def predict_proba(self, X: Any, groups: Any = None) -> np.ndarray:
        """Return each row's probability of each cluster; the last column is "a new cluster"."""
        check_is_fitted(self)
        scores = self._scores(X, groups)
        return np.exp(scores - log_sum(scores)[:, None])

    def score_samples(self, X: Any, groups: Any = None) -> np.ndarray:
        """Return the log density of each row in its group, its cluster summed out."""
        check_is_fitted(self)
        return log_sum(self._scores(X, groups))

    def score(self, X: Any, y: Any = None, groups: Any = None) -> float:
        """Return the mean log density of the rows."""
        return float(self.score_samples(X, groups).mean())

    def log_joint_of(self, X: Any, labels: Any, groups: Any = None, group_labels: Any = None) -> float:
        """Return log p(x, both partitions) of any partitions of a table; None is one cluster of groups."""
        numbers = self._as_fitted(self.numbers_of(X))
        rows, codes = self._rows_without_open_gaps(numbers), read_groups(groups, len(numbers)).codes
        process, chairs = NestedProcess(self.alpha_, self.beta_), checks.partition(labels, len(rows))
        n_groups = int(codes.max()) + 1
        clusters = None if group_labels is None else checks.partition(group_labels, n_groups)
        task = Task(rows, rows, self.family_, codes, process, (None, None))
        scaled = NestedRun(task, chairs, process, clusters).exact_log_joint()
        return scaled - float(np.sum(self.schema_.log_units(numbers)))
