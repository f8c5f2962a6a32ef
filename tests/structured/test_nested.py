"""The nested Dirichlet process beside an enumeration and a naive implementation."""

import itertools

import numpy as np
from numpy.testing import assert_allclose

from mapdp import Bernoulli, DiagonalGaussian
from mapdp.engine.problem import Budget
from mapdp.partitions.concentration import GammaPrior
from mapdp.partitions.nested import NestedProcess
from mapdp.search.structured.nested import NestedRun
from mapdp.search.structured.run import Task, climb
from tests.partitions import SetsOfRows, clusters_of
from tests.structured.naive import nested_log_prior, nested_states

PAIRS = np.array([0, 0, 1, 1, 2, 2])


def task_of(X, family, groups, process, priors=(None, None)):
    return Task(X, X, family, groups, process, priors, Budget().started())


def test_all_nested_partitions_add_up_to_one_with_their_data():
    process, states = NestedProcess(0.7, 1.6), list(nested_states(PAIRS.tolist()))
    log_priors = np.array([process.log_prior(c, PAIRS, z) for c, z in states])
    assert_allclose(np.exp(log_priors).sum(), 1.0, rtol=1e-12)
    naive = [nested_log_prior(c, PAIRS.tolist(), z, 0.7, 1.6) for c, z in states]
    assert_allclose(log_priors, naive, rtol=1e-9)
    total = 0.0
    for bits in itertools.product((0.0, 1.0), repeat=6):
        sets = SetsOfRows(Bernoulli(1.0, 2.0), np.array(bits)[:, None])
        density = [sum(map(sets.log_marginal, clusters_of(z))) for _, z in states]
        total += np.exp(log_priors + density).sum()
    assert_allclose(total, 1.0, rtol=1e-10)


def random_state(rng, n=16, n_groups=5):
    """Return groups, labels of groups and labels of rows at random."""
    groups = np.append(np.arange(n_groups), rng.integers(0, n_groups, n - n_groups))
    of_groups = rng.integers(0, 3, n_groups)
    return groups, of_groups, (of_groups[groups] * 4 + rng.integers(0, 4, n)).astype(np.int32)


def test_joint_of_a_run_is_the_naive_one_on_a_thousand_random_states():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(16, 2))
    family = DiagonalGaussian.empirical(X, scale=0.4)
    sets = SetsOfRows(family, X)
    for number in range(1000):
        alpha, beta = rng.gamma(1.0, 2.0, size=2) + 0.01
        groups, of_groups, labels = random_state(rng)
        process = NestedProcess(alpha, beta)
        run = NestedRun(task_of(X, family, groups, process), labels, process, of_groups)
        if number % 2:
            run.visit(np.arange(16, dtype=np.int32))
        naive = nested_log_prior(
            run.group_labels.tolist(), groups.tolist(), run.labels.tolist(), alpha, beta
        )
        naive += sum(map(sets.log_marginal, clusters_of(run.labels)))
        assert_allclose(run.log_joint(), naive, rtol=1e-9)


def test_visits_never_lower_the_joint_and_rows_stay_in_their_mixture(rng):
    X = rng.normal(size=(40, 2)) * 3.0
    family = DiagonalGaussian.empirical(X, scale=0.3)
    groups, of_groups, labels = random_state(rng, 40)
    process = NestedProcess(1.0, 2.0)
    run = NestedRun(task_of(X, family, groups, process), labels, process, of_groups)
    before = run.log_joint()
    for i in rng.integers(0, 40, 200):
        run.visit(np.array([i], dtype=np.int32))
        assert run.log_joint() >= before - 1e-9
        before = run.log_joint()
    for k in np.unique(run.labels):
        assert len(np.unique(run.group_labels[groups[run.labels == k]])) == 1


def test_a_climb_never_drops_and_finds_groups_that_are_alike(rng):
    """Six groups of two kinds: they share both clusters, in other proportions."""
    kind = np.array([0, 1, 0, 1, 0, 1])
    groups = np.repeat(np.arange(6), 40)
    z = rng.random(240) < np.where(kind[groups] == 1, 0.9, 0.1)
    X = rng.normal(size=(240, 2)) + 8.0 * z[:, None]
    family, prior = DiagonalGaussian.empirical(X, scale=0.3), GammaPrior(1.0, 1.0)
    process = NestedProcess(1.0, 1.0)
    task = task_of(X, family, groups, process, (prior, prior))
    found = climb(NestedRun(task, np.zeros(240, dtype=np.int32), process), rng)
    joints = [step.log_joint for step in found.trace]
    assert (np.diff(joints) >= -1e-7).all()
    assert len(set(zip(found.run.group_labels, kind, strict=True))) == 2
