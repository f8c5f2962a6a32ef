"""HierarchicalMAPDP: clusters that groups share, each group with proportions of its own."""

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
from mapdp.estimators.settings import generator
from mapdp.estimators.structured import StructuredMixture
from mapdp.families.base import Family
from mapdp.partitions.hierarchical import Counts, HierarchicalProcess
from mapdp.search.structured.franchise import FranchiseRun
from mapdp.search.structured.run import Task


class HierarchicalMAPDP(StructuredMixture):
    """Cluster rows of several groups: groups share clusters, each has its own proportions.

    The model is a hierarchical Dirichlet process mixture, seated as a Chinese restaurant franchise: rows of
    a group sit at tables, each table has a dish, and dishes are the clusters. The most probable seating is
    searched for, and its joint is exact.

    Parameters
    ----------
    alpha : float or "map", default "map"
        Concentration of each group: larger values favour more clusters in a group. "map" learns it along
        with the seating, under `alpha_prior`.
    gamma : float or "map", default "map"
        Concentration of the clusters: larger values favour clusters that groups do not share.
    alpha_prior : ("gamma", shape, rate) or "inverse-gamma", default ("gamma", 1.0, 1.0)
        Prior of concentrations that are learned.
    family, covariance, prior, columns
        As in `MAPDP`; what is learned begins with a flat `MAPDP` of all rows.
    n_init : int, default 1
        Number of starts: the clusters of the flat model, then around seeds.
    max_iter, seconds, random_state, verbose, callback
        As in `MAPDP`.

    Attributes
    ----------
    labels_ : array of shape (N,)
        Cluster of each row; clusters are numbered by falling size.
    tables_ : array of shape (N,)
        Table of each row within its group. Of the tables of a group with one dish all but one have one row.
    groups_ : array of shape (G,)
        Names of the groups, in the order of `proportions_`.
    proportions_ : array of shape (G, n_clusters + 1)
        Probability of each cluster for the next row of each group; the last column is a new cluster.
    n_clusters_, cluster_sizes_, family_, schema_, mixture_
        As in `MAPDP`; `mixture_` sees all groups together, and so do `describe`, `explain` and `impute`.
    log_joint_ : float
        Exact log p(x, tables, dishes) under `alpha_` and `gamma_`.
    alpha_, gamma_ : float
        Concentrations that were given or found.
    trace_, inits_, converged_, n_iter_
        As in `MAPDP`; the trace is that of the start that won.

    Examples
    --------
    >>> import numpy as np
    >>> from mapdp import HierarchicalMAPDP
    >>> rng = np.random.default_rng(0)
    >>> groups = np.repeat(["a", "b"], 60)
    >>> second = rng.random(120) < np.where(groups == "a", 0.9, 0.2)
    >>> X = rng.normal(size=(120, 2)) + 8.0 * second[:, None]
    >>> model = HierarchicalMAPDP().fit(X, groups=groups)
    >>> model.n_clusters_, model.proportions_.shape
    (2, (2, 3))
    >>> halfway = [[4.0, 4.0]]
    >>> bool(model.predict_proba(halfway, groups=["a"])[0, 0] != model.predict_proba(halfway, ["b"])[0, 0])
    True
    """

    _saved = saved.HIERARCHICAL
    _kind = FranchiseRun
    _concentrations = ("alpha", "gamma")

    def __init__(
        self,
        alpha: float | str = "map",
        gamma: float | str = "map",
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
        self.gamma = gamma
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
        """Find the most probable clusters of the rows of X.

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
        process = HierarchicalProcess(self._first("alpha"), self._first("gamma"))
        best = self._searched(X, codes, process, self._priors())
        self.alpha_, self.gamma_ = best.process.alpha, best.process.gamma
        counts = best.run.counts
        self._customers, self._tables = counts.customers.copy(), counts.tables.copy()
        self.tables_ = tables_of_rows(codes, best.labels, counts)
        self._keep_seating(best, self.alpha_)
        return self

    @property
    def _process(self) -> HierarchicalProcess:
        return HierarchicalProcess(self.alpha_, self.gamma_)

    @property
    def _log_weights(self) -> np.ndarray:
        """Return log probabilities of clusters, a new one last, for each group and one never seen."""
        counts = Counts(self._customers, self._tables, np.zeros_like(self._tables))
        return self._process.log_weights(counts)

    @property
    def proportions_(self) -> np.ndarray:
        """Return the probability of each cluster for the next row of each group, a new one last."""
        check_is_fitted(self)
        return np.exp(self._log_weights[:-1])

    def _scores(self, X: Any, groups: Any) -> np.ndarray:
        """Return log p(x, cluster) of each row in its group."""
        densities = self._densities(X)
        if groups is None and not self._is_grouped:
            codes = np.zeros(len(densities), dtype=np.int64)
        else:
            codes = codes_among(self.groups_, groups, len(densities))
        return densities + self._log_weights[codes]

    def predict(self, X: Any, groups: Any = None) -> np.ndarray:
        """Return the most probable cluster of each row, -1 where that is a new cluster.

        Groups that were never seen, and rows without one, have the proportions of a new group.
        """
        scores = self._scores(X, groups)
        return self.mixture_.as_labels(scores.argmax(axis=1))

    def predict_proba(self, X: Any, groups: Any = None) -> np.ndarray:
        """Return each row's probability of each cluster; the last column is "a new cluster"."""
        scores = self._scores(X, groups)
        return np.exp(scores - log_sum(scores)[:, None])

    def score_samples(self, X: Any, groups: Any = None) -> np.ndarray:
        """Return the log density of each row in its group, its cluster summed out."""
        return log_sum(self._scores(X, groups))

    def score(self, X: Any, y: Any = None, groups: Any = None) -> float:
        """Return the mean log density of the rows."""
        return float(self.score_samples(X, groups).mean())

    def log_joint_of(self, X: Any, labels: Any, groups: Any = None) -> float:
        """Return log p(x, tables, dishes) of any clusters of any table, at the best tables for them."""
        numbers = self._as_fitted(self.numbers_of(X))
        rows = self._rows_without_open_gaps(numbers)
        codes, chairs = read_groups(groups, len(rows)).codes, checks.partition(labels, len(rows))
        task = Task(rows, rows, self.family_, codes, self._process, (None, None))
        scaled = FranchiseRun(task, chairs, self._process).exact_log_joint()
        return scaled - float(np.sum(self.schema_.log_units(numbers)))

    def sample(
        self, n_samples: int = 1, random_state: Any = None, group: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows of a group, and the cluster of each, -1 for a new one; None is a group never seen."""
        check_is_fitted(self)
        given = None if group is None else [group]
        code = codes_among(self.groups_, given, 1)[0] if self._is_grouped else 0
        rng, mixture = generator(random_state), self.mixture_
        chairs = rng.choice(mixture.n_clusters + 1, size=n_samples, p=np.exp(self._log_weights[code]))
        return mixture.drawn(chairs, rng), mixture.as_labels(chairs)


def tables_of_rows(codes: np.ndarray, labels: np.ndarray, counts: Counts) -> np.ndarray:
    """Return the table of each row, numbered within its group: the first rows share the large table."""
    tables, n_opened = np.zeros(len(codes), dtype=np.int32), np.zeros(len(counts.customers), dtype=np.int64)
    for r, k in zip(*np.nonzero(counts.customers), strict=True):
        rows = np.flatnonzero((codes == r) & (labels == k))
        n_tables = int(counts.tables[r, k])
        alone = np.arange(1, n_tables)
        tables[rows] = n_opened[r]
        tables[rows[len(rows) - len(alone) :]] += alone.astype(np.int32)
        n_opened[r] += n_tables
    return tables
