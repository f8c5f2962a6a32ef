"""The Gibbs samplers as a scikit-learn estimator: draws from the posterior over partitions."""

import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mapdp.data import checks
from mapdp.data.frames import read_table
from mapdp.engine import starts
from mapdp.engine.build import seated
from mapdp.engine.density import log_density
from mapdp.engine.joint import state_log_joint
from mapdp.engine.problem import Model, Problem
from mapdp.estimators import saved
from mapdp.estimators.fitted import FittedMixture
from mapdp.estimators.mixture import Mixture
from mapdp.estimators.progress import listener_to_sweeps
from mapdp.estimators.reader import TableReader
from mapdp.estimators.settings import cores, generator, prior_to_draw_from
from mapdp.families.base import Family
from mapdp.partitions.process import Process, make_process
from mapdp.sampling import chains as sampler
from mapdp.sampling.diagnostics import RafteryLewis, least_sweeps, to_arviz
from mapdp.sampling.similarity import coclustering, share_of_each
from mapdp.sampling.split_merge import MOVES, SPLIT_MERGE

RAFTERY_LEWIS = "raftery-lewis"


class GibbsDPM(Mixture):
    """Draw partitions from the posterior of a Dirichlet process mixture.

    Each row in turn leaves its cluster and draws a new one, with the probabilities that its exact
    predictive densities give; between such sweeps whole clusters split and merge. Slower than `MAPDP`, but
    it shows what else the data allow.

    Parameters
    ----------
    alpha : float, default 1.0
        Concentration of the Dirichlet process; the first value where `alpha_prior` is given.
    discount : float, default 0.0
        Pitman-Yor discount, from 0 to below 1.
    process : {None, "mfm"} or Process, default None
        None is the Dirichlet or Pitman-Yor process of alpha and discount, "mfm" a mixture of finite
        mixtures.
    collapsed : bool, default True
        Whether cluster parameters are integrated out. False draws them, as in the paper's section 2.2; for
        Gaussian families only. Both sample the same posterior.
    moves : {"split-merge", "gibbs"}, default "split-merge"
        "split-merge" proposes splits and merges of clusters after every sweep, "gibbs" only moves single
        rows. Both sample the same posterior; the first finds its way through it far sooner.
    family : Family, class of Family or None, default None
        Likelihood with its prior, or a class whose `empirical` prior is taken; None takes what
        fits each column, which is `DiagonalGaussian` for measurements.
    columns : dict, default None
        What columns hold, as in `MAPDP`.
    n_sweeps : int or "raftery-lewis", default 1000
        How long each chain is; "raftery-lewis" runs until that diagnostic is satisfied with the log joint
        and the number of clusters of every chain.
    burn_in : int, default None
        Sweeps before the first that is kept. None is half of `n_sweeps`, or what the Raftery-Lewis
        diagnostic gives.
    thin : int, default 1
        Sweeps from one that is kept to the next.
    n_chains : int, default 1
    init : {"sequential", "single", "singletons"} or array of shape (N,), default "sequential"
        Who sits with whom at first; "sequential" lets the rows draw their clusters one by one.
    alpha_prior : tuple ("gamma", shape, rate), default None
        Draws alpha, too, after every sweep (Escobar and West 1995). Needs `discount=0`.
    accuracy : tuple (q, r, s), default (0.025, 0.01, 0.95)
        The accuracy that "raftery-lewis" aims at: see `mapdp.sampling.diagnostics.raftery_lewis`.
    max_sweeps : int, default 50000
        Where "raftery-lewis" gives up, with a warning.
    random_state : int, Generator or None, default None
        Seed; None is always the same one.
    n_jobs : int, default None
        Number of chains that run at a time; None is one for each core. The result does not depend on it.
    verbose : int, default 0
        1 prints a line for every hundredth sweep of the first chain.

    Attributes
    ----------
    samples_ : array of shape (n_chains * kept, N)
        The labels that were kept, chain after chain; clusters are numbered by falling size.
    labels_ : array of shape (N,)
        The most probable of them (together with its alpha where that is drawn); `predict`,
        `predict_proba` and `sample` go by it.
    n_clusters_ : int
    cluster_sizes_ : array of shape (n_clusters,)
    log_joint_ : float
        Exact log p(x, z) of `labels_` under `alpha_`.
    alpha_ : float
        The concentration of that sample, nan for a process without one.
    chains_ : Chains
        Number of clusters, log joint, emptied clusters and alpha of every sweep of every chain.
    burn_in_, n_sweeps_ : int
        Sweeps before the first kept one, and all sweeps, of each chain.
    raftery_lewis_ : list of RafteryLewis
        With `n_sweeps="raftery-lewis"` (else empty): the diagnostic of each chain's log joint, then of
        each chain's K.
    n_clusters_posterior_ : array
        Entry k is the posterior probability of k clusters.
    coclustering_ : array of shape (N, N)
        Posterior probability that two rows share a cluster; worked out when first used.
    family_ : Family

    Examples
    --------
    >>> import numpy as np
    >>> from mapdp import GibbsDPM
    >>> X = np.array([[0.0], [0.2], [0.1], [9.0], [9.1], [9.3]])
    >>> model = GibbsDPM(n_sweeps=2000, burn_in=500).fit(X)
    >>> model.samples_.shape
    (1500, 6)
    >>> bool(model.coclustering_[0, 1] > model.coclustering_[0, 3])
    True
    """

    _saved = saved.GIBBS
    _coclustering: np.ndarray | None = None

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        discount: float = 0.0,
        process: Process | str | None = None,
        collapsed: bool = True,
        moves: str = SPLIT_MERGE,
        family: Family | type[Family] | None = None,
        columns: Mapping[object, str] | None = None,
        n_sweeps: int | str = 1000,
        burn_in: int | None = None,
        thin: int = 1,
        n_chains: int = 1,
        init: Any = "sequential",
        alpha_prior: tuple[str, float, float] | None = None,
        accuracy: tuple[float, float, float] = (0.025, 0.01, 0.95),
        max_sweeps: int = 50_000,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.discount = discount
        self.process = process
        self.collapsed = collapsed
        self.moves = moves
        self.family = family
        self.columns = columns
        self.n_sweeps = n_sweeps
        self.burn_in = burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.init = init
        self.alpha_prior = alpha_prior
        self.accuracy = accuracy
        self.max_sweeps = max_sweeps
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw partitions of the rows of X.

        Parameters
        ----------
        X : array or data frame of shape (N, D)
        y : ignored

        Returns
        -------
        self
        """
        process = make_process(self.alpha, self.discount, self.process)
        prior = prior_to_draw_from(self.alpha_prior, self.discount, self.process)
        self._check()
        reading = self._reader().read(read_table(self, X, reset=True))
        if not self.collapsed:
            checks.finite(reading.rows, reading.schema.names())
        self._rows = reading.rows.copy()  # densities are worked out from them later
        self.raftery_lewis_: list[RafteryLewis] = []
        self._coclustering = None
        log_units = float(np.sum(reading.log_units))
        problem = Problem(self._rows, self._rows, Model(reading.family, process, prior)).in_units(log_units)
        self.chains_, self.burn_in_, self._kept, self.samples_ = self._sampled(problem)
        self._warn_unless_satisfied()
        self.n_sweeps_ = self.chains_.log_joint.shape[1]
        best = int(self._kept.log_joint.argmax())
        self.alpha_ = float(self._kept.alpha.flat[best])
        process = make_process(self.alpha_, self.discount, self.process)
        state = seated(self._rows, self.samples_[best].astype(np.int32), reading.family, process)
        self._keep(FittedMixture.of(reading.schema, reading.family, process, state), state.labels)
        self.log_joint_ = state_log_joint(state, process) - log_units
        return self

    def _reader(self) -> TableReader:
        """Parameters are drawn for Gaussian clusters only, whatever the columns hold."""
        return TableReader(self.family, self.columns, rules=(None,) if self.collapsed else ())

    def __sklearn_tags__(self) -> Any:
        """Gaps and words are for the collapsed sampler."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = self.collapsed
        return tags

    def numbers_of(self, X: Any) -> np.ndarray:
        """Return the used columns of a table as numbers; parameters are not drawn for rows with gaps."""
        numbers = super().numbers_of(X)
        if not self.collapsed:
            checks.finite(numbers, self.schema_.names())
        return numbers

    def _check(self) -> None:
        """Check the parameters that say how long to run and what to keep."""
        checks.truth("collapsed", self.collapsed)
        checks.one_of("moves", self.moves, MOVES)
        checks.whole("thin", self.thin, 1)
        checks.whole("n_chains", self.n_chains, 1)
        if isinstance(self.init, str):
            checks.one_of("init", self.init, starts.NAMES)
        if isinstance(self.n_sweeps, str):
            checks.one_of("n_sweeps", self.n_sweeps, (RAFTERY_LEWIS,))
            rule = sampler.checked_rule(self.accuracy)
            checks.whole("max_sweeps", self.max_sweeps, least_sweeps(*rule))
        else:
            checks.whole("n_sweeps", self.n_sweeps, 1)
        if self.burn_in is not None and checks.whole("burn_in", self.burn_in, 0) >= self._longest():
            raise ValueError(
                f"burn_in must be below the {self._longest()} sweeps of a chain, got {self.burn_in}. "
                "Hint: None keeps the second half."
            )

    def _longest(self) -> Any:
        """Return the largest number of sweeps of a chain."""
        return self.max_sweeps if self.n_sweeps == RAFTERY_LEWIS else self.n_sweeps

    def _sampled(self, problem: Problem) -> sampler.Sampled:
        """Let the chains run."""
        n_jobs = cores(self.n_jobs)
        rngs = generator(self.random_state).spawn(self.n_chains)
        inits = [self.init] * self.n_chains
        chains = sampler.started(problem, inits, rngs, n_jobs, collapsed=self.collapsed, moves=self.moves)
        listener = listener_to_sweeps(self.verbose, problem.budget.log_units)
        plan = sampler.Plan(self.burn_in or 0, self.thin, n_jobs, listener)
        if self.n_sweeps == RAFTERY_LEWIS:
            needs = sampler.advance_until_satisfied(chains, self.accuracy, self.max_sweeps, plan)
            self.raftery_lewis_ = needs
            forgotten = max(need.burn_in for need in needs)
            return sampler.sampled(chains, forgotten if self.burn_in is None else self.burn_in, plan)
        if self.burn_in is None:
            plan = plan._replace(first_kept=self._longest() // 2)
        sampler.advance(chains, self._longest(), plan)
        return sampler.sampled(chains, plan.first_kept, plan)

    def _warn_unless_satisfied(self) -> None:
        wanted = max((need.total for need in self.raftery_lewis_), default=0)
        if wanted > self.max_sweeps:
            warnings.warn(
                f"Raftery-Lewis needs {wanted} sweeps, more than max_sweeps={self.max_sweeps}. "
                "Hint: raise max_sweeps, or r in accuracy=(q, r, s).",
                ConvergenceWarning,
                stacklevel=3,
            )

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the log density of each row, averaged over the kept samples."""
        numbers = self.numbers_of(X)
        rows = self.mixture_.encoded(numbers)
        total = np.full(len(rows), -np.inf)
        for labels, alpha in zip(self.samples_, self._kept.alpha.flat, strict=True):
            process = make_process(float(alpha), self.discount, self.process)
            state = seated(self._rows, labels.astype(np.int32), self.family_, process)
            total = np.logaddexp(total, log_density(rows, state, self.family_, process))
        return total - np.log(len(self.samples_)) - self.schema_.log_units(numbers)

    @property
    def n_clusters_posterior_(self) -> np.ndarray:
        """Posterior probability of 0, 1, 2, ... clusters."""
        check_is_fitted(self)
        return share_of_each(self._kept.n_clusters)

    @property
    def coclustering_(self) -> np.ndarray:
        """Return the posterior probability that two rows share a cluster, for all pairs."""
        check_is_fitted(self)
        if self._coclustering is None:
            self._coclustering = coclustering(self.samples_)
        return self._coclustering

    def to_arviz(self) -> Any:
        """Return the kept sweeps as ArviZ InferenceData: for R-hat, effective sample sizes and plots."""
        check_is_fitted(self)
        return to_arviz(self._kept)
