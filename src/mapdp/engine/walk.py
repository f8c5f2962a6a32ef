"""A partition under way: its state, its process, its trace and its clock.

Climbing searches and Markov chains both visit rows, run out of chairs, record steps and change alpha.
"""

from collections.abc import Callable

import numpy as np

from mapdp.engine.joint import state_log_joint
from mapdp.engine.problem import Problem
from mapdp.engine.state import EMPTIED, MOVED, State, grown, reweighted
from mapdp.engine.trace import Step
from mapdp.families.base import Family
from mapdp.partitions.concentration import log_density_of
from mapdp.partitions.process import Process


class Walk:
    """What searches and chains share; `trace` holds a Step for every record."""

    state: State

    def __init__(self, problem: Problem, family: Family) -> None:
        self.problem = problem._replace(budget=problem.budget.started())
        self.family = family
        self.process = problem.model.process
        self.trace: list[Step] = []
        self.n_sweeps = 0
        self._emptied = 0
        self.everyone = np.arange(len(problem.X), dtype=np.int32)

    def _pass_over(self, rows: np.ndarray, sweep: Callable[[np.int64], int]) -> int:
        """Sweep over rows, with more chairs where they run out; return how many moved."""
        before, reached = int(self.state.counters[MOVED]), np.int64(0)
        while (reached := np.int64(sweep(reached))) < len(rows):
            self.state = grown(self.state, self.family, self.process)
        return int(self.state.counters[MOVED]) - before

    def log_joint(self, state: State | None = None) -> float:
        """Return log p(x, z), with the density of what is learned: log alpha, hyperparameters."""
        known, model = (
            state_log_joint(self.state if state is None else state, self.process),
            self.problem.model,
        )
        return known + model.log_hyperprior + log_density_of(model.alpha_prior, self.process)

    def weigh_by(self, process: Process) -> None:
        """Go on under another process of the same kind."""
        self.process = process
        self.state = reweighted(self.state, process)

    def record(self, move: str, n_moved: int, log_joint: float | None = None) -> Step:
        """Append what has just been done to the trace; the joint is worked out where it is not given."""
        emptied = int(self.state.counters[EMPTIED])
        step = Step(
            move=move,
            sweep=self.n_sweeps,
            n_clusters=self.state.n_clusters,
            n_moved=n_moved,
            n_emptied=emptied - self._emptied,
            log_joint=self.log_joint() if log_joint is None else log_joint,
            seconds=self.problem.budget.elapsed(),
        )
        self._emptied = emptied
        self.trace.append(step)
        return step
