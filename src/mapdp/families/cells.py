"""Knows what one cell adds to a cluster, by the kind of its column, and what a cluster makes of a cell.

The one idea: kinds are numbers that are looked up as the program runs, not types that are compiled in.
So one compiled sweep serves every table, whatever its columns; and as each column counts its own cells, a
gap adds nothing anywhere.

Statistics of a column are a count of cells n, an exact sum s (and what it lost, e), an exact second sum q
(and r): of squares for bells, of log orders for counts. Levels are tallied instead.
"""

from typing import NamedTuple

import numpy as np

from mapdp._jit import inlined
from mapdp._lanes import LANES, load, spread, store, whole_lanes
from mapdp.exact import squares_about_mean, two_product
from mapdp.special import LOG_2PI, log, log_gamma_half_step, log_rising

BELL = 0  # Gaussian, mean and variance unknown; numbers: strength, shape, rate
FIXED_BELL = 1  # Gaussian of known variance; numbers: strength, variance
WAIT = 2  # exponential; numbers: shape, rate
COUNT = 3  # Poisson; numbers: shape, rate
TRIALS = 4  # numbers: success, failure, then two each for successes, failures, orders of a count
LEVELS = 5  # categorical: pseudo-counts
ORDERED = 6  # levels in order: a grid of curves over them

N_NUMBERS = 8
REMEMBERED = 20  # counts below this have their log probability kept, as if they were levels
_FEWEST = 1e-12  # cells; real weights that came and went leave less behind

NOTHING = np.empty(0)


class Cell(NamedTuple):
    """The prior of one column, in the form that the loops read."""

    kind: int
    numbers: tuple[float, ...] = ()
    pseudo: np.ndarray = NOTHING  # (L,) pseudo-counts of levels; zeros where they have none
    curves: np.ndarray = np.empty((0, 0))  # (G, L) probability of each level on each curve
    log_weights: np.ndarray = NOTHING  # (G,) log prior probability of each curve


class Sums(NamedTuple):
    """What one column of a chair knows."""

    n: float  # cells
    total: float = 0.0  # sum of them
    second: float = 0.0  # of squares for bells, of log orders for counts
    tally: np.ndarray = NOTHING  # (L,) of levels


class Prior(NamedTuple):
    """The priors of all columns."""

    kind: np.ndarray  # (D,)
    numbers: np.ndarray  # (N_NUMBERS, D)
    first: np.ndarray  # (D + 1,) where a column's levels begin
    pseudo: np.ndarray  # (L,) pseudo-counts of all levels
    pseudo_total: np.ndarray  # (D,)
    curve: np.ndarray  # (D + 1,) where a column's curves begin
    log_weight: np.ndarray  # (G,) log prior probability of all curves
    height: np.ndarray  # (D + 1,) where the heights of a column's curves begin
    heights: np.ndarray  # (H,) probability of each level on each curve, curve after curve
    log_heights: np.ndarray  # (H,)


class CellBank(NamedTuple):
    """What the clusters know."""

    prior: Prior
    n: np.ndarray  # (D, K) cells
    sum_high: np.ndarray  # (D, K)
    sum_low: np.ndarray  # (D, K)
    second_high: np.ndarray  # (D, K)
    second_low: np.ndarray  # (D, K)
    tally: np.ndarray  # (L, K)
    log_chance: np.ndarray  # (L, K) log predictive probability of each level, and of small counts
    a: np.ndarray  # (D, K) what scoring reads of the other kinds: place
    b: np.ndarray  # (D, K) width
    power: np.ndarray  # (D, K)
    constant: np.ndarray  # (D, K)


def make_prior(cells: list[Cell]) -> Prior:
    """Lay the priors of columns side by side."""
    numbers = np.zeros((N_NUMBERS, len(cells)))
    for j, cell in enumerate(cells):
        numbers[: len(cell.numbers), j] = cell.numbers
    heights = np.concatenate([NOTHING, *[cell.curves.ravel() for cell in cells]])
    return Prior(
        kind=np.array([cell.kind for cell in cells], dtype=np.int64),
        numbers=numbers,
        first=_ends([len(cell.pseudo) for cell in cells]),
        pseudo=np.concatenate([NOTHING, *[cell.pseudo for cell in cells]]),
        pseudo_total=np.array([cell.pseudo.sum() for cell in cells]),
        curve=_ends([len(cell.log_weights) for cell in cells]),
        log_weight=np.concatenate([NOTHING, *[cell.log_weights for cell in cells]]),
        height=_ends([cell.curves.size for cell in cells]),
        heights=heights,
        log_heights=np.log(heights),
    )


def _ends(lengths: list[int]) -> np.ndarray:
    return np.cumsum([0, *lengths])


def make_bank(prior: Prior, capacity: int) -> CellBank:
    """Return the arrays of a bank with `capacity` chairs."""
    column, level = (len(prior.kind), capacity), (len(prior.pseudo), capacity)
    shapes = [column] * 5 + [level] * 2 + [column] * 4
    return CellBank(prior, *[np.zeros(shape) for shape in shapes])


def bank_of(prior: Prior, chairs: list[list[Sums]]) -> CellBank:
    """Return a bank in which chair k knows chairs[k]; its cached predictive is not worked out."""
    bank = make_bank(prior, whole_lanes(len(chairs)))
    for k, columns in enumerate(chairs):
        for j, (n, total, second, tally) in enumerate(columns):
            bank.n[j, k], bank.sum_high[j, k], bank.second_high[j, k] = n, total, second
            if len(tally):
                bank.tally[prior.first[j] : prior.first[j + 1], k] = tally
    return bank


def tallies_of(prior: Prior, tally: np.ndarray) -> list[np.ndarray]:
    """Return the tally of each column, nothing for columns that are not of levels."""
    parts = np.split(tally, prior.first[1:-1])
    return [part if kind >= LEVELS else NOTHING for part, kind in zip(parts, prior.kind, strict=True)]


def sums_of(bank: CellBank, k: int) -> list[Sums]:
    """Return what each column of chair k knows."""
    tallies = tallies_of(bank.prior, bank.tally[:, k])
    columns = zip(bank.n[:, k], bank.sum_high[:, k], bank.second_high[:, k], tallies, strict=True)
    return [Sums(*column) for column in columns]


@inlined
def linear(numbers, place, j, count):
    """Return what a count tells of trials, by a rule of the prior."""
    return numbers[place, j] + numbers[place + 1, j] * count


@inlined
def second(prior, j, v):
    """Return what a cell adds to the second sum, and what that lost."""
    kind = prior.kind[j]
    if kind <= FIXED_BELL:
        return two_product(v, v)
    if kind == WAIT or v == 0.0:
        return 0.0, 0.0
    if kind == COUNT:
        return -log_rising(1.0, v), 0.0
    return log_rising(linear(prior.numbers, 6, j, v), v) - log_rising(1.0, v), 0.0


@inlined
def _growth(strength, rate, s, e, q, r, n):
    """Return b / b0 of a bell from its exact sums (paper, eq. for b_k, with m0 as the origin)."""
    inverse_n = 1.0 / n if n > _FEWEST else 0.0
    squares = squares_about_mean(s, e, q, r, n, inverse_n)
    return 1.0 + 0.5 * (squares + strength / (strength + n) * s * (s * inverse_n)) / rate


@inlined
def bell(numbers, j, s, e, q, r, n):
    """Return mean, weight of a squared residual, power and constant of a bell's Student t density."""
    strength, shape = numbers[0, j] + n, numbers[1, j] + 0.5 * n
    rate = numbers[2, j] * _growth(numbers[0, j], numbers[2, j], s, e, q, r, n)
    share = strength / (strength + 1.0)
    constant = log_gamma_half_step(shape) + 0.5 * log(share / rate) - 0.5 * LOG_2PI
    return s / strength, 0.5 * share / rate, shape + 0.5, constant


@inlined
def fixed_bell(numbers, j, s, n):
    """Return mean, weight of a squared residual and constant of a normal density."""
    strength = numbers[0, j] + n
    precision = strength / ((strength + 1.0) * numbers[1, j])
    return s / strength, 0.5 * precision, 0.5 * (log(precision) - LOG_2PI)


@inlined
def wait(numbers, j, s, n):
    """Return one over the rate, power and constant of a Lomax density."""
    shape, rate = numbers[0, j] + n, numbers[1, j] + s
    return 1.0 / rate, shape + 1.0, log(shape / rate)


@inlined
def count(numbers, j, s, n):
    """Return shape, log price of each count and constant of a negative binomial."""
    shape, rate = numbers[0, j] + s, numbers[1, j] + n
    return shape, log(rate + 1.0), shape * log(rate / (rate + 1.0))


@inlined
def chances(numbers, j, s, n):
    """Return pseudo-counts of success and of failure after n cells with the sum s."""
    success = numbers[0, j] + n * numbers[2, j] + numbers[3, j] * s
    return success, numbers[1, j] + n * numbers[4, j] + numbers[5, j] * s


@inlined
def log_beta_step(success, failure, more_success, more_failure):
    """Return log B(a + s, b + f) - log B(a, b)."""
    both = log_rising(success + failure, more_success + more_failure)
    return log_rising(success, more_success) + log_rising(failure, more_failure) - both


@inlined
def refresh_numbers(bank, j, k):
    """Bring the cached predictive of a column that is not of levels up to date."""
    prior, s, n = bank.prior, bank.sum_high[j, k], bank.n[j, k]
    numbers, kind = prior.numbers, prior.kind[j]
    if kind == BELL:
        e, q, r = bank.sum_low[j, k], bank.second_high[j, k], bank.second_low[j, k]
        bank.a[j, k], bank.b[j, k], bank.power[j, k], bank.constant[j, k] = bell(numbers, j, s, e, q, r, n)
    elif kind == FIXED_BELL:
        bank.a[j, k], bank.b[j, k], bank.constant[j, k] = fixed_bell(numbers, j, s, n)
    elif kind == WAIT:
        bank.b[j, k], bank.power[j, k], bank.constant[j, k] = wait(numbers, j, s, n)
    elif kind == COUNT:
        bank.a[j, k], bank.b[j, k], bank.constant[j, k] = count(numbers, j, s, n)
        refresh_counts(bank, j, k, bank.constant[j, k])
    else:
        bank.a[j, k], bank.b[j, k] = chances(numbers, j, s, n)
        refresh_trials(bank, j, k)


@inlined
def refresh_counts(bank, j, k, log_chance):
    """Fill in the log probabilities of small counts, from that of 0 upwards."""
    first, last = bank.prior.first[j], bank.prior.first[j + 1]
    for level in range(first, last):
        bank.log_chance[level, k] = log_chance
        log_chance += log(_step(bank, j, k, float(level - first)))


@inlined
def _step(bank, j, k, v):
    """Return how much more probable the count v + 1 is than v."""
    numbers, a, b = bank.prior.numbers, bank.a[j, k], bank.b[j, k]
    if bank.prior.kind[j] == COUNT:
        return (a + v) / (v + 1.0) / (1.0 + numbers[1, j] + bank.n[j, k])
    if numbers[3, j] == 0.0:  # negative binomial: so many successes
        successes = numbers[2, j]
        return (successes + v) / (v + 1.0) * (b + v) / (a + b + successes + v)
    left = numbers[4, j] - v  # binomial: so many trials are left
    return max(left, 0.5) / (v + 1.0) * (a + v) / (b + max(left - 1.0, 0.0))


@inlined
def refresh_trials(bank, j, k):
    """Work out what a column of trials remembers of chair k."""
    numbers, a, b = bank.prior.numbers, bank.a[j, k], bank.b[j, k]
    successes, failures = numbers[2, j], numbers[4, j]
    refresh_counts(bank, j, k, log_beta_step(a, b, successes, failures))
    bank.constant[j, k] = 0.0
    if bank.n[j, k] >= 1.0 and numbers[3, j] == 0.0:  # what `log_chance_of_waiting` begins with
        both = log_rising(a + b - successes, successes)
        bank.constant[j, k] = log_rising(a - successes, successes) - both


@inlined
def score_numbers(bank, j, v, n_chairs, scores):
    """Add to the scores the log density of a cell that is not of levels."""
    kind, a, b = bank.prior.kind[j], bank.a[j], bank.b[j]
    power, constant = bank.power[j], bank.constant[j]
    if kind == BELL:
        for k in range(0, n_chairs, LANES):
            gap = v - load(a, k)
            fall = load(power, k) * log(1.0 + load(b, k) * (gap * gap))
            store(scores, k, load(scores, k) + (load(constant, k) - fall))
    elif kind == FIXED_BELL:
        for k in range(0, n_chairs, LANES):
            gap = v - load(a, k)
            store(scores, k, load(scores, k) + (load(constant, k) - load(b, k) * (gap * gap)))
    elif kind == WAIT:
        for k in range(0, n_chairs, LANES):
            fall = load(power, k) * log(1.0 + load(b, k) * v)
            store(scores, k, load(scores, k) + (load(constant, k) - fall))
    else:
        score_counts(bank, j, v, n_chairs, scores)


@inlined
def score_counts(bank, j, v, n_chairs, scores):
    """Add to the scores the log probability of a count."""
    orders, _ = second(bank.prior, j, v)
    a, b, numbers = bank.a[j], bank.b[j], bank.prior.numbers
    if bank.prior.kind[j] == COUNT:
        for k in range(0, n_chairs, LANES):
            total = load(scores, k) + (load(bank.constant[j], k) + orders) - v * load(b, k)
            store(scores, k, total + log_rising(load(a, k), v))
    else:
        s, f = linear(numbers, 2, j, v), linear(numbers, 4, j, v)
        for k in range(0, n_chairs, LANES):
            step = log_beta_step(load(a, k), load(b, k), s, f)
            store(scores, k, load(scores, k) + step + spread(orders))


@inlined
def log_chance_of_waiting(bank, j, k, v):
    """Return the log probability of a small count of failures on chair k, given the others there."""
    successes, b = bank.prior.numbers[2, j], bank.b[j, k]
    both = bank.a[j, k] + b - successes
    ratio = 1.0
    for i in range(1, int(v) + 1):
        ratio *= (successes + (i - 1.0)) * (b - i) / (i * (both - i))
    return bank.constant[j, k] + log(ratio)


@inlined
def log_density(prior, j, v, s, e, q, r, n):
    """Return the log density of a cell, not of levels, given n others with these sums."""
    numbers, kind = prior.numbers, prior.kind[j]
    if kind == BELL:
        mean, weight, power, constant = bell(numbers, j, s, e, q, r, n)
        return constant - power * log(1.0 + weight * (v - mean) * (v - mean))
    if kind == FIXED_BELL:
        mean, weight, constant = fixed_bell(numbers, j, s, n)
        return constant - weight * (v - mean) * (v - mean)
    if kind == WAIT:
        inverse_rate, power, constant = wait(numbers, j, s, n)
        return constant - power * log(1.0 + inverse_rate * v)
    orders, _ = second(prior, j, v)
    if kind == COUNT:
        shape, price, constant = count(numbers, j, s, n)
        return constant + log_rising(shape, v) - v * price + orders
    success, failure = chances(numbers, j, s, n)
    return orders + log_beta_step(success, failure, linear(numbers, 2, j, v), linear(numbers, 4, j, v))


@inlined
def log_marginal_of_numbers(prior, j, s, e, q, r, n):
    """Return the log density of n cells, not of levels, with these sums."""
    numbers, kind = prior.numbers, prior.kind[j]
    if kind == BELL:
        strength, shape, rate = numbers[0, j], numbers[1, j], numbers[2, j]
        level = log_rising(shape, 0.5 * n) - 0.5 * log((strength + n) / strength)
        growth = log(_growth(strength, rate, s, e, q, r, n))
        return level - 0.5 * n * (LOG_2PI + log(rate)) - (shape + 0.5 * n) * growth
    if kind == FIXED_BELL:
        strength, variance = numbers[0, j], numbers[1, j]
        growth = _growth(strength, variance, s, e, q, r, n) - 1.0
        return -0.5 * n * (LOG_2PI + log(variance)) - 0.5 * log((strength + n) / strength) - growth
    if kind == WAIT:
        shape, rate = numbers[0, j], numbers[1, j]
        return log_rising(shape, n) - n * log(rate) - (shape + n) * log((rate + s) / rate)
    if kind == COUNT:
        shape, rate = numbers[0, j], numbers[1, j]
        return q + log_rising(shape, s) + shape * log(rate / (rate + n)) - s * log(rate + n)
    more_success = n * numbers[2, j] + numbers[3, j] * s
    more_failure = n * numbers[4, j] + numbers[5, j] * s
    return q + log_beta_step(numbers[0, j], numbers[1, j], more_success, more_failure)
