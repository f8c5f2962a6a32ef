import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mapdp import exact, linalg, special

positive = st.floats(1e-300, 1e300)


@given(positive)
def test_log_is_right_to_rounding(x):
    assert_allclose(special.log(x), np.log(x), rtol=5e-16, atol=5e-16)


def log_gamma_difference(a, x):
    """Return log gamma(a + x) - log gamma(a) by way of 60 digits."""
    with mpmath.workdps(60):
        return float(mpmath.loggamma(mpmath.mpf(a) + mpmath.mpf(x)) - mpmath.loggamma(mpmath.mpf(a)))


@given(st.floats(1e-3, 1e9))
def test_half_step_keeps_all_digits(a):
    expected = log_gamma_difference(a, 0.5)
    assert_allclose(special.log_gamma_half_step(a), expected, rtol=1e-14, atol=1e-14)


@given(st.floats(1e-3, 1e7), st.floats(0, 1e7))
def test_rising_keeps_most_digits(a, x):
    expected = log_gamma_difference(a, x)
    assert_allclose(special.log_rising(a, x), expected, rtol=1e-13, atol=1e-15 * a + 1e-13)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30), st.floats(-1e6, 1e6))
def test_exact_sums_give_the_variance_far_from_zero(values, offset):
    values = [float(np.round(v * 8) / 8 + np.round(offset) * 1e3) for v in values]
    total, lost, square, square_lost = 0.0, 0.0, 0.0, 0.0
    for value in values:
        total, lost = exact.added(total, lost, value, 0.0)
        p, e = exact.two_product(value, value)
        square, square_lost = exact.added(square, square_lost, p, e)
    with mpmath.workdps(60):
        mean = mpmath.fsum(values) / len(values)
        expected = float(mpmath.fsum((mpmath.mpf(v) - mean) ** 2 for v in values))
    n = float(len(values))
    found = exact.squares_about_mean(total, lost, square, square_lost, n, 1.0 / n)
    assert_allclose(found, expected, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_rank_one_change_of_a_factor(sign, rng):
    base = rng.normal(size=(5, 9))
    vector = rng.normal(size=5)
    matrix = base @ base.T + np.outer(vector, vector)
    factor = np.linalg.cholesky(matrix)[:, :, None].copy()
    linalg.rank_one(factor, 0, vector.copy(), sign, np.zeros(5))
    expected = matrix + sign * np.outer(vector, vector)
    assert_allclose(factor[:, :, 0] @ factor[:, :, 0].T, expected, rtol=1e-10, atol=1e-10)
    length = linalg.squared_length(factor, 0, vector.copy())
    assert_allclose(length, vector @ np.linalg.solve(expected, vector), rtol=1e-8)
