"""Climbs of a hidden Markov model: states of rows and of runs change, states merge and split.

The best path under what the states know now (Viterbi) is a proposal: it is taken if the exact joint rises.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mapdp.compiled.handles import Handle
from mapdp.compiled.lanes import whole_lanes
from mapdp.engine.score import beats, score_rows
from mapdp.engine.state import new_workspace
from mapdp.engine.structured.chain import viterbi
from mapdp.engine.structured.tables import BEFORE, seated_franchise
from mapdp.families.base import Family
from mapdp.partitions.labels import compact
from mapdp.partitions.markov import START, at_home
from mapdp.search.structured import moves
from mapdp.search.structured.franchise import FranchiseRun, blocks
from mapdp.search.structured.run import Move, Task

_MOST_RUNS = 5000  # of one state that are moved in one round
_WINDOW = 9  # rows of a running mean: half as many as a state lasts, or fewer
_PATHS = 8  # under parted states, each from the one before, until a split is judged


def best_path(run: "MarkovRun", rng: np.random.Generator) -> bool:
    """Propose the most probable path under what the states know now."""
    trial = run.with_labels(run.path())
    return run.adopt(trial, "viterbi")


class MarkovRun(FranchiseRun):
    """A climb of a hidden Markov model; `places` says which rows begin a sequence."""

    moves: Sequence[Move] = (best_path, blocks, moves.merge, moves.split)

    def __init__(self, task: Task, labels: np.ndarray, process: Any) -> None:
        self._is_first = task.places
        super().__init__(task, labels, process)

    @property
    def _context(self) -> np.ndarray:
        """Return the restaurant of first rows, and that of the state before for all others."""
        return np.where(self._is_first, START, BEFORE).astype(np.int64)

    def log_hyperprior(self, process: Any) -> float:
        """Return the log density of the concentrations that are learned."""
        if len(self.task.priors) < 3:
            return super().log_hyperprior(process)
        prior, gamma_prior = self.task.priors[0], self.task.priors[1]
        of_gamma = 0.0 if gamma_prior is None else gamma_prior.log_density(process.gamma)
        both = process.alpha + process.stickiness
        return of_gamma + prior.log_density(both) + process.log_density_of_share  # type: ignore[union-attr]

    def learn(self) -> bool:
        """Put concentrations where they are most probable; say whether that gained."""
        if len(self.task.priors) < 3:
            return super().learn()
        counts, process = self.franchise.counts, self.process
        of_gamma = self.weigh_by(process.learned(counts, None, self.task.priors[1]))
        return self._learn_stickiness() or of_gamma

    def _learn_stickiness(self) -> bool:
        """Learn it from the tables as they are, and as they would be if all who stay were at home."""
        prior, counts = self.task.priors[0], self.franchise.counts
        assert prior is not None
        gained = self.weigh_by(self.process.learned_stickiness(counts, prior))
        return self._seat_anew(self.process.learned_stickiness(at_home(counts), prior)) or gained

    def _seat_anew(self, process: Any) -> bool:
        """Seat all rows at new tables under other concentrations if that gains."""
        before = self.log_prior()
        other = seated_franchise(self._context, self.labels, self.state.capacity, process)
        if not beats(process.log_prior_of(other.counts) + self.log_hyperprior(process), before):
            return False
        self.process, self.franchise = process, other
        self.forget()
        return True

    def path(self) -> np.ndarray:
        """Return the most probable path under the predictives of the states, new ones left out."""
        labels = compact(self.labels)
        tidy = self if labels.max() == self.labels.max() else self.with_labels(labels)
        n_states = int(labels.max()) + 1
        log_weights = self.process.log_weights(tidy.counts)[:, :n_states]
        log_density = densities(self.task.X, tidy.state.chairs, n_states, self.task.family)
        return path_of(log_density, self._is_first, log_weights)

    def prepare_split(self) -> None:
        """Let paths under the parted states follow each other, whatever they do to the joint."""
        for _ in range(_PATHS):
            path = self.path()
            if np.array_equal(path, self.labels):
                break
            self.take(self.with_labels(path))

    def tables_to_guess_by(self, rows: np.ndarray) -> list[np.ndarray]:
        """Return the rows, and their running means: states that overlap are told apart by these."""
        numbers = np.ascontiguousarray(self.task.rows_for_guesses[rows])
        return [smoothed(numbers), numbers]

    def blocks(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows, and where each run of one state ends; some runs, where there are many."""
        ends = np.flatnonzero((np.diff(self.labels) != 0) | self._is_first[1:]) + 1
        ends = np.append(ends, len(self.labels))
        if len(ends) <= _MOST_RUNS:
            return np.arange(len(self.labels), dtype=np.int32), ends
        some = np.sort(rng.choice(len(ends), _MOST_RUNS, replace=False))
        begins = np.append(0, ends[:-1])[some]
        lengths = ends[some] - begins
        rows = np.repeat(begins - np.append(0, np.cumsum(lengths)[:-1]), lengths) + np.arange(lengths.sum())
        return rows.astype(np.int32), np.cumsum(lengths)


def densities(X: np.ndarray, chairs: Handle, n_states: int, family: Family) -> np.ndarray:
    """Return the log density of every row in each of the first states: (N, at least `n_states`)."""
    n_chairs = whole_lanes(n_states)
    out = np.empty((len(X), n_chairs))
    score_rows(X, np.zeros(n_chairs), chairs, new_workspace(family, 0), out)
    return out


def smoothed(numbers: np.ndarray) -> np.ndarray:
    """Return running means over a few rows; runs go on where the last one ended, which a guess can bear."""
    window = min(_WINDOW, len(numbers))
    sums = np.cumsum(np.vstack([np.zeros((1, numbers.shape[1])), numbers - numbers.mean(axis=0)]), axis=0)
    begin = np.clip(np.arange(len(numbers)) - window // 2, 0, len(numbers) - window)
    return np.ascontiguousarray((sums[begin + window] - sums[begin]) / window)


def path_of(log_density: np.ndarray, is_first: np.ndarray, log_weights: np.ndarray) -> np.ndarray:
    """Return the most probable path; `log_weights` has the start in its first row, then transitions."""
    n_rows, n_states = len(log_density), log_weights.shape[1]
    path, came_from = np.zeros(n_rows, dtype=np.int32), np.zeros((n_rows, n_states), dtype=np.int16)
    step = np.ascontiguousarray(log_weights[1 : n_states + 1])
    start = np.ascontiguousarray(log_weights[0])
    viterbi(log_density, is_first, start, step, came_from, np.zeros((2, n_states)), path)
    return path
