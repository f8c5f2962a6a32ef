"""One fit of MAPDP under way: its model is learned, then the rows are searched."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mapdp.data.moments import gaps_filled_by_means, has_gaps
from mapdp.engine.build import seated
from mapdp.engine.problem import LARGE, Budget, Problem
from mapdp.estimators.ahead import compile_ahead
from mapdp.estimators.filled_gaps import FilledCells, filled_as_one_cluster, vary_together
from mapdp.estimators.fitted import FittedMixture
from mapdp.estimators.learned_model import ModelChoice
from mapdp.estimators.reader import Reading
from mapdp.estimators.settings import Settings, generator
from mapdp.families import Mixed
from mapdp.families.base import Family
from mapdp.search.climb import SAMPLE, Start, joined_by_all, search, while_better
from mapdp.search.fill_gaps import search_and_fill
from mapdp.search.run import Found, with_all_climbs
from mapdp.search.weighted_rows import RowBlocks, of_blocks
from mapdp.selection import alpha as selection
from mapdp.selection.prior import ROUNDS, LearningTable, Outcome, learned_on
from mapdp.selection.structure import Chosen, Models, choose


class MapFit(NamedTuple):
    """What a fit is given, and what it has learned so far."""

    settings: Settings
    model_choice: ModelChoice
    reading: Reading
    blocks: RowBlocks | None
    rule: str  # how alpha is found
    budget: Budget
    chosen: Chosen | None = None  # the model that was learned
    first: Any = None  # labels or a state to begin with, where learning the model found some
    order: Any = None  # of the rows that the model was learned from
    unfilled: np.ndarray | None = None  # the numbers with their gaps, where some were filled

    def problem_of_rows(self) -> Problem:
        """Return what the search is to solve, were it not for weights, groups and labels."""
        rows = self.reading.rows
        model = self.settings.model(self.reading.family, len(rows), self.rule)
        if self.chosen is not None:
            learned = self.chosen.outcome.problem.model
            process = learned.process if self.rule == "map" else model.process
            model = model._replace(process=process, log_hyperprior=learned.log_hyperprior)
        problem = Problem(rows, self._rows_for_guesses(), model, self.budget)
        return problem.in_units(self.reading.log_units_of(self.blocks))

    def _rows_for_guesses(self) -> np.ndarray:
        """Return numbers that are alike where rows are; a large table stays alone in memory."""
        family, rows = self.reading.family, self.reading.rows
        if family.is_whole or (self.model_choice.is_learned and len(rows) <= LARGE):
            return family.to_guess_by(self.reading.numbers, rows)
        return gaps_filled_by_means(rows) if has_gaps(rows) else rows

    def problem(self) -> Problem:
        """Return what the search is to solve."""
        of_rows = self.problem_of_rows()
        return of_rows if self.blocks is None else of_blocks(of_rows, self.blocks)

    def with_learned_model(self) -> "MapFit":
        """Return the fit with the model that the table teaches; it may be of logarithms of some columns."""
        if not self.model_choice.is_learned:
            return self
        fit = self._replace(settings=self.settings.with_seed())  # so that all learn from the same rows
        learned = fit._learned_from_all()
        assert learned.chosen is not None
        labels = learned.chosen.outcome.found.state.labels
        places = self.model_choice.logs_to_try(self.reading, learned.order, labels)
        if not places or self.budget.is_over:
            return learned
        reading = self.model_choice.begun(self.reading.with_logs(places, self._counted()))
        return learned._or_logs(fit._replace(reading=reading)._learned_from_all(), len(places))

    def _or_logs(self, other: "MapFit", n_logs: int) -> "MapFit":
        """Return this fit or that of some logarithms, by the joint of the table as it came."""
        assert self.chosen is not None
        assert other.chosen is not None
        models = other.chosen.models.called(f" with logs of {n_logs} column{'s' if n_logs > 1 else ''}")
        if models[0].penalised > self.chosen.models[0].penalised:
            return other._of(models.beside(self.chosen.models[0]), [self, other])
        return self._of(self.chosen.models.beside(models[0]), [self, other])

    def _learned_from_all(self) -> "MapFit":
        """Return the fit with a learned model, its gaps filled where that is needed."""
        gaps = self.model_choice.gaps_to_fill(self.reading)
        return self._learned() if gaps is None else self._learned_with_filled(gaps)

    def _of(self, models: Models, fits: Sequence["MapFit"]) -> "MapFit":
        """Return this fit as the best of several, with the climbs of all."""
        assert self.chosen is not None
        found = [fit.chosen.outcome.found for fit in fits if fit.chosen is not None]
        won = next(i for i, fit in enumerate(fits) if fit is self)
        outcome = self.chosen.outcome._replace(found=with_all_climbs(found, won))
        return self._replace(chosen=self.chosen._replace(models=models, outcome=outcome))

    def _learned_with_filled(self, gaps: np.ndarray) -> "MapFit":
        """Learn with gaps and with gaps filled; return what makes the cells that are there more probable.

        Gaps are filled as if all rows were one cluster, then as the clusters so found expect. That is for
        columns that vary together: where they are independent, gaps are no trouble, and none is filled.
        """
        seed = int(generator(self.settings.random_state).integers(2**31))
        fit = self._replace(settings=self.settings._replace(random_state=seed))
        schema, numbers = self.reading.schema, self.reading.numbers
        filled = fit._holding(filled_as_one_cluster(schema, numbers, gaps, self._times()))._learned()
        gaps = gaps & vary_together(filled.reading.family)
        if gaps.any() and not self.budget.is_over:
            filled = fit._holding(filled._learned_mixture().with_expected(numbers, gaps))._learned()
        if self.model_choice.is_asked:
            return filled
        return fit._learned()._or_filled(filled, gaps & vary_together(filled.reading.family))

    def _or_filled(self, filled: "MapFit", gaps: np.ndarray) -> "MapFit":
        """Return this fit or one whose gaps were filled, by the joint without what was filled."""
        assert self.chosen is not None
        assert filled.chosen is not None
        if not gaps.any():
            return self
        some, labels = filled.order, filled.chosen.outcome.found.state.labels
        added = filled._learned_mixture().log_density_of_cells(
            filled.reading.numbers[some], gaps[some], labels
        )
        added -= filled._log_units(some) - self._log_units(some)
        tried = filled.chosen.models[0].without(added)
        models = self.chosen.models.beside(tried)
        best = filled if tried.penalised > self.chosen.models[0].penalised else self
        return best._of(models, [filled, self])

    def _holding(self, numbers: np.ndarray) -> "MapFit":
        """Return the fit of the same table with some gaps filled."""
        reading = self.reading.holding(numbers, self._counted())
        return self._replace(
            reading=self.model_choice.begun(reading, is_filled=True), unfilled=self.reading.numbers
        )

    def _counted(self) -> np.ndarray | None:
        """Return the rows as often as they count, None where each counts once."""
        return None if self.blocks is None else self.blocks.counted()

    def filled_cells(self) -> FilledCells | None:
        """Return what was put into gaps, None where all are still there."""
        return None if self.unfilled is None else FilledCells.between(self.unfilled, self.reading.numbers)

    def _times(self) -> np.ndarray | None:
        """Return how often each row counts, None where each counts once."""
        if self.blocks is None:
            return None
        return np.bincount(self.blocks.counted(), minlength=len(self.reading.rows)).astype(np.float64)

    def _learned_mixture(self) -> FittedMixture:
        """Return the clusters that were found in the rows that the model was learned from."""
        assert self.chosen is not None
        found = self.chosen.outcome.found
        return FittedMixture.of(self.reading.schema, self.reading.family, found.process, found.state)

    def _learned(self) -> "MapFit":
        """Return the fit with the model that some of the rows, or all, teach."""
        rng, numbers = generator(self.settings.random_state), self.reading.numbers
        some = self.model_choice.rows_to_learn_from(numbers, self.blocks, rng)
        log_units = self._log_units(some)
        problem = self._problem_to_learn_from(some).in_units(log_units)
        table = LearningTable(np.ascontiguousarray(numbers[some]), problem)
        structures = self.model_choice.structures(self.reading, table.numbers)
        compile_ahead(tuple(dict.fromkeys(structure.shape.__name__ for structure in structures[1:])))
        init = self.settings.init_of_sample(some, len(numbers))
        in_order = np.arange(len(some), dtype=np.int32)
        first = search(problem, self.settings.search, Start(init, in_order, rng))
        if problem.model.family.is_whole:  # divisions of rows by their numbers may be far from its clusters
            first, _ = while_better(problem, self.settings.plan(len(some), init), first)
        chosen = choose(table, first, structures, self.settings.search, rng)
        if self._is_about(some):
            chosen = self._from_more_starts(chosen, table, rng)
        learned = self._replace(chosen=chosen.less(log_units))._under(chosen.outcome.problem.model.family)
        return learned._replace(first=learned._first_state(some), order=some)

    def _log_units(self, some: np.ndarray) -> float:
        """Return what units and logarithms add to the log joint of some rows."""
        units = self.reading.log_units
        return 0.0 if isinstance(units, float) else float(units[some].sum())

    def _is_about(self, some: np.ndarray) -> bool:
        """Say whether all that is asked for is a search of these rows under the learned model."""
        has_all = self.blocks is None and len(some) == len(self.reading.rows)
        return has_all and self.settings.n_init in (1, "auto") and self.rule not in selection.RULES

    def _from_more_starts(self, chosen: Chosen, table: LearningTable, rng: np.random.Generator) -> Chosen:
        """Search from other starts, too, while that finds something better; learn from what they found.

        Rows are in the order of learning, so that their order in the table does not matter.
        """
        problem, found = chosen.outcome.problem, chosen.outcome.found
        plan = self.settings.plan(len(problem.X), self.settings.init)
        best, starts = while_better(problem, plan, found)
        outcome = chosen.outcome._replace(found=best)
        if best is not found:
            outcome = learned_on(table, outcome, self.settings.search, rng)
        return chosen._replace(outcome=outcome, starts=tuple(starts))

    def _problem_to_learn_from(self, some: np.ndarray) -> Problem:
        """Return the problem of the rows that the model is learned from."""
        rule = "map" if self.rule in selection.RULES else self.rule
        return self._replace(rule=rule).problem_of_rows().among(some)

    def _under(self, family: Family) -> "MapFit":
        if isinstance(self.reading.family, Mixed) and family.has_columns:
            family = Mixed.of(family)
        return self._replace(reading=self.reading.under(family))

    def _first_state(self, some: np.ndarray) -> Any:
        """Return what the search of all rows begins with, None where that is not known."""
        if self.chosen is None or self.blocks is not None:
            return None
        found = self.chosen.outcome.found
        if len(some) < len(self.reading.rows):
            problem = self.problem()
            return joined_by_all(problem, self._searched_among_more(problem, found))
        return _in_row_order(found.state.labels, some)

    def _searched_among_more(self, problem: Problem, found: Found) -> Found:
        """Return what a search of more rows finds: clusters of a large table should be nearly settled."""
        if not problem.is_large or self.settings.search == "icm":
            return found
        rng = generator(self.settings.random_state)
        more = np.sort(rng.choice(len(problem.X), SAMPLE, replace=False)).astype(np.int32)
        small = problem.among(more).silenced()
        order = np.arange(SAMPLE, dtype=np.int32)
        return search(small, self.settings.search, Start(joined_by_all(small, found), order, rng))

    def solved(self) -> selection.Choice:
        """Search from all starts; where cells are missing that depend on others, fill them in turn."""
        if self.chosen is not None and self.chosen.starts:
            best, *starts = [
                self._in_row_order(one) for one in (self.chosen.outcome.found, *self.chosen.starts)
            ]
            return selection.Choice(best, starts, [])
        problem, settings = self.problem(), self.settings
        plan = settings.plan(len(problem.X), self._init())
        if self.first is not None:
            plan = plan.begun_with(self.first)
        rule = selection.RULES.get(self.rule, selection.as_given)

        def searched(problem: Problem, labels: Any) -> selection.Choice:
            return rule(problem, plan if labels is None else plan.begun_with(labels).only_first())

        family = self.reading.family
        if not (family.has_columns or family.takes_gaps(self.reading.numbers)):
            choice = search_and_fill(problem, searched)
        else:
            choice = searched(problem, None)
        learned = [] if self.chosen is None else [self.chosen.outcome.found]
        choice = choice._replace(best=choice.best.less(problem.budget.log_units))
        return choice._replace(best=with_all_climbs([*learned, choice.best], len(learned)))

    def learned_on(self, choice: selection.Choice) -> tuple["MapFit", selection.Choice]:
        """Learn from the clusters of all rows where the model has seen some of them, and search on."""
        if self.chosen is None or self.chosen.starts or not self._may_learn_from_all():
            return self, choice
        rng, problem = generator(self.settings.random_state), self.problem()
        table, n_rounds = LearningTable(self.reading.numbers, problem), 1 if problem.is_large else ROUNDS
        outcome = learned_on(table, Outcome(problem, choice.best), self.settings.search, rng, n_rounds)
        if outcome.found is choice.best:
            return self, choice
        best, learned = outcome.found.less(problem.budget.log_units), outcome.problem
        reading = self.reading._replace(family=learned.model.family, rows=learned.X)
        return self._replace(reading=reading), choice._replace(best=best)

    def _may_learn_from_all(self) -> bool:
        """Say whether all that is sought is a partition of the rows of a table under one model."""
        family = self.reading.family
        if self.blocks is not None or self.rule in selection.RULES or family.has_list:
            return False
        return family.has_columns or not has_gaps(self.reading.numbers)

    def _in_row_order(self, found: Found) -> Found:
        """Return an outcome among rows in the order of learning as one of the table."""
        labels = _in_row_order(found.state.labels, self.order)
        return found._replace(state=seated(self.reading.rows, labels, self.reading.family, found.process))

    def _init(self) -> Any:
        init = self.settings.init
        return init if self.blocks is None or isinstance(init, str) else self.blocks.of_blocks(init)


def _in_row_order(labels: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return labels of rows that stand in some order as labels of the table."""
    out = np.empty(len(order), dtype=np.int32)
    out[order] = labels
    return out
