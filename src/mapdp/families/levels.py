"""Knows cells that are levels: of a category, or of an ordered one.

The one idea: levels that have an order lie on curves. A curve is a bell over the levels; which one a
cluster follows is not known, and a grid of places and widths is summed over, so nothing is approximate.
"""

import numpy as np

from mapdp._jit import inlined
from mapdp._lanes import LANES, load, store
from mapdp.families.cells import LEVELS
from mapdp.special import exp, log, log_rising

_LEAST = -600.0  # nats below the best curve, beyond which a curve adds nothing


@inlined
def log_worth_of_curve(prior, j, g, tally, k, without):
    """Return log prior plus log likelihood of curve g for a tally; level `without` counts one less."""
    first, n_levels = prior.first[j], prior.first[j + 1] - prior.first[j]
    begin = prior.height[j] + (g - prior.curve[j]) * n_levels
    total = prior.log_weight[g]
    for level in range(n_levels):
        total += tally[first + level, k] * prior.log_heights[begin + level]
    if without >= 0:
        total -= prior.log_heights[begin + without]
    return total


@inlined
def best_curve(prior, j, tally, k, without):
    """Return the highest worth of the curves of column j."""
    best = -np.inf
    for g in range(prior.curve[j], prior.curve[j + 1]):
        best = max(best, log_worth_of_curve(prior, j, g, tally, k, without))
    return best


@inlined
def refresh_levels(bank, j, k):
    """Bring the cached probabilities of a column's levels up to date."""
    prior = bank.prior
    first, n_levels = prior.first[j], prior.first[j + 1] - prior.first[j]
    if prior.kind[j] == LEVELS:
        every = prior.pseudo_total[j] + bank.n[j, k]
        for level in range(first, first + n_levels):
            bank.log_chance[level, k] = log((prior.pseudo[level] + bank.tally[level, k]) / every)
        return
    for level in range(first, first + n_levels):
        bank.log_chance[level, k] = 0.0
    best, total = best_curve(prior, j, bank.tally, k, -1), 0.0
    for g in range(prior.curve[j], prior.curve[j + 1]):
        weight = exp(max(log_worth_of_curve(prior, j, g, bank.tally, k, -1) - best, _LEAST))
        total += weight
        begin = prior.height[j] + (g - prior.curve[j]) * n_levels
        for level in range(n_levels):
            bank.log_chance[first + level, k] += weight * prior.heights[begin + level]
    for level in range(first, first + n_levels):
        bank.log_chance[level, k] = log(bank.log_chance[level, k] / total)


@inlined
def score_level(bank, j, v, n_chairs, scores):
    """Add to the scores the log probability of a level."""
    chance = bank.log_chance[bank.prior.first[j] + int(v)]
    for k in range(0, n_chairs, LANES):
        store(scores, k, load(scores, k) + load(chance, k))


@inlined
def log_chance_without(bank, j, k, v):
    """Return the log probability of a level that sits on chair k, given the others there."""
    prior, level = bank.prior, bank.prior.first[j] + int(v)
    if prior.kind[j] == LEVELS:
        weight = prior.pseudo[level] + (bank.tally[level, k] - 1.0)
        return log(weight / (prior.pseudo_total[j] + (bank.n[j, k] - 1.0)))
    n_levels = prior.first[j + 1] - prior.first[j]
    best, total, hit = best_curve(prior, j, bank.tally, k, int(v)), 0.0, 0.0
    for g in range(prior.curve[j], prior.curve[j + 1]):
        weight = exp(max(log_worth_of_curve(prior, j, g, bank.tally, k, int(v)) - best, _LEAST))
        total += weight
        hit += weight * prior.heights[prior.height[j] + (g - prior.curve[j]) * n_levels + int(v)]
    return log(hit / total)


@inlined
def log_marginal_of_levels(prior, j, tally, n, k):
    """Return the log probability of the levels that were tallied on chair k."""
    if prior.kind[j] == LEVELS:
        total = -log_rising(prior.pseudo_total[j], n)
        for level in range(prior.first[j], prior.first[j + 1]):
            total += log_rising(prior.pseudo[level], tally[level, k])
        return total
    best, total = best_curve(prior, j, tally, k, -1), 0.0
    for g in range(prior.curve[j], prior.curve[j + 1]):
        total += exp(max(log_worth_of_curve(prior, j, g, tally, k, -1) - best, _LEAST))
    return best + log(total)
