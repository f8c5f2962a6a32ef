"""Knows the searches by name, and how several starts compete."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from joblib import effective_n_jobs

from mapdp.search.run import Found, Problem, Run
from mapdp.search.starts import starting_state

NAMES = ("icm",)


def search(problem: Problem, init: object, order: np.ndarray) -> Found:
    """Start once and climb: the paper's algorithm."""
    run = Run(problem, starting_state(problem.X, init, problem.family, problem.process))
    run.start(order)
    return run.finished(run.settle())


def best_of(problem: Problem, init: object, orders: list[np.ndarray], n_jobs: int | None) -> list[Found]:
    """Search from every order of rows, in threads; return what each found, in the same order."""
    with ThreadPoolExecutor(max_workers=effective_n_jobs(n_jobs)) as pool:
        return list(pool.map(lambda order: search(problem, init, order), orders))
