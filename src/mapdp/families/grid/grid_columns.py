"""Columns whose parameters are one of a grid of candidates, alone, in mixed tables and with gaps.

A chair's tally holds the log likelihood of each candidate, whatever the density is (`densities.py`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mapdp.compiled.jit import inlined
from mapdp.compiled.lanes import LANES, larger, load, spread, store, sum_of, whole_lanes
from mapdp.compiled.special import exp, log
from mapdp.families import verbs
from mapdp.families.columns import NOTHING, TallyColumns, beginnings, keeps_tallies
from mapdp.families.grid.candidate_bank import (
    NO_CANDIDATE,
    fill_chances,
    fill_densities,
    highest_of,
    is_faint,
    log_sum,
    log_sums,
    product,
)
from mapdp.families.grid.densities import features_of, log_density_of

_NEGLIGIBLE = -700.0  # nats below the best candidate, beyond which one adds nothing
_N_COEFFICIENTS = 4


class GridPrior(NamedTuple):
    """Candidates of columns, in whole lanes for each column."""

    place: np.ndarray  # (D,) cell of a row
    first: np.ndarray  # (D + 1,) where a column's candidates begin
    log_weight: np.ndarray  # (G,) log prior probability
    a: np.ndarray  # (G,) what the density reads
    b: np.ndarray  # (G,)
    c: np.ndarray  # (G,)
    d: np.ndarray  # (G,)
    kind: np.ndarray  # (D,) number of the density


@keeps_tallies
class GridColumns(TallyColumns):
    """Columns on a grid, of all kinds."""


def grid_prior(
    kinds: Sequence[int],
    log_weights: Sequence[np.ndarray],
    coefficients: Sequence[np.ndarray],
    place: np.ndarray,
) -> GridPrior:
    """Return the prior of columns; coefficients are (G, 4) for each."""
    first = beginnings([whole_lanes(len(one)) for one in log_weights])
    weights = [_padded(one, NO_CANDIDATE) for one in log_weights]
    parts = [[_padded(one[:, i], one[0, i]) for one in coefficients] for i in range(_N_COEFFICIENTS)]
    arrays = [np.concatenate([NOTHING, *part]) for part in (weights, *parts)]
    log_weight, a, b, c, d = arrays
    return GridPrior(place, first, log_weight, a, b, c, d, np.array(kinds, dtype=np.int64))


def _padded(numbers: np.ndarray, filler: float) -> np.ndarray:
    """Return numbers in whole lanes."""
    return np.append(numbers, np.full(whole_lanes(len(numbers)) - len(numbers), filler))


def room_for(prior: GridPrior) -> np.ndarray:
    """Return working space: log densities of a cell, and two more numbers, for each candidate."""
    return np.zeros((3, max(len(prior.log_weight), LANES)))


@inlined
def _fill_logs(bank, j, v, logs):
    """Work out the log density of a cell under each candidate of column j."""
    prior, kind = bank.prior, bank.prior.kind[j]
    t, u = features_of(kind, v)
    for g in range(prior.first[j], prior.first[j + 1], LANES):
        a, b, c, d = load(prior.a, g), load(prior.b, g), load(prior.c, g), load(prior.d, g)
        store(logs, g, log_density_of(kind, a, b, c, d, t, u))


@inlined
def _add(bank, k, x, sign, scratch):
    prior, logs = bank.prior, scratch[0]
    for j in range(bank.n.shape[0]):
        v = x[prior.place[j]]
        if v == v:  # not a gap
            _fill_logs(bank, j, v, logs)
            bank.n[j, k] += sign
            for g in range(prior.first[j], prior.first[j + 1]):
                bank.tally[g, k] += sign * logs[g]


@verbs.insert.on(GridColumns)
def _insert(bank, k, x, scratch):
    _add(bank, k, x, 1.0, scratch)


@verbs.remove.on(GridColumns)
def _remove(bank, k, x, scratch):
    _add(bank, k, x, -1.0, scratch)


@verbs.refresh_column.on(GridColumns)
def _refresh_column(bank, j, k):
    prior = bank.prior
    fill_chances(prior.log_weight, bank.tally, prior.first[j], prior.first[j + 1], k, bank.log_chance)


@inlined
def _score(bank, first, last, logs, density, n_chairs, scores):
    """Add to the scores the log predictive of a cell with these log densities."""
    weight, tally, best = bank.prior.log_weight, bank.tally, highest_of(logs, first, last)
    fill_densities(logs, first, last, best, density)
    for k in range(0, n_chairs, LANES):
        total = product(bank.log_chance, density, first, last, k)
        if is_faint(total):
            with_cell = log_sums(weight, tally, logs, 1.0, first, last, k)
            with_cell -= log_sums(weight, tally, logs, 0.0, first, last, k)
            store(scores, k, load(scores, k) + with_cell)
        else:
            store(scores, k, load(scores, k) + log(total) + best)


@verbs.log_predictive.on(GridColumns)
def _log_predictive(bank, x, n_chairs, scores, scratch):
    prior = bank.prior
    for j in range(bank.n.shape[0]):
        v = x[prior.place[j]]
        if v == v:
            _fill_logs(bank, j, v, scratch[0])
            _score(bank, prior.first[j], prior.first[j + 1], scratch[0], scratch[1], n_chairs, scores)


@inlined
def _log_total(logs, first, last):
    """Return the log of the sum of exponentials."""
    best, total = highest_of(logs, first, last), spread(0.0)
    for g in range(first, last, LANES):
        total += exp(larger(load(logs, g) - best, spread(_NEGLIGIBLE)))
    return best + log(sum_of(total))


@verbs.log_leave_one_out.on(GridColumns)
def _log_leave_one_out(bank, k, x, scratch):
    prior, logs, all_cells, others, total = bank.prior, scratch[0], scratch[1], scratch[2], 0.0
    for j in range(bank.n.shape[0]):
        v, first, last = x[prior.place[j]], prior.first[j], prior.first[j + 1]
        if v == v:
            _fill_logs(bank, j, v, logs)
            for g in range(first, last):
                all_cells[g] = prior.log_weight[g] + bank.tally[g, k]
                others[g] = all_cells[g] - logs[g]
            total += _log_total(all_cells, first, last) - _log_total(others, first, last)
    return total


@inlined
def _log_density(prior, kind, g, t, u):
    """Return the log density of a cell with these features for candidate g."""
    return log_density_of(kind, prior.a[g], prior.b[g], prior.c[g], prior.d[g], t, u)


@verbs.score_cell.on(GridColumns)
def _score_cell(bank, j, v, n_chairs, scores):
    """Score one cell without working space, for explanations."""
    prior, weight, tally = bank.prior, bank.prior.log_weight, bank.tally
    first, last = prior.first[j], prior.first[j + 1]
    kind = prior.kind[j]
    t, u = features_of(kind, v)
    for k in range(n_chairs):
        best, total = -np.inf, 0.0
        for g in range(first, last):
            best = max(best, weight[g] + tally[g, k] + _log_density(prior, kind, g, t, u))
        for g in range(first, last):
            nats = weight[g] + tally[g, k] + _log_density(prior, kind, g, t, u) - best
            total += exp(max(nats, _NEGLIGIBLE))
        scores[k] += best + log(total) - log_sum(weight, tally, first, last, k)


@verbs.log_marginal_of_column.on(GridColumns)
def _log_marginal_of_column(bank, j, k):
    prior = bank.prior
    return log_sum(prior.log_weight, bank.tally, prior.first[j], prior.first[j + 1], k)
