"""Logarithms, exponentials and gamma functions in a form that loops over chairs can vectorise.

There are no branches and no library calls, so the compiler turns a loop over all chairs of a row into
vector code; and differences of log gammas are computed as differences, never as two large numbers
subtracted (that loses 4e-10 at 5e5).
"""

import math

from mapdp.compiled import lanes as _lanes  # noqa: F401 - teaches numba what `log` does to lanes
from mapdp.compiled.jit import bits_of, called, float_of, inlined

LOG_2 = math.log(2.0)
LOG_PI = math.log(math.pi)
LOG_2PI = math.log(2.0 * math.pi)

_HALF_ROOT = int(bits_of(math.sqrt(0.5)))
_MANTISSA = (1 << 52) - 1
_TWO_52_BITS = int(bits_of(2.0**52))
_ONE_BITS = int(bits_of(1.0))
# The exponent field of 1.0 is 1023; 2^52 is what the integer carries when it is read as a float.
_EXPONENT_ZERO = 2.0**52 + 1023.0
_CHUNK = 8  # factors multiplied before their exponent is set aside
_ROUNDER = 1.5 * 2.0**52  # a number below 2^51 that is added to it loses its fraction
_LOG_2_HIGH = float_of(bits_of(LOG_2) & ~((1 << 24) - 1))  # times a whole number below 2^20 it is exact
_LOG_2_LOW = 2.3190468138462996e-17 + (LOG_2 - _LOG_2_HIGH)  # what log 2 has beyond that


@inlined
def parted(x):
    """Return e and m with x = 2^e m, m between sqrt(1/2) and sqrt(2), for a positive normal number."""
    shifted = bits_of(x) + (_ONE_BITS - _HALF_ROOT)
    exponent = float_of((shifted >> 52) | _TWO_52_BITS) - _EXPONENT_ZERO
    return exponent, float_of((shifted & _MANTISSA) + _HALF_ROOT)


@inlined
def log_of_parts(exponent, mantissa):
    """Return log(2^e m) for m between sqrt(1/2) and sqrt(2), to about one unit in the last place.

    log m = 2 atanh(s), s = (m - 1) / (m + 1), where the odd series is a minimax polynomial of degree 6
    in s^2 (error 1e-17).
    """
    f = mantissa - 1.0
    s = f / (2.0 + f)
    z = s * s
    r = 0.15331710618210771568 + 0.14616585424888621989 * z
    r = r * z + 0.18182889455674946039
    r = r * z + 0.22222211130259877029
    r = r * z + 0.28571428626003268742
    r = r * z + 0.39999999999899443233
    r = r * z + 0.66666666666666696883
    return exponent * LOG_2 + (2.0 * s + s * z * r)


@inlined
def log(x):
    """Return the natural logarithm of a positive normal number."""
    exponent, mantissa = parted(x)
    return log_of_parts(exponent, mantissa)


@inlined
def log_one_plus(x):
    """Return log(1 + x) for x from 0 up, also where 1 + x would lose the digits of x."""
    y = 1.0 + x
    return log(y) + (x - (y - 1.0)) / y


@inlined
def times(exponent, product, factor, j):
    """Multiply a running product 2^exponent * product by its factor number j.

    The log of a product then costs one logarithm. Where factors are beyond 1e38 each, it goes flat.
    """
    product *= factor
    if j % _CHUNK == _CHUNK - 1:
        e, product = parted(product)
        exponent += e
    return exponent, product


@inlined
def log_of_product(exponent, product):
    """Return the log of a running product."""
    e, rest = parted(product)
    return log_of_parts(exponent + e, rest)


@inlined
def exp(x):
    """Return e to the power of x, for x between -700 and 700, to about one unit in the last place.

    x = n log 2 + r with |r| <= log(2) / 2, where the Taylor series needs 12 terms; n goes to the exponent.
    """
    shifted = x * (1.0 / LOG_2) + _ROUNDER
    n = shifted - _ROUNDER
    r = (x - n * _LOG_2_HIGH) - n * _LOG_2_LOW
    series = 1.0 / 39916800.0 + r * (1.0 / 479001600.0)
    series = series * r + 1.0 / 3628800.0
    series = series * r + 1.0 / 362880.0
    series = series * r + 1.0 / 40320.0
    series = series * r + 1.0 / 5040.0
    series = series * r + 1.0 / 720.0
    series = series * r + 1.0 / 120.0
    series = series * r + 1.0 / 24.0
    series = series * r + 1.0 / 6.0
    series = series * r + 0.5
    series = series * r * r + r + 1.0
    return series * float_of((bits_of(shifted) + 1023) << 52)


@inlined
def _half_step_series(a):
    """Return log gamma(a + 1/2) - log gamma(a) - log(a) / 2 for a >= 12."""
    u = 1.0 / a
    z = u * u
    r = -691.0 / 180224.0
    r = r * z + 31.0 / 18432.0
    r = r * z - 17.0 / 14336.0
    r = r * z + 1.0 / 640.0
    r = r * z - 1.0 / 192.0
    r = r * z + 1.0 / 8.0
    return -u * r


@called
def log_gamma_half_step(a):
    """Return log gamma(a + 1/2) - log gamma(a)."""
    if a >= 12.0:  # where the series has reached rounding error
        return 0.5 * log(a) + _half_step_series(a)
    above, below = 1.0, 1.0
    for i in range(12):
        above *= a + i
        below *= a + i + 0.5
    a += 12.0
    return 0.5 * log(a) + _half_step_series(a) + log(above / below)


@inlined
def stirling(z):
    """Return the correction of Stirling's formula for z >= 8."""
    u = 1.0 / z
    w = u * u
    r = 1.0 / 156.0
    r = r * w - 691.0 / 360360.0
    r = r * w + 1.0 / 1188.0
    r = r * w - 1.0 / 1680.0
    r = r * w + 1.0 / 1260.0
    r = r * w - 1.0 / 360.0
    r = r * w + 1.0 / 12.0
    return r * u


@called
def log_rising(a, x):
    """Return log gamma(a + x) - log gamma(a), for a > 0 and x >= 0.

    Both arguments go up by 8, where Stirling's series is exact to rounding; the 8 factors that this
    adds are taken off again as the logarithm of one ratio.
    """
    b = a + x
    over = (a / b) * ((a + 1.0) / (b + 1.0))  # products of a would overflow where an alpha is huge
    over *= ((a + 2.0) / (b + 2.0)) * ((a + 3.0) / (b + 3.0))
    over *= ((a + 4.0) / (b + 4.0)) * ((a + 5.0) / (b + 5.0))
    over *= ((a + 6.0) / (b + 6.0)) * ((a + 7.0) / (b + 7.0))
    a8, b8 = a + 8.0, b + 8.0
    body = (a8 - 0.5) * log_one_plus(x / a8) + x * log(b8) - x
    return body + (stirling(b8) - stirling(a8)) + log(over)


@inlined
def log_sitting(n, discount):
    """Return log gamma(n - discount) - log gamma(1 - discount), for n above the discount.

    It is the log weight that the prior over partitions gives to n rows that sit together.
    """
    if n >= 1.0:
        return log_rising(1.0 - discount, n - 1.0)
    return -log_rising(n - discount, 1.0 - n)


@called
def log_beta_step(success, failure, more_success, more_failure):
    """Return log B(a + s, b + f) - log B(a, b)."""
    both = log_rising(success + failure, more_success + more_failure)
    return log_rising(success, more_success) + log_rising(failure, more_failure) - both
