"""Compensated sums: a value and its rounding error.

A row that leaves subtracts exactly what it added, so statistics do not depend on who came and went
before, and a variance survives the subtraction of two nearly equal sums.
"""

import math

from mapdp.compiled.jit import inlined, multiplied_and_added


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
def product_of(a, a_low, b, b_low):
    """Return the exact product of two exact sums, but for its last digits."""
    p, e = two_product(a, b)
    e += a * b_low + a_low * b
    total = p + e
    return total, e - (total - p)


@inlined
def ratio_of(a, a_low, b, b_low):
    """Return a / b as an exact sum."""
    q = a / b
    p, e = two_product(q, b)
    rest = ((a - p) - e + (a_low - q * b_low)) / b
    total = q + rest
    return total, rest - (total - q)


@inlined
def root_of(a, a_low):
    """Return the square root of a positive exact sum."""
    root = math.sqrt(a)
    p, e = two_product(root, root)
    rest = ((a - p) - e + a_low) / (2.0 * root)
    total = root + rest
    return total, rest - (total - root)


@inlined
def products_about_means(a, a_low, b, b_low, product, product_low, n, inverse_n):
    """Return sum (x - mean)(y - mean) as an exact sum, from those of x, of y and of xy over n rows."""
    p, e = two_product(a, b)
    e += a * b_low + b * a_low
    q = p * inverse_n  # nearly p / n; what it misses is in the rest
    r, s = two_product(q, n)
    rest = ((p - r) - s + e) * inverse_n
    high, low = two_sum(product, -q)
    return high, low + product_low - rest


@inlined
def squares_about_mean(sum_high, sum_low, square_high, square_low, n, inverse_n):
    """Return sum (x - mean)^2 from the exact sums of x and x^2 over n rows."""
    s, e = sum_high, sum_low
    high, low = products_about_means(s, e, s, e, square_high, square_low, n, inverse_n)
    squares = high + low
    return 0.5 * (squares + abs(squares))  # not below 0, for numbers and for arrays
