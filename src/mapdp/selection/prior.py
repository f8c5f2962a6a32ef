"""Learning the prior along with the partition: learn, search on, until the joint stops rising.

Given who sits with whom, the hyperparameters with the highest joint follow from what the clusters hold;
given those, a search finds who sits with whom. Neither lowers the joint with its hyperprior.
"""

from typing import NamedTuple

import numpy as np

from mapdp.engine.build import seated
from mapdp.engine.joint import state_log_joint
from mapdp.engine.problem import Problem
from mapdp.engine.state import State
from mapdp.families.base import Clusters, Family
from mapdp.partitions.concentration import log_density_of
from mapdp.search.climb import Start, search
from mapdp.search.run import Found, best_of, with_all_climbs

ROUNDS = 5  # of search and learning, at most
_LEAST_GAIN = 0.05  # nats; a round that gains less is the last one
_LEAST_STEP = 0.01  # nats; a step of learning that gains less is the last one before labels move again


class LearningTable(NamedTuple):
    """Numbers of a table, and a problem whose family and rows are yet to be put in."""

    numbers: np.ndarray  # (N, D) of the used columns, gaps as NaN
    problem: Problem

    def under(self, family: Family) -> Problem:
        """Return the problem of these rows with a family."""
        X = self.problem.X if family.has_list else family.encode(self.numbers)
        model = self.problem.model._replace(family=family, log_hyperprior=0.0)
        guesses = family.to_guess_by(self.numbers, X)
        return self.problem._replace(X=X, rows_for_guesses=guesses, model=model)


class Lesson(NamedTuple):
    """What a family learned from a partition: a problem under that family, and the partition as a state."""

    problem: Problem
    state: State

    @property
    def log_joint(self) -> float:
        """Return the exact log joint of the partition."""
        return state_log_joint(self.state, self.problem.model.process)

    @property
    def log_value(self) -> float:
        """Return the log joint with the density of what is learned."""
        model = self.problem.model
        return self.log_joint + model.log_hyperprior + log_density_of(model.alpha_prior, model.process)


def seated_under(table: LearningTable, family: Family, labels: np.ndarray) -> Lesson:
    """Return a partition under a family that has not learned from it."""
    problem = table.under(family)
    return Lesson(problem, seated(problem.X, labels, family, problem.model.process))


def learn(table: LearningTable, known: Lesson, least_gain: float = _LEAST_STEP) -> Lesson:
    """Let the family of a partition learn from it."""
    family = known.problem.model.family.learned(_clusters(known), least_gain)
    lesson = seated_under(table, family, known.state.labels)
    return _weighed(lesson._replace(problem=lesson.problem.under(known.problem.model.process)))


def _weighed(lesson: Lesson) -> Lesson:
    """Return a lesson whose model has the density that its hyperparameters have beside these clusters."""
    model = lesson.problem.model
    log_hyperprior = model.family.log_hyperprior(_clusters(lesson))
    return lesson._replace(
        problem=lesson.problem._replace(model=model._replace(log_hyperprior=log_hyperprior))
    )


def _clusters(lesson: Lesson) -> Clusters:
    return Clusters(lesson.state.bank, lesson.state.n_clusters, lesson.problem.X, lesson.state.labels)


class Outcome(NamedTuple):
    """Where learning and searching in turn ended."""

    problem: Problem  # under the family that was learned
    found: Found

    @property
    def log_joint(self) -> float:
        """Return the log joint without the hyperprior."""
        return self.found.log_joint - self.problem.model.log_hyperprior


def alternate(
    table: LearningTable, lesson: Lesson, name: str, rng: np.random.Generator, n_rounds: int = ROUNDS
) -> Outcome:
    """Search with what was learned, learn from what was found, and so on."""
    order, problems, found = np.arange(len(table.numbers), dtype=np.int32), [], []
    for number in range(n_rounds):
        problems.append(lesson.problem)
        found.append(search(lesson.problem, name, Start(lesson.state, order, rng, "prior")))
        is_settled = number > 0 and found[-1].log_joint - found[-2].log_joint < _LEAST_GAIN
        if is_settled or number == n_rounds - 1 or table.problem.budget.is_over:
            break
        known = lesson.problem.under(found[-1].process)
        lesson = learn(table, Lesson(known, found[-1].state))
        if lesson.log_value - found[-1].log_joint < _LEAST_GAIN:
            break
    best = best_of(found)
    return Outcome(problems[max(range(len(found)), key=lambda i: found[i].log_joint)], best)


def learned_on(
    table: LearningTable, outcome: Outcome, name: str, rng: np.random.Generator, n_rounds: int = ROUNDS
) -> Outcome:
    """Learn from a partition that was found under an earlier prior; where that gains, search on."""
    problem, found = outcome
    known = _weighed(Lesson(problem.under(found.process), found.state))
    lesson = learn(table, known)
    least_gain = max(_LEAST_GAIN, problem.least_gain(known.log_value))
    if problem.budget.is_over or lesson.log_value - known.log_value < least_gain:
        return outcome
    after = alternate(table, lesson, name, rng, n_rounds)
    return after._replace(found=with_all_climbs([found, after.found], 1))
