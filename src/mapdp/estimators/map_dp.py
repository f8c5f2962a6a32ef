"""MAP-DPM as a scikit-learn estimator: the most probable partition that a search can find."""

import os
from collections.abc import Callable, Mapping
from typing import Any, Self

from mapdp.data import checks
from mapdp.data.blocks import blocks_of
from mapdp.data.frames import read_table
from mapdp.data.sparse import is_sparse, sparse_rows
from mapdp.engine.trace import Step, silent
from mapdp.estimators import saved
from mapdp.estimators.background import fit_with_background
from mapdp.estimators.block_fit import BlockFitMixin
from mapdp.estimators.kept import Kept
from mapdp.estimators.learned_model import ModelChoice
from mapdp.estimators.map_fit import MapFit
from mapdp.estimators.progress import StepListener
from mapdp.estimators.reader import Reading, TableReader, check_plain
from mapdp.estimators.reports import ReportMixin
from mapdp.estimators.settings import Settings
from mapdp.estimators.streaming import StreamMixin
from mapdp.estimators.tree import TreeMixin
from mapdp.estimators.uncertainty import UncertaintyMixin
from mapdp.families.base import Family
from mapdp.families.levels.listing import takes_sparse
from mapdp.partitions.process import Process
from mapdp.search.weighted_rows import row_blocks


class MAPDP(BlockFitMixin, StreamMixin, UncertaintyMixin, TreeMixin, ReportMixin):
    """Cluster rows without saying how many clusters there are.

    A Dirichlet process mixture is searched for its most probable partition: a row leaves its cluster,
    every cluster and an empty one is scored by its exact predictive density, the row sits where the
    score is best, until nobody moves.

    Parameters
    ----------
    alpha : float or {"auto", "map", "nll", "cv"}, default "auto"
        Concentration of the Dirichlet process: larger values favour more clusters. "map" learns it along
        with the partition, under `alpha_prior`; "nll" takes the value of a grid that gives the highest
        joint, "cv" the one under which rows that were left out are most probable. "auto" does without alpha
        where the prior is learned: it is `process="mfm"`. Else it is "nll", beyond 20,000 rows "map".
    discount : float, default 0.0
        Pitman-Yor discount, from 0 to below 1: larger values favour many small clusters.
    process : {None, "mfm"} or Process, default None
        None is the Dirichlet or Pitman-Yor process of alpha and discount. "mfm" is a mixture of finite
        mixtures, which does not expect ever more small clusters; it has no alpha.
    expected_clusters : float, default None
        States alpha as the number of clusters to expect, before the data are seen; alpha must be "auto".
    alpha_prior : ("gamma", shape, rate) or "inverse-gamma", default "inverse-gamma"
        Prior of an alpha that is learned; the latter has both parameters 1/2, as in the paper.
    family : Family, class of Family or None, default None
        Likelihood with its prior, or a class whose `empirical` prior is taken; None takes what fits each
        column, and for measurements what `covariance` says.
    covariance : {"auto", "diagonal", "full", "shared", "spherical"}, default "auto"
        How measurements vary within a cluster: each by itself, with a covariance matrix of its own, with
        one matrix for all clusters and a size of each, or round. "auto" takes the one of the first three
        with the highest joint, less a quarter of log N for each hyperparameter; see `models_`. Beside other
        kinds of columns it is about the measurements only.
    prior : {"learned", "paper"} or None, default None
        "learned" puts the hyperparameters where the joint is highest, along with the partition; "paper" has
        the paper's, which expect clusters as wide as the table. None learns where no family is given.
    columns : dict, default None
        What columns hold, where inference gets it wrong: {"visits": "count", "grade": "ordered", ...}.
        Kinds are "real", "log" (a real number with a long tail), "count", "binary", "category", "ordered",
        "circular" (radians), "waiting" (a positive time), "share" (between 0 and 1), "robust", "zeros"
        (measured, where 0 means none) and "ignore".
        Columns that are not named are looked at; `schema_` says what was found.
    background : bool, default False
        Whether a broad, fixed density of the whole table stands beside the clusters: rows that it describes
        better than any cluster are outliers, with the label -1. The model is learned without the farthest.
    weights : {None, "repeats", "relative"}, default None
        How `sample_weight` is read: a weight of 2 is the same row twice ("repeats"), or only the ratios of
        weights matter ("relative": they are scaled to a mean of 1). None is "repeats", with a warning where
        weights are not different whole numbers and their mean is far from 1.
    init : {"sequential", "single", "singletons"} or array of shape (N,), default "sequential"
        The partition to start from. "sequential" seats the rows one by one, each scored against those
        already seated; "single" puts all rows in one cluster, "singletons" each in its own.
    search : {"split-merge", "icm"}, default "split-merge"
        How the partition is improved: "icm" is the paper's algorithm, "split-merge" goes on from there
        with moves of whole clusters until none raises the joint.
    n_init : int or "auto", default "auto"
        Number of starts, in different orders of seating; the most probable outcome wins. Every second start
        of a split-merge search is around seeds instead, and the best is crossed with the others. "auto"
        makes two, and another one while the last one led to something better; it makes one for up to
        64 rows, which are searched from many places anyway, and beyond 20,000 rows.
    max_iter : int, default 1000
        Largest number of sweeps of one climb; visits of some of the rows count in proportion.
    seconds : float or None, default None
        Time after which the fit ends with the best partition so far; `converged_` is then False. The step
        under way is finished first.
    tol : float or None, default None
        A round of visits that raises the log joint by no more than this is the last one. None is 0 for
        up to 20,000 rows: nobody wants to move at the end. In larger tables it is a millionth of the log
        joint; the last step of the trace is then "tol". `tol=0` goes on to the exact end.
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
    cluster_sizes_ : array of shape (n_clusters,)
    outliers_ : array of rows
        With `background`: rows whose label is -1, the farthest first.
    log_joint_ : float
        Exact log p(x, z) of the data and the partition, under `alpha_`. Where measurements vary together,
        their gaps are filled, and it is that of the filled table.
    tree_ : ClusterTree
        Which clusters merge when there are to be fewer, and what that loses; see `cut`.
    alpha_ : float
        The concentration that was given or found, nan for a process without one.
    alphas_ : list of Tried
        With "nll" and "cv": what each alpha of the grid gave.
    trace_ : list of Step
        What each sweep and each round of moves did, of all climbs: from several starts, for several values
        of alpha. Within a climb the joint never drops. Where alpha or the prior is learned, the joint of
        the trace has the density of log alpha or of the hyperparameters, too.
    winning_climb_ : int
        The climb that led to the outcome; steps have its number as `climb`.
    known_labels_ : array of shape (n_clusters,)
        Where `y`, weights or groups were given: the known label of each cluster; for none, -1 or, where
        labels are words, "".
    inits_ : list of Init
        For each start its joint, its number of clusters and its agreement with the outcome, which may be
        better than all of them; by "nll" all starts are made with alpha 1.
    converged_ : bool
        False where sweeps or seconds ran out, or the callback ended the fit.
    n_iter_ : int
        Number of sweeps of all climbs.
    mixture_ : FittedMixture
        Schema, family, process, statistics and sizes of the clusters: all that prediction needs.
    family_ : Family
        The likelihood that was used, with the prior that was learned.
    models_ : list of TriedModel
        The structures that were tried, best first; prints as a table. Empty where nothing was learned.
    warnings_ : list of str
        What to know before the partition is trusted: good starts that disagree, an alpha at the end of its
        grid, more clusters than the square root of the rows, measurements that were missing and filled,
        zeros that may mean none.
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

    _saved = saved.MAP_DP

    def __init__(
        self,
        alpha: float | str = "auto",
        *,
        discount: float = 0.0,
        process: Process | str | None = None,
        expected_clusters: float | None = None,
        alpha_prior: object = "inverse-gamma",
        family: Family | type[Family] | None = None,
        covariance: str = "auto",
        prior: str | None = None,
        columns: Mapping[object, str] | None = None,
        background: bool = False,
        weights: str | None = None,
        init: Any = "sequential",
        search: str = "split-merge",
        n_init: int | str = "auto",
        max_iter: int = 1000,
        seconds: float | None = None,
        tol: float | None = None,
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
        self.covariance = covariance
        self.prior = prior
        self.columns = columns
        self.background = background
        self.weights = weights
        self.init = init
        self.search = search
        self.n_init = n_init
        self.max_iter = max_iter
        self.seconds = seconds
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        checkpoint: str | os.PathLike | None = None,
    ) -> Self:
        """Find the most probable partition of the rows of X.

        Parameters
        ----------
        X : array, data frame or (for `Multinomial` and `Bernoulli`) sparse matrix of shape (N, D)
            NaN, null and masked cells are gaps. A pyarrow Dataset, a Dask data frame or array, or what
            `in_blocks` returns, is searched block by block and is never in memory as a whole.
        y : array of shape (N,), default None
            Known labels, whole numbers or words; -1, None, NaN and "" where a label is not known. Rows with
            the same label share a cluster, rows with different labels do not. Where all labels are known,
            or none, y is ignored, as everywhere in scikit-learn.
        sample_weight : array of shape (N,), default None
            What each row counts for, see the parameter `weights`; a row is in one cluster however much it
            counts for. Rows of weight 0 are given a cluster afterwards.
        groups : array of shape (N,), default None
            Rows with the same name share a cluster; -1 or None is for rows in no group.
        checkpoint : path, default None
            A file that is written after each pass over a table in blocks. Where it is there already, the
            search goes on from it, to the same labels.

        Returns
        -------
        self
        """
        checks.truth("background", self.background)
        settings, model_choice = Settings.of(self), ModelChoice.of(self)
        listener = StepListener(self.verbose, self.callback) if self.verbose or self.callback else None
        self._has_row_blocks, self._row_blocks, self._filled = False, None, None
        self._end_stream()
        if (in_blocks := blocks_of(X)) is not None:
            if self.background:
                raise ValueError("background=True needs a table in memory. Hint: fit a sample of the rows.")
            budget = settings.budget(in_blocks.n_rows, listener or silent)
            return self._fit_in_blocks(in_blocks, budget, (y, sample_weight, groups), checkpoint)
        reading, blocks = self._read(X, (y, sample_weight, groups), model_choice)
        n_rows = len(reading.rows) if blocks is None else len(blocks.known)
        rule = settings.alpha_rule(n_rows, is_learned=model_choice.is_learned)
        budget = settings.budget(len(reading.rows), listener or silent)
        if self.background:
            return self._fit_beside_background(X, reading, blocks, budget)
        fit = MapFit(settings, model_choice, reading, blocks, rule, budget).with_learned_model()
        fit, choice = fit.learned_on(fit.solved())
        self._report(choice, fit, budget.is_over or bool(listener and listener.is_stopped))
        kept = Kept.of(fit, choice.best)
        if kept.known_labels is not None:
            self.known_labels_ = kept.known_labels
        self._filled = fit.filled_cells()
        return self._keep(kept.mixture, kept.labels)

    def _read(self, X: Any, given: tuple[Any, Any, Any], model_choice: ModelChoice) -> tuple[Reading, Any]:
        """Return the table, and blocks of rows where labels, weights or groups are given."""
        learned, is_alone = model_choice.is_learned, all(one is None for one in given)
        reader = TableReader(self.family, self.columns, fills_gaps=True, sets_copies_aside=learned)
        if is_sparse(X) and takes_sparse(self.family):
            check_plain(is_alone and not self.background)
            return model_choice.begun(reader.read_sparse(sparse_rows(self, X, reset=True))), None
        table = read_table(self, X, reset=True)
        y, sample_weight, groups = given
        blocks = None
        if not is_alone:
            blocks = row_blocks(len(table[0].cells), sample_weight, groups, y, self.weights)
        self._has_row_blocks, self._row_blocks = blocks is not None, blocks
        return model_choice.begun(reader.read(table, None if blocks is None else blocks.counted())), blocks

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that rows may be sparse where the family describes such rows."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = takes_sparse(self.family)
        return tags

    def _fit_beside_background(self, X: Any, reading: Reading, blocks: Any, budget: Any) -> Self:
        made = fit_with_background(self, X, reading, blocks, budget)
        self._report(made.choice, made.fit, budget.is_over)
        self._models, self.outliers_ = made.models, made.outliers
        return self._keep(made.mixture, made.labels)
