"""Knows cells that are numbers: what each kind of column makes of one, and of many."""

from mapdp._jit import inlined
from mapdp._lanes import LANES, load, spread, store
from mapdp.exact import squares_about_mean, two_product
from mapdp.families.cells import BELL, COUNT, FIXED_BELL, WAIT
from mapdp.special import LOG_2PI, log, log_beta_step, log_gamma_half_step, log_rising

_FEWEST = 1e-12  # cells; real weights that came and went leave less behind


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
