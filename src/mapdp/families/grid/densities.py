"""The compiled log densities of columns on a grid, by number: machine code is made once for all of them.

A cell enters its log density as two numbers, its features; candidates have four coefficients.
"""

import math

from mapdp.compiled.jit import inlined
from mapdp.compiled.lanes import larger
from mapdp.compiled.special import exp, log

STUDENT_T, GAMMA, WEIBULL, BETA, VON_MISES = range(5)
_FARTHEST = 18.0  # log of (x / scale)^shape in a Weibull density: beyond, a number is as good as impossible


@inlined
def features_of(kind, v):
    """Return the two numbers by which a cell enters its log density."""
    if kind in (GAMMA, WEIBULL):
        return math.log(v), v
    if kind == BETA:
        return math.log(v), math.log1p(-v)
    if kind == VON_MISES:
        return math.cos(v), math.sin(v)
    return v, 0.0


@inlined
def log_linear(a, b, c, d, t, u):
    """Return the log density of an exponential family: Gamma, Beta, VonMises."""
    return a + b * t + c * u


@inlined
def log_student_t(a, b, c, d, t, u):
    """Return the log density with log peak a, centre b, width 1 / c and power d."""
    z = (t - b) * c
    return a - d * log(1.0 + z * z)


@inlined
def log_weibull(a, b, c, d, t, u):
    """Return the log density with shape b and log scale c; d is 0."""
    log_far = b * (t - c)
    return a + log_far - (t - c) - exp(0.0 - larger(0.0 - log_far, d - _FARTHEST))


@inlined
def log_density_of(kind, a, b, c, d, t, u):
    """Return the log density of a cell with features t and u for candidates with these coefficients."""
    if kind == STUDENT_T:
        return log_student_t(a, b, c, d, t, u)
    if kind == WEIBULL:
        return log_weibull(a, b, c, d, t, u)
    return log_linear(a, b, c, d, t, u)
