"""Knows sums that forget nothing: each is kept as two floats, the second holding what the first lost.

The one idea: a row that leaves takes away exactly what it brought, so statistics do not depend on who
came and went before, and a variance survives the subtraction of two nearly equal sums.
"""

from mapdp._jit import inlined, multiplied_and_added


@inlined
def two_sum(a, b):
    """Return a + b rounded, and the rounding error."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@inlined
def two_product(a, b):
    """Return a * b rounded, and the rounding error."""
    p = a * b
    return p, multiplied_and_added(a, b, -p)


@inlined
def several(high, low, times):
    """Return an exact sum so many times."""
    product, lost = two_product(high, times)
    return product, lost + low * times


@inlined
def added(high, low, number, error):
    """Add a number, and what it lost to rounding before, to an exact sum."""
    s, e = two_sum(high, number)
    e += low + error
    total = s + e
    return total, e - (total - s)


@inlined
def accumulate(high, low, j, k, number, error):
    """Add a number, and what it lost to rounding before, to the exact sum in cell [j, k] of two arrays."""
    total, lost = added(high[j, k], low[j, k], number, error)
    high[j, k] = total
    low[j, k] = lost


@inlined
def squares_about_mean(sum_high, sum_low, square_high, square_low, n, inverse_n):
    """Return sum (x - mean)^2 from the exact sums of x and x^2 over n rows."""
    p, e = two_product(sum_high, sum_high)
    e += 2.0 * sum_high * sum_low
    q = p * inverse_n  # nearly p / n; what it misses is in the rest
    r, s = two_product(q, n)
    rest = ((p - r) - s + e) * inverse_n
    high, low = two_sum(square_high, -q)
    return max(high + (low + square_low - rest), 0.0)
