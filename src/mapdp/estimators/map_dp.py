"""Knows MAP-DPM as a scikit-learn estimator: the most probable partition that a search can find."""

import math
import time
import warnings
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning

from mapdp import checks, selection
from mapdp.concentration import alpha_for, make_prior
from mapdp.estimators.base import Mixture, generator, print_hundredth
from mapdp.family import Family
from mapdp.model import seated, state_log_joint
from mapdp.process import Process, make_process
from mapdp.sampling import sampler
from mapdp.sampling.chain import Chain, Posterior
from mapdp.sampling.uncertainty import Uncertainty, uncertainty_of
from mapdp.search import searches, starts
from mapdp.search.run import Found, Problem
from mapdp.search.searches import Start
from mapdp.trace import Init, Step, adjusted_rand, silent

ALPHA_RULES = ("auto", "map", "nll", "cv")


class MAPDP(Mixture):
    """Cluster rows without being told how many clusters there are.

    A Dirichlet process mixture is searched for its most probable partition: a row leaves its cluster,
    every cluster and an empty one is scored by its exact predictive density, the row sits where the
    score is best, until nobody moves.

    Parameters
    ----------
    alpha : float or {"auto", "map", "nll", "cv"}, default "auto"
        Concentration of the Dirichlet process: larger values favour more clusters. "map" learns it along
        with the partition, under `alpha_prior`; "nll" takes the value of a grid that gives the highest
        joint, "cv" the one under which rows that were left out are most probable. "auto" is "map".
    discount : float, default 0.0
        Pitman-Yor discount, from 0 to below 1: larger values favour many small clusters.
    process : {None, "mfm"} or Process, default None
        None is the Dirichlet or Pitman-Yor process of alpha and discount. "mfm" is a mixture of finite
        mixtures, which does not expect ever more small clusters; it has no alpha.
    expected_clusters : float, default None
        States alpha as the number of clusters to expect, before the data are seen; alpha must be "auto".
    alpha_prior : ("gamma", shape, rate) or "inverse-gamma", default "inverse-gamma"
        Prior of an alpha that is learned; the latter has both parameters 1/2, as in the paper.
    family : Family, default None
        Likelihood with its prior; None means `DiagonalGaussian.empirical(X)`.
    init : {"sequential", "single", "singletons"} or array of shape (N,), default "sequential"
        Who sits with whom at first. "sequential" seats the rows one by one, each scored against those
        already seated; "single" puts all rows in one cluster, "singletons" each in its own.
    search : {"split-merge", "icm"}, default "split-merge"
        How the partition is improved: "icm" is the paper's algorithm, "split-merge" goes on from there
        with moves of whole clusters until none raises the joint.
    n_init : int, default 1
        Number of starts; the most probable outcome wins. Starts differ in the order of seating; every
        second start of a split-merge search is around seeds instead.
    max_iter : int, default 1000
        Largest number of sweeps of one start.
    tol : float, default 0.0
        A sweep that raises the log joint by no more than this is the last one.
    random_state : int, Generator or None, default None
        Seed of the order in which a sequential start seats the rows, and of the guesses of the search;
        None seats the rows in row order. The same seed gives the same result, and so does None.
    n_jobs : int, default None
        Number of threads: for several starts, and for passes over many rows. None is one start at a
        time, and every core for the passes. The result does not depend on it.
    verbose : int, default 0
        1 prints a line for each sweep and each round of moves.

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
    inits_ : list of Init
        For each start its joint, its number of clusters and its agreement with the winner.
    n_iter_ : int
        Number of sweeps after the start.
    family_ : Family
        The likelihood that was used.

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

    def __init__(
        self,
        alpha: float | str = "auto",
        *,
        discount: float = 0.0,
        process: Process | str | None = None,
        expected_clusters: float | None = None,
        alpha_prior: object = "inverse-gamma",
        family: Family | None = None,
        init: Any = "sequential",
        search: str = "split-merge",
        n_init: int = 1,
        max_iter: int = 1000,
        tol: float = 0.0,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.discount = discount
        self.process = process
        self.expected_clusters = expected_clusters
        self.alpha_prior = alpha_prior
        self.family = family
        self.init = init
        self.search = search
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the most probable partition of the rows of X.

        Parameters
        ----------
        X : array or data frame of shape (N, D)
        y : ignored

        Returns
        -------
        self
        """
        rule = self._alpha_rule()
        self._check()
        problem = self._problem(X, learn=rule == "map")
        find = {"nll": selection.by_joint, "cv": selection.by_cross_validation}.get(rule, _directly)
        n_jobs = effective_n_jobs(self.n_jobs)
        found, self.alphas_ = find(problem, self.search, self._starts(len(problem.X)), n_jobs)
        best = max(found, key=lambda one: one.log_joint)
        if not best.converged:
            warnings.warn(
                f"rows were still moving after max_iter={self.max_iter} sweeps. "
                "Hint: raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._keep(best.state, best.process)
        self.inits_ = [self._compared(one) for one in found]
        self.alpha_ = getattr(best.process, "alpha", math.nan)
        self.log_joint_ = state_log_joint(best.state, best.process)
        self.trace_ = best.trace
        self.n_iter_ = best.trace[-1].sweep
        return self

    def _alpha_rule(self) -> str:
        """Return how alpha is found; "given" where there is nothing to find."""
        if isinstance(self.alpha, str):
            checks.one_of("alpha", self.alpha, ALPHA_RULES)
        if self.process is not None or self.expected_clusters is not None:
            if self.alpha != "auto":
                raise ValueError(
                    "alpha must be left at 'auto' beside process or expected_clusters, "
                    f"got {self.alpha!r}. Hint: they say it all."
                )
            return "given"
        if not isinstance(self.alpha, str):
            return "given"
        return "map" if self.alpha == "auto" else self.alpha

    def _check(self) -> None:
        """Check the parameters of the search."""
        checks.whole("max_iter", self.max_iter, 1)
        checks.not_negative("tol", self.tol)
        checks.one_of("search", self.search, searches.NAMES)
        if isinstance(self.init, str):
            checks.one_of("init", self.init, starts.NAMES)
        checks.whole("n_init", self.n_init, 1)

    def _problem(self, X: Any, *, learn: bool) -> Problem:
        """Return what the search is to solve."""
        prior = make_prior(self.alpha_prior)
        first = make_process(
            self._first_alpha(2), self.discount, self.process
        )  # complains before work begins
        rows = self._read(X)
        if self.expected_clusters is not None:
            first = make_process(self._first_alpha(len(rows)), self.discount)
        n_threads = effective_n_jobs(-1 if self.n_jobs is None else self.n_jobs)
        alpha_prior = prior if learn else None
        return Problem(
            rows, self.family_, first, alpha_prior, self.max_iter, self.tol, n_threads, self._tell
        )

    def _first_alpha(self, n_rows: int) -> Any:
        """Return alpha where it is given, else where learning it begins."""
        if not isinstance(self.alpha, str):
            return self.alpha
        if self.expected_clusters is None or n_rows <= 2:
            return 1.0
        return alpha_for(n_rows, self.expected_clusters, self.discount)

    def uncertainty(
        self,
        X: Any,
        *,
        n_sweeps: int = 400,
        n_chains: int = 2,
        seconds: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> Uncertainty:
        """Say how sure the partition is, by a short run of the Gibbs sampler that starts from it.

        Parameters
        ----------
        X : array or data frame of shape (N, D)
            The rows that were fitted.
        n_sweeps : int, default 400
            Sweeps of each chain; the second half of them is used.
        n_chains : int, default 2
        seconds : float, default None
            Ends the run early.
        random_state : int, Generator or None, default None
        n_jobs : int, default None
            Number of chains that run at a time; None is one for each core.
        verbose : int, default 0
            1 prints a line for every hundredth sweep of the first chain.

        Returns
        -------
        Uncertainty
            Membership and entropy of each row, stability of each cluster, posterior of the number of
            clusters.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> X = load_iris().data
        >>> sure = MAPDP(alpha=0.3).fit(X).uncertainty(X, n_sweeps=100)
        >>> sure.membership.shape[0] == 150 and bool((sure.stability <= 1.0).all())
        True
        """
        posterior = Posterior(self._refitted(X), self.family_, self._process, None, True)
        checks.whole("n_sweeps", n_sweeps, 1)
        limit = np.inf if seconds is None else checks.positive("seconds", seconds, "None has no limit.")
        deadline = time.perf_counter() + limit
        n_jobs = effective_n_jobs(-1 if n_jobs is None else n_jobs)
        rngs = generator(random_state).spawn(checks.whole("n_chains", n_chains, 1))
        chains = [Chain(posterior, self.labels_, rng) for rng in rngs]
        tell = print_hundredth if verbose else silent
        sampler.advance(chains, n_sweeps, sampler.Plan(0, 1, n_jobs, tell, deadline))
        return uncertainty_of(self.labels_, sampler.second_halves(chains))

    def _refitted(self, X: Any) -> np.ndarray:
        """Return the rows, encoded, if they are those that were fitted."""
        rows = self._encoded(X)
        if len(rows) == len(self.labels_):
            state = seated(rows, self.labels_, self.family_, self._process)
            if np.isclose(state_log_joint(state, self._process), self.log_joint_, rtol=1e-9, atol=1e-9):
                return rows
        raise ValueError(
            f"X must be the {len(self.labels_)} rows that were fitted, got {len(rows)} others. "
            "Hint: predict_proba tells how sure new rows are."
        )

    def _starts(self, n_rows: int) -> list[Start]:
        """Return how each start begins; without a seed the first seats the rows in row order.

        Every second start of a split-merge search is around seeds instead of sequential: the two
        kinds get stuck in different places.
        """
        chosen, order = [], np.arange(n_rows, dtype=np.int32)
        mixed = self.search == "split-merge" and isinstance(self.init, str) and self.init == "sequential"
        for number, rng in enumerate(generator(self.random_state).spawn(self.n_init)):
            shuffled = number > 0 or self.random_state is not None
            init = "seeds" if mixed and number % 2 == 1 else self.init
            chosen.append(Start(init, rng.permutation(order) if shuffled else order, rng))
        return chosen

    def _compared(self, found: Found) -> Init:
        """Report one start beside the winner."""
        winner = found.state.labels is self.labels_
        agreement = 1.0 if winner else adjusted_rand(self.labels_, found.state.labels)
        return Init(found.log_joint, found.state.n_clusters, agreement)

    def _tell(self, step: Step) -> None:
        if self.verbose:
            print(step, flush=True)


def _directly(
    problem: Problem, name: str, starts: list[Start], n_jobs: int
) -> tuple[list[Found], list[selection.Tried]]:
    """Search where there is no grid of alphas."""
    return searches.from_every_start(problem, name, starts, n_jobs), []
