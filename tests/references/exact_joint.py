"""Log joints in 80 digits, from the definitions: sums over rows, no sufficient statistics of ours."""

import mpmath
import numpy as np
from mpmath import mpf

DIGITS = 80


def numbers(values):
    return [mpf(float(v)) for v in np.ravel(values)]


def normal_gamma(x, mean, strength, shape, rate):
    """Cells of one column under an unknown mean and variance."""
    n, total = len(x), mpmath.fsum(v - mean for v in x)
    squares = mpmath.fsum((v - mean) ** 2 for v in x) - total**2 / (strength + n)
    level = mpmath.loggamma(shape + mpf(n) / 2) - mpmath.loggamma(shape)
    level += mpmath.log(strength / (strength + n)) / 2 - mpf(n) / 2 * mpmath.log(2 * mpmath.pi)
    return level + shape * mpmath.log(rate) - (shape + mpf(n) / 2) * mpmath.log(rate + squares / 2)


def diagonal(X, family):
    columns = zip(X.T, numbers(family.mean), numbers(family.rate), strict=True)
    prior = mpf(family.strength), mpf(family.shape)
    return mpmath.fsum(normal_gamma(numbers(x), m, *prior, b) for x, m, b in columns)


def fixed(X, family):
    total, strength, n = mpf(0), mpf(family.strength), len(X)
    for x, mean, variance in zip(X.T, numbers(family.mean), numbers(family.variance), strict=True):
        gaps = [v - mean for v in numbers(x)]
        squares = mpmath.fsum(g**2 for g in gaps) - mpmath.fsum(gaps) ** 2 / (strength + n)
        total -= (n * mpmath.log(2 * mpmath.pi * variance) + squares / variance) / 2
        total += mpmath.log(strength / (strength + n)) / 2
    return total


def spherical(X, family):
    strength, shape, rate, n, d = mpf(family.strength), mpf(family.shape), mpf(family.rate), *X.shape
    squares, log_widths = mpf(0), mpf(0)
    for x, mean, width in zip(X.T, numbers(family.mean), numbers(family.width), strict=True):
        gaps = [(v - mean) / width for v in numbers(x)]
        squares += mpmath.fsum(g**2 for g in gaps) - mpmath.fsum(gaps) ** 2 / (strength + n)
        log_widths += mpmath.log(width)
    half = mpf(n * d) / 2
    level = mpmath.loggamma(shape + half) - mpmath.loggamma(shape) - half * mpmath.log(2 * mpmath.pi)
    level += mpf(d) / 2 * mpmath.log(strength / (strength + n)) - n * log_widths
    return level + shape * mpmath.log(rate) - (shape + half) * mpmath.log(rate + squares / 2)


def full(X, family):
    strength, dof, n, d = mpf(family.strength), mpf(family.dof), *X.shape
    gaps = [[v - m for v, m in zip(numbers(x), numbers(family.mean), strict=True)] for x in X]
    total = [mpmath.fsum(gap[j] for gap in gaps) for j in range(d)]
    prior = mpmath.matrix(family.scale.tolist())
    scale = prior.copy()
    for i in range(d):
        for j in range(d):
            products = mpmath.fsum(gap[i] * gap[j] for gap in gaps)
            scale[i, j] += products - total[i] * total[j] / (strength + n)
    gammas = [mpmath.loggamma((dof + n - i) / 2) - mpmath.loggamma((dof - i) / 2) for i in range(d)]
    level = mpmath.fsum(gammas) + mpf(d) / 2 * (
        mpmath.log(strength / (strength + n)) - n * mpmath.log(mpmath.pi)
    )
    return level + dof / 2 * mpmath.log(mpmath.det(prior)) - (dof + n) / 2 * mpmath.log(mpmath.det(scale))


def exponential(X, family):
    shape, n = mpf(family.shape), len(X)
    total = X.shape[1] * (mpmath.loggamma(shape + n) - mpmath.loggamma(shape))
    for x, rate in zip(X.T, numbers(family.rate), strict=True):
        total += shape * mpmath.log(rate) - (shape + n) * mpmath.log(rate + mpmath.fsum(numbers(x)))
    return total


def poisson(X, family):
    total, n = mpf(0), len(X)
    for x, shape, rate in zip(X.T, numbers(family.shape), numbers(family.rate), strict=True):
        counted = mpmath.fsum(numbers(x))
        total += mpmath.loggamma(shape + counted) - mpmath.loggamma(shape) + shape * mpmath.log(rate)
        total -= (shape + counted) * mpmath.log(rate + n) + mpmath.fsum(
            mpmath.loggamma(v + 1) for v in numbers(x)
        )
    return total


def log_beta(a, b):
    return mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b)


def binomial(X, family):
    total, columns = mpf(0), (family.success, family.failure, family.trials)
    for x, a, b, t in zip(X.T, *map(numbers, columns), strict=True):
        s = mpmath.fsum(numbers(x))
        total += log_beta(a + s, b + len(x) * t - s) - log_beta(a, b)
        total -= mpmath.fsum(log_beta(v + 1, t - v + 1) + mpmath.log(t + 1) for v in numbers(x))
    return total


def negative_binomial(X, family):
    total, columns = mpf(0), (family.success, family.failure, family.trials)
    for x, a, b, t in zip(X.T, *map(numbers, columns), strict=True):
        total += log_beta(a + len(x) * t, b + mpmath.fsum(numbers(x))) - log_beta(a, b)
        for v in numbers(x):
            total += mpmath.loggamma(t + v) - mpmath.loggamma(t) - mpmath.loggamma(v + 1)
    return total


MARGINALS = {
    "DiagonalGaussian": diagonal,
    "FixedGaussian": fixed,
    "SphericalGaussian": spherical,
    "Gaussian": full,
    "Exponential": exponential,
    "Poisson": poisson,
    "Binomial": binomial,
    "NegativeBinomial": negative_binomial,
}


def log_joint(X, labels, alpha, family):
    """Return log p(x, z) under a Dirichlet process."""
    with mpmath.workdps(DIGITS):
        marginal, alpha = MARGINALS[type(family).__name__], mpf(alpha)
        total = mpmath.loggamma(alpha) - mpmath.loggamma(alpha + len(X))
        for label in np.unique(labels):
            rows = np.asarray(X, dtype=np.float64)[labels == label]
            total += mpmath.log(alpha) + mpmath.loggamma(len(rows)) + marginal(rows, family)
        return float(total)
