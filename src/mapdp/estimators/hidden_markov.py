"""MAPHMM: a hidden Markov model whose number of states is not given."""

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mapdp.data import checks
from mapdp.data.frames import read_table
from mapdp.data.groups import read_lengths
from mapdp.engine.problem import LARGE
from mapdp.engine.structured.chain import backward, forward
from mapdp.engine.trace import Step
from mapdp.estimators import saved
from mapdp.estimators.settings import generator
from mapdp.estimators.structured import StructuredMixture
from mapdp.families.base import Family
from mapdp.partitions.hierarchical import Counts
from mapdp.partitions.markov import START, MarkovProcess
from mapdp.search.structured.markov import MarkovRun, densities, path_of
from mapdp.search.structured.run import Seating, Task, climb
from mapdp.search.structured.starts import search

_WINDOW = 500  # rows that follow each other in a sample of a long sequence
_N_WINDOWS = 20


class MAPHMM(StructuredMixture):
    """Find the states behind a sequence, without saying how many there are.

    The model is a hidden Markov model with a hierarchical Dirichlet process on its transitions. Parameters
    of states and transitions are integrated out; the most probable state sequence is searched for, and its
    joint is exact.

    Parameters
    ----------
    alpha, gamma : float or "map", default "map"
        Concentrations: larger alpha favours transitions to more states, larger gamma more states. "map"
        learns them along with the states, under `alpha_prior`.
    stickiness : float or "map", default "map"
        Extra weight of staying in a state, 0 for none. "map" learns it; alpha must be learned, too.
    alpha_prior : ("gamma", shape, rate) or "inverse-gamma", default ("gamma", 1.0, 1.0)
        Prior of gamma, and of alpha; of alpha + stickiness, where both are learned.
    family, covariance, prior, columns
        As in `MAPDP`; what is learned begins with a flat `MAPDP` of all rows.
    n_init : int, default 1
        Number of starts: the clusters of the flat model, then around seeds.
    max_iter, seconds, random_state, verbose, callback
        As in `MAPDP`.

    Attributes
    ----------
    labels_, states_ : array of shape (N,)
        State of each row; states are numbered by falling size.
    n_clusters_ : int
        Number of states.
    transition_ : array of shape (n_clusters, n_clusters + 1)
        Posterior mean of the probability of each next state; the last column is a new state.
    start_ : array of shape (n_clusters + 1,)
        The same for the first row of a sequence.
    durations_ : array of shape (n_clusters,)
        Mean number of rows that follow each other in a state.
    log_joint_ : float
        Exact log p(x, states, tables) under the concentrations that were given or found; tables are
        explained in `partitions/markov.py`.
    alpha_, gamma_, stickiness_ : float
    cluster_sizes_, family_, schema_, mixture_, trace_, inits_, converged_, n_iter_
        As in `MAPDP`; `mixture_` knows nothing of the order of rows, and neither do `describe`, `explain`
        and `impute`.

    Examples
    --------
    >>> import numpy as np
    >>> from mapdp import MAPHMM
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat([0.0, 5.0, 0.0, 5.0], 50)[:, None] + rng.normal(size=(200, 1))
    >>> model = MAPHMM().fit(X)
    >>> model.n_clusters_, model.durations_.tolist()
    (2, [50.0, 50.0])
    >>> bool(model.transition_[0, 0] > 0.95)
    True
    """

    _saved = saved.HIDDEN_MARKOV
    _kind = MarkovRun
    _concentrations = ("alpha", "gamma")

    def __init__(
        self,
        alpha: float | str = "map",
        gamma: float | str = "map",
        stickiness: float | str = "map",
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
        self.stickiness = stickiness
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

    def _check(self) -> None:
        super()._check()
        if isinstance(self.stickiness, str):
            checks.one_of("stickiness", self.stickiness, ("map",), "a number from 0 up or ")
            if not isinstance(self.alpha, str):
                raise ValueError(
                    f"stickiness is learned along with alpha, got alpha={self.alpha}. "
                    'Hint: give both, or leave alpha at "map".'
                )
        else:
            checks.stickiness(self.stickiness)

    def fit(self, X: Any, y: Any = None, lengths: Any = None) -> Self:
        """Find the most probable states of the rows of X.

        Parameters
        ----------
        X : array or data frame of shape (N, D)
            Rows in their order; NaN, null and masked cells are gaps.
        y : ignored
        lengths : array of int, default None
            Lengths of several sequences that follow each other in X; None is one sequence.

        Returns
        -------
        self
        """
        self._check()
        is_first = read_lengths(lengths, len(read_table(self, X, reset=True)[0].cells))
        learns_stickiness = isinstance(self.stickiness, str)
        stickiness = 1.0 if learns_stickiness else float(self.stickiness)
        process = MarkovProcess(self._first("alpha"), self._first("gamma"), stickiness)
        priors = self._priors() + ((None,) if learns_stickiness else ())
        best = self._searched(X, is_first, process, priors)
        found = best.process
        self.alpha_, self.gamma_, self.stickiness_ = found.alpha, found.gamma, found.stickiness
        self._customers, self._tables, self._own = (part.copy() for part in best.run.counts)
        self.durations_ = durations(best.labels, is_first)
        self._keep_seating(best, self.alpha_)
        return self

    def _sample(self, places: np.ndarray) -> np.ndarray | None:
        """Return windows of a long sequence."""
        if len(places) <= LARGE:
            return None
        begins = np.linspace(0, len(places) - _WINDOW, _N_WINDOWS).astype(np.int64)
        return (begins[:, None] + np.arange(_WINDOW)).ravel()

    def _searched_in_part(
        self, task: Task, labels: np.ndarray, some: np.ndarray, rng: np.random.Generator
    ) -> tuple[Seating, list[Seating]]:
        """Search windows as sequences of their own; their states give all rows a path to begin with."""
        is_first = task.places[some] | (np.arange(len(some)) % _WINDOW == 0)
        X, guesses = (np.ascontiguousarray(part[some]) for part in (task.X, task.rows_for_guesses))
        part = task._replace(X=X, rows_for_guesses=guesses, places=is_first)
        best = search(self._kind, part, labels, self.n_init, rng)[0]
        n_states = int(best.labels.max()) + 1
        weights = best.process.log_weights(best.run.counts)[:, :n_states]
        log_density = densities(task.X, best.run.state.chairs, n_states, task.family)
        path = path_of(log_density, task.places, weights)
        del log_density
        run = MarkovRun(task, path, best.process)
        run.moves = run.moves[:2]  # states are known; rows and runs are still to find theirs
        found = climb(run, rng)
        return found, [found]

    @property
    def _log_weights(self) -> np.ndarray:
        """Return log probabilities of the first state, then of transitions; a new state is last."""
        process = MarkovProcess(self.alpha_, self.gamma_, self.stickiness_)
        return process.log_weights(Counts(self._customers, self._tables, self._own))

    @property
    def states_(self) -> np.ndarray:
        """Return the state of each row."""
        check_is_fitted(self)
        return self.labels_

    @property
    def transition_(self) -> np.ndarray:
        """Return the posterior mean of transitions, to a new state last."""
        check_is_fitted(self)
        return np.exp(self._log_weights[START + 1 : -1])

    @property
    def start_(self) -> np.ndarray:
        """Return the posterior mean of the first state, a new one last."""
        check_is_fitted(self)
        return np.exp(self._log_weights[START])

    def predict(self, X: Any, lengths: Any = None) -> np.ndarray:
        """Return the most probable path of states, -1 for a new state."""
        densities = self._densities(X)
        is_first = read_lengths(lengths, len(densities))
        return self.mixture_.as_labels(path_of(densities, is_first, self._log_weights))

    def _forward(self, X: Any, lengths: Any) -> tuple[np.ndarray, np.ndarray, float]:
        """Return each row's chances given those before it, which rows are first, and the log likelihood."""
        densities = self._densities(X)
        weights, is_first = np.exp(self._log_weights), read_lengths(lengths, len(densities))
        chance = np.empty((len(densities), weights.shape[1]))
        step = np.ascontiguousarray(weights[START + 1 :])
        return chance, is_first, forward(densities, is_first, weights[START].copy(), step, chance)

    def predict_proba(self, X: Any, lengths: Any = None) -> np.ndarray:
        """Return each row's probability of each state given all rows; the last column is a new state.

        Transitions are posterior means, states have the predictive densities that the fit left them with.
        """
        chance, is_first, _ = self._forward(X, lengths)
        step = np.ascontiguousarray(np.exp(self._log_weights[START + 1 :]))
        backward(is_first, step, chance, np.zeros(len(step)))
        return chance

    def score(self, X: Any, y: Any = None, lengths: Any = None) -> float:
        """Return the log likelihood of the rows, states summed out, divided by their number."""
        chance, _, log_likelihood = self._forward(X, lengths)
        return log_likelihood / len(chance)

    def score_samples(self, X: Any, lengths: Any = None) -> np.ndarray:
        """Return the log density of each row given those before it; they add up to the log likelihood."""
        densities, (chance, is_first, _) = self._densities(X), self._forward(X, lengths)
        weights = np.exp(self._log_weights)
        ahead = np.where(
            is_first[:, None], weights[START], np.roll(chance, 1, axis=0) @ weights[START + 1 :]
        )
        return np.logaddexp.reduce(densities + np.log(ahead), axis=1)

    def log_joint_of(self, X: Any, labels: Any, lengths: Any = None) -> float:
        """Return log p(x, states, tables) of any states of any rows, at the best tables for them."""
        numbers = self._as_fitted(self.numbers_of(X))
        rows, process = (
            self._rows_without_open_gaps(numbers),
            MarkovProcess(self.alpha_, self.gamma_, self.stickiness_),
        )
        is_first, states = read_lengths(lengths, len(rows)), checks.partition(labels, len(rows))
        run = MarkovRun(Task(rows, rows, self.family_, is_first, process, (None, None)), states, process)
        return run.exact_log_joint() - float(np.sum(self.schema_.log_units(numbers)))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Draw a sequence of rows, and the state of each, -1 for a new one."""
        check_is_fitted(self)
        rng, weights = generator(random_state), np.exp(self._log_weights)
        chairs, before = np.zeros(n_samples, dtype=np.int64), START
        for i in range(n_samples):
            chairs[i] = rng.choice(weights.shape[1], p=weights[before] / weights[before].sum())
            before = chairs[i] + 1
        return self.mixture_.drawn(chairs, rng), self.mixture_.as_labels(chairs)


def durations(states: np.ndarray, is_first: np.ndarray) -> np.ndarray:
    """Return the mean length of the runs of each state."""
    begins = np.append(True, np.diff(states) != 0) | is_first
    return np.bincount(states) / np.bincount(states[begins])
