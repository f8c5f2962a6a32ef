"""Splits and merges leave the posterior as it is; a wrong ratio of theirs is noticed."""

import itertools

import numpy as np
import pytest

from mapdp import Bernoulli, FixedGaussian, Poisson
from mapdp.engine import split_merge as moves
from mapdp.engine.state import reweighted
from mapdp.sampling.chain import Chain
from mapdp.sampling.split_merge import SplitMerge
from tests.contract.cases import FAMILIES, PROCESSES, over_families
from tests.contract.test_gibbs import (
    GAP,
    GAUSSIANS,
    PARTITIONS,
    distance,
    drawn_by_a_chain,
    drawn_directly,
    exact_posterior,
    largest_gap,
    posterior,
    shares,
)

# 30,000 draws that forget within a sweep or two, over 52 partitions of which some twenty matter: their mean
# distance is near 0.01, and that of all cases stays below 0.02 in far more than 99 of 100 runs.
N_SWEEPS, BOUND = 30_000, 0.02


def visited(family, process, X, n_sweeps=N_SWEEPS, has_gibbs=True):
    """Run a chain over a few rows, without records, which take most of the time; return its partitions."""
    rng = np.random.default_rng(11)
    chain = Chain(posterior(family.encode(X), family, process), "single", rng)
    labels = np.empty((n_sweeps, len(X)), dtype=np.int32)
    for one in labels:
        if has_gibbs:
            chain._visit_everyone(chain.everyone)
        chain._split_and_merge()
        one[:] = chain.state.labels
    return shares(labels)


# What a family and a process do to a ratio does not depend on the other: each family has one process.
PAIRS = [
    pytest.param(case, name, id=f"{name}-{case.name}")
    for case, name in zip(FAMILIES, itertools.cycle(["dp", "pitman-yor", "mfm"]), strict=False)
]


@pytest.mark.parametrize(("case", "name"), PAIRS)
def test_frequencies_match_the_exact_posterior(case, name):
    X, process = case.rows(np.random.default_rng(11), 5), PROCESSES[name]
    drawn = visited(case.family, process, X)
    assert distance(drawn, exact_posterior(case.family, process, X)) < BOUND


@pytest.mark.parametrize("name", PROCESSES)
def test_splits_and_merges_alone_reach_every_partition_as_often_as_they_should(name):
    case, process = FAMILIES[0], PROCESSES[name]
    X = case.rows(np.random.default_rng(11), 5)
    drawn = visited(case.family, process, X, has_gibbs=False)
    assert distance(drawn, exact_posterior(case.family, process, X)) < BOUND


RIGHT = SplitMerge.moved


def moved_wrongly(self, state, process):
    """Decide on splits and merges as if a new chair weighed e times what it does."""
    seats = state.seats._replace(log_open=state.seats.log_open + 1.0)
    return reweighted(RIGHT(self, state._replace(seats=seats), process), process)


@over_families
def test_the_bound_notices_a_wrong_weight_in_the_ratio(case, monkeypatch):
    monkeypatch.setattr(SplitMerge, "moved", moved_wrongly)
    X, process = case.rows(np.random.default_rng(11), 5), PROCESSES["dp"]
    drawn = visited(case.family, process, X, 6_000)
    assert distance(drawn, exact_posterior(case.family, process, X)) > 2.0 * BOUND


WRONG = {
    "the way back is forgotten": lambda gain, log_open, log_pick, log_drawn: gain + log_open + log_pick,
    "the pick is forgotten": lambda gain, log_open, log_pick, log_drawn: gain + log_open - log_drawn,
    "the pick has the wrong sign": lambda gain, log_open, log_pick, log_drawn: (
        gain + log_open - log_pick - log_drawn
    ),
}


@pytest.mark.parametrize("wrong", [None, *WRONG])
def test_a_wrong_ratio_is_noticed_and_the_right_one_is_not(wrong, monkeypatch):
    """Interpreted, so that the ratio can be replaced; 700 rounds of ten moves are enough."""
    interpreted = getattr(moves.split_merge, "py_func", moves.split_merge)
    monkeypatch.setattr("mapdp.sampling.split_merge.split_merge", interpreted)
    monkeypatch.setattr(moves, "_ANYWHERE", 0.0)
    monkeypatch.setattr(moves, "log_ratio", WRONG.get(wrong, moves.log_ratio))
    family, process = Bernoulli(1.0, 1.0), PROCESSES["dp"]
    X = np.array([[0.0], [0.0], [1.0], [1.0], [1.0]])
    drawn, exact = visited(family, process, X, 700, has_gibbs=False), exact_posterior(family, process, X)
    n_clusters = np.array([max(labels) + 1 for labels in PARTITIONS])
    gap = distance(*[np.bincount(n_clusters, weights) for weights in (drawn, exact)])
    # The number of clusters has a mean distance of 0.03 in 700 draws.
    assert gap < 0.06 if wrong is None else gap > 0.06


@pytest.mark.parametrize("wrongly", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize(
    "family", [*GAUSSIANS.values(), Poisson([1.5, 2.0], [1.0, 0.5])], ids=[*GAUSSIANS, "poisson"]
)
def test_the_chain_has_the_joint_distribution_of_the_model(family, wrongly, monkeypatch):
    if wrongly:
        monkeypatch.setattr(SplitMerge, "moved", moved_wrongly)
    rng, process = np.random.default_rng(5), PROCESSES["mfm"]
    direct = drawn_directly(family, process, rng)
    gap = largest_gap(direct, drawn_by_a_chain(family, process, True, rng))
    assert (gap > GAP) == wrongly


def test_moves_go_on_where_chairs_run_out(rng):
    """All rows are far apart, so that splits are accepted until more than 16 chairs are taken."""
    X, family = 1e3 * np.arange(40.0)[:, None], FixedGaussian([0.0], 1e-6, [1.0])
    chain = Chain(posterior(X, family, PROCESSES["flat"]), "single", rng)
    for _ in range(60):
        chain._split_and_merge()
    assert chain.state.n_clusters > 16
    before = chain.log_joint()
    chain._rebuild()
    assert abs(chain.log_joint() - before) < 1e-6 * abs(before)
