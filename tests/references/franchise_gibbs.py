"""A Gibbs sampler of the hierarchical Dirichlet process mixture, written from its definition.

It is the one of Teh and others (2006): rows change their table, then tables change their dish. It shares no
code with the search: dishes say how much more probable rows are with them, from marginal densities alone.
"""

import numpy as np
from scipy.special import gammaln


class SetDishes:
    """Dishes of a few rows; marginal densities of sets of rows come from a function."""

    def __init__(self, log_marginal):
        self._log_marginal, self.rows = log_marginal, {}

    def log_gains(self, rows):
        """Return dishes, and what rows add to the log density of each; the last is a new one."""
        names = [*self.rows, None]
        sets = [self.rows.get(name, frozenset()) for name in names]
        return names, np.array([self._of(one | rows) - self._of(one) for one in sets])

    def _of(self, rows):
        return self._log_marginal(tuple(sorted(rows)))

    def add(self, name, rows):
        self.rows[name] = self.rows.get(name, frozenset()) | rows

    def remove(self, name, rows):
        left = self.rows.pop(name) - rows
        if left:
            self.rows[name] = left


class GaussianDishes:
    """Dishes whose columns are independent Gaussians with a Normal-Gamma prior, from sums."""

    def __init__(self, X, mean, strength, shape, rate):
        self._X, self._strength, self._shape, self._rate = X - mean, strength, shape, rate
        self._sums = {}  # dish: number of rows, sums, sums of squares

    def log_gains(self, rows):
        names, width = list(self._sums), self._X.shape[1]
        zero = (0, np.zeros(width), np.zeros(width))
        there = [np.array(part) for part in zip(*self._sums.values(), zero, strict=True)]
        more = [old + new for old, new in zip(there, self._of(rows), strict=True)]
        return [*names, None], self._log_marginal(*more) - self._log_marginal(*there)

    def _of(self, rows):
        cells = self._X[list(rows)]
        return len(cells), cells.sum(axis=0), (cells**2).sum(axis=0)

    def _log_marginal(self, n, sums, squares):
        n, a, b = n[:, None], self._shape, self._rate
        shape, strength = a + n / 2.0, self._strength + n
        rate = b + 0.5 * (squares - sums**2 / strength)
        density = gammaln(shape) - gammaln(a) + a * np.log(b) - shape * np.log(rate)
        return (density + 0.5 * np.log(self._strength / strength) - n / 2.0 * np.log(2.0 * np.pi)).sum(
            axis=1
        )

    def add(self, name, rows):
        old = self._sums.get(name, (0, 0.0, 0.0))
        self._sums[name] = tuple(a + b for a, b in zip(old, self._of(rows), strict=True))

    def remove(self, name, rows):
        left = tuple(a - b for a, b in zip(self._sums[name], self._of(rows), strict=True))
        if left[0]:
            self._sums[name] = left
        else:
            del self._sums[name]


class FranchiseGibbs:
    """A state of the franchise, and the moves that draw the next one."""

    def __init__(self, groups, dishes, alpha, gamma, tables=None, served=None):
        """Begin with the tables and dishes of rows that are given, else with a table for each group."""
        self.groups, self.dishes, self.alpha, self.gamma = list(groups), dishes, alpha, gamma
        tables = list(groups) if tables is None else tables
        served = [0] * len(self.groups) if served is None else served
        self.members, self.dish, self._named = {}, {}, len(self.groups) * 4
        for i, (t, k) in enumerate(zip(tables, served, strict=True)):
            self.members.setdefault(t, set()).add(i)
            self.dish[t] = k
        for t, rows in self.members.items():
            dishes.add(self.dish[t], frozenset(rows))
        self.table_of = list(tables)

    def sweep(self, rng):
        for i in range(len(self.groups)):
            self._draw(self.row_choices, self.seat_row, i, rng)
        for t in list(self.members):
            self._draw(self.table_choices, self.serve, t, rng)

    def _draw(self, choices_of, put, one, rng):
        choices, log_weights = choices_of(one)
        weights = np.exp(log_weights - log_weights.max())
        place = np.searchsorted(np.cumsum(weights), rng.random() * weights.sum())
        put(one, choices[min(place, len(choices) - 1)])

    def row_choices(self, i):
        """Take a row from its table; return tables, and new tables with each dish, with their weights."""
        self._stand_up(i)
        names, gains = self.dishes.log_gains(frozenset([i]))
        gain = dict(zip(names, gains, strict=True))
        near = [t for t in self.members if self.groups[next(iter(self.members[t]))] == self.groups[i]]
        choices = [(t, self.dish[t]) for t in near] + [(None, k) for k in names]
        weights = [len(self.members[t]) for t in near]
        served, n_tables = self._served(), len(self.members)
        weights += [self.alpha * served.get(k, self.gamma) / (n_tables + self.gamma) for k in names]
        return choices, np.log(weights) + [gain[k] for _, k in choices]

    def _served(self):
        """Return how many tables each dish has."""
        served = {}
        for k in self.dish.values():
            served[k] = served.get(k, 0) + 1
        return served

    def _stand_up(self, i):
        t = self.table_of[i]
        self.dishes.remove(self.dish[t], frozenset([i]))
        self.members[t].discard(i)
        if not self.members[t]:
            del self.members[t], self.dish[t]

    def seat_row(self, i, choice):
        t, k = choice
        if t is None:
            t = self._new_name()
            self.members[t], self.dish[t] = set(), self._new_name() if k is None else k
        self.members[t].add(i)
        self.table_of[i] = t
        self.dishes.add(self.dish[t], frozenset([i]))

    def table_choices(self, t):
        """Take the dish from a table; return dishes, None for a new one, with their weights."""
        rows = frozenset(self.members[t])
        self.dishes.remove(self.dish.pop(t), rows)
        served = self._served()
        names, gains = self.dishes.log_gains(rows)
        return names, np.log([served.get(k, self.gamma) for k in names]) + gains

    def serve(self, t, k):
        self.dish[t] = self._new_name() if k is None else k
        self.dishes.add(self.dish[t], frozenset(self.members[t]))

    def _new_name(self):
        self._named += 1
        return self._named

    @property
    def labels(self):
        """Return the dish of each row."""
        return [self.dish[t] for t in self.table_of]
