"""The joints of groups and sequences, beside enumerations of all seatings and a naive implementation."""

import dataclasses
import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mapdp import Bernoulli, DiagonalGaussian
from mapdp.engine.problem import Budget
from mapdp.engine.structured.tables import BEFORE, seated_franchise
from mapdp.partitions.concentration import GammaPrior
from mapdp.partitions.hierarchical import Counts, HierarchicalProcess
from mapdp.partitions.markov import MarkovProcess, restaurants
from mapdp.search.structured.franchise import FranchiseRun
from mapdp.search.structured.markov import MarkovRun
from mapdp.search.structured.run import Task, climb
from tests.partitions import SetsOfRows, canonical, clusters_of
from tests.structured.naive import crp, franchises, hierarchical_log_prior, sequences

PAIRS = np.array([0, 0, 1, 1, 2, 2])
FAMILY = Bernoulli(1.0, 2.0)
CONCENTRATIONS = [(1.0, 1.0), (0.3, 4.0), (5.0, 0.2)]


def log_density(sets, labels):
    return sum(map(sets.log_marginal, clusters_of(labels)))


@pytest.mark.parametrize(("alpha", "gamma"), CONCENTRATIONS)
def test_seatings_of_groups_add_up_to_one(alpha, gamma):
    process, states = HierarchicalProcess(alpha, gamma), list(franchises(PAIRS))
    assert len(states) == 409  # 5 + 3 * 15 + 3 * 52 + 203
    log_priors = [process.log_prior(PAIRS, tables, dishes) for tables, dishes in states]
    assert_allclose(np.exp(log_priors).sum(), 1.0, rtol=1e-12)
    naive = [hierarchical_log_prior(PAIRS, tables, dishes, alpha, gamma) for tables, dishes in states]
    assert_allclose(log_priors, naive, rtol=1e-10)


def test_joints_of_groups_add_up_to_one_over_all_tables_of_data():
    process, states = HierarchicalProcess(0.7, 1.3), list(franchises(PAIRS))
    log_priors = np.array([process.log_prior(PAIRS, tables, dishes) for tables, dishes in states])
    total = 0.0
    for bits in itertools.product((0.0, 1.0), repeat=6):
        sets = SetsOfRows(FAMILY, np.array(bits)[:, None])
        total += np.exp(log_priors + [log_density(sets, dishes) for _, dishes in states]).sum()
    assert_allclose(total, 1.0, rtol=1e-10)


@pytest.mark.parametrize("stickiness", [0.0, 1.5])
@pytest.mark.parametrize("is_first", [[True, *[False] * 4], [True, False, True, False, False]])
def test_seatings_of_sequences_add_up_to_one(is_first, stickiness):
    process = MarkovProcess(0.8, 1.2, stickiness)
    states = list(sequences(is_first, 0.8, 1.2, stickiness))
    naive = np.array([state[3] for state in states])
    assert_allclose(np.exp(naive).sum(), 1.0, rtol=1e-12)
    ours = [process.log_prior_of_states(z, is_first, tables, own) for z, tables, own, _ in states]
    assert_allclose(ours, naive, rtol=1e-10)


def canonical_tables(counts):
    """Return groups, tables and dishes of rows, one by one, from numbers of rows and tables."""
    rows = []
    for t, (r, k, size) in enumerate(counts.table_sizes()):
        rows += [(r, t, k)] * size
    return np.array(rows).T


def test_joint_of_a_run_is_the_naive_one_on_many_random_seatings(rng):
    """500 random seatings of groups, and 500 of sequences, have the joint of the naive implementation."""
    X = rng.normal(size=(12, 2))
    family = DiagonalGaussian.empirical(X, scale=0.4)
    sets = SetsOfRows(family, X)
    for number in range(500):
        alpha, gamma = rng.gamma(1.0, 2.0, size=2) + 0.01
        groups, labels = rng.integers(0, 3, 12), rng.integers(0, rng.integers(1, 7), 12)
        process = HierarchicalProcess(alpha, gamma)
        run = FranchiseRun(task_of(X, family, groups, process), labels.astype(np.int32), process)
        if number % 2:
            run.visit(rng.permutation(12).astype(np.int32))
        seats = canonical_tables(run.counts)
        naive = hierarchical_log_prior(*map(list, seats), alpha, gamma) + log_density(sets, run.labels)
        assert_allclose(run.log_joint(), naive, rtol=1e-9)


def naive_markov_log_prior(counts, process):
    """Return the log prior of transitions, restaurant by restaurant."""
    total, served = 0.0, []
    for r, row in enumerate(counts.customers):
        sizes, opened = [], 0.0
        for k in np.flatnonzero(row):
            n_own, n_shared = counts.own[r, k], counts.tables[r, k]
            sizes += [row[k] - n_own - n_shared + 1] + [1] * (n_own + n_shared - 1)
            opened += n_own * np.log(process.stickiness or 1.0) + n_shared * np.log(process.alpha)
            served += [k] * n_shared
        both = process.alpha + (process.stickiness if r else 0.0)
        total += crp(sizes, both) - len(sizes) * np.log(both) + opened
    return total + crp([served.count(k) for k in sorted(set(served))], process.gamma)


def test_joint_of_a_sequence_is_the_naive_one_on_many_random_seatings(rng):
    X = rng.normal(size=(12, 2))
    family = DiagonalGaussian.empirical(X, scale=0.4)
    sets, is_first = SetsOfRows(family, X), np.arange(12) % 8 == 0
    for number in range(500):
        alpha, gamma, stickiness = rng.gamma(1.0, 2.0, size=3) + 0.01
        process = MarkovProcess(alpha, gamma, stickiness * rng.integers(0, 2))
        labels = rng.integers(0, rng.integers(1, 7), 12).astype(np.int32)
        run = MarkovRun(task_of(X, family, is_first, process), labels, process)
        if number % 2:
            run.visit(rng.permutation(12).astype(np.int32))
        naive = naive_markov_log_prior(run.franchise.counts, process) + log_density(sets, run.labels)
        assert_allclose(run.log_joint(), naive, rtol=1e-9)


def task_of(X, family, places, process, priors=(None, None)):
    return Task(X, X, family, places, process, priors, Budget().started())


def recounted(run):
    """Return customers of each restaurant and dish, counted one by one."""
    context, labels = run.franchise.context, run.labels
    where = np.where(context == BEFORE, restaurants(labels, context != BEFORE), context)
    cells = np.zeros_like(run.franchise.customers)
    np.add.at(cells, (where, labels), 1)
    return cells


KINDS = ["groups", "sequence", "sticky"]


def random_run(kind, rng, n=40, priors=(None, None)):
    X = rng.normal(size=(n, 2)) + 3.0 * rng.integers(0, 3, n)[:, None]
    family = DiagonalGaussian.empirical(X, scale=0.4)
    labels = rng.integers(0, 8, n).astype(np.int32)
    if kind == "groups":
        process = HierarchicalProcess(1.5, 2.0)
        return FranchiseRun(task_of(X, family, rng.integers(0, 4, n), process, priors), labels, process)
    process = MarkovProcess(1.5, 2.0, 2.0 if kind == "sticky" else 0.0)
    return MarkovRun(task_of(X, family, np.arange(n) % 25 == 0, process, priors), labels, process)


@pytest.mark.parametrize("kind", KINDS)
def test_no_visit_and_no_block_lowers_the_joint_and_counts_stay_right(kind, rng):
    for _ in range(10):
        run = random_run(kind, rng)
        before = run.log_joint()
        for number in range(60):
            if number % 20 == 19:
                run.move_blocks(*run.blocks(rng))
            else:
                run.visit(rng.integers(0, 40, 1).astype(np.int32))
            after = run.log_joint()
            assert after == run.log_joint_anew()
            assert after >= before - 1e-9
            before = after
        franchise = run.franchise
        assert (franchise.customers == recounted(run)).all()
        assert (franchise.served == franchise.tables.sum(axis=0)).all()
        assert (franchise.totals == franchise.customers.sum(axis=1)).all()
        assert franchise.n_tables[0] == franchise.tables.sum()
        assert ((franchise.tables + franchise.own > 0) == (franchise.customers > 0)).all()
        assert (franchise.tables + franchise.own <= franchise.customers).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_climb_never_drops_also_where_concentrations_are_learned(kind, rng):
    prior = GammaPrior(1.0, 1.0)
    priors = (prior, prior, prior) if kind == "sticky" else (prior, prior)
    found = climb(random_run(kind, rng, 80, priors), rng)
    joints = np.array([step.log_joint for step in found.trace])
    assert (np.diff(joints) >= -1e-7).all()
    assert found.log_joint >= joints[-1] - 1e-7
    assert found.run.log_joint() == found.run.log_joint_anew()


@pytest.mark.parametrize("kind", KINDS)
def test_a_seating_keeps_its_tables_when_its_dishes_get_their_last_names(kind, rng):
    """Dishes are numbered by falling size, none is left out, and tables are no worse."""
    for _ in range(20):
        run = random_run(kind, rng, 20)
        run.weigh_by(dataclasses.replace(run.process, alpha=30.0, gamma=30.0))
        for _ in range(3):
            run.visit(np.arange(20, dtype=np.int32))
        found = run.finished(converged=True)
        sizes = np.bincount(found.labels)
        assert (np.diff(sizes) <= 0).all()
        assert sizes[-1] > 0
        assert found.log_joint >= run.log_joint() - 1e-9
        assert found.log_joint == found.run.log_joint_anew()
        other = run.with_labels(found.labels)
        other.sit_as(run)
        assert_allclose(other.log_joint_anew(), run.log_joint(), rtol=1e-12)
        assert (other.franchise.customers == recounted(other)).all()
        assert (other.franchise.served == other.franchise.tables.sum(axis=0)).all()


def test_tables_of_known_dishes_are_the_best_of_all_seatings(rng):
    """One large table and single ones: no seating of the same dishes is more probable."""
    for _ in range(30):
        alpha, gamma = rng.gamma(1.0, 4.0, size=2) + 0.05
        process = HierarchicalProcess(alpha, gamma)
        best: dict = {}
        for tables, dishes in franchises(PAIRS[:5]):
            value = process.log_prior(PAIRS[:5], tables, dishes)
            key = canonical(np.array(dishes))
            best[key] = max(best.get(key, -np.inf), value)
        for dishes, value in best.items():
            labels = np.array(dishes, dtype=np.int32)
            seats = seated_franchise(PAIRS[:5].astype(np.int64), labels, 8, process)
            assert_allclose(process.log_prior_of(seats.counts), value, rtol=1e-9)


def test_weights_are_probabilities_of_the_next_row(rng):
    """What the prior gives to one more row is the sum over its tables, from the naive prior."""
    groups, tables, dishes = [0, 0, 0, 1, 1], [0, 0, 1, 2, 2], [0, 0, 1, 0, 0]
    process = HierarchicalProcess(0.8, 1.7)
    counts = Counts(np.array([[2, 1], [2, 0]]), np.array([[1, 1], [1, 0]]), np.zeros((2, 2), dtype=int))
    weights = np.exp(process.log_weights(counts))
    assert_allclose(weights.sum(axis=1), 1.0)
    known = hierarchical_log_prior(groups, tables, dishes, 0.8, 1.7)
    for g in range(3):
        chances = np.zeros(3)
        for t in range(4):
            for k in range(3):
                is_there = t < 3 and (groups[tables.index(t)] != g or dishes[tables.index(t)] != k)
                if not is_there:
                    more = hierarchical_log_prior([*groups, g], [*tables, t], [*dishes, k], 0.8, 1.7)
                    chances[k] += np.exp(more - known)
        assert_allclose(weights[g], chances, rtol=1e-9)
