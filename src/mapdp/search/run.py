"""Knows one search under way: its state, its trace, its clock, and how it settles."""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mapdp.family import Family
from mapdp.kernels.sweep import sweep
from mapdp.model import seated, state_log_joint
from mapdp.process import Process
from mapdp.state import EMPTIED, State, by_falling_size, grown
from mapdp.trace import Step


class Problem(NamedTuple):
    """What a search is given and never changes."""

    X: np.ndarray  # (N, D) encoded rows
    family: Family
    process: Process
    max_iter: int
    tol: float
    tell: Callable[[Step], None]  # is told of every sweep


class Found(NamedTuple):
    """Where a search ended; clusters are numbered by falling size."""

    state: State
    log_joint: float
    trace: list[Step]
    converged: bool


class Run:
    """A search under way. The joint of its state never drops from one Step to the next."""

    def __init__(self, problem: Problem, state: State) -> None:
        self.problem = problem
        self.state = state
        self.trace: list[Step] = []
        self._emptied = 0
        self._began = time.perf_counter()

    def visit(self, rows: np.ndarray) -> int:
        """Let these rows stand up and sit down once; return how many moved."""
        moved = np.zeros(1, dtype=np.int64)
        reached = sweep(self.problem.X, rows, self.state, 0, moved)
        while reached < len(rows):
            self.state = grown(self.state, self.problem.family, self.problem.process)
            reached = sweep(self.problem.X, rows, self.state, reached, moved)
        return int(moved[0])

    def record(self, n_moved: int) -> Step:
        """Add a Step to the trace and tell of it."""
        emptied = int(self.state.counters[EMPTIED])
        step = Step(
            sweep=len(self.trace),
            n_clusters=self.state.n_clusters,
            n_moved=n_moved,
            n_emptied=emptied - self._emptied,
            log_joint=state_log_joint(self.state, self.problem.process),
            seconds=time.perf_counter() - self._began,
        )
        self._emptied = emptied
        self.trace.append(step)
        self.problem.tell(step)
        return step

    def start(self, order: np.ndarray) -> None:
        """Seat the rows that still stand, in this order."""
        standing = order[self.state.labels[order] < 0]
        self.record(self.visit(standing))

    def settle(self) -> bool:
        """Sweep in row order until nobody moves; False where `max_iter` sweeps were not enough.

        A sweep that raised the joint by no more than `tol` counts as the last one, too.
        """
        rows = np.arange(len(self.problem.X), dtype=np.int32)
        while len(self.trace) <= self.problem.max_iter:
            last = self.trace[-1].log_joint
            step = self.record(self.visit(rows))
            if step.n_moved == 0 or step.log_joint - last <= self.problem.tol:
                return True
        return False

    def finished(self, converged: bool) -> Found:
        """Number the clusters by falling size and rebuild their statistics from the rows."""
        X, family, process, *_ = self.problem
        final = seated(X, by_falling_size(self.state.labels), family, process)
        return Found(final, state_log_joint(final, process), self.trace, converged)
