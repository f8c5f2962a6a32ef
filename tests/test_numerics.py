import fractions

import mpmath
import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mapdp.compiled import exact, jit, large_counts, linalg, special

positive = st.floats(1e-300, 1e300)


@given(positive)
def test_log_is_right_to_rounding(x):
    assert_allclose(special.log(x), np.log(x), rtol=5e-16, atol=5e-16)


finite = st.floats(-1e150, 1e150)


@settings(max_examples=500)
@given(finite, finite, st.one_of(finite, st.none()))
@example(1.0 + 2.0**-52, 1.0 - 2.0**-53, -1.0)
@example(3e-200, 7e-120, 1e-320)
@example(1.0, 0.0, 5.0)
def test_a_product_and_a_sum_are_rounded_once(a, b, c):
    """In Python, beside fractions; where c is None it is minus the product, so that the rest is left."""
    c = -(a * b) if c is None else c
    expected = float(fractions.Fraction(a) * fractions.Fraction(b) + fractions.Fraction(c))
    assert jit.multiplied_and_added(a, b, c) == expected
    assert (jit.multiplied_and_added(np.full(2, a), b, c) == expected).all()


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


@given(st.floats(1e20, 1e290), st.floats(1, 1e7))
def test_rising_from_a_huge_number_is_a_power_of_it(a, x):
    assert_allclose(special.log_rising(a, x), x * np.log(a), rtol=1e-13)


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


def test_a_factor_and_the_lengths_it_gives(rng):
    base = rng.normal(size=(5, 9))
    vector, matrix = rng.normal(size=5), base @ base.T
    factor = np.zeros((5, 5, 1))
    linalg.factorise(matrix[:, :, None], factor, 0, np.zeros(5))
    assert_allclose(factor[:, :, 0], np.linalg.cholesky(matrix), rtol=1e-10, atol=1e-12)
    length = linalg.squared_length(factor, 0, vector.copy())
    assert_allclose(length, vector @ np.linalg.solve(matrix, vector), rtol=1e-8)


def test_no_pivot_of_a_factor_is_below_its_floor():
    """Rows on a line have a singular scatter; the prior's pivots keep the factor away from it."""
    line = np.array([1.0, 2.0, 3.0])
    factor = np.zeros((3, 3, 1))
    linalg.factorise(np.outer(line, line)[:, :, None], factor, 0, np.full(3, 0.5))
    assert_allclose(np.diag(factor[:, :, 0]), [1.0, 0.5, 0.5])


def as_sum(value, lost):
    return mpmath.mpf(value) + mpmath.mpf(lost)


@given(st.floats(1e-300, 1e300))
def test_an_exact_logarithm_has_thirty_digits(x):
    with mpmath.workdps(60):
        expected = mpmath.log(mpmath.mpf(x))
        assert abs(as_sum(*large_counts.log_exactly(x, 0.0)) - expected) <= 1e-30 * (1 + abs(expected))


@given(st.floats(1e-3, 1e16), st.floats(0, 1e16))
def test_an_exact_rising_factorial_does_not_round_where_it_is_large(a, x):
    with mpmath.workdps(60):
        b = mpmath.mpf(a) + mpmath.mpf(x)
        expected = mpmath.loggamma(b) - mpmath.loggamma(mpmath.mpf(a))
        assert abs(as_sum(*large_counts.log_rising_exactly(a, x, 0.0)) - expected) <= 1e-9


@given(st.floats(0.01, 1e16), st.floats(0.01, 1e8), st.integers(0, 10**15))
def test_the_chance_of_a_count_keeps_its_digits(shape, rate, count):
    with mpmath.workdps(60):
        s, r = mpmath.mpf(shape), mpmath.mpf(rate)
        gammas = mpmath.loggamma(s + count) - mpmath.loggamma(s) - mpmath.loggamma(count + 1)
        expected = float(gammas + s * mpmath.log(r / (r + 1)) - count * mpmath.log(r + 1))
    found = large_counts.log_chance_of_count(shape, rate, float(count))
    assert_allclose(found, expected, rtol=1e-10, atol=1e-9)


@given(st.floats(0.01, 1e16), st.floats(0.01, 1e16), st.integers(0, 10**15), st.integers(0, 10**15))
def test_the_chance_of_trials_keeps_its_digits(a, b, s, f):
    with mpmath.workdps(60):
        p, q = mpmath.mpf(a), mpmath.mpf(b)
        orders = -_log_beta(mpmath.mpf(s + 1), f + 1) - mpmath.log(s + f + 1)
        expected = float(_log_beta(p + s, q + f) - _log_beta(p, q) + orders)
    found = large_counts.log_chance_of_trials(a, b, float(s), float(f))
    assert_allclose(found, expected, rtol=1e-10, atol=1e-9)


def _log_beta(a, b):
    return mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b)


@given(st.floats(0, 12), st.integers(0, 2**32 - 1))
def test_a_factor_of_exact_sums_knows_nearly_singular_matrices(far, seed):
    """A unit matrix plus an outer product that is up to 1e24 times as large has the determinant 1 + v'v."""
    v = np.random.default_rng(seed).normal(size=4) * 10.0**far
    high, low = np.vectorize(exact.two_product)(v[:, None], v)
    for j in range(4):
        high[j, j], low[j, j] = exact.added(high[j, j], low[j, j], 1.0, 0.0)
    factor = (np.tril(high) + np.triu(low.T, 1))[:, :, None]  # what sums lost stands above the diagonal
    linalg.factorise_exactly(factor, np.diag(low)[:, None].copy(), 0, np.zeros(4))
    with mpmath.workdps(60):
        expected = float(mpmath.log(1 + mpmath.fsum(mpmath.mpf(x) ** 2 for x in v)))
    assert_allclose(2.0 * np.log(np.diag(factor[:, :, 0])).sum(), expected, rtol=1e-9, atol=1e-7)
