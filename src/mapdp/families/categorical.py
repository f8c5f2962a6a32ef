"""Knows clusters of columns that take one of a few values, under Dirichlet priors.

The one idea: a row's score is a sum of table look-ups, one line of the table (all chairs) per column.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from mapdp import checks, family
from mapdp._jit import inlined
from mapdp._lanes import LANES, load, store
from mapdp.checks import Names
from mapdp.families.cells import LEVELS, Cell, Sums
from mapdp.family import SCALE_HINT, Family, Parameters
from mapdp.special import log, log_rising

_LEAST = 1e-30  # pseudo-count
_CHUNK = 8  # ratios multiplied before their log is taken: none is below _LEAST / n


class Prior(NamedTuple):
    """Hyperparameters in the form the verbs read."""

    concentration: np.ndarray  # (L,) pseudo-counts of all levels of all columns, one after another
    total: np.ndarray  # (D,) their sum in each column
    offset: np.ndarray  # (D + 1,) where each column's levels begin


class CategoricalBank(NamedTuple):
    """What the clusters know."""

    prior: Prior
    n: np.ndarray  # (K,) rows
    tally: np.ndarray  # (L, K) rows at each level
    log_weight: np.ndarray  # (L, K) log of tally + concentration
    constant: np.ndarray  # (K,) minus the log of the weights' totals, over all columns


@dataclasses.dataclass(frozen=True, eq=False)
class Categorical(Family):
    """Columns with unordered values, independent within a cluster.

    Parameters
    ----------
    levels : sequence of arrays
        The values that each column may take.
    concentration : sequence of arrays
        Pseudo-counts of those values, positive.

    Examples
    --------
    >>> family = Categorical(levels=[[0, 1, 2]], concentration=[[1.0, 1.0, 1.0]])
    >>> round(float(np.exp(family.log_predictive([2], [[2], [2], [0]]))), 6)  # (2 + 1) / (3 + 3)
    0.5
    """

    levels: Sequence[np.ndarray]
    concentration: Sequence[np.ndarray]

    def __post_init__(self) -> None:
        levels = tuple(np.asarray(level) for level in self.levels)
        hint = "1.0 for each value is a flat prior."
        weights = tuple(checks.positive_vector("concentration", c, hint) for c in self.concentration)
        if [len(level) for level in levels] != [len(weight) for weight in weights]:
            raise ValueError(
                f"concentration must match levels, got {[len(w) for w in weights]} pseudo-counts for "
                f"{[len(level) for level in levels]} values. Hint: one number per value of a column."
            )
        if any(len(np.unique(level)) < len(level) for level in levels):
            raise ValueError(f"levels must not repeat within a column, got {levels!r}.")
        if any(weight.min() < _LEAST for weight in weights):
            raise ValueError(f"concentration must be at least {_LEAST}, got less. Hint: {hint}")
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "concentration", weights)

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0) -> Self:
        """Take each column's values from the data, with half a pseudo-count for each on average.

        Frequent values get more of it: the prior mean is the frequency in the data, each value counted
        once more than it occurs. `scale` multiplies the pseudo-counts: smaller values look for purer
        clusters.
        """
        half = 0.5 * checks.positive("scale", scale, SCALE_HINT)
        columns = [np.unique(column, return_counts=True) for column in np.asarray(X).T]
        weights = [half * len(n) * (n + 1.0) / (n + 1.0).sum() for _, n in columns]
        return cls([values for values, _ in columns], weights)

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return len(self.levels)

    def _spread(self, n_features: int) -> Self:
        return type(self)(list(self.levels) * n_features, list(self.concentration) * n_features)

    def column(self, j: int) -> Self:
        """Return this family for column j alone."""
        return type(self)([self.levels[j]], [self.concentration[j]])

    @property
    def cell(self) -> Cell:
        """Return the prior of the one column."""
        return Cell(LEVELS, (), self.concentration[0])

    def sums(self, bank: CategoricalBank, k: int) -> list[Sums]:
        """Return what each column of chair k knows."""
        return tallies(bank, k)

    def learned(self, sums: Sums) -> Self:
        """Return the family of one column after a tally of its levels."""
        return type(self)(self.levels, [self.concentration[0] + sums.tally])

    def encode(self, X: np.ndarray, names: Names = None) -> np.ndarray:
        """Replace each value by its place among the levels of its column."""
        return as_codes(X, self.levels, names)

    def decode(self, X: np.ndarray) -> np.ndarray:
        """Replace places among the levels by the levels."""
        return from_codes(X, self.levels)

    def new_bank(self, capacity: int) -> CategoricalBank:
        """Return the arrays of a bank with `capacity` chairs."""
        return make_bank(self.concentration, capacity)

    def posterior(self, bank: CategoricalBank, k: int) -> Self:
        """Return the family whose prior is what chair k knows."""
        return dataclasses.replace(self, concentration=posterior_weights(bank, k))

    def summary(self) -> dict[str, Any]:
        """Return the probability of each level, and the most probable level."""
        probability = [weight / weight.sum() for weight in self.concentration]
        mode = [values[np.argmax(p)] for values, p in zip(self.levels, probability, strict=True)]
        return {"probability": probability, "mode": np.array(mode)}

    def sample_parameters(self, n: int, rng: np.random.Generator) -> Parameters:
        """Draw the level probabilities of n clusters, one array per column."""
        return tuple(rng.dirichlet(weight, size=n) for weight in self.concentration)

    def sample_rows(self, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
        """Draw one row of codes for each drawn cluster."""
        return sampled_codes(parameters, rng)


def as_codes(X: np.ndarray, levels: Sequence[np.ndarray], names: Names) -> np.ndarray:
    """Replace each value by its place among the levels of its column."""
    checks.finite(X, names)
    codes = np.empty(X.shape, dtype=np.float64)
    for j, values in enumerate(levels):
        order = np.argsort(values)
        place = np.clip(np.searchsorted(values, X[:, j], sorter=order), 0, len(values) - 1)
        codes[:, j] = order[place]
        _check_seen(X[:, j], values[order[place]], values, checks.column_name(j, names))
    return codes


def _check_seen(column: np.ndarray, found: np.ndarray, values: np.ndarray, name: str) -> None:
    if not (found == column).all():
        i = int(np.argmin(found == column))
        known = ", ".join(str(value) for value in np.sort(values)[:6])
        raise ValueError(
            f"{name} has no level {column[i]}, found in row {i}. "
            f"Hint: known levels are {known}; list all of them in the family's levels."
        )


def from_codes(X: np.ndarray, levels: Sequence[np.ndarray]) -> np.ndarray:
    """Replace places among the levels by the levels."""
    return np.stack([v[X[:, j].astype(int)] for j, v in enumerate(levels)], axis=1)


def sampled_codes(parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
    """Draw one row of codes for each row of level probabilities."""
    cumulative = [np.cumsum(p, axis=1) for p in parameters]
    draws = [(rng.random((len(c), 1)) * c[:, -1:] > c).sum(axis=1) for c in cumulative]
    return np.stack(draws, axis=1).astype(np.float64)


def make_bank(concentration: Sequence[np.ndarray], capacity: int) -> CategoricalBank:
    """Return the arrays of a bank with these pseudo-counts."""
    offset = np.cumsum([0, *map(len, concentration)])
    total = np.array([weight.sum() for weight in concentration])
    prior = Prior(np.concatenate(concentration), total, offset)
    shapes = [(capacity,), (offset[-1], capacity), (offset[-1], capacity), (capacity,)]
    return CategoricalBank(prior, *[np.zeros(shape) for shape in shapes])


def posterior_weights(bank: CategoricalBank, k: int) -> list[np.ndarray]:
    """Return prior pseudo-counts plus what chair k counted, column by column."""
    return np.split(bank.prior.concentration + bank.tally[:, k], bank.prior.offset[1:-1])


def tallies(bank: CategoricalBank, k: int) -> list[Sums]:
    """Return what each column of chair k knows."""
    parts = np.split(bank.tally[:, k], bank.prior.offset[1:-1])
    return [Sums(bank.n[k], tally=part) for part in parts]


@family.clear.on(CategoricalBank)
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


@family.insert.on(CategoricalBank)
def insert(bank, k, x):
    bank.n[k] += 1.0
    for j in range(x.shape[0]):
        _count(bank, k, bank.prior.offset[j] + int(x[j]), 1.0)


@family.remove.on(CategoricalBank)
def remove(bank, k, x):
    bank.n[k] -= 1.0
    for j in range(x.shape[0]):
        _count(bank, k, bank.prior.offset[j] + int(x[j]), -1.0)


@family.pour.on(CategoricalBank)
def pour(bank, k, other, j, times):
    bank.n[k] += times * other.n[j]
    for level in range(bank.tally.shape[0]):
        _count(bank, k, level, times * other.tally[level, j])


@family.refresh.on(CategoricalBank)
def refresh(bank, k):
    total = 0.0
    for j in range(bank.prior.total.shape[0]):
        total += log(bank.prior.total[j] + bank.n[k])
    bank.constant[k] = -total


@family.log_predictive.on(CategoricalBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    log_weight, offset = bank.log_weight, bank.prior.offset
    for k in range(0, n_chairs, LANES):
        total = load(scores, k) + load(bank.constant, k)
        for j in range(x.shape[0]):
            total += load(log_weight[offset[j] + int(x[j])], k)
        store(scores, k, total)


@family.log_leave_one_out.on(CategoricalBank)
def log_leave_one_out(bank, k, x):
    prior, others = bank.prior, bank.n[k] - 1.0
    total = 0.0
    for begin in range(0, x.shape[0], _CHUNK):
        product = 1.0
        for j in range(begin, min(begin + _CHUNK, x.shape[0])):
            level = prior.offset[j] + int(x[j])
            weight = prior.concentration[level] + (bank.tally[level, k] - 1.0)
            product *= weight / (prior.total[j] + others)
        total += log(product)
    return total


@family.log_marginal.on(CategoricalBank)
def log_marginal(bank, k):
    total = 0.0
    for j in range(bank.prior.total.shape[0]):
        total -= log_rising(bank.prior.total[j], bank.n[k])
    for level in range(bank.tally.shape[0]):
        total += log_rising(bank.prior.concentration[level], bank.tally[level, k])
    return total
