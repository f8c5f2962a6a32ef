"""A climb of a structured seating: what all models share, whatever their prior.

A run has labels, statistics of clusters and counts of its prior, all consistent. A move makes another run
from other labels; if its exact joint is higher, its seating is taken over.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from mapdp.engine.build import seated
from mapdp.engine.problem import Budget
from mapdp.engine.score import beats, rounding
from mapdp.engine.state import CHAIRS, MOVED, State, grown
from mapdp.engine.structured.blocks import block_buffers, log_densities, price_merges
from mapdp.engine.trace import Init, Step, StoppedError
from mapdp.families.base import Family
from mapdp.partitions.concentration import AlphaPrior
from mapdp.partitions.labels import adjusted_rand, by_falling_size, compact
from mapdp.partitions.process import DirichletProcess

_UNUSED = DirichletProcess(1.0)  # a state wants one; the prior of a structure is elsewhere
_RELATIVE = 1e-6  # of the log joint: a round over many rows that gains no more is the last one
_MANY = 20_000  # rows of which that is true

Move = Callable[[Any, np.random.Generator], bool]  # says whether it raised the joint of a run


class Task(NamedTuple):
    """Rows, their family, where they stand, and which concentrations are to be learned."""

    X: np.ndarray  # (N, D) encoded rows
    rows_for_guesses: np.ndarray  # (N, E) numbers without gaps
    family: Family
    places: np.ndarray  # (N,) what the model asks of each row: its group, or whether a sequence begins
    process: Any  # the prior, with the concentrations to begin with
    priors: tuple[AlphaPrior | None, ...]  # of its concentrations; None where one is known
    budget: Budget = Budget()


class Seating(NamedTuple):
    """Where a climb ended; clusters are numbered by falling size."""

    labels: np.ndarray
    process: Any
    log_joint: float  # with the density of what is learned
    converged: bool
    trace: list[Step]
    run: Any  # the run that found it, on the chairs of `labels`

    def beside(self, winner: "Seating") -> Init:
        """Return where this start ended, compared with the one that won."""
        return Init(self.log_joint, int(self.labels.max()) + 1, adjusted_rand(winner.labels, self.labels))


class StructuredRun:
    """A climb under way; subclasses know the prior."""

    moves: Sequence[Move]

    def __init__(self, task: Task, labels: np.ndarray, process: Any) -> None:
        self.task, self.process = task, process
        self.state: State = seated(task.X, compact(labels), task.family, _UNUSED)
        self.trace: list[Step] = []
        self.n_sweeps = 0
        self.failed: set[bytes] = set()  # splits that were tried in vain
        self._known: float | None = None  # the joint, once it was asked for and until something changes
        self._joints: dict[object, float] = {}  # of runs that follow from labels; trials share it

    @property
    def labels(self) -> np.ndarray:
        """Return the cluster of each row."""
        return self.state.labels

    def log_prior(self) -> float:
        """Return the log probability of the seating, with the density of learned concentrations."""
        raise NotImplementedError

    def log_hyperprior(self, process: Any) -> float:
        """Return the log density of the concentrations that are learned."""
        raise NotImplementedError

    def visit(self, rows: np.ndarray) -> int:
        """Let rows stand up and sit down once; return how many moved."""
        raise NotImplementedError

    def learn(self) -> bool:
        """Put concentrations where they are most probable; say whether that gained."""
        raise NotImplementedError

    def with_labels(self, labels: np.ndarray) -> Self:
        """Return another run with these labels, under the process as it is now."""
        return self._sharing(type(self)(self.task, labels, self.process))

    def renamed(self, labels: np.ndarray) -> Self:
        """Return the same seating under other names of the clusters, with none between them left out."""
        return self.with_labels(labels)

    def _sharing(self, other: Self) -> Self:
        other._joints = self._joints
        return other

    def log_joint_with(self, labels: np.ndarray) -> float:
        """Return the joint of another run with these labels; trials of splits end in the same few."""
        key = self.key_of(labels)
        if key not in self._joints:
            self._joints[key] = self.with_labels(labels).log_joint()
        return self._joints[key]

    def key_of(self, labels: np.ndarray) -> object:
        """Return what the joint of another run with these labels depends on."""
        return self.process, hashlib.sha256(labels.tobytes()).digest()

    def log_joint(self) -> float:
        """Return log p(x, seating), with the density of what is learned."""
        if self._known is None:
            self._known = self.log_joint_anew()
        return self._known

    def forget(self) -> None:
        """Forget the joint; to be called where rows, tables or concentrations change."""
        self._known = None

    def log_joint_anew(self) -> float:
        """Work out the joint."""
        values = np.zeros(self.state.capacity)
        log_densities(self.state, values)
        return float(values.sum()) + self.log_prior()

    def tables_to_guess_by(self, rows: np.ndarray) -> list[np.ndarray]:
        """Return tables of numbers in which those of the rows that belong together are alike."""
        return [np.ascontiguousarray(self.task.rows_for_guesses[rows])]

    def exact_log_joint(self) -> float:
        """Return log p(x, seating) under the concentrations as they are."""
        return self.log_joint() - self.log_hyperprior(self.process)

    def under(self, task: Task) -> Self:
        """Return the same seating of another task: the same rows under another family."""
        return type(self)(task, self.labels, self.process)

    def grow(self) -> None:
        """Make room for more clusters."""
        self.state = grown(self.state, self.task.family, _UNUSED)

    def pass_over(self, n: int, kernel: Callable[[np.int64], int]) -> int:
        """Call a kernel until it has done n things, with more chairs where they run out."""
        self.forget()
        before, reached = int(self.state.counters[MOVED]), np.int64(0)
        while (reached := np.int64(kernel(reached))) < n:
            self.grow()
        return int(self.state.counters[MOVED]) - before

    def take(self, other: Self) -> None:
        """Go on with the seating of another run."""
        self.state, self.process, self._known = other.state, other.process, other._known

    def adopt(self, other: Self, move: str) -> bool:
        """Take over another seating if its joint is higher."""
        if not beats(other.log_joint(), self.log_joint()):
            return False
        n_moved = int(np.count_nonzero(other.labels != self.labels))
        self.take(other)
        self.record(move, n_moved)
        return True

    def record(self, move: str, n_moved: int) -> Step:
        """Append what has just been done to the trace, and call the listener; stop where time is up."""
        budget = self.task.budget
        step = Step(
            move, self.n_sweeps, self.state.n_clusters, n_moved, 0, self.log_joint(), budget.elapsed()
        )
        self.trace.append(step)
        budget.tell(step)
        if budget.is_over:
            raise StoppedError
        return step

    def settle(self) -> None:
        """Sweep and learn in turn until neither gains."""
        everyone = np.arange(len(self.labels), dtype=np.int32)
        while self.n_sweeps < self.task.budget.max_iter:
            before = self.trace[-1].log_joint
            self.n_sweeps += 1
            n_moved = self.visit(everyone)
            self.learn()
            gained = self.record("sweep", n_moved).log_joint - before
            if n_moved == 0 or gained <= self.least_gain:
                break

    @property
    def least_gain(self) -> float:
        """Return what a round must gain for another one to follow."""
        last = self.trace[-1].log_joint
        return _RELATIVE * abs(last) if len(self.labels) > _MANY else rounding(last)

    def merge_gains(self) -> np.ndarray:
        """Return what log densities gain when two chairs become one: (K, K), -inf where there is none."""
        n = int(self.state.counters[CHAIRS])
        out = np.full((n, n), -np.inf)
        price_merges(self.state, block_buffers(self.task.family), out)
        return out

    def finished(self, converged: bool) -> Seating:
        """Number clusters by falling size and rebuild statistics from the rows."""
        final = self.renamed(by_falling_size(compact(self.labels), self.task.X))
        return Seating(final.labels.copy(), self.process, final.log_joint(), converged, self.trace, final)


def climb(run: StructuredRun, rng: np.random.Generator) -> Seating:
    """Settle and try moves in turn until no move gains."""
    converged = False
    try:
        run.record("start", len(run.labels))
        while run.n_sweeps < run.task.budget.max_iter and not converged:
            run.settle()
            settled = run.trace[-1].log_joint
            converged = not any(move(run, rng) for move in run.moves)
            converged = converged or run.trace[-1].log_joint - settled <= run.least_gain
    except StoppedError:
        converged = False
    return run.finished(converged)
