import math

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from mapdp.partitions.concentration import GammaPrior, InverseGammaPrior, most_probable_alpha
from mapdp.partitions.process import PitmanYor
from mapdp.selection import alpha_for, discount_for, expected_clusters, map_alpha

PRIORS = {
    "gamma": (("gamma", 1.0, 1.0), GammaPrior(1.0, 1.0)),
    "vague gamma": (("gamma", 0.1, 0.001), GammaPrior(0.1, 0.001)),
    "inverse gamma": ("inverse-gamma", InverseGammaPrior(0.5, 0.5)),
}
SIZES = [(1, 1), *[(10, k) for k in (1, 2, 5, 9, 10)], *[(1000, k) for k in (1, 3, 40, 500, 999, 1000)]]
SIZES += [(10**6, k) for k in (1, 2, 30, 1000, 10**5, 999_999, 10**6)]

over_priors = pytest.mark.parametrize(("name", "prior"), PRIORS.values(), ids=PRIORS)
over_sizes = pytest.mark.parametrize(("n", "k"), SIZES)


def log_density(u, n, k, prior):
    """The log density of u = log alpha given k clusters of n rows, in 60 digits, as the paper prints it."""
    with mpmath.workdps(60):
        alpha = mpmath.e ** mpmath.mpf(u)
        data = k * mpmath.mpf(u) + mpmath.loggamma(alpha) - mpmath.loggamma(alpha + n)
        if isinstance(prior, GammaPrior):
            return data + prior.shape * u - prior.rate * alpha
        return data - prior.shape * u - prior.scale / alpha


@over_priors
@over_sizes
def test_newton_finds_the_top_of_a_fine_grid(n, k, name, prior):
    """At steps of 1e-8 to the left and to the right the density is lower: the mode is that exact."""
    u = math.log(map_alpha(n, k, prior=name))
    with mpmath.workdps(60):
        here, left, right = (log_density(mpmath.mpf(u) + step, n, k, prior) for step in (0, -1e-8, 1e-8))
        assert here > left
        assert here > right
        coarse = [log_density(grid, n, k, prior) for grid in np.linspace(-8.0, 30.0, 77)]
        assert here > max(coarse) - mpmath.mpf("1e-20")  # a point of the grid may be the mode itself


@over_priors
@pytest.mark.parametrize(("n", "k"), [(10, 3), (1000, 40)])
def test_newton_agrees_with_scipy(n, k, name, prior):
    def cost(u):
        return gammaln(np.exp(u) + n) - gammaln(np.exp(u)) - k * u - prior.log_density(np.exp(u))

    found = minimize_scalar(cost, bounds=(-10.0, 10.0), method="bounded", options={"xatol": 1e-10})
    assert_allclose(math.log(most_probable_alpha(n, k, prior)), found.x, atol=1e-6)


@over_priors
def test_slope_and_curvature_are_those_of_the_density(name, prior):
    alpha, h = 0.7, 1e-3
    up, here, down = (prior.log_density(alpha * np.exp(step)) for step in (h, 0.0, -h))
    assert_allclose(prior.slope(alpha), (up - down) / (2 * h), rtol=1e-5)
    assert_allclose(prior.curvature(alpha), (up - 2 * here + down) / h**2, rtol=1e-4)


@over_priors
def test_the_density_of_log_alpha_has_mass_one(name, prior):
    grid = np.linspace(-150.0, 150.0, 300_001)
    with np.errstate(over="ignore"):
        density = np.array([np.exp(prior.log_density(np.exp(u))) for u in grid])
    assert_allclose(density.sum() * 0.001, 1.0, rtol=1e-3)


DISCOUNTED = [(500, 7, 0.05), (500, 7, 0.8), (1000, 1000, 0.1), (10**6, 500, 0.3), (10**6, 999_990, 0.1)]


@pytest.mark.parametrize(("n", "k", "discount"), DISCOUNTED)
@pytest.mark.parametrize("name", ["inverse-gamma", ("gamma", 0.1, 0.001)])
def test_the_mode_with_a_discount_is_a_top(n, k, discount, name):
    """The slope of the log density, in 40 digits, changes its sign within 1e-8 of the mode."""
    prior = InverseGammaPrior() if name == "inverse-gamma" else GammaPrior(0.1, 0.001)

    def slope(u):
        alpha = mpmath.e**u
        clusters = (
            alpha / discount * (mpmath.psi(0, alpha / discount + k) - mpmath.psi(0, alpha / discount))
        )
        rows = alpha * (mpmath.psi(0, alpha + n) - mpmath.psi(0, alpha))
        if isinstance(prior, GammaPrior):
            return clusters - rows + prior.shape - prior.rate * alpha
        return clusters - rows + prior.scale / alpha - prior.shape

    with mpmath.workdps(40):
        u = mpmath.log(mpmath.mpf(map_alpha(n, k, prior=name, discount=discount)))
        assert slope(u - mpmath.mpf("1e-8")) > 0 > slope(u + mpmath.mpf("1e-8"))


def test_the_mode_with_a_discount_is_the_best_of_a_grid():
    prior, sizes = GammaPrior(1.0, 1.0), [300, 150, 40, 6, 2, 1, 1]

    def log_joint(u):
        return PitmanYor(np.exp(u), 0.3).log_eppf(sizes) + prior.log_density(np.exp(u))

    found = math.log(map_alpha(500, 7, prior=("gamma", 1.0, 1.0), discount=0.3))
    assert log_joint(found) >= max(log_joint(u) for u in np.linspace(-12.0, 8.0, 2001)) - 1e-9


@pytest.mark.parametrize(
    ("alpha", "discount"), [(0.01, 0.0), (1.0, 0.0), (1e5, 0.0), (0.5, 0.3), (20.0, 0.7)]
)
@pytest.mark.parametrize("n", [1, 2, 10, 11, 500])
def test_expected_clusters_are_those_of_seating_one_by_one(n, alpha, discount):
    """The next row opens a cluster with probability (alpha + discount K) / (alpha + i)."""
    expected = 0.0
    for i in range(n):
        expected += (alpha + discount * expected) / (alpha + i)
    assert_allclose(expected_clusters(n, alpha, discount), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("n", "alpha", "discount"),
    [(10**6, 100.0, 1e-9), (1000, 1.0, 1e-12), (10**6, 1e8, 0.3), (10**6, 0.01, 0.9), (10**4, 3.0, 0.0)],
)
def test_expected_clusters_of_many_rows(n, alpha, discount):
    """The closed form in 50 digits; without a discount, its limit."""
    with mpmath.workdps(50):
        a, d = mpmath.mpf(alpha), mpmath.mpf(discount)
        if discount == 0.0:
            exact = a * (mpmath.psi(0, a + n) - mpmath.psi(0, a))
        else:
            log_ratio = [mpmath.loggamma(x) for x in (a + d + n, a, a + n, a + d)]
            exact = a / d * mpmath.expm1(log_ratio[0] + log_ratio[1] - log_ratio[2] - log_ratio[3])
        assert_allclose(expected_clusters(n, alpha, discount), float(exact), rtol=1e-9)


@pytest.mark.parametrize(("n", "k"), [(10, 2.0), (10, 9.9), (1000, 1.01), (10**6, 12.0), (10**6, 9e5)])
def test_alpha_for_inverts_the_expectation(n, k):
    assert_allclose(expected_clusters(n, alpha_for(n, k)), k, rtol=1e-9)


@pytest.mark.parametrize(
    ("n", "k", "discount"),
    [(1000, 60.0, 0.1), (1000, 60.0, 0.5), (1000, 900.0, 1e-8), (10**6, 9e5, 0.01), (1000, 999.9999, 0.1)],
)
def test_alpha_for_inverts_the_expectation_under_a_discount(n, k, discount):
    assert_allclose(expected_clusters(n, alpha_for(n, k, discount), discount), k, rtol=1e-8)


@pytest.mark.parametrize("k", [8.0, 30.0, 500.0])
def test_discount_for_inverts_the_expectation(k):
    assert_allclose(expected_clusters(1000, 1.0, discount_for(1000, k, 1.0)), k, rtol=1e-8)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: map_alpha(10, 11), "k must be at most the number of rows, got k=11 and n=10"),
        (lambda: map_alpha(0, 1), "n must be at least 1, got 0"),
        (lambda: map_alpha(10, 2, prior="flat"), 'the prior of alpha must be ("gamma", shape, rate)'),
        (lambda: map_alpha(10, 2, discount=1.5), "discount must be from 0 to below 1, got 1.5"),
        (lambda: map_alpha(10, 2, discount=-0.5), "discount must not be negative, got -0.5"),
        (lambda: expected_clusters(10, -1.0), "alpha must be positive and finite, got -1.0"),
        (lambda: alpha_for(10, 11.0), "expected clusters must be above 1 and below the 10 rows, got 11.0"),
        (lambda: alpha_for(1000, 1.5, 0.5), "expected clusters must be above"),
        (lambda: discount_for(1000, 2.0, 1.0), "with alpha=1.0 a discount gives from 7.485"),
    ],
)
def test_bad_arguments_get_one_clear_sentence(call, words):
    with pytest.raises(ValueError, match="Hint") as caught:
        call()
    assert words in str(caught.value)
