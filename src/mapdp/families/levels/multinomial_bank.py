"""The bank of counts that share a total: a row is the list of its counts that are not 0.

An encoded row is (number of counts, log of the multinomial coefficient, place, count, place, ...), so
time goes with the counts that are there. A chair's score is the log of a product of rising factorials, and
the factors of small counts are multiplied before a logarithm is taken.
"""

from typing import NamedTuple

import numpy as np

from mapdp.compiled.jit import inlined
from mapdp.compiled.lanes import LANES, load, spread, store
from mapdp.compiled.special import log_of_product, log_rising, times
from mapdp.families import verbs

HEAD = 2  # cells of an encoded row before the first place
_SMALL = 8.0  # counts up to this are so many factors; a rising factorial takes as long as about ten


class MultinomialPrior(NamedTuple):
    """Hyperparameters in the form the verbs read."""

    concentration: np.ndarray  # (D,) pseudo-counts
    total: float  # their sum


class MultinomialBank(NamedTuple):
    """The statistics of all chairs; scoring reads them as they are."""

    prior: MultinomialPrior
    n: np.ndarray  # (K,) rows
    tally: np.ndarray  # (D, K) counts of each column
    mass: np.ndarray  # (K,) counts of all columns
    log_coefficient: np.ndarray  # (K,) sum over rows


def new_multinomial_bank(concentration: np.ndarray, capacity: int) -> MultinomialBank:
    """Return the arrays of a bank with these pseudo-counts."""
    prior = MultinomialPrior(concentration, float(concentration.sum()))
    shapes = (capacity, (len(concentration), capacity), capacity, capacity)
    return MultinomialBank(prior, *[np.zeros(shape) for shape in shapes])


@inlined
def _add(bank, k, x, sign):
    tally, total = bank.tally, 0.0
    for i in range(HEAD, HEAD + 2 * int(x[0]), 2):
        tally[int(x[i]), k] += sign * x[i + 1]
        total += x[i + 1]
    bank.n[k] += sign
    bank.mass[k] += sign * total
    bank.log_coefficient[k] += sign * x[1]


@verbs.clear.on(MultinomialBank)
def clear(bank, k):
    bank.n[k] = bank.mass[k] = bank.log_coefficient[k] = 0.0
    for j in range(bank.tally.shape[0]):
        bank.tally[j, k] = 0.0


@verbs.insert.on(MultinomialBank)
def insert(bank, k, x, scratch):
    _add(bank, k, x, 1.0)


@verbs.remove.on(MultinomialBank)
def remove(bank, k, x, scratch):
    _add(bank, k, x, -1.0)


@verbs.pour.on(MultinomialBank)
def pour(bank, k, other, j, times, scratch):
    bank.n[k] += times * other.n[j]
    bank.mass[k] += times * other.mass[j]
    bank.log_coefficient[k] += times * other.log_coefficient[j]
    for d in range(bank.tally.shape[0]):
        bank.tally[d, k] += times * other.tally[d, j]


@verbs.refresh.on(MultinomialBank)
def refresh(bank, k):
    pass


@inlined
def _mass_of(x):
    total = 0.0
    for i in range(HEAD, HEAD + 2 * int(x[0]), 2):
        total += x[i + 1]
    return total


@inlined
def risen(total, exponent, product, n_factors, weight, count):
    """Add the log of a rising factorial to a total, or its factors to a product 2^exponent * product."""
    if count > _SMALL or count != int(count):
        total += log_rising(weight, count)
    else:
        for _ in range(int(count)):
            exponent, product = times(exponent, product, weight, n_factors)
            weight += 1.0
            n_factors += 1
    return total, exponent, product, n_factors


@verbs.log_predictive.on(MultinomialBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    prior, tally, last, n_counts = bank.prior, bank.tally, HEAD + 2 * int(x[0]), _mass_of(x)
    for k in range(0, n_chairs, LANES):
        total = load(scores, k) + x[1] - log_rising(load(bank.mass, k) + prior.total, n_counts)
        exponent, product, n_factors = spread(0.0), spread(1.0), 0
        for i in range(HEAD, last, 2):
            j, count = int(x[i]), x[i + 1]
            weight = load(tally[j], k) + prior.concentration[j]
            total, exponent, product, n_factors = risen(total, exponent, product, n_factors, weight, count)
        store(scores, k, total + log_of_product(exponent, product))


@verbs.log_leave_one_out.on(MultinomialBank)
def log_leave_one_out(bank, k, x, scratch):
    prior, n_counts = bank.prior, _mass_of(x)
    total = x[1] - log_rising(prior.total + bank.mass[k] - n_counts, n_counts)
    for i in range(HEAD, HEAD + 2 * int(x[0]), 2):
        j, count = int(x[i]), x[i + 1]
        total += log_rising(prior.concentration[j] + (bank.tally[j, k] - count), count)
    return total


@verbs.log_marginal.on(MultinomialBank)
def log_marginal(bank, k):
    prior = bank.prior
    total = bank.log_coefficient[k] - log_rising(prior.total, bank.mass[k])
    for j in range(bank.tally.shape[0]):
        if bank.tally[j, k] > 0.0:
            total += log_rising(prior.concentration[j], bank.tally[j, k])
    return total
