"""Large counts: their log gammas as exact sums, and their probabilities without log gammas.

At a count of 1e15 a log gamma is 3e16, and rounding alone is several nats. A marginal is a sum of such
terms that cancel, so it carries them as exact sums. A single probability is written by how far the count
is from where it is expected (Loader 2000): what cancels is never formed.
"""

import fractions
import math

import numpy as np

from mapdp.compiled.exact import added, product_of, ratio_of, several, two_product, two_sum
from mapdp.compiled.jit import called, inlined, multiplied_and_added
from mapdp.compiled.special import LOG_2PI, log, log_one_plus, log_rising, parted, stirling

MANY = 1e5  # up to this count log gammas round by less than 1e-9 nats

_TERMS = 20  # of the series of log: the next one is below 1e-32
_ODD = [fractions.Fraction(1, 2 * k + 1) for k in range(_TERMS)]
_HIGH = np.array([float(share) for share in _ODD])
_LOW = np.array([float(share - fractions.Fraction(float(share))) for share in _ODD])
_LOG_2 = 0.6931471805599453
_LOG_2_LOST = 2.3190468138462996e-17


@called
def log_exactly(x, x_low):
    """Return the logarithm of a positive exact sum as an exact sum: 2^e m has e log 2 + 2 atanh(s)."""
    exponent, m = parted(x)
    above, lost = two_sum(m, 1.0)
    s, s_low = ratio_of(m - 1.0, 0.0, above, lost)
    z, z_low = product_of(s, s_low, s, s_low)
    total, rest = 0.0, 0.0
    for k in range(_TERMS - 1, -1, -1):
        total, rest = product_of(total, rest, z, z_low)
        total, rest = added(total, rest, _HIGH[k], _LOW[k])
    total, rest = product_of(2.0 * s, 2.0 * s_low, total, rest)
    high, low = several(_LOG_2, _LOG_2_LOST, exponent)
    return added(high, low, total, rest + x_low / x)


@called
def log_gamma_exactly(x, x_low):
    """Return log gamma of an exact sum above `MANY` as an exact sum, by Stirling's formula."""
    log_x, log_low = log_exactly(x, x_low)
    less, less_low = added(x, x_low, -0.5, 0.0)
    total, rest = product_of(less, less_low, log_x, log_low)
    total, rest = added(total, rest, -x, -x_low)
    return added(total, rest, 0.5 * LOG_2PI + stirling(x), 0.0)


@called
def log_rising_exactly(a, x, x_low):
    """Return log gamma(a + x) - log gamma(a) as an exact sum, for a > 0 and an exact sum x >= 0."""
    if a + x <= MANY:
        return log_rising(a, x), 0.0
    b, b_low = added(x, x_low, a, 0.0)
    high, low = log_gamma_exactly(b, b_low)
    if a > MANY:
        below, lost = log_gamma_exactly(a, 0.0)
        return added(high, low, -below, -lost)
    return added(high, low, -math.lgamma(a), 0.0)


@called
def times_log_exactly(x, x_low, y, y_low):
    """Return x log y for exact sums, as an exact sum."""
    if x <= MANY:
        return x * log(y), 0.0
    log_y, log_low = log_exactly(y, y_low)
    return product_of(x, x_low, log_y, log_low)


@inlined
def _deviance(count, expected, beyond):
    """Return count log(count / expected) + beyond, where `beyond` is expected - count: never below 0."""
    if count == 0.0:
        return beyond
    u = beyond / count
    s = beyond / (count + expected)
    if abs(s) > 0.1:
        return beyond - count * log(expected / count)
    z = s * s  # u - log(1 + u) = s (u - 2 z (1/3 + z/5 + z^2/7 + ...))
    series = 0.0
    for k in range(9, 0, -1):
        series = series * z + _HIGH[k]
    return count * s * (u - 2.0 * z * series)


@inlined
def _beyond_stirling(x):
    """Return log gamma(x + 1) - x log x + x."""
    if x >= 8.0:
        return 0.5 * (LOG_2PI + log(x)) + stirling(x)
    return math.lgamma(x + 1.0) + x - (x * math.log(x) if x > 0.0 else 0.0)


@called
def log_chance_of_count(shape, rate, count):
    """Return the log probability of a count whose mean has a Gamma distribution."""
    beyond = multiplied_and_added(count, rate, -shape) / (rate + 1.0)
    expected = (shape + count) / (rate + 1.0)
    far = _deviance(shape, rate * expected, beyond) + _deviance(count, expected, -beyond)
    near = _beyond_stirling(shape + count) - _beyond_stirling(shape) - _beyond_stirling(count)
    return near - far - log_one_plus(count / shape)


@called
def log_chance_of_trials(a, b, successes, failures):
    """Return the log probability of so many successes and failures, in any order, under a Beta(a, b)."""
    n, both = successes + failures, a + b
    p, p_low = two_product(successes, b)
    q, q_low = two_product(failures, a)
    beyond = ((p - q) + (p_low - q_low)) / (both + n)
    chance, other = (a + successes) / (both + n), (b + failures) / (both + n)
    far = _deviance(successes, n * chance, -beyond) + _deviance(failures, n * other, beyond)
    far += _deviance(a, both * chance, beyond) + _deviance(b, both * other, -beyond)
    near = _beyond_stirling(n) - _beyond_stirling(successes) - _beyond_stirling(failures)
    near += _beyond_stirling(both) - _beyond_stirling(a) - _beyond_stirling(b)
    near += _beyond_stirling(a + successes) + _beyond_stirling(b + failures) - _beyond_stirling(both + n)
    shares = log(a / (a + successes)) + log(b / (b + failures)) + log_one_plus(n / both)
    return near - far + shares
