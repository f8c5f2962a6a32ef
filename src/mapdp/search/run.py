"""One climb under way: how rows are visited, and how a move of whole clusters takes effect."""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mapdp.engine.build import build, seated, sort_by_chair
from mapdp.engine.in_threads import survey
from mapdp.engine.joint import state_log_joint
from mapdp.engine.merge import MANY, MergeBuffers, merge_buffers, merge_chairs
from mapdp.engine.problem import Problem, Walk
from mapdp.engine.score import beats, rounding
from mapdp.engine.state import CHAIRS, EMPTIED, State, for_passes
from mapdp.engine.sweep import sweep
from mapdp.engine.trace import Init, Step, StoppedError
from mapdp.partitions.concentration import most_probable_alpha
from mapdp.partitions.labels import adjusted_rand, by_falling_size, compact
from mapdp.partitions.process import PitmanYor, Process
from mapdp.search.memory import FEWEST, ClusterNames, LeadMemory, MergeMemory

_STEPS = 20  # steps of all kinds for each sweep of the budget: passes over few rows are cheap, not free


class Found(NamedTuple):
    """Where a search ended; clusters are numbered by falling size."""

    state: State
    process: Process
    log_joint: float  # with the density of what is learned: log alpha, hyperparameters
    converged: bool
    climbs: tuple[list[Step], ...]  # the steps of every climb of the search
    won: int  # the climb that led here

    def less(self, log_units: float) -> "Found":
        """Return the same with the joints of its steps in units of the table."""
        return self._replace(
            climbs=tuple([step.less(log_units) for step in steps] for steps in self.climbs)
        )

    def beside(self, winner: "Found") -> Init:
        """Return where this start ended, compared with the one that won."""
        own, best = self.state.labels, winner.state.labels
        agreement = 1.0 if own is best else adjusted_rand(best, own)
        log_joint = state_log_joint(self.state, self.process)
        return Init(log_joint, self.state.n_clusters, agreement)


def best_of(found: Sequence[Found]) -> Found:
    """Return the most probable outcome, the first of several; it remembers the climbs of all."""
    return with_all_climbs(found, max(range(len(found)), key=lambda i: found[i].log_joint))


def with_all_climbs(found: Sequence[Found], winner: int) -> Found:
    """Return one of several outcomes, with the climbs of all of them."""
    before = sum(len(one.climbs) for one in found[:winner])
    climbs = tuple(climb for one in found for climb in one.climbs)
    return found[winner]._replace(climbs=climbs, won=before + found[winner].won)


class Run(Walk):
    """A climb under way. The joint of its state never drops by more than rounding from Step to Step."""

    def __init__(self, problem: Problem, state: State) -> None:
        super().__init__(problem, problem.model.family)
        self.state = state
        self._touched = np.empty(0, dtype=np.bool_)  # rows of the clusters that the last move changed
        self._merges: MergeBuffers | None = None
        self._merge_memory, self._lead_memory = MergeMemory(), LeadMemory()
        self._names: ClusterNames | None = None
        self._n_visited = 0  # rows, in passes of all kinds

    @property
    def has_budget(self) -> bool:
        """Say whether more may be done: `max_iter` bounds sweeps, visits of rows and steps alike."""
        most, n_rows = self.problem.budget.max_iter, len(self.problem.X)
        is_spent = self.n_sweeps >= most or self._n_visited >= most * n_rows
        return not is_spent and len(self.trace) < _STEPS * most

    def merges(self) -> MergeBuffers:
        """Return working space for merges among all chairs; no more than `MANY` may be taken."""
        if self.state.counters[CHAIRS] > MANY + 1:  # many were taken once, and stand empty in between
            self.reseat(compact(self.state.labels))
        n_chairs = min(self.state.capacity, MANY + 1)  # one more, as one is open
        if self._merges is None or len(self._merges.log_worth) < n_chairs:
            self._merges = merge_buffers(self.family, n_chairs)
        return self._merges

    def merged(self, least: int) -> tuple[int, MergeBuffers]:
        """Merge chairs while that gains, until `least` are left; return how many are, and what came of it.

        Labels and prior weights stay as they were.
        """
        buffers = self.merges()
        if self.state.n_clusters < FEWEST:
            buffers.is_new[:] = True
            return merge_chairs(self.state, least, buffers), buffers
        return self._merge_memory.merge(self._named(), self.state, least, buffers), buffers

    def leads(self, rows: np.ndarray) -> np.ndarray:
        """Return by how much rows prefer where they sit; with many clusters it may be less, above a nat."""
        if self.state.n_clusters < FEWEST:
            return survey(self.problem.X, rows, self.state, self.problem.budget.n_threads)
        given = (self.problem, self.state, self._named())
        if rows is self.everyone:
            return self._lead_memory.survey_all(*given)
        return self._lead_memory.survey(*given, rows)

    def _named(self) -> np.ndarray:
        """Return a name for each cluster that tells its rows."""
        self._names = self._names or ClusterNames(len(self.everyone))
        return self._names.of(*self.rows_by_chair())

    def record(self, move: str, n_moved: int, log_joint: float | None = None) -> Step:
        """Append what has just been done to the trace, and call the listener; stop where the time is up."""
        step = super().record(move, n_moved, log_joint)
        self.problem.budget.tell(step)
        if self.problem.budget.is_over:
            raise StoppedError
        return step

    def visit(self, rows: np.ndarray) -> int:
        """Let these rows stand up and sit down once; return how many moved."""
        X = self.problem.X
        return self._pass_over(rows, lambda start: sweep(X, rows, for_passes(self.state, len(X)), start))

    def visit_once(self, move: str, rows: np.ndarray) -> Step:
        """Visit these rows once and record it; they go back where rounding led them downhill."""
        before, n_moved = self.state.labels[rows], self.visit(rows)
        log_joint = self.log_joint()
        self._n_visited += len(rows)
        if n_moved > 0 and self._is_lower(log_joint):
            labels = self.state.labels.copy()
            labels[rows] = before
            self._take_back(labels)
            n_moved, log_joint = 0, self.log_joint()
        return self.record(move, n_moved, log_joint)

    def _is_lower(self, log_joint: float) -> bool:
        """Say whether a joint is below that of the last step by more than rounding."""
        last = self.trace[-1].log_joint
        return not log_joint >= last - rounding(last)  # also where it is not a number

    def _take_back(self, labels: np.ndarray) -> None:
        """Return to the labels of the last step."""
        self.reseat(compact(labels))
        self.state.counters[EMPTIED] = self._emptied

    @property
    def least_gain(self) -> float:
        """Return what a sweep must gain for another one to follow: `tol`, or a share of the log joint."""
        return self.problem.least_gain(self.trace[-1].log_joint)

    def learn_alpha(self) -> bool:
        """Put alpha where it is most probable given the number of clusters; say whether that gained."""
        prior, process = self.problem.model.alpha_prior, self.process
        if prior is None or not isinstance(process, PitmanYor):
            return False
        before, n_clusters = self.log_joint(), self.state.n_clusters
        n_rows = len(self.problem.X) if process.rows is None else max(round(process.rows), n_clusters)
        alpha = most_probable_alpha(n_rows, n_clusters, prior, process.discount)
        self.weigh_by(dataclasses.replace(process, alpha=alpha))
        if beats(self.log_joint(), before):
            self.record("alpha", 0)
            return True
        self.weigh_by(process)
        return False

    def start(self, order: np.ndarray, move: str = "start") -> None:
        """Seat the rows that still stand, in this order."""
        standing = order[self.state.labels[order] < 0]
        self.record(move, self.visit(standing))

    def sweep(self) -> Step:
        """Visit every row once, in row order."""
        self.n_sweeps += 1
        return self.visit_once("sweep", self.everyone)

    def touched(self) -> np.ndarray:
        """Return the rows of the clusters that the last move changed."""
        return self.everyone[self._touched]

    def reseat(self, labels: np.ndarray) -> None:
        """Rebuild the state from labels; chairs 0, 1, ... are all taken."""
        X, emptied = self.problem.X, self.state.counters[EMPTIED]
        if labels.max() + 1 < self.state.capacity:
            self.state.labels[:] = labels
            build(X, 0, self.state)
        else:
            self.state = seated(X, labels, self.family, self.process)
            self.state.counters[EMPTIED] = emptied

    def adopt(self, move: str, labels: np.ndarray, before: np.ndarray) -> Step | None:
        """Let a move's labels take effect; None where the joint does not rise, and all is as before.

        Rows whose label is as before have not moved.
        """
        moved, n_clusters = labels != before, self.state.n_clusters
        changed = np.zeros(max(labels.max() + 1, self.state.capacity), dtype=np.bool_)
        changed[labels[moved]] = changed[before[moved]] = True
        before, touched = before.copy(), changed[labels]
        self.reseat(compact(labels))
        log_joint = self.log_joint()
        if not beats(log_joint, self.trace[-1].log_joint):
            self._take_back(before)
            return None
        self._touched = touched
        self.state.counters[EMPTIED] += max(0, n_clusters - self.state.n_clusters)
        return self.record(move, int(np.count_nonzero(moved)), log_joint)

    def rows_by_chair(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows, chair by chair, and where those of each chair end."""
        order, ends = np.empty_like(self.everyone), np.empty(self.state.capacity, dtype=np.int64)
        sort_by_chair(self.state.labels, self.state.sizes, order, ends)
        return order, ends

    def finished(self, converged: bool) -> Found:
        """Number the clusters by falling size and rebuild their statistics from the rows."""
        X, n_threads = self.problem.X, self.problem.budget.n_threads
        labels = by_falling_size(self.state.labels, X)
        final = seated(X, labels, self.family, self.process, n_threads)
        return Found(final, self.process, self.log_joint(final), converged, (self.trace,), 0)
