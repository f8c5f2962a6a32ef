"""Knows one search under way: its state, its trace, its clock, and how it settles."""

import dataclasses
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mapdp.concentration import AlphaPrior, log_density_of, most_probable_alpha
from mapdp.family import Family
from mapdp.kernels.joint import build, sort_by_chair
from mapdp.kernels.merge import Spare
from mapdp.kernels.score import MARGIN, beats
from mapdp.kernels.sweep import sweep
from mapdp.model import seated, state_log_joint
from mapdp.process import PitmanYor, Process
from mapdp.search.frozen import survey
from mapdp.state import EMPTIED, FIRST_CAPACITY, MOVED, State, by_falling_size, grown, reweighted
from mapdp.trace import Init, Step, adjusted_rand

_ROUGHLY = 2  # visits between two splits: more are lost on clusters that will be split again
_BORDER = 1.0  # nats of a row's lead below which it may change its mind when the clusters shift a little
_NARROW = 0.1  # the same, when they shift hardly at all


class Problem(NamedTuple):
    """What a search is given and never changes."""

    X: np.ndarray  # (N, D) encoded rows
    outline: (
        np.ndarray
    )  # (N, E) numbers without gaps that say which rows are alike; guesses start from them
    family: Family
    process: Process
    alpha_prior: AlphaPrior | None  # None where alpha is known; else the process gives its first value
    max_iter: int
    tol: float
    n_threads: int
    tell: Callable[[Step], None]  # is told of every step

    def among(self, rows: np.ndarray) -> "Problem":
        """Return the problem of some of the rows."""
        X = np.ascontiguousarray(self.X[rows])
        outline = X if self.outline is self.X else np.ascontiguousarray(self.outline[rows])
        process = self.process
        if process.rows is not None:
            process = process.counted_as(process.rows * len(X) / len(self.X))
        return self._replace(X=X, outline=outline, process=process)


class Found(NamedTuple):
    """Where a search ended; clusters are numbered by falling size."""

    state: State
    process: Process
    log_joint: float  # with the prior of alpha where that is learned
    trace: list[Step]
    converged: bool

    def beside(self, winner: "Found") -> Init:
        """Return where this start ended, compared with the one that won."""
        own, best = self.state.labels, winner.state.labels
        agreement = 1.0 if own is best else adjusted_rand(best, own)
        return Init(self.log_joint, self.state.n_clusters, agreement)


def compact(labels: np.ndarray) -> np.ndarray:
    """Number the chairs that are taken 0, 1, ... in their order."""
    taken = np.flatnonzero(np.bincount(labels))
    number = np.zeros(taken[-1] + 1, dtype=np.int32)
    number[taken] = np.arange(len(taken))
    return number[labels]


def spare_for(family: Family, capacity: int) -> Spare:
    """Return working space for merges among `capacity` chairs."""
    gains = np.full((capacity, capacity), -np.inf)
    return Spare(family.bank(1), np.zeros(capacity), gains, np.zeros(capacity, dtype=np.int64))


class Run:
    """A search under way. The joint of its state never drops from one Step to the next."""

    def __init__(self, problem: Problem, state: State) -> None:
        self.problem = problem
        self.process = problem.process
        self.state = state
        self.trace: list[Step] = []
        self.n_sweeps = 0
        self._emptied = 0
        self._touched = np.empty(0, dtype=np.bool_)  # rows of the clusters that the last move changed
        self._spare = spare_for(problem.family, FIRST_CAPACITY)
        self._everyone = np.arange(len(problem.X), dtype=np.int32)
        self._began = time.perf_counter()

    def spare(self, n_chairs: int) -> Spare:
        """Return working space for merges among at least this many chairs."""
        if len(self._spare.worth) < n_chairs:
            self._spare = spare_for(self.problem.family, n_chairs)
        return self._spare

    def visit(self, rows: np.ndarray) -> int:
        """Let these rows stand up and sit down once; return how many moved."""
        before = int(self.state.counters[MOVED])
        reached = sweep(self.problem.X, rows, self.state, 0)
        while reached < len(rows):
            self.state = grown(self.state, self.problem.family, self.process)
            reached = sweep(self.problem.X, rows, self.state, reached)
        return int(self.state.counters[MOVED]) - before

    def record(self, move: str, n_moved: int) -> Step:
        """Add a Step to the trace and tell of it."""
        emptied = int(self.state.counters[EMPTIED])
        step = Step(
            move=move,
            sweep=self.n_sweeps,
            n_clusters=self.state.n_clusters,
            n_moved=n_moved,
            n_emptied=emptied - self._emptied,
            log_joint=self._log_joint(self.state),
            seconds=time.perf_counter() - self._began,
        )
        self._emptied = emptied
        self.trace.append(step)
        self.problem.tell(step)
        return step

    def _log_joint(self, state: State) -> float:
        """Return log p(x, z), with the density of log alpha where alpha is learned."""
        return state_log_joint(state, self.process) + log_density_of(self.problem.alpha_prior, self.process)

    def learn_alpha(self) -> bool:
        """Put alpha where it is most probable given the number of clusters; say whether that gained."""
        prior, process = self.problem.alpha_prior, self.process
        if prior is None or not isinstance(process, PitmanYor):
            return False
        before = self._log_joint(self.state)
        n_clusters = self.state.n_clusters
        n_rows = len(self.problem.X) if process.rows is None else max(round(process.rows), n_clusters)
        alpha = most_probable_alpha(n_rows, n_clusters, prior, process.discount)
        self._weigh_by(dataclasses.replace(process, alpha=alpha))
        if beats(self._log_joint(self.state), before):
            self.record("alpha", 0)
            return True
        self._weigh_by(process)
        return False

    def _weigh_by(self, process: Process) -> None:
        self.process = process
        self.state = reweighted(self.state, process)

    def start(self, order: np.ndarray) -> None:
        """Seat the rows that still stand, in this order."""
        standing = order[self.state.labels[order] < 0]
        self.record("start", self.visit(standing))

    def sweep(self) -> Step:
        """Visit every row once, in row order."""
        n_moved = self.visit(self._everyone)
        self.n_sweeps += 1
        return self.record("sweep", n_moved)

    def settle_border(self) -> bool:
        """Do what `settle` does with fewer visits: only rows that might move are visited.

        A survey finds, while nobody moves, by how much each row prefers where it sits. Those that do so
        by little are visited until none of them moves; then all are asked again.
        """
        while self.n_sweeps < self.problem.max_iter:
            before = self.trace[-1].log_joint
            if self._settle_among(self._everyone) >= -MARGIN:
                return True
            if self.trace[-1].log_joint - before <= self.problem.tol:
                return True
        return False

    def settle_touched(self) -> None:
        """Settle the border of the clusters that the last move changed; the others are asked later."""
        self._settle_among(self._everyone[self._touched])

    def visit_touched(self) -> None:
        """Visit the rows of the clusters that the last move changed, a few times at most."""
        rows = self._everyone[self._touched]
        for _ in range(_ROUGHLY):
            if self.record("touched", self.visit(rows)).n_moved == 0:
                return

    def _settle_among(self, rows: np.ndarray) -> float:
        """Survey these rows and visit those with little lead until none moves; return the least lead."""
        lead = self._lead(rows)
        self.n_sweeps += 1
        if lead.min() >= -MARGIN:
            self.record("survey", 0)
        else:
            self._visit_border(rows[lead < _BORDER])
        return float(lead.min())

    def _lead(self, rows: np.ndarray) -> np.ndarray:
        """Return by how much each of these rows prefers where it sits."""
        return survey(self.problem.X, rows, self.state, self.problem.n_threads)

    def _visit_border(self, border: np.ndarray) -> None:
        """Visit these rows until none of them moves.

        After the first visit the clusters shift much less, so the border has a border of its own.
        """
        n_moved = self.record("border", self.visit(border)).n_moved
        while n_moved > 0:
            narrow, n_moved = border[self._lead(border) < _NARROW], 0
            while (step := self.record("border", self.visit(narrow))).n_moved > 0:
                n_moved += step.n_moved

    def settle(self) -> bool:
        """Sweep until nobody moves; False where `max_iter` sweeps were not enough.

        A sweep that raised the joint by no more than `tol` counts as the last one, too.
        """
        while self.n_sweeps < self.problem.max_iter:
            last = self.trace[-1].log_joint
            step = self.sweep()
            if step.n_moved == 0 or step.log_joint - last <= self.problem.tol:
                return True
        return False

    def reseat(self, labels: np.ndarray) -> None:
        """Rebuild the state from labels; chairs 0, 1, ... are all taken."""
        X, family = self.problem.X, self.problem.family
        if labels.max() + 1 < self.state.capacity:
            self.state.labels[:] = labels
            build(X, 0, self.state)
        else:
            emptied = self.state.counters[EMPTIED]
            self.state = seated(X, labels, family, self.process)
            self.state.counters[EMPTIED] = emptied

    def adopt(self, move: str, labels: np.ndarray, before: np.ndarray) -> Step:
        """Let a move's labels take effect; rows whose label is as before have not moved."""
        moved, n_clusters = labels != before, self.state.n_clusters
        changed = np.zeros(max(labels.max() + 1, self.state.capacity), dtype=np.bool_)
        changed[labels[moved]] = changed[before[moved]] = True
        self._touched = changed[labels]
        self.reseat(compact(labels))
        self.state.counters[EMPTIED] += max(0, n_clusters - self.state.n_clusters)
        return self.record(move, int(np.count_nonzero(moved)))

    def rows_by_chair(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows, chair by chair, and where those of each chair end."""
        order, ends = np.empty_like(self._everyone), np.empty(self.state.capacity, dtype=np.int64)
        sort_by_chair(self.state.labels, self.state.sizes, order, ends)
        return order, ends

    def finished(self, converged: bool) -> Found:
        """Number the clusters by falling size and rebuild their statistics from the rows."""
        labels = by_falling_size(self.state.labels)
        final = seated(self.problem.X, labels, self.problem.family, self.process, self.problem.n_threads)
        return Found(final, self.process, self._log_joint(final), self.trace, converged)
