"""What estimators for groups and for sequences share: the family, the search, and what is kept.

The family is that of a flat `MAPDP` of all rows, whose clusters are also where the search begins. Where the
family was learned, it learns on from the clusters of the structured model.
"""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing

from mapdp.data import checks
from mapdp.data.frames import read_table
from mapdp.data.moments import has_gaps
from mapdp.engine.problem import Budget
from mapdp.engine.state import predictive_bank
from mapdp.engine.trace import silent
from mapdp.estimators.fitted import FittedMixture
from mapdp.estimators.learned_model import ModelChoice
from mapdp.estimators.map_dp import MAPDP
from mapdp.estimators.mixture import Mixture
from mapdp.estimators.progress import StepListener
from mapdp.estimators.settings import generator
from mapdp.families import Mixed
from mapdp.families.base import Clusters
from mapdp.partitions.concentration import AlphaPrior, make_prior
from mapdp.partitions.process import PitmanYor
from mapdp.search.structured.run import Seating, StructuredRun, Task, climb
from mapdp.search.structured.starts import search

_ROUNDS = 4  # of search and learning, at most
_LEAST_GAIN = 0.05  # nats; a family that learned less is not worth another search
_LEAST_STEP = 0.01  # nats; a step of learning that gains less is the last one


class StructuredMixture(Mixture):
    """An estimator of a mixture whose rows have groups or follow each other."""

    _kind: type[StructuredRun]
    _concentrations: tuple[str, ...]  # names of the parameters that are concentrations

    def _check(self) -> None:
        """Raise where a parameter makes no sense."""
        ModelChoice.of(self)
        for name in self._concentrations:
            value = getattr(self, name)
            if isinstance(value, str):
                checks.one_of(name, value, ("map",), "a positive number or ")
            else:
                checks.positive(name, value, '"map" learns it.')
        make_prior(self.alpha_prior)
        checks.whole("n_init", self.n_init, 1)
        checks.whole("max_iter", self.max_iter, 1)
        if self.seconds is not None:
            checks.positive("seconds", self.seconds, "give None for no limit.")

    @property
    def _is_learned(self) -> bool:
        return ModelChoice(self.prior, self.covariance, self.family).is_learned

    def _priors(self) -> tuple[AlphaPrior | None, ...]:
        """Return the prior of each concentration, None where it is given."""
        prior = make_prior(self.alpha_prior)
        return tuple(
            prior if isinstance(getattr(self, name), str) else None for name in self._concentrations
        )

    def _first(self, name: str) -> float:
        """Return a concentration as it is given, or where learning it begins."""
        value = getattr(self, name)
        return 1.0 if isinstance(value, str) else float(value)

    def _flat(self) -> MAPDP:
        """Return the flat model whose family and clusters the search begins with."""
        return MAPDP(
            "auto" if self._is_learned else 1.0,
            family=self.family,
            covariance=self.covariance,
            prior=self.prior,
            columns=self.columns,
            random_state=self.random_state,
            seconds=self.seconds,
        )

    def _sample(self, places: np.ndarray) -> np.ndarray | None:
        """Return the rows that are searched before all are, None where all are searched at once."""
        return None

    def _searched(self, X: Any, places: np.ndarray, process: Any, priors: tuple) -> Seating:
        """Find the most probable seating; store what the search did."""
        listener = StepListener(self.verbose, self.callback) if self.verbose or self.callback else None
        budget = Budget(self.max_iter, seconds=self.seconds, listener=listener or silent).started()
        some = self._sample(places)
        first = X if some is None else _safe_indexing(X, some)
        flat = self._flat()
        flat._sees_all_rows = some is None
        flat.callback = listener and listener.asks_to_stop
        flat.fit(first)
        table = read_table(self, X, reset=False)
        self._fill_as(flat if some is None else None, flat.schema_.matrix(table))
        if self._must_be_independent(flat):
            flat = flat.set_params(covariance="diagonal").fit(first)
            self._fill_as(None, flat.schema_.matrix(table))
        self.schema_ = flat.schema_
        budget = budget._replace(log_units=float(np.sum(self.schema_.log_units(self._numbers))))
        task = self._task(flat, places, process, priors, budget)
        rng = generator(self.random_state)
        if some is None:
            best, found = search(self._kind, task, flat.labels_, self.n_init, rng)
        else:
            best, found = self._searched_in_part(task, flat.labels_, some, rng)
        if self._is_learned:
            best = self._learned_on(best, rng)
        self._report(best, found, budget.is_over or bool(listener and listener.is_stopped))
        return best

    def _fill_as(self, flat: MAPDP | None, numbers: np.ndarray) -> None:
        """Keep the numbers of the table, with what a flat model of all rows put into gaps."""
        self._filled = None if flat is None else flat._filled
        self._numbers = self._as_fitted(numbers)

    def _must_be_independent(self, flat: MAPDP) -> bool:
        """Say whether columns were found to vary together, which are not all there in all rows."""
        is_free = self.family is None and self.covariance == "auto"
        return is_free and not flat.family_.has_columns and has_gaps(self._numbers)

    def _searched_in_part(
        self, task: Task, labels: np.ndarray, some: np.ndarray, rng: np.random.Generator
    ) -> tuple[Seating, list[Seating]]:
        """Search some rows, then all of them from what that found."""
        raise NotImplementedError

    def _task(self, flat: MAPDP, places: np.ndarray, process: Any, priors: tuple, budget: Budget) -> Task:
        """Return what is to be searched, under the family of the flat model."""
        family, gaps = flat.family_, has_gaps(self._numbers)
        if gaps and not family.has_columns:
            raise ValueError(
                f"X must have no gaps for {type(family).__name__}, whose columns are correlated. "
                "Hint: fill them with MAPDP(...).impute, or leave family and covariance as they are."
            )
        family = Mixed.of(family) if gaps else family
        rows = family.encode(self._numbers, self.schema_.names())
        guesses = family.to_guess_by(self._numbers, rows)
        return Task(rows, guesses, family, places, process, priors, budget)

    def _learned_on(self, best: Seating, rng: np.random.Generator) -> Seating:
        """Let the family learn from the clusters and search on, while both gain."""
        for _ in range(_ROUNDS):
            run = best.run
            family = run.task.family.learned(_clusters(run), _LEAST_STEP)
            rows = family.encode(self._numbers, self.schema_.names())
            again = run.under(run.task._replace(family=family, X=rows))
            gained = _value(again) - _value(run)
            if not gained > _LEAST_GAIN or run.task.budget.is_over:
                break
            again.n_sweeps = best.trace[-1].sweep
            found = climb(again, rng)
            best = found._replace(trace=[*best.trace, *found.trace])
        return best

    def _report(self, best: Seating, found: list[Seating], is_stopped: bool) -> None:
        """Store trace, joint, convergence and per-start results."""
        log_units = best.run.task.budget.log_units
        self.trace_ = [step.less(log_units) for step in best.trace]
        self.log_joint_ = best.run.exact_log_joint() - log_units
        starts = [one.beside(best) for one in found]
        self.inits_ = [one._replace(log_joint=one.log_joint - log_units) for one in starts]
        self.converged_, self.n_iter_ = best.converged and not is_stopped, best.trace[-1].sweep
        if not best.converged and not is_stopped:
            warnings.warn(
                f"rows still moved after max_iter={self.max_iter} sweeps. Hint: raise max_iter.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _keep_seating(self, best: Seating, alpha: float) -> None:
        """Store clusters as a mixture; its prior is that of all rows together."""
        run, n_clusters = best.run, int(best.labels.max()) + 1
        bank = predictive_bank(run.state.bank, run.task.family, n_clusters)
        sizes = np.bincount(best.labels, minlength=n_clusters)
        del self._numbers
        self._keep(FittedMixture(self.schema_, run.task.family, PitmanYor(alpha), bank, sizes), best.labels)

    def _densities(self, X: Any) -> np.ndarray:
        """Return the log density of each row in each cluster, and in a new one."""
        numbers = self.numbers_of(X)
        mixture = self.mixture_
        scores = mixture.scores(mixture.encoded(numbers), lambda s: s - mixture.log_weights)
        return scores - np.reshape(self.schema_.log_units(numbers), (-1, 1))


def _clusters(run: StructuredRun) -> Clusters:
    return Clusters(run.state.bank, int(run.labels.max()) + 1, run.task.X, run.labels)


def _value(run: StructuredRun) -> float:
    """Return the log joint with the density of all that is learned."""
    return run.log_joint() + run.task.family.log_hyperprior(_clusters(run))
