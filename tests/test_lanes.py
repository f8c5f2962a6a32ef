"""Eight chairs at a time do what one chair does, compiled and interpreted."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mapdp.compiled.exact import added, squares_about_mean
from mapdp.compiled.jit import kernel
from mapdp.compiled.lanes import LANES, larger, largest, load, spread, store, whole_lanes
from mapdp.compiled.special import exp, log, log_gamma_half_step, log_rising


@kernel
def mixed_arithmetic(a, b, out):
    for k in range(0, a.shape[0], LANES):
        x, y = load(a, k), load(b, k)
        z = 2.0 * x + y / 3.0 - x * y
        z += 1.0
        z *= 0.5 - x
        z -= y
        z /= y
        store(out, k, larger(z, spread(-1.0)))


@kernel
def logs(a, out):
    for k in range(0, a.shape[0], LANES):
        store(out, k, log(load(a, k)))


@kernel
def exps(a, out):
    for k in range(0, a.shape[0], LANES):
        store(out, k, exp(load(a, k)))


@kernel
def risings(a, x, out):
    for k in range(0, a.shape[0], LANES):
        store(out, k, log_rising(load(a, k), x))


@kernel
def highest_of(a):
    return largest(load(a, 0))


def test_arithmetic_is_that_of_numpy(rng):
    a, b = rng.normal(size=(2, 3 * LANES))
    compiled, interpreted = np.empty((2, 3 * LANES))
    mixed_arithmetic(a, b, compiled)
    mixed_arithmetic.py_func(a, b, interpreted)
    z = (((2.0 * a + b / 3.0 - a * b) + 1.0) * (0.5 - a) - b) / b
    assert_allclose(compiled, np.maximum(z, -1.0), rtol=1e-13)
    assert_allclose(interpreted, np.maximum(z, -1.0), rtol=1e-15)


def test_exponentials_are_those_of_the_library(rng):
    a = rng.uniform(-700.0, 700.0, size=512)
    a[:8] = 0.0, -0.0, 1e-300, -1e-17, math.log(2.0), -0.5 * math.log(2.0), 700.0, -700.0
    compiled, interpreted = np.empty((2, 512))
    exps(a, compiled)
    exps.py_func(a, interpreted)
    assert_allclose(compiled, np.exp(a), rtol=5e-16)
    assert_allclose(interpreted, np.exp(a), rtol=5e-16)
    assert float(exp(1.0)) == math.e


def test_logarithms_are_those_of_the_library(rng):
    a = np.exp(rng.uniform(-600.0, 600.0, size=512))
    a[:8] = 1.0, math.nextafter(1.0, 2.0), math.nextafter(1.0, 0.0), 0.5, 2.0, math.sqrt(0.5), 1e-300, 1e300
    compiled, interpreted = np.empty((2, 512))
    logs(a, compiled)
    logs.py_func(a, interpreted)
    assert_allclose(compiled, np.log(a), rtol=4e-16, atol=2e-16)
    assert_allclose(interpreted, np.log(a), rtol=4e-16, atol=2e-16)


def test_log_rising_is_the_same_for_lanes_and_numbers(rng):
    a, out = np.exp(rng.uniform(-3.0, 9.0, size=64)), np.empty(64)
    risings(a, 3.5, out)
    assert_allclose(out, [log_rising(number, 3.5) for number in a], rtol=1e-13)


@pytest.mark.parametrize("place", range(LANES))
def test_the_largest_lane_is_found_wherever_it_is(place):
    numbers = -np.arange(float(LANES))
    numbers[place] = 7.0
    assert highest_of(numbers) == highest_of.py_func(numbers) == 7.0


def test_arrays_hold_whole_lanes():
    assert_array_equal([whole_lanes(n) for n in (1, LANES, LANES + 1)], [LANES, LANES, 2 * LANES])


def test_small_functions_run_as_written_without_a_compiler():
    assert_allclose(log_gamma_half_step(3.0), math.lgamma(3.5) - math.lgamma(3.0), rtol=1e-14)
    total, lost = added(1e16, 0.0, 1.0, 0.0)
    assert total + lost == 1e16 + 1.0 or (total, lost) == (1e16, 1.0)
    assert squares_about_mean(6.0, 0.0, 14.0, 0.0, 3.0, 1.0 / 3.0) == pytest.approx(2.0)
