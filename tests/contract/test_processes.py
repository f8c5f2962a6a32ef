"""What every prior over partitions must do."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import gammaln

from mapdp import DirichletProcess, MixtureOfFiniteMixtures, PitmanYor, sample_crp
from tests.contract.cases import over_processes
from tests.partitions import all_partitions, canonical


def sizes_of(labels):
    return np.bincount(labels)


@over_processes
def test_all_203_partitions_of_6_rows_sum_to_one(process):
    partitions = list(all_partitions(6))
    assert len(partitions) == 203
    total = sum(np.exp(process.log_eppf(sizes_of(labels))) for labels in partitions)
    assert_allclose(total, 1.0, rtol=1e-12)


@over_processes
def test_seating_one_by_one_gives_the_eppf(process, rng):
    labels = process.sample(30, rng)
    total = 0.0
    for i, k in enumerate(labels):
        seated = sizes_of(labels[:i]) if i else []
        total += process.log_seating(seated)[k]
    assert_allclose(total, process.log_eppf(sizes_of(labels)), rtol=1e-12)


@over_processes
def test_the_order_of_clusters_does_not_matter(process):
    assert_allclose(process.log_eppf([3, 1, 5]), process.log_eppf([5, 3, 1]))


@over_processes
def test_sample_frequencies_match_the_eppf(process):
    """52 partitions of 5 rows, 4000 draws: the total variation of honest draws is about 0.035."""
    rng = np.random.default_rng(1)
    partitions = [canonical(labels) for labels in all_partitions(5)]
    tally = dict.fromkeys(partitions, 0)
    for _ in range(4000):
        tally[canonical(process.sample(5, rng))] += 1
    exact = np.array([np.exp(process.log_eppf(sizes_of(np.array(p)))) for p in partitions])
    observed = np.array([tally[p] for p in partitions]) / 4000
    assert 0.5 * np.abs(observed - exact).sum() < 0.06
    uniform = np.full(52, 1 / 52)
    assert 0.5 * np.abs(observed - uniform).sum() > 0.2  # the bound can be exceeded


def test_pitman_yor_without_discount_is_the_dirichlet_process():
    sizes = [4, 2, 1]
    assert PitmanYor(1.3, 0.0).log_eppf(sizes) == DirichletProcess(1.3).log_eppf(sizes)


def test_expected_number_of_clusters():
    """E[K] = sum alpha / (alpha + i); 300 draws put the mean within 5 standard errors."""
    rng = np.random.default_rng(0)
    counts = [sample_crp(200, 3.0, rng).max() + 1 for _ in range(300)]
    expected = (3.0 / (3.0 + np.arange(200))).sum()
    assert abs(np.mean(counts) - expected) < 5 * np.std(counts) / np.sqrt(300)


@pytest.mark.parametrize("alpha", [-1.0, 0.0, np.nan, np.inf])
def test_bad_alpha_is_named(alpha):
    with pytest.raises(ValueError, match="alpha must be positive"):
        DirichletProcess(alpha)


@pytest.mark.parametrize("discount", [-0.1, 1.0, 2.0])
def test_bad_discount_is_named(discount):
    with pytest.raises(ValueError, match=f"discount must .*got {discount}"):
        PitmanYor(1.0, discount)


def test_a_mixture_of_finite_mixtures_is_a_sum_over_the_number_of_components():
    """K components with probability Poisson(K - 1), Dirichlet weights: the chance of [0, 0, 1], by hand."""
    rate, gamma, total = 1.5, 0.8, 0.0
    for components in range(1, 80):
        prior = stats.poisson(rate).pmf(components - 1)
        rising = gamma * components * (gamma * components + 1) * (gamma * components + 2)
        total += prior * components * (components - 1) * gamma * (gamma + 1) * gamma / rising
    process = MixtureOfFiniteMixtures(concentration=gamma, rate=rate)
    assert_allclose(np.exp(process.log_eppf([2, 1])), total, rtol=1e-10)


@pytest.mark.parametrize("alpha", [1e7, 1e12, 1e15])
def test_a_huge_alpha_keeps_probabilities_below_one(alpha):
    """Ten rows apart: sum of log(alpha / (alpha + i)), which is -45 / alpha to first order."""
    value = DirichletProcess(alpha).log_eppf(np.ones(10))
    assert_allclose(value, -45.0 / alpha, rtol=1e-3, atol=1e-12)


@pytest.mark.parametrize("sizes", [[0.7, 1.4, 2.2], [2.0, 1.0, 1.0], [0.3]])
def test_rows_that_count_for_fractions_are_not_rounded(sizes):
    """V_n(t) is a sum over the number of components, and n, what all rows count for, need not be whole."""
    gamma, k = 0.8, np.arange(1, 200)

    def log_v(n, t):
        falling = gammaln(k + 1.0) - gammaln(np.maximum(k - t, 0) + 1.0)
        terms = stats.poisson.logpmf(k - 1, 1.7) + falling + gammaln(gamma * k) - gammaln(gamma * k + n)
        return np.logaddexp.reduce(terms[k >= t])

    process, n, t = MixtureOfFiniteMixtures(gamma, 1.7), sum(sizes), len(sizes)
    joined = gammaln(np.array(sizes) + gamma) - gammaln(gamma)
    assert_allclose(process.log_eppf(sizes), log_v(n, t) + joined.sum(), rtol=1e-12)
    new = np.log(gamma) + log_v(n + 1.0, t + 1) - log_v(n + 1.0, t)
    weights = np.append(np.log(np.array(sizes) + gamma), new)
    assert_allclose(process.log_seating(sizes), weights - np.logaddexp.reduce(weights), rtol=1e-12)
