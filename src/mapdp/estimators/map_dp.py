"""Knows MAP-DPM as a scikit-learn estimator: the most probable partition that a search can find."""

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning

from mapdp import checks, selection
from mapdp.concentration import alpha_for, make_prior
from mapdp.estimators.base import cores, generator
from mapdp.estimators.judged import Judged
from mapdp.estimators.telling import Teller
from mapdp.families import Mixed
from mapdp.family import Family
from mapdp.model import state_log_joint
from mapdp.moments import has_gaps, outlined
from mapdp.process import Process, make_process
from mapdp.search import searches
from mapdp.search import starts as start_names
from mapdp.search.blocks import Ties, Untied, of_blocks, tie, untied
from mapdp.search.filling import search_and_fill
from mapdp.search.run import Found, Problem
from mapdp.state import predictive_bank
from mapdp.tables import Raw, read_table
from mapdp.trace import Step

_MANY = 20_000  # rows from which alpha is learned along with the partition, as a grid then costs more


class MAPDP(Judged):
    """Cluster rows without being told how many clusters there are.

    A Dirichlet process mixture is searched for its most probable partition: a row leaves its cluster,
    every cluster and an empty one is scored by its exact predictive density, the row sits where the
    score is best, until nobody moves.

    Parameters
    ----------
    alpha : float or {"auto", "map", "nll", "cv"}, default "auto"
        Concentration of the Dirichlet process: larger values favour more clusters. "map" learns it along
        with the partition, under `alpha_prior`; "nll" takes the value of a grid that gives the highest
        joint, "cv" the one under which rows that were left out are most probable. "auto" is "nll" for up to
        20,000 rows and "map" for more.
    discount : float, default 0.0
        Pitman-Yor discount, from 0 to below 1: larger values favour many small clusters.
    process : {None, "mfm"} or Process, default None
        None is the Dirichlet or Pitman-Yor process of alpha and discount. "mfm" is a mixture of finite
        mixtures, which does not expect ever more small clusters; it has no alpha.
    expected_clusters : float, default None
        States alpha as the number of clusters to expect, before the data are seen; alpha must be "auto".
    alpha_prior : ("gamma", shape, rate) or "inverse-gamma", default "inverse-gamma"
        Prior of an alpha that is learned; the latter has both parameters 1/2, as in the paper.
    family : Family, class of Family, {"auto", "cv"} or None, default None
        Likelihood with its prior, or a class whose `empirical` prior is taken; None takes what fits each
        column, which is `DiagonalGaussian` for measurements. "auto" chooses the scale of that prior by the
        joint, "cv" by the density of rows that were left out.
    columns : dict, default None
        What columns hold, where the table does not tell: {"visits": "count", "grade": "ordered", ...}.
        Kinds are "real", "log" (a real number with a long tail), "count", "binary", "category", "ordered"
        and "ignore". Columns that are not named are looked at; `schema_` says what was found.
    init : {"sequential", "single", "singletons"} or array of shape (N,), default "sequential"
        Who sits with whom at first. "sequential" seats the rows one by one, each scored against those
        already seated; "single" puts all rows in one cluster, "singletons" each in its own.
    search : {"split-merge", "icm"}, default "split-merge"
        How the partition is improved: "icm" is the paper's algorithm, "split-merge" goes on from there
        with moves of whole clusters until none raises the joint.
    n_init : int, default 1
        Number of starts, in different orders of seating; the most probable outcome wins. Every second start
        of a split-merge search is around seeds instead, and the best is crossed with the others.
    max_iter : int, default 1000
        Largest number of sweeps of one start.
    tol : float, default 0.0
        A sweep that raises the log joint by no more than this is the last one.
    random_state : int, Generator or None, default None
        Seed of the order in which rows are seated, and of the guesses of the search; None seats them in
        row order. The same seed gives the same result, and so does None.
    n_jobs : int, default None
        Number of threads, for several starts and for passes over many rows; the result does not depend
        on it. None is one start at a time, and every core for the passes.
    verbose : int, default 0
        1 prints a line for each sweep and each round of moves.
    callback : callable, default None
        Is called with the Step of each sweep and round of moves; where it returns True the fit ends, and
        what was found so far is kept.

    Attributes
    ----------
    labels_ : array of shape (N,)
        Cluster of each row; clusters are numbered by falling size.
    n_clusters_ : int
    cluster_sizes_ : array of shape (n_clusters_,)
    log_joint_ : float
        Exact log p(x, z) of the data and the partition, under `alpha_`.
    alpha_ : float
        The concentration that was given or found, nan for a process without one.
    alphas_ : list of Tried
        With "nll" and "cv": what each alpha of the grid gave.
    trace_ : list of Step
        What each sweep and each round of moves did; the joint never drops. Where alpha is learned, the
        joint of the trace has the density of log alpha, too.
    known_labels_ : array of shape (n_clusters_,)
        Where `y`, weights or groups were given: the label that each cluster was told, -1 for none.
    inits_ : list of Init
        For each start its joint, its number of clusters and its agreement with the outcome, which may be
        better than all of them; by "nll" all starts are made with alpha 1.
    converged_ : bool
        False where sweeps ran out, or the callback ended the fit.
    n_iter_ : int
        Number of sweeps after the start.
    family_ : Family
        The likelihood that was used.
    schema_ : Schema
        What each column holds, and which were set aside; prints as a table.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mapdp import MAPDP
    >>> X = load_iris().data
    >>> model = MAPDP(alpha=0.3).fit(X)
    >>> model.labels_.shape == (150,) and model.n_clusters_ == len(model.cluster_sizes_)
    True
    >>> model.predict([[100.0, 100.0, 100.0, 100.0]])  # nothing like it was seen: a new cluster
    array([-1], dtype=int32)
    """

    _family_rules = (None, "auto", "cv")
    _fills_gaps = True

    def __init__(
        self,
        alpha: float | str = "auto",
        *,
        discount: float = 0.0,
        process: Process | str | None = None,
        expected_clusters: float | None = None,
        alpha_prior: object = "inverse-gamma",
        family: Family | type[Family] | str | None = None,
        columns: Mapping[object, str] | None = None,
        init: Any = "sequential",
        search: str = "split-merge",
        n_init: int = 1,
        max_iter: int = 1000,
        tol: float = 0.0,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[Step], object] | None = None,
    ) -> None:
        self.alpha = alpha
        self.discount = discount
        self.process = process
        self.expected_clusters = expected_clusters
        self.alpha_prior = alpha_prior
        self.family = family
        self.columns = columns
        self.init = init
        self.search = search
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Find the most probable partition of the rows of X.

        Parameters
        ----------
        X : array or data frame of shape (N, D)
            NaN and null are gaps.
        y : array of shape (N,), default None
            Known labels, -1 where they are not known: rows with the same label share a cluster, rows with
            different labels do not. Labels without any -1 are ignored, as everywhere in scikit-learn.
        sample_weight : array of shape (N,), default None
            What each row counts for; a weight of 2 is the same row twice, in one cluster. Rows of weight 0
            are given a cluster afterwards.
        groups : array of shape (N,), default None
            Rows with the same name share a cluster; -1 or None is for rows in no group.

        Returns
        -------
        self
        """
        self._check()
        tell = Teller(self.verbose, self.callback)
        table = read_table(self, X, reset=True)
        ties = tie(len(table[0].cells), sample_weight, groups, y)
        self._has_ties = ties is not None
        self._rule = self._alpha_rule(len(table[0].cells) if ties is None else len(ties.known))
        of_rows = self._problem(table, None if ties is None else ties.counted(), tell)
        del table  # a large one should not stay beside the rows
        problem = of_rows if ties is None else of_blocks(of_rows, ties)
        best, found, self.alphas_ = self._solved(problem, self._starts(len(problem.X), ties))
        self._report(best, found, tell.is_stopped)
        if ties is None:
            self._keep(best.state, best.process)
        else:
            self._keep_untied(untied(best, problem, ties), of_rows.X, ties, best.process)
        return self

    def _solved(self, problem: Problem, starts: list[searches.Start]) -> selection.Choice:
        """Search from all starts; where cells are missing that depend on others, fill them in turn."""
        choose = selection.RULES.get(self._rule, selection.as_given)

        def searched(problem: Problem, labels: Any) -> selection.Choice:
            some = starts if labels is None else [starts[0]._replace(init=labels)]
            return choose(problem, self.search, some, effective_n_jobs(self.n_jobs))

        if not problem.family.has_columns and has_gaps(problem.X):
            return search_and_fill(problem, searched)
        return searched(problem, None)

    def _report(self, best: Found, found: list[Found], is_stopped: bool) -> None:
        """Keep what is to be told of the search."""
        self.converged_, self.trace_, self.n_iter_ = best.converged, best.trace, best.trace[-1].sweep
        if not best.converged and not is_stopped:
            warnings.warn(
                f"rows still moved after max_iter={self.max_iter} sweeps. Hint: raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.log_joint_ = state_log_joint(best.state, best.process)
        self.inits_ = [one.beside(best) for one in found]
        self.alpha_ = getattr(best.process, "alpha", math.nan)

    def _keep_untied(self, found: Untied, rows: np.ndarray, ties: Ties, process: Process) -> None:
        """Remember what was found for blocks in terms of rows; rows that count for nothing join last."""
        self._process = process.counted_as(None)
        self.n_clusters_, self.cluster_sizes_ = len(found.sizes), found.sizes
        self.known_labels_ = found.known
        self._bank = predictive_bank(found.bank, self.family_, self.n_clusters_)
        self.labels_ = np.empty(len(rows), dtype=np.int32)
        self.labels_[ties.rows] = found.labels
        others = np.setdiff1d(np.arange(len(rows)), ties.rows)
        if len(others):
            self.labels_[others] = self._scored(rows[others], lambda s: s[:, :-1].argmax(axis=1))

    def _alpha_rule(self, n_rows: int) -> str:
        """Return how alpha is found; "given" where there is nothing to find."""
        told = self.process is not None or self.expected_clusters is not None
        if told or not isinstance(self.alpha, str):
            return "given"
        if self.alpha == "auto":
            return "nll" if n_rows <= _MANY else "map"
        return self.alpha

    def _check(self) -> None:
        """Check the parameters before any work."""
        if isinstance(self.alpha, str):
            checks.one_of("alpha", self.alpha, ("auto", "map", *selection.RULES), "a positive number or ")
        told = [name for name in ("process", "expected_clusters") if getattr(self, name) is not None]
        if told and (self.alpha != "auto" or len(told) > 1):
            raise ValueError(
                f"give one of alpha, process and expected_clusters, got alpha={self.alpha!r} and "
                f"{' and '.join(told)}. Hint: each of them says it all."
            )
        make_process(1.0 if isinstance(self.alpha, str) else self.alpha, self.discount, self.process)
        make_prior(self.alpha_prior)
        checks.whole("max_iter", self.max_iter, 1)
        checks.not_negative("tol", self.tol)
        checks.one_of("search", self.search, searches.NAMES)
        if isinstance(self.init, str):
            checks.one_of("init", self.init, start_names.NAMES)
        checks.whole("n_init", self.n_init, 1)

    def _problem(self, table: list[Raw], counted: np.ndarray | None, tell: Teller) -> Problem:
        """Return what the search is to solve."""
        rows = self._read(table, counted)
        prior = make_prior(self.alpha_prior) if self._rule == "map" else None
        process = make_process(self._first_alpha(len(rows)), self.discount, self.process)
        n_threads = cores(self.n_jobs) if len(rows) > _MANY else 1  # to count cores takes its time
        limits = (self.max_iter, self.tol, n_threads, tell)
        problem = Problem(rows, outlined(rows), self.family_, process, prior, *limits)
        if isinstance(self.family, str):
            told = problem if counted is None else problem.among(counted)
            families = [self.schema_.family(told.X, scale) for scale in selection.SCALES]
            family = selection.choose_family(told, families, self.family, self.search)
            self.family_ = Mixed.of(family) if isinstance(self.family_, Mixed) else family
        return problem._replace(family=self.family_)

    def _first_alpha(self, n_rows: int) -> Any:
        """Return alpha where it is given, else where learning it begins."""
        if self.expected_clusters is not None:
            expected = checks.positive("expected_clusters", self.expected_clusters, "say how many.")
            return alpha_for(n_rows, expected, self.discount)
        return 1.0 if isinstance(self.alpha, str) else self.alpha

    def _starts(self, n_rows: int, ties: Ties | None) -> list[searches.Start]:
        """Return how each start begins; without a seed the first seats the rows in row order."""
        init = self.init if ties is None or isinstance(self.init, str) else ties.of_blocks(self.init)
        rngs = generator(self.random_state).spawn(self.n_init)
        return searches.plan_starts(init, self.search, n_rows, rngs, in_row_order=self.random_state is None)
