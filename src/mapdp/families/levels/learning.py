"""Learning how pure clusters are in columns of levels: one concentration for each column.

The pseudo-counts of a column are a concentration times a base, which is flat or the column's own
frequencies, whichever makes the clusters more probable. The log of the concentration has a normal
hyperprior of mean 0 and standard deviation 2.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

_SPREAD = 2.0  # standard deviation of the log concentration
_FARTHEST = 9.0  # |log concentration|: beyond, clusters are pure or all alike for any table
_GRID = 19  # log concentrations that are tried first: one for each nat
_HALVINGS = 36  # of the bracket around the best of them, by the golden section
_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


class Tallies(NamedTuple):
    """The tallies of all columns side by side."""

    first: np.ndarray  # (D,) where the levels of a column begin
    column: np.ndarray  # (L,) the column of each level
    tally: np.ndarray  # (K, L)
    n: np.ndarray  # (K, D) cells

    @classmethod
    def of(cls, chairs: Sequence[Sequence[np.ndarray]]) -> "Tallies":
        """Return the tallies of several clusters, each given column by column."""
        lengths = [len(column) for column in chairs[0]]
        first = np.cumsum([0, *lengths[:-1]])
        tally = np.array([np.concatenate(chair) for chair in chairs])
        column = np.repeat(np.arange(len(lengths)), lengths)
        return cls(first, column, tally, np.add.reduceat(tally, first, axis=1))

    def flat(self) -> np.ndarray:
        """Return the same weight for all levels of a column."""
        return 1.0 / np.bincount(self.column)[self.column]

    def frequencies(self) -> np.ndarray:
        """Return how frequent levels are over all clusters, each counted once more than it occurs."""
        counts = self.tally.sum(axis=0) + 1.0
        return counts / np.add.reduceat(counts, self.first)[self.column]

    def log_value(self, log_concentration: np.ndarray, base: np.ndarray, middle: float) -> np.ndarray:
        """Return for each column the log probability of its cells, with the hyperprior."""
        total = np.exp(log_concentration)
        weight = np.maximum(total[self.column] * base, 1e-30)
        levels = (gammaln(weight + self.tally) - gammaln(weight)).sum(axis=0)
        cells = (gammaln(total) - gammaln(total + self.n)).sum(axis=0)
        hyper = -0.5 * ((log_concentration - middle) / _SPREAD) ** 2
        return np.add.reduceat(levels, self.first) + cells + hyper


def learned_pseudo_counts(tallies: Tallies, middle: float = 0.0) -> list[np.ndarray]:
    """Return the pseudo-counts of each column under which the clusters are most probable.

    `middle` is the mean of the log concentration under its hyperprior.
    """
    bases = (tallies.flat(), tallies.frequencies())
    best = [_best_concentration(tallies, base, middle) for base in bases]
    value = [tallies.log_value(*one, middle) for one in zip(best, bases, strict=True)]
    by_frequency = value[1] > value[0]
    log_concentration = np.where(by_frequency, best[1], best[0])
    base = np.where(by_frequency[tallies.column], bases[1], bases[0])
    weights = np.maximum(np.exp(log_concentration)[tallies.column] * base, 1e-30)
    return np.split(weights, tallies.first[1:])


def _best_concentration(tallies: Tallies, base: np.ndarray, middle: float) -> np.ndarray:
    """Return the log concentration of each column with the highest value."""
    grid = middle + np.linspace(-_FARTHEST, _FARTHEST, _GRID)
    n_columns = len(tallies.first)
    values = np.array([tallies.log_value(np.full(n_columns, t), base, middle) for t in grid])
    place, step = grid[values.argmax(axis=0)], grid[1] - grid[0]
    low, high = place - step, place + step
    for _ in range(_HALVINGS):
        width = _GOLDEN * (high - low)
        left, right = high - width, low + width
        is_left = tallies.log_value(left, base, middle) > tallies.log_value(right, base, middle)
        low, high = np.where(is_left, low, left), np.where(is_left, right, high)
    return 0.5 * (low + high)


def log_hyperprior_of(pseudo_counts: Sequence[np.ndarray], middle: float = 0.0) -> float:
    """Return the log density of the pseudo-counts of columns."""
    totals = np.log([weights.sum() for weights in pseudo_counts])
    return float(-0.5 * ((totals - middle) ** 2).sum() / _SPREAD**2)
