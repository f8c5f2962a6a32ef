"""What a search or a sampler is given (a model, rows, a budget), and a walk: the partition it works on.

Climbing searches and Markov chains both visit rows, run out of chairs, record steps and change alpha.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mapdp.engine.joint import state_log_joint
from mapdp.engine.state import EMPTIED, LARGE, MOVED, State, grown, reweighted
from mapdp.engine.trace import Step, silent
from mapdp.families.base import Family
from mapdp.partitions.concentration import AlphaPrior, log_density_of
from mapdp.partitions.process import Process

_RELATIVE = 1e-6  # of the log joint: a round over a large table that gains no more is the last one


class Model(NamedTuple):
    """What is assumed about the rows."""

    family: Family
    process: Process
    alpha_prior: AlphaPrior | None = None  # None where alpha is known; else the process has its first value
    log_hyperprior: float = 0.0  # log density of the family's hyperparameters, where they are learned


class Budget(NamedTuple):
    """How much work may be done, on how many threads, and who hears of it."""

    max_iter: int = 1000  # sweeps of one climb
    tol: float | None = (
        0.0  # a round that gains no more is the last one; None: 0, or a share in large tables
    )
    n_threads: int = 1
    listener: Callable[[Step], None] = silent  # is called with every step
    seconds: float | None = None  # after which a search ends; None where it may take its time
    began: float = 0.0  # time.perf_counter() when the fit began
    log_units: float = 0.0  # what units and logarithms of columns add to the joint of the rows

    def least_gain(self, log_joint: float, n_rows: int) -> float:
        """Return what a round must gain for another one to follow: `tol`, or a share of the log joint."""
        if self.tol is not None:
            return self.tol
        return _RELATIVE * abs(log_joint) if n_rows > LARGE else 0.0

    def started(self) -> "Budget":
        """Return the same budget with its clock started, where that has not been done."""
        return self._replace(began=self.began or time.perf_counter())

    def tell(self, step: Step) -> None:
        """Let the listener hear of a step, with the joint of the table as it came."""
        self.listener(step.less(self.log_units))

    @property
    def is_over(self) -> bool:
        """Say whether the time is up."""
        return self.seconds is not None and self.elapsed() > self.seconds

    def elapsed(self) -> float:
        """Return the seconds since the fit began."""
        return time.perf_counter() - self.began


class Problem(NamedTuple):
    """A model, rows and a budget."""

    X: np.ndarray  # (N, D) encoded rows
    rows_for_guesses: np.ndarray  # (N, E) numbers without gaps; rows that are alike have numbers that are
    model: Model
    budget: Budget = Budget()

    @property
    def is_large(self) -> bool:
        """Say whether there are too many rows for all of them to be visited over and over."""
        return len(self.X) > LARGE

    def least_gain(self, log_joint: float) -> float:
        """Return what a round must gain for another one to follow."""
        return self.budget.least_gain(log_joint, len(self.X))

    def among(self, rows: np.ndarray) -> "Problem":
        """Return the problem of some of the rows."""
        X = np.ascontiguousarray(self.X[rows])
        same = self.rows_for_guesses is self.X
        guesses = X if same else np.ascontiguousarray(self.rows_for_guesses[rows])
        process = self.model.process
        if process.rows is not None:
            process = process.counted_as(process.rows * len(X) / len(self.X))
        return self._replace(X=X, rows_for_guesses=guesses).under(process)

    def in_units(self, log_units: float) -> "Problem":
        """Return the problem of rows whose log density units and logarithms add so much to."""
        return self._replace(budget=self.budget._replace(log_units=log_units))

    def under(self, process: Process) -> "Problem":
        """Return the problem with another prior over partitions."""
        return self._replace(model=self.model._replace(process=process))

    def timeless(self) -> "Problem":
        """Return the problem without a limit of time, for work that must not be broken off."""
        return self._replace(budget=self.budget._replace(seconds=None))

    def silenced(self) -> "Problem":
        """Return the problem without a listener."""
        return self._replace(budget=self.budget._replace(listener=silent))


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
