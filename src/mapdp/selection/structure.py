"""Choosing how clusters are shaped: each structure learns its prior, and the penalised joint decides.

Starts matter more than structures do. They are what a search with the paper's prior finds, and rows that
are divided around few and more centres (`divisions`).
"""

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mapdp.data.moments import MANY, gaps_filled_by_means
from mapdp.engine.starts import around_seeds
from mapdp.families import Product
from mapdp.families.base import Family
from mapdp.partitions.labels import by_falling_size
from mapdp.search.run import Found, with_all_climbs
from mapdp.selection.divisions import divisions
from mapdp.selection.first_guess import Moments, can_guess, guessed
from mapdp.selection.prior import (
    ROUNDS,
    LearningTable,
    Lesson,
    Outcome,
    alternate,
    learn,
    seated_under,
)

_MANY_ROWS = 1000  # from which on there may be so many clusters that a search beginning with few finds none
_FEW_ROWS = 8  # of a cluster, where rows are divided into many
_GUESSED = 2  # partitions of each structure that are learned from: those with the best first guess
_ROUGHLY = 1.0  # nats; a step of learning that gains less is the last one where partitions are compared
_HOPELESS = 0.2  # nats for each row by which a structure is too far behind to learn from its search
_CLOSE = 0.05  # nats for each row by which a structure is close enough for another partition to be searched


class Structure(NamedTuple):
    """A way to describe the columns of a table."""

    name: str  # in words, as in "full covariance"
    family: Family  # with the prior that learning begins from

    @property
    def shape(self) -> type[Family]:
        """Return the family of the measurements, which may be part of a larger one."""
        return type(self.family.parts[0][0] if isinstance(self.family, Product) else self.family)


class TriedModel(NamedTuple):
    """What one structure gave."""

    structure: str
    n_clusters: int
    log_joint: float
    penalised: float  # the log joint less what hyperparameters cost
    seconds: float

    def without(self, log_density: float) -> "TriedModel":
        """Return what is left of the joint without cells of this log density."""
        return self._replace(log_joint=self.log_joint - log_density, penalised=self.penalised - log_density)


class Models(list):
    """The structures that were tried, best first; prints as a table."""

    def beside(self, other: TriedModel) -> "Models":
        """Return the list with one more."""
        return Models(sorted([*self, other], key=lambda one: -one.penalised))

    def without(self, log_density: float) -> "Models":
        """Return the list without cells of this log density."""
        return Models([one.without(log_density) for one in self])

    def called(self, more: str) -> "Models":
        """Return the list with a few more words for each structure."""
        return Models([one._replace(structure=one.structure + more) for one in self])

    def sentence(self) -> str:
        """Return in words which structure was chosen, and by how much; nothing where none was learned."""
        if not self:
            return ""
        best, *others = self
        words = [
            f"{best.penalised - one.penalised:,.0f} nats better than {one.structure}" for one in others
        ]
        return ", ".join([f"{best.structure}, its prior learned from the table", *words])

    def __str__(self) -> str:
        wide = max([len(one.structure) for one in self], default=9)
        lines = [
            f"{'structure':{wide}s} {'clusters':>8s} {'log joint':>12s} {'penalised':>12s} {'seconds':>8s}"
        ]
        lines += [
            f"{one.structure:{wide}s} {one.n_clusters:8d} {one.log_joint:12.1f} {one.penalised:12.1f} "
            f"{one.seconds:8.2f}"
            for one in self
        ]
        return "\n".join(lines)


class Chosen(NamedTuple):
    """The structure that won, what it learned, and what all of them gave."""

    structure: str
    outcome: Outcome
    models: Models
    starts: tuple[Found, ...] = ()  # where other starts ended under the model that won

    def less(self, log_units: float) -> "Chosen":
        """Return the same with joints of steps and models in units of the table."""
        outcome = self.outcome._replace(found=self.outcome.found.less(log_units))
        return self._replace(outcome=outcome, models=self.models.without(log_units))


def penalty(family: Family, n_rows: int) -> float:
    """Return the nats that learned hyperparameters cost: a quarter of log N for each."""
    return 0.25 * family.n_learned * float(np.log(n_rows))


class Attempt(NamedTuple):
    """What one structure has given so far."""

    structure: Structure
    lessons: Sequence[Lesson]  # from the partitions that are yet to be searched, the best first
    outcomes: Sequence[Outcome] = ()
    seconds: float = 0.0

    def best(self) -> Outcome:
        """Return the outcome with the highest joint."""
        return max(self.outcomes, key=lambda outcome: outcome.log_joint)

    def model(self) -> TriedModel:
        """Return what is shown of the attempt."""
        best = self.best()
        family, n_rows = best.problem.model.family, len(best.problem.X)
        penalised = best.log_joint - penalty(family, n_rows)
        n_clusters = best.found.state.n_clusters
        return TriedModel(self.structure.name, n_clusters, best.log_joint, penalised, self.seconds)

    def searched(
        self, table: LearningTable, name: str, rng: np.random.Generator, n_rounds: int
    ) -> "Attempt":
        """Return the attempt once the next partition has been searched and learned from in turn."""
        began = time.perf_counter()
        outcome = alternate(table, self.lessons[0], name, rng, n_rounds)
        seconds = self.seconds + time.perf_counter() - began
        return Attempt(self.structure, self.lessons[1:], (*self.outcomes, outcome), seconds)


def choose(
    table: LearningTable, first: Found, structures: Sequence[Structure], name: str, rng: np.random.Generator
) -> Chosen:
    """Let every structure learn from a first search and search on; return the best by penalised joint."""
    starts = [first.state.labels, *divisions(gaps_filled_by_means(table.numbers), rng)]
    if len(table.numbers) >= _MANY_ROWS and all(can_guess(type(one.family)) for one in structures):
        (own,) = rng.spawn(1)
        starts.append(around_seeds(table.problem.rows_for_guesses, own, len(table.numbers) // _FEW_ROWS))
    attempts = _lessons(table, structures, [by_falling_size(labels) for labels in starts])
    once = _all_once(table, attempts, name, rng)
    attempts = _close_ones_again(table, once, name, rng)
    models = Models(sorted((one.model() for one in attempts), key=lambda one: -one.penalised))
    winner = max(attempts, key=lambda one: one.model().penalised)
    outcomes = [outcome for one in once for outcome in one.outcomes]  # in the order they were searched
    outcomes += [outcome for one in attempts for outcome in one.outcomes[1:]]
    won = next(i for i, outcome in enumerate(outcomes) if outcome is winner.best())
    found = with_all_climbs([first, *[outcome.found for outcome in outcomes]], won + 1)
    return Chosen(winner.structure.name, winner.best()._replace(found=found), models)


def _all_once(
    table: LearningTable, attempts: Sequence[Attempt], name: str, rng: np.random.Generator
) -> list[Attempt]:
    """Search every structure's best partition; one that is far behind does not learn from that."""
    done: list[Attempt] = []
    for one in attempts:
        best = max((other.model().penalised for other in done), default=-np.inf)
        is_hopeless = _penalised(one.lessons[0]) < best - _HOPELESS * len(table.numbers)
        done.append(one.searched(table, name, rng, 1 if is_hopeless else ROUNDS))
    return done


def _close_ones_again(
    table: LearningTable, attempts: Sequence[Attempt], name: str, rng: np.random.Generator
) -> list[Attempt]:
    """Search another partition of the structures that are close to the best: there it may decide."""
    if table.problem.budget.is_over:
        return list(attempts)
    close = max(one.model().penalised for one in attempts) - _CLOSE * len(table.numbers)
    return [
        one.searched(table, name, rng, ROUNDS) if one.lessons and one.model().penalised > close else one
        for one in attempts
    ]


def _lessons(
    table: LearningTable, structures: Sequence[Structure], starts: Sequence[np.ndarray]
) -> list[Attempt]:
    """Return what structures learn from the most promising partitions; the best comes first."""
    begun = [_begun(table, structure, starts) for structure in structures]
    attempts = [
        Attempt(structure, _different([learn(table, one, _ROUGHLY) for one in some]))
        for structure, some in zip(structures, begun, strict=True)
    ]
    return sorted(attempts, key=lambda one: -_penalised(one.lessons[0]))


def _begun(table: LearningTable, structure: Structure, starts: Sequence[np.ndarray]) -> list[Lesson]:
    """Return partitions under a first guess at their prior; under the given one where none is made."""
    family = structure.family
    if not can_guess(type(family)) or table.numbers.shape[1] > MANY:
        return [seated_under(table, family, labels) for labels in starts]
    known = [Moments.of(table.numbers, labels, family.resolution) for labels in starts]  # type: ignore[attr-defined]
    return _guessed(table, structure, known, starts)


def _different(lessons: Sequence[Lesson]) -> list[Lesson]:
    """Return lessons from different partitions, the best one first."""
    best_first = sorted(lessons, key=lambda one: -one.log_joint)
    return [
        one
        for i, one in enumerate(best_first)
        if not any(np.array_equal(one.state.labels, other.state.labels) for other in best_first[:i])
    ]


def _guessed(
    table: LearningTable, structure: Structure, known: Sequence[Moments], starts: Sequence[np.ndarray]
) -> list[Lesson]:
    """Return the most promising partitions under a first guess at their prior."""
    process, kind = table.problem.model.process, type(structure.family)
    guesses = [
        guessed(kind, moments, labels, process) for moments, labels in zip(known, starts, strict=True)
    ]
    best = sorted(guesses, key=lambda guess: -guess.log_joint)[:_GUESSED]
    return [seated_under(table, guess.family, guess.labels) for guess in best]


def _penalised(lesson: Lesson) -> float:
    return lesson.log_joint - penalty(lesson.problem.model.family, len(lesson.problem.X))
