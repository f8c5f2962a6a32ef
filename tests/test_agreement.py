"""Split R-hat and effective sample size beside ArviZ; summaries beside all partitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mapdp.engine.trace import Chains
from mapdp.sampling.agreement import agreement_of, effective_sample_size, in_words, split_r_hat
from mapdp.sampling.summary_partition import credible_ball, loss_between, summary_partition
from tests.partitions import all_partitions


def autoregressive(rng, memory, n_chains, n_sweeps, shift=0.0):
    values = rng.normal(size=(n_chains, n_sweeps))
    for t in range(1, n_sweeps):
        values[:, t] += memory * values[:, t - 1]
    return values + shift * np.arange(n_chains)[:, None]


@pytest.mark.parametrize("memory", [-0.3, 0.0, 0.6, 0.97])
@pytest.mark.parametrize("shift", [0.0, 2.0])
@pytest.mark.parametrize(("n_chains", "n_sweeps"), [(2, 200), (4, 401), (3, 1000)])
def test_arviz_gives_the_same_numbers(memory, shift, n_chains, n_sweeps, rng):
    arviz = pytest.importorskip("arviz")
    chains = autoregressive(rng, memory, n_chains, n_sweeps, shift)
    for values in (chains, np.round(chains)):
        assert_allclose(split_r_hat(values), arviz.rhat(values, method="split"), rtol=1e-9)
        assert_allclose(effective_sample_size(values), arviz.ess(values, method="mean"), rtol=1e-6)


def test_numbers_that_never_change():
    assert split_r_hat(np.full((4, 100), 3)) == 1.0
    assert effective_sample_size(np.full((4, 100), 3)) == 400
    assert split_r_hat(np.repeat([[3], [4]], 100, axis=1)) == np.inf
    assert np.isnan(split_r_hat(np.zeros((4, 3))))


def chains_of(n_clusters, log_joint):
    return Chains(n_clusters, log_joint, np.zeros_like(n_clusters), np.ones(n_clusters.shape))


def test_what_is_said_of_chains(rng):
    joint, same = rng.normal(size=(4, 1000)), np.full((4, 1000), 3)
    assert str(agreement_of(chains_of(same, joint))) == "the chains agree: 3 clusters (> 99%)"
    some = rng.choice([3, 4, 5, 9], p=[0.2, 0.5, 0.24, 0.06], size=(4, 1000))
    assert str(agreement_of(chains_of(some, joint))).startswith("the chains agree: 3 to 5 clusters (9")
    apart = same + np.arange(4)[:, None]
    said = str(agreement_of(chains_of(apart, joint)))
    assert said == "the chains disagree (R-hat inf): do not trust this number; run longer"
    short = agreement_of(chains_of(same[:, :4], np.zeros((4, 4))))
    assert not short.is_good
    assert "too short" in str(short)


@pytest.mark.parametrize("n_effective", [1.0, 10.0, 299.0, 1e6])
def test_nothing_is_certain(n_effective):
    assert "100" not in in_words(1.0, n_effective)
    assert in_words(0.0, n_effective) != "0%"


@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_the_search_finds_the_best_of_all_203_partitions(loss, rng):
    for _ in range(10):
        moved = rng.random((9, 6)) < 0.3
        samples = np.where(moved, rng.integers(0, 4, (9, 6)), rng.integers(0, 3, 6))
        best = min(np.mean([loss_between(z, s, loss) for s in samples]) for z in all_partitions(6))
        found = summary_partition(samples, loss, np.random.default_rng(0))
        assert_allclose(np.mean([loss_between(found, s, loss) for s in samples]), best, atol=1e-12)


def test_losses_by_their_definitions(rng):
    a, b = rng.integers(0, 3, 40), rng.integers(0, 4, 40)
    pairs = (a[:, None] == a) != (b[:, None] == b)
    assert_allclose(loss_between(a, b, "binder"), pairs.mean(), rtol=1e-12)
    both = np.histogram2d(a, b, bins=(3, 4))[0] / 40

    def entropy(p):
        return -(p[p > 0] * np.log(p[p > 0])).sum()

    of_parts = entropy(both.sum(axis=0)) + entropy(both.sum(axis=1))
    assert_allclose(loss_between(a, b), 2.0 * entropy(both.ravel()) - of_parts, rtol=1e-10)


def test_a_ball_by_hand():
    samples = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0], [0, 1, 2, 3]])
    ball = credible_ball(np.array([0, 0, 1, 1]), samples, 0.7)
    assert_allclose(ball.radius, np.log(2.0))
    assert ball.probability == 1.0  # one cluster and singletons are as far
    assert credible_ball(np.array([0, 0, 1, 1]), samples, 0.5).radius == 0.0
