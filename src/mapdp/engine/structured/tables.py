"""How a row finds a table in its restaurant, and leaves it: the franchise behind groups and sequences.

What is kept is `Counts` (`partitions/hierarchical.py`): of the tables of a restaurant with one dish, one is
large and the others have one row each. A row joins the large table, opens one with a dish of the franchise,
or, in the restaurant of a state, one with the dish of the house: whatever weighs most. It leaves the way
that loses least. Products of these weights are the prior of the seating, in whatever order rows come.
"""

from typing import Any, NamedTuple

import numpy as np

from mapdp.compiled.jit import inlined, kernel
from mapdp.compiled.special import log, log_rising
from mapdp.engine.score import MARGIN, beats
from mapdp.partitions.hierarchical import Counts, HierarchicalProcess
from mapdp.partitions.markov import MarkovProcess, restaurants

JOINED, SHARED, OWN = 0, 1, 2  # ways to sit: at the large table, at a new one with a dish of either kind
_ALPHA, _GAMMA, _STICKINESS = 0, 1, 2  # places in `weights`
BEFORE = -1  # restaurant of a row that is in that of the state before it


class Franchise(NamedTuple):
    """Restaurants, their tables and their dishes."""

    context: np.ndarray  # (N,) restaurant of each row, or BEFORE
    customers: np.ndarray  # (R, K) rows of each restaurant with each dish
    tables: np.ndarray  # (R, K) their tables with a dish of the franchise
    own: np.ndarray  # (R, K) their tables with the dish of the house
    served: np.ndarray  # (K,) tables with each dish of the franchise
    totals: np.ndarray  # (R,) rows in each restaurant
    n_tables: np.ndarray  # (1,) tables with a dish of the franchise
    weights: np.ndarray  # (3,) alpha, gamma, stickiness
    is_sequence: bool  # whether restaurants are those of states

    @property
    def counts(self) -> Counts:
        """Return what the prior asks for."""
        return Counts(self.customers, self.tables, self.own)


def weights_of(process: HierarchicalProcess) -> np.ndarray:
    """Return the numbers of a process that kernels read."""
    return np.array([process.alpha, process.gamma, getattr(process, "stickiness", 0.0)])


def new_franchise(context: np.ndarray, n_dishes: int, process: HierarchicalProcess) -> Franchise:
    """Return restaurants in which nobody sits."""
    is_sequence = isinstance(process, MarkovProcess)
    n_restaurants = n_dishes + 1 if is_sequence else int(context.max()) + 1
    cells = [np.zeros((n_restaurants, n_dishes), dtype=np.int64) for _ in range(3)]
    vectors = [np.zeros(n, dtype=np.int64) for n in (n_dishes, n_restaurants, 1)]
    parts: Any = (context, *cells, *vectors, weights_of(process), is_sequence)
    return Franchise(*parts)


def seated_franchise(
    context: np.ndarray, labels: np.ndarray, n_dishes: int, process: HierarchicalProcess
) -> Franchise:
    """Return the restaurants of rows with these dishes, each with the best number of tables."""
    franchise = new_franchise(context, n_dishes, process)
    where = np.where(context == BEFORE, restaurants(labels, context != BEFORE), context)
    n_cells = franchise.customers.size
    cells = np.bincount(where * np.int64(n_dishes) + labels, minlength=n_cells)
    franchise.customers[:] = cells.reshape(franchise.customers.shape)
    franchise.tables[:] = franchise.customers > 0
    franchise.served[:] = franchise.tables.sum(axis=0)
    franchise.totals[:] = franchise.customers.sum(axis=1)
    franchise.n_tables[0] = franchise.tables.sum()
    settle_tables(franchise)
    return franchise


def grown_franchise(franchise: Franchise, n_dishes: int) -> Franchise:
    """Return the same restaurants with room for more dishes."""
    more = n_dishes - len(franchise.served)
    down = more if franchise.is_sequence else 0
    cells = [np.pad(part, ((0, down), (0, more))) for part in franchise.counts]
    vectors = np.pad(franchise.served, (0, more)), np.pad(franchise.totals, (0, down))
    parts: Any = (franchise.context, *cells, *vectors, *franchise[-3:])
    return Franchise(*parts)


@inlined
def best_seat(r, home, k, franchise):
    """Return how a row sits best in restaurant r with dish k, and the probability of that.

    `home` is the dish of the house, -1 for none.
    """
    weights, n, served = franchise.weights, franchise.customers[r, k], franchise.served[k]
    dish = float(served) if served > 0 else weights[_GAMMA]
    how, weight = SHARED, weights[_ALPHA] * dish / (weights[_GAMMA] + franchise.n_tables[0])
    if home == k and weights[_STICKINESS] > weight:
        how, weight = OWN, weights[_STICKINESS]
    if n > 0:
        size = float(n - franchise.tables[r, k] - franchise.own[r, k] + 1)
        if size >= weight:
            how, weight = JOINED, size
    return how, weight / _total(home, franchise.totals[r], franchise)


@inlined
def _total(home, n, franchise):
    weights = franchise.weights
    return weights[_ALPHA] + (weights[_STICKINESS] if home >= 0 else 0.0) + n


@inlined
def best_leave(r, home, k, franchise):
    """Return the way to leave that loses least, and the probability of the seat that is left."""
    weights, n, served = franchise.weights, franchise.customers[r, k], franchise.served[k]
    n_tables = franchise.tables[r, k] + franchise.own[r, k]
    how, weight = JOINED, np.inf
    if n > n_tables:
        weight = float(n - n_tables)
    if n_tables > 1 or n == 1:
        if franchise.tables[r, k] > 0:
            dish = float(served - 1) if served > 1 else weights[_GAMMA]
            lost = weights[_ALPHA] * dish / (weights[_GAMMA] + (franchise.n_tables[0] - 1))
            if lost < weight:
                how, weight = SHARED, lost
        if franchise.own[r, k] > 0 and weights[_STICKINESS] < weight:
            how, weight = OWN, weights[_STICKINESS]
    return how, weight / _total(home, franchise.totals[r] - 1, franchise)  # 1 may dwarf the weights


@inlined
def sit_down(r, k, how, step, franchise):
    """Let a row sit (step 1), or stand up from where it sat (step -1)."""
    franchise.customers[r, k] += step
    franchise.totals[r] += step
    if how == SHARED:
        franchise.tables[r, k] += step
        franchise.served[k] += step
        franchise.n_tables[0] += step
    elif how == OWN:
        franchise.own[r, k] += step


@kernel
def settle_tables(franchise):
    """Let rows change tables within restaurant and dish, while that gains; return how often they did.

    For a given share of the dish the log weight is convex in the number of tables: all rows at one table or
    each at its own is best, and restaurants with one dish encourage each other to have many tables. So
    numbers of tables go up and down by one, from end to end, and for all restaurants of a dish at once.
    """
    n_changed, before = 0, -1
    while n_changed > before:
        before = n_changed
        for k in range(franchise.customers.shape[1]):
            if franchise.served[k] > 0:
                for r in range(franchise.customers.shape[0]):
                    if franchise.customers[r, k] > 1:
                        n_changed += _settle_cell(r, k, franchise)
                        n_changed += _flip(r, r + 1, k, franchise)
                n_changed += _flip(0, franchise.customers.shape[0], k, franchise)
                if franchise.weights[_STICKINESS] > 0.0:
                    n_changed += _settle_home(k, franchise)
    return n_changed


@inlined
def _settle_cell(r, k, franchise):
    """Let rows of one restaurant with one dish change tables one by one."""
    n_moved, n = 0, franchise.customers[r, k]
    home = k if r == k + 1 and franchise.weights[_STICKINESS] > 0.0 else -1
    for _ in range(n):
        left, lost = best_leave(r, home, k, franchise)
        sit_down(r, k, left, -1, franchise)
        how, gained = best_seat(r, home, k, franchise)
        if gained <= lost * (1.0 + MARGIN):
            sit_down(r, k, left, 1, franchise)
            break
        sit_down(r, k, how, 1, franchise)
        n_moved += 1
    return n_moved


@inlined
def _flip(first, stop, k, franchise):
    """Give each row with dish k of some restaurants a table of its own, or all one, where that gains."""
    n_more, n_less, log_joined, log_split = 0, 0, 0.0, 0.0
    for r in range(first, stop):
        n, n_shared, n_own = franchise.customers[r, k], franchise.tables[r, k], franchise.own[r, k]
        if n > 1 and n_shared > 0:
            size = n - n_shared - n_own + 1
            n_more += size - 1
            log_split += log_rising(1.0, float(size - 1))
            n_less += n_shared - 1
            log_joined += log_rising(float(size), float(n_shared - 1))
    if n_more > 0 and beats(_log_of_tables(n_more, franchise.served[k], franchise), log_split):
        return _set_tables(first, stop, k, 1, n_more, franchise)
    if n_less > 0 and beats(log_joined, -_log_of_tables(-n_less, franchise.served[k], franchise)):
        return _set_tables(first, stop, k, 0, -n_less, franchise)
    return 0


@inlined
def _log_at_home(n, n_shared, n_own, others, total, franchise):
    """Return the log weight of n rows that stay in a state, with so many tables of either kind.

    `others` counts the tables of other restaurants with that dish, `total` all but those in question.
    """
    alpha, gamma, stickiness = franchise.weights
    log_weight = log_rising(1.0, float(n - n_shared - n_own)) + n_own * log(stickiness)
    log_weight += n_shared * log(alpha) + log_rising(float(others), float(n_shared))
    return log_weight - log_rising(gamma + total, float(n_shared))


@inlined
def _settle_home(k, franchise):
    """Give the rows that stay in state k the best tables: one or as many as rows, of one kind."""
    n, n_shared, n_own = franchise.customers[k + 1, k], franchise.tables[k + 1, k], franchise.own[k + 1, k]
    others, total = franchise.served[k] - n_shared, franchise.n_tables[0] - n_shared
    if n == 0 or others == 0:
        return 0
    best = _log_at_home(n, n_shared, n_own, others, total, franchise)
    chosen = -1
    for option in range(4):
        many, is_own = 1 if option < 2 else n, option % 2
        value = _log_at_home(n, many * (1 - is_own), many * is_own, others, total, franchise)
        if beats(value, best):
            best, chosen = value, option
    if chosen < 0:
        return 0
    many, is_own = 1 if chosen < 2 else n, chosen % 2
    franchise.tables[k + 1, k], franchise.own[k + 1, k] = many * (1 - is_own), many * is_own
    franchise.served[k] = others + many * (1 - is_own)
    franchise.n_tables[0] = total + many * (1 - is_own)
    return 1


@inlined
def _log_of_tables(n, served, franchise):
    """Return the log weight that n more tables with a dish add, or that -n fewer lose, with its sign."""
    alpha, gamma, total = franchise.weights[_ALPHA], franchise.weights[_GAMMA], franchise.n_tables[0]
    least, many = min(n, 0), float(abs(n))
    log_weight = many * log(alpha) + log_rising(float(served + least), many)
    log_weight -= log_rising(gamma + total + least, many)
    return log_weight if n > 0 else -log_weight


@inlined
def _set_tables(first, stop, k, is_alone, change, franchise):
    for r in range(first, stop):
        if franchise.customers[r, k] > 1 and franchise.tables[r, k] > 0:
            most = franchise.customers[r, k] - franchise.own[r, k]
            franchise.tables[r, k] = most if is_alone else 1
    franchise.served[k] += change
    franchise.n_tables[0] += change
    return 1
