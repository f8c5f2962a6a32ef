"""What a search or a sampler is given: a model, rows, and how much work it may do."""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mapdp.engine.state import LARGE
from mapdp.engine.trace import Step, silent
from mapdp.families.base import Family
from mapdp.partitions.concentration import AlphaPrior
from mapdp.partitions.process import Process


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

    def started(self) -> "Budget":
        """Return the same budget with its clock started, where that has not been done."""
        return self._replace(began=self.began or time.perf_counter())

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

    def among(self, rows: np.ndarray) -> "Problem":
        """Return the problem of some of the rows."""
        X = np.ascontiguousarray(self.X[rows])
        same = self.rows_for_guesses is self.X
        guesses = X if same else np.ascontiguousarray(self.rows_for_guesses[rows])
        process = self.model.process
        if process.rows is not None:
            process = process.counted_as(process.rows * len(X) / len(self.X))
        return self._replace(X=X, rows_for_guesses=guesses).under(process)

    def under(self, process: Process) -> "Problem":
        """Return the problem with another prior over partitions."""
        return self._replace(model=self.model._replace(process=process))

    def timeless(self) -> "Problem":
        """Return the problem without a limit of time, for work that must not be broken off."""
        return self._replace(budget=self.budget._replace(seconds=None))

    def silenced(self) -> "Problem":
        """Return the problem without a listener."""
        return self._replace(budget=self.budget._replace(listener=silent))
