"""The parameters of a MAP search, checked, and what follows from them for a table of some size."""

import copy
from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone

from mapdp.data import checks
from mapdp.engine import starts as starts_at
from mapdp.engine.problem import LARGE, Budget, Model
from mapdp.engine.trace import Step
from mapdp.families.base import Family
from mapdp.partitions.concentration import GammaPrior, alpha_for, make_prior
from mapdp.partitions.process import make_process
from mapdp.search import climb
from mapdp.selection.alpha import RULES

_MOST_STARTS = 8  # where one follows another while it finds something better


def generator(random_state: Any) -> np.random.Generator:
    """Return a Generator; None is the seed 0, so that every run gives the same answer."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(0 if random_state is None else random_state)


def cores(n_jobs: int | None) -> int:
    """Return how many threads `n_jobs` allows; None allows one for each core."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(
            f"n_jobs must be a whole number other than 0, got {n_jobs!r}. Hint: -1 is every core."
        )
    return effective_n_jobs(-1 if n_jobs is None else n_jobs)


class Settings(NamedTuple):
    """Parameters that searches share; the names are those of `MAPDP`."""

    alpha: Any
    discount: float
    process: Any
    expected_clusters: Any
    alpha_prior: Any
    init: Any
    search: str
    n_init: int | str
    max_iter: int
    seconds: float | None
    tol: float | None
    random_state: Any
    n_jobs: int | None
    weights: str | None

    @classmethod
    def of(cls, estimator: Any) -> "Settings":
        """Return the parameters of an estimator, or raise where one makes no sense."""
        settings = cls(*[getattr(estimator, name) for name in cls._fields])
        settings._check()
        return settings

    def with_seed(self) -> "Settings":
        """Return the same parameters with a seed in the place of a generator, whose state would change."""
        if not isinstance(self.random_state, (np.random.RandomState, np.random.Generator)):
            return self
        return self._replace(random_state=int(generator(self.random_state).integers(2**31)))

    def _check(self) -> None:
        if isinstance(self.alpha, str):
            checks.one_of("alpha", self.alpha, ("auto", "map", *RULES), "a positive number or ")
        given = [name for name in ("process", "expected_clusters") if getattr(self, name) is not None]
        if given and (self.alpha != "auto" or len(given) > 1):
            raise ValueError(
                f"give one of alpha, process and expected_clusters, got alpha={self.alpha!r} and "
                f"{' and '.join(given)}. Hint: each of them is enough."
            )
        make_process(1.0 if isinstance(self.alpha, str) else self.alpha, self.discount, self.process)
        if self.alpha_prior != "inverse-gamma":
            make_prior(self.alpha_prior)
        checks.whole("max_iter", self.max_iter, 1)
        if self.tol is not None:
            checks.not_negative("tol", self.tol)
        checks.one_of("search", self.search, climb.NAMES)
        if isinstance(self.init, str):
            checks.one_of("init", self.init, starts_at.NAMES)
        if self.n_init != "auto":
            checks.whole("n_init", self.n_init, 1)
        if self.seconds is not None:
            checks.positive("seconds", self.seconds, "give None for no limit.")
        if self.weights is not None:
            checks.one_of("weights", self.weights, ("repeats", "relative"), "None or ")

    def alpha_rule(self, n_rows: int, *, is_learned: bool) -> str:
        """Return how alpha is found; "given" where there is nothing to find.

        Where the prior is learned, "auto" is "finite": a mixture of finite mixtures, which has no alpha.
        """
        given = self.process is not None or self.expected_clusters is not None
        if given or not isinstance(self.alpha, str):
            return "given"
        if self.alpha == "auto" and is_learned and self.discount == 0.0:
            return "finite"
        if self.alpha == "auto":
            return "nll" if n_rows <= LARGE else "map"
        return self.alpha

    def model(self, family: Family, n_rows: int, rule: str) -> Model:
        """Return what is assumed about the rows before the search."""
        given = "mfm" if rule == "finite" else self.process
        process = make_process(self._first_alpha(n_rows), self.discount, given)
        return Model(family, process, make_prior(self.alpha_prior) if rule == "map" else None)

    def _first_alpha(self, n_rows: int) -> Any:
        """Return alpha where it is given, else where learning it begins."""
        if self.expected_clusters is not None:
            expected = checks.positive("expected_clusters", self.expected_clusters, "say how many.")
            return alpha_for(n_rows, expected, self.discount)
        return 1.0 if isinstance(self.alpha, str) else self.alpha

    def budget(self, n_rows: int, listener: Callable[[Step], None]) -> Budget:
        """Return how much work may be done; its clock is started."""
        n_threads = cores(self.n_jobs) if n_rows > LARGE else 1  # to count cores takes its time
        return Budget(self.max_iter, self.tol, n_threads, listener, self.seconds).started()

    def init_of_sample(self, some: np.ndarray, n_rows: int) -> Any:
        """Return how some of the rows are seated first; labels of other than all rows are refused later."""
        is_of_all = not isinstance(self.init, str) and np.shape(self.init) == (n_rows,)
        return np.asarray(self.init)[some] if is_of_all else self.init

    def plan(self, n_rows: int, init: Any) -> climb.SearchPlan:
        """Return how the rows are searched; without a seed the first start seats them in row order."""
        is_open = self.n_init == "auto"
        rngs = generator(self.random_state).spawn(_MOST_STARTS if is_open else int(self.n_init))
        in_row_order = self.random_state is None
        starts = climb.plan_starts(init, self.search, n_rows, rngs, in_row_order=in_row_order)
        is_plain = self.search == "split-merge" and isinstance(init, str) and init == "sequential"
        if is_open and not (is_plain and starts_at.FEW < n_rows <= LARGE):  # few rows start everywhere
            starts = starts[:1]
        return climb.SearchPlan(
            self.search, starts, cores(1 if self.n_jobs is None else self.n_jobs), is_open
        )


def prior_to_draw_from(alpha_prior: Any, discount: float, process: object) -> GammaPrior | None:
    """Return the prior that a sampler draws alpha under, None where alpha is known."""
    if alpha_prior is None:
        return None
    prior = make_prior(alpha_prior)
    if discount != 0.0 or process is not None or not isinstance(prior, GammaPrior):
        raise ValueError(
            'alpha is drawn under a Dirichlet process with alpha_prior=("gamma", shape, rate), got '
            f"{alpha_prior!r}, discount={discount}, process={process!r}. "
            "Hint: leave discount and process as they are."
        )
    return prior


def silent_copy(estimator: Any, **params: Any) -> Any:
    """Return an estimator with the same parameters, but for these, that tells nobody of its steps.

    A callback is not copied: it may belong to something that cannot be.
    """
    return clone(copy.copy(estimator).set_params(callback=None, verbose=0, **params))
