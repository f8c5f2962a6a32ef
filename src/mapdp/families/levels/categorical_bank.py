"""The bank of categories, and its columns in mixed tables.

A row's score is a sum of table look-ups, one line of the table (all chairs) per column.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mapdp.compiled.jit import inlined
from mapdp.compiled.lanes import LANES, load, store
from mapdp.compiled.special import log, log_rising
from mapdp.families import verbs
from mapdp.families.columns import NOTHING, TallyColumns, beginnings, keeps_tallies

_CHUNK = 8  # ratios multiplied before their log is taken: none is below 1e-30 / n


class CategoricalPrior(NamedTuple):
    """Hyperparameters in the form the verbs read."""

    concentration: np.ndarray  # (L,) pseudo-counts of all levels of all columns, one after another
    total: np.ndarray  # (D,) their sum in each column
    offset: np.ndarray  # (D + 1,) where each column's levels begin


class CategoricalBank(NamedTuple):
    """The statistics and cached predictives of all chairs."""

    prior: CategoricalPrior
    n: np.ndarray  # (K,) rows
    tally: np.ndarray  # (L, K) rows at each level
    log_weight: np.ndarray  # (L, K) log of tally + concentration
    constant: np.ndarray  # (K,) minus the log of the weights' totals, over all columns


def new_categorical_bank(concentration: Sequence[np.ndarray], capacity: int) -> CategoricalBank:
    """Return the arrays of a bank with these pseudo-counts."""
    offset = beginnings([len(weight) for weight in concentration])
    total = np.array([weight.sum() for weight in concentration])
    prior = CategoricalPrior(np.concatenate(concentration), total, offset)
    shapes = [(capacity,), (offset[-1], capacity), (offset[-1], capacity), (capacity,)]
    return CategoricalBank(prior, *[np.zeros(shape) for shape in shapes])


@verbs.clear.on(CategoricalBank)
def clear(bank, k):
    bank.n[k] = 0.0
    for level in range(bank.tally.shape[0]):
        bank.tally[level, k] = 0.0
        bank.log_weight[level, k] = log(bank.prior.concentration[level])


@inlined
def _count(bank, k, level, number):
    """Count `number` more rows at one level of chair k."""
    bank.tally[level, k] += number
    bank.log_weight[level, k] = log(bank.tally[level, k] + bank.prior.concentration[level])


@verbs.insert.on(CategoricalBank)
def insert(bank, k, x, scratch):
    bank.n[k] += 1.0
    for j in range(x.shape[0]):
        _count(bank, k, bank.prior.offset[j] + int(x[j]), 1.0)


@verbs.remove.on(CategoricalBank)
def remove(bank, k, x, scratch):
    bank.n[k] -= 1.0
    for j in range(x.shape[0]):
        _count(bank, k, bank.prior.offset[j] + int(x[j]), -1.0)


@verbs.pour.on(CategoricalBank)
def pour(bank, k, other, j, times, scratch):
    bank.n[k] += times * other.n[j]
    for level in range(bank.tally.shape[0]):
        _count(bank, k, level, times * other.tally[level, j])


@verbs.refresh.on(CategoricalBank)
def refresh(bank, k):
    total = 0.0
    for j in range(bank.prior.total.shape[0]):
        total += log(bank.prior.total[j] + bank.n[k])
    bank.constant[k] = -total


@verbs.log_predictive.on(CategoricalBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    log_weight, offset = bank.log_weight, bank.prior.offset
    for k in range(0, n_chairs, LANES):
        total = load(scores, k) + load(bank.constant, k)
        for j in range(x.shape[0]):
            total += load(log_weight[offset[j] + int(x[j])], k)
        store(scores, k, total)


@verbs.log_leave_one_out.on(CategoricalBank)
def log_leave_one_out(bank, k, x, scratch):
    prior, total = bank.prior, 0.0
    for begin in range(0, x.shape[0], _CHUNK):
        product = 1.0
        for j in range(begin, min(begin + _CHUNK, x.shape[0])):
            level = prior.offset[j] + int(x[j])
            product *= chance_without(prior, j, level, bank.tally, bank.n[k], k)
        total += log(product)
    return total


@inlined
def log_evidence(concentration, total, first, last, tally, n, k):
    """Return the log marginal probability of n cells of one column, whose levels are first to last - 1."""
    evidence = -log_rising(total, n)
    for level in range(first, last):
        evidence += log_rising(concentration[level], tally[level, k])
    return evidence


@verbs.log_marginal.on(CategoricalBank)
def log_marginal(bank, k):
    prior, total = bank.prior, 0.0
    for j in range(prior.total.shape[0]):
        first, last = prior.offset[j], prior.offset[j + 1]
        total += log_evidence(prior.concentration, prior.total[j], first, last, bank.tally, bank.n[k], k)
    return total


class LevelPrior(NamedTuple):
    """Hyperparameters of columns in a mixed table."""

    place: np.ndarray  # (D,) cell of a row
    first: np.ndarray  # (D + 1,) where a column's levels begin
    concentration: np.ndarray  # (L,) pseudo-counts of all levels
    total: np.ndarray  # (D,) their sum in each column


def level_prior(weights: Sequence[np.ndarray], place: np.ndarray) -> LevelPrior:
    """Return the prior of columns with these pseudo-counts."""
    total = np.array([weight.sum() for weight in weights], dtype=np.float64)
    return LevelPrior(
        place, beginnings([len(w) for w in weights]), np.concatenate([NOTHING, *weights]), total
    )


@keeps_tallies
class LevelColumns(TallyColumns):
    """Columns of categories."""


@verbs.refresh_column.on(LevelColumns)
def refresh_column(bank, j, k):
    prior = bank.prior
    every = prior.total[j] + bank.n[j, k]
    for level in range(prior.first[j], prior.first[j + 1]):
        bank.log_chance[level, k] = log((prior.concentration[level] + bank.tally[level, k]) / every)


@inlined
def chance_without(prior, j, level, tally, n, k):
    """Return the probability of a level that is on chair k, given the n - 1 other cells of its column."""
    return (prior.concentration[level] + (tally[level, k] - 1.0)) / (prior.total[j] + (n - 1.0))


@verbs.log_cell_without.on(LevelColumns)
def log_cell_without(bank, j, k, v):
    return log(chance_without(bank.prior, j, bank.prior.first[j] + int(v), bank.tally, bank.n[j, k], k))


@verbs.log_marginal_of_column.on(LevelColumns)
def log_marginal_of_column(bank, j, k):
    prior = bank.prior
    first, last = prior.first[j], prior.first[j + 1]
    return log_evidence(prior.concentration, prior.total[j], first, last, bank.tally, bank.n[j, k], k)
