"""Tiny structured problems, and how often one search finds the best seating of all."""

import time

import numpy as np

from mapdp import DiagonalGaussian
from mapdp.engine.problem import Budget
from mapdp.partitions.hierarchical import HierarchicalProcess
from mapdp.partitions.markov import MarkovProcess
from mapdp.partitions.nested import NestedProcess
from mapdp.search.structured.franchise import FranchiseRun
from mapdp.search.structured.markov import MarkovRun
from mapdp.search.structured.nested import NestedRun
from mapdp.search.structured.run import Task
from mapdp.search.structured.starts import search
from tests.partitions import SetsOfRows, canonical, clusters_of
from tests.structured.naive import franchises, nested_log_prior, nested_states, sequences

PAIRS = np.array([0, 0, 1, 1, 2, 2])
FIRST = [True, False, False, False, False]


def best_prior(kind, process):
    """Return the states of the rows, and the log prior of the best seating of each."""
    best = {}
    if kind is FranchiseRun:
        states = [
            (dishes, process.log_prior(PAIRS, tables, dishes)) for tables, dishes in franchises(PAIRS)
        ]
    elif kind is MarkovRun:
        states = [
            (z, p) for z, _, _, p in sequences(FIRST, process.alpha, process.gamma, process.stickiness)
        ]
    else:
        groups = PAIRS.tolist()
        states = [
            (z, nested_log_prior(c, groups, z, process.alpha, process.beta))
            for c, z in nested_states(groups)
        ]
    for labels, log_prior in states:
        key = canonical(labels)
        best[key] = max(best.get(key, -np.inf), log_prior)
    return best


def drawn(kind, rng):
    """Return a problem: a few rows around up to three centres, and concentrations."""
    n = 5 if kind is MarkovRun else 6
    X = rng.normal(size=(n, 2)) + rng.normal(size=(3, 2))[rng.integers(0, 3, n)] * rng.gamma(2.0, 1.5)
    family = DiagonalGaussian.empirical(X, scale=rng.uniform(0.05, 1.0))
    alpha, gamma, stickiness = rng.gamma(1.0, 1.5, size=3) + 0.05
    process = {
        FranchiseRun: lambda: HierarchicalProcess(alpha, gamma),
        MarkovRun: lambda: MarkovProcess(alpha, gamma, stickiness),
        NestedRun: lambda: NestedProcess(alpha, gamma),
    }[kind]()
    places = np.array(FIRST) if kind is MarkovRun else PAIRS
    return Task(X, X, family, places, process, (None, None), Budget().started())


def share_found(kind, n_tables, n_init, seed=0):
    """Return the share of problems whose best seating is found, and the CPU seconds of a search."""
    rng, n_found, seconds = np.random.default_rng(seed), 0, 0.0
    for _ in range(n_tables):
        task = drawn(kind, rng)
        sets = SetsOfRows(task.family, task.X)
        priors = best_prior(kind, task.process).items()
        best = max(p + sum(map(sets.log_marginal, clusters_of(z))) for z, p in priors)
        began = time.process_time()
        found = search(kind, task, np.zeros(len(task.X), dtype=np.int32), n_init, np.random.default_rng(0))[
            0
        ]
        seconds += time.process_time() - began
        n_found += found.log_joint >= best - 1e-7
        assert found.log_joint <= best + 1e-7
    return n_found / n_tables, seconds / n_tables
