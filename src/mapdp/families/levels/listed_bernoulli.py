"""`Bernoulli` for the rows of a sparse matrix: the same model, in the time and memory of its ones.

A chair of n rows has a constant, the log probability of a row without any one. It is that of a chair whose
n rows have none, which is in a table, and a factor for each column that they have a one in. A row adds the
log odds of its ones.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.polynomial import Chebyshev

from mapdp.compiled.jit import inlined
from mapdp.compiled.lanes import LANES, load, spread, store
from mapdp.compiled.special import log_of_product, log_rising, times
from mapdp.data.sparse import SparseRows
from mapdp.families import verbs
from mapdp.families.base import Clusters, refresh_chairs
from mapdp.families.levels.bernoulli import Bernoulli
from mapdp.families.levels.categorical_bank import CategoricalBank
from mapdp.families.levels.learning import Tallies, learned_pseudo_counts, log_hyperprior_of
from mapdp.families.levels.listed_columns import (
    Listed,
    columns_with_counts,
    count_chair,
    count_row,
    forget,
    no_columns,
)

_FEW = 32  # numbers of rows for which a table is filled in one by one
_DEGREE = 20  # of a polynomial between n and 2 n rows: it is then exact to rounding
_SMALL = 8.0  # ones of a column up to which their factors are multiplied


class ListedOnesPrior(NamedTuple):
    """Hyperparameters, and the rows."""

    success: np.ndarray  # (D,) pseudo-counts of ones
    failure: np.ndarray  # (D,) and of zeros
    first: np.ndarray  # (N + 1,) where the ones of each row begin
    place: np.ndarray  # (M,) their columns
    value: np.ndarray  # (M,) 1.0
    log_none: np.ndarray  # (N + 1,) log probability of a row without ones after n such rows
    log_nothing: np.ndarray  # (N + 1,) log probability of n rows without ones


class ListedOnesBank(NamedTuple):
    """The statistics and cached predictives of all chairs."""

    prior: ListedOnesPrior
    n: np.ndarray  # (K,) rows
    tally: np.ndarray  # (D, K) ones of each column
    listed: Listed
    constant: np.ndarray  # (K,) log probability of a row without ones
    constant_without: np.ndarray  # (K,) the same with one row less; columns that all rows have are left out


@dataclasses.dataclass(frozen=True, eq=False)
class ListedBernoulli(Bernoulli):
    """A `Bernoulli` with the rows that it is to describe."""

    has_columns = False
    is_whole = True
    has_list = True
    rows: SparseRows = dataclasses.field(kw_only=True)
    n_most: int = dataclasses.field(kw_only=True)  # rows of a cluster, at most

    @property
    def n_cells(self) -> int:
        """Return the number of cells of an encoded row: its number."""
        return 1

    def to_guess_by(self, numbers: np.ndarray, encoded: np.ndarray) -> np.ndarray:
        """Return the table, or its main axes, which is what such numbers are."""
        return numbers

    def few_numbers(self) -> np.ndarray:
        """Return the table where it has few columns, else its main axes."""
        return self.rows.few_columns(self.rows.value)

    def with_pseudo_counts(self, weights: Sequence[np.ndarray]) -> Self:
        """Return the family with other pseudo-counts."""
        failure, success = np.array(weights).T
        return dataclasses.replace(self, success=success, failure=failure)

    def learned(self, clusters: Clusters, least_gain: float) -> Self:
        """Return the family whose concentrations make these clusters most probable."""
        n_columns, n_clusters = self.n_features, clusters.n_clusters
        n, ones = clusters.bank.n[:n_clusters, None], clusters.bank.tally[:, :n_clusters].T
        tally = np.stack([n - ones, ones], axis=2).reshape(n_clusters, -1)
        first, column = np.arange(0, 2 * n_columns, 2), np.repeat(np.arange(n_columns), 2)
        tallies = Tallies(first, column, tally, np.repeat(n, n_columns, axis=1))
        return self.with_pseudo_counts(learned_pseudo_counts(tallies))

    def log_hyperprior(self, clusters: Clusters) -> float:
        """Return the log density of the concentrations."""
        return log_hyperprior_of(self.pseudo_counts)

    def fitting_rows(self) -> Self:
        """Return the family: it has to know nothing more of its rows."""
        return self

    def plain(self) -> Bernoulli:
        """Return the family without its rows."""
        return Bernoulli(self.success, self.failure)

    def plain_bank(self, bank: ListedOnesBank) -> CategoricalBank:
        """Return the same chairs as the plain family has them."""
        plain = self.plain().bank(len(bank.n))
        plain.n[:], plain.tally[1::2] = bank.n, bank.tally
        plain.tally[0::2] = bank.n - bank.tally
        plain.log_weight[:] = np.log(plain.tally + plain.prior.concentration[:, None])
        for k, n in enumerate(bank.n):
            plain.constant[k] = -np.log(plain.prior.total + n).sum()
        return plain

    def listed_bank(self, bank: CategoricalBank) -> ListedOnesBank:
        """Return chairs of the plain family as this one has them."""
        tally, nothing = np.ascontiguousarray(bank.tally[1::2]), np.zeros((2, len(bank.n)))
        listed = ListedOnesBank(self._prior, bank.n, tally, columns_with_counts(tally), *nothing)
        refresh_chairs(self.handle(listed), len(bank.n), len(bank.n))
        return listed

    def new_bank(self, capacity: int) -> Any:
        """Return the arrays of a bank with `capacity` chairs."""
        shape = (self.n_features, capacity)
        listed, (n, constant, without) = no_columns(*shape), np.zeros((3, capacity))
        return ListedOnesBank(self._prior, n, np.zeros(shape), listed, constant, without)

    @functools.cached_property
    def _prior(self) -> ListedOnesPrior:
        def log_none(n: float) -> float:
            return -float(np.log1p(self.success / (self.failure + n)).sum())

        rows, table = self.rows, tabulated(log_none, self.n_most)
        log_nothing = np.append(0.0, np.cumsum(table[:-1], dtype=np.longdouble)).astype(np.float64)
        return ListedOnesPrior(
            self.success, self.failure, rows.first, rows.place, rows.value, table, log_nothing
        )


def tabulated(function: Callable[[float], float], last: int) -> np.ndarray:
    """Return a function of 0, 1, ..., `last`, which is smooth but for its poles at negative numbers."""

    def values(points: np.ndarray) -> np.ndarray:
        return np.array([function(point) for point in points])

    table, begin = np.empty(last + 1), min(_FEW, last + 1)
    table[:begin] = values(np.arange(begin))
    while begin <= last:
        some = np.arange(begin, min(2 * begin, last + 1))
        curve: Any = Chebyshev.interpolate(values, _DEGREE, domain=[begin, 2 * begin])
        table[some] = curve(some)
        begin *= 2
    return table


@verbs.clear.on(ListedOnesBank)
def clear(bank, k):
    bank.n[k] = 0.0
    forget(bank.tally, bank.listed, k)


@verbs.insert.on(ListedOnesBank)
def insert(bank, k, x, scratch):
    bank.n[k] += 1.0
    count_row(bank.tally, bank.listed, k, bank.prior, int(x[0]), 1.0)


@verbs.remove.on(ListedOnesBank)
def remove(bank, k, x, scratch):
    bank.n[k] -= 1.0
    count_row(bank.tally, bank.listed, k, bank.prior, int(x[0]), -1.0)


@verbs.pour.on(ListedOnesBank)
def pour(bank, k, other, j, times, scratch):
    bank.n[k] += times * other.n[j]
    count_chair(bank.tally, bank.listed, k, other.tally, other.listed, j, times)


@inlined
def _others(failure, n, ones):
    """Return the weight of zeros with one row less; as if there were no ones, where all rows have one."""
    return failure + max(n - 1.0, 0.0) - (ones if ones < n else 0.0)


@verbs.refresh.on(ListedOnesBank)
def refresh(bank, k):
    prior, listed, n = bank.prior, bank.listed, bank.n[k]
    exponent, product, exponent_without, product_without = 0.0, 1.0, 0.0, 1.0
    for i in range(listed.n[k]):
        j = listed.place[i, k]
        ones, failure = bank.tally[j, k], prior.failure[j]
        exponent, product = times(exponent, product, (failure + (n - ones)) / (failure + n), i)
        ratio = _others(failure, n, ones) / _others(failure, n, 0.0)
        exponent_without, product_without = times(exponent_without, product_without, ratio, i)
    bank.constant[k] = prior.log_none[int(n)] + log_of_product(exponent, product)
    without = prior.log_none[int(max(n - 1.0, 0.0))]
    bank.constant_without[k] = without + log_of_product(exponent_without, product_without)


@verbs.log_predictive.on(ListedOnesBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    prior, tally, i = bank.prior, bank.tally, int(x[0])
    first, last = prior.first[i], prior.first[i + 1]
    for k in range(0, n_chairs, LANES):
        exponent, product, n = spread(0.0), spread(1.0), load(bank.n, k)
        for cell in range(first, last):
            j = prior.place[cell]
            ones = load(tally[j], k)
            odds = (ones + prior.success[j]) / (n - ones + prior.failure[j])
            exponent, product = times(exponent, product, odds, cell - first)
        store(scores, k, load(scores, k) + load(bank.constant, k) + log_of_product(exponent, product))


@verbs.log_leave_one_out.on(ListedOnesBank)
def log_leave_one_out(bank, k, x, scratch):
    prior, i, n = bank.prior, int(x[0]), bank.n[k]
    first, exponent, product = prior.first[i], 0.0, 1.0
    for cell in range(first, prior.first[i + 1]):
        j = prior.place[cell]
        ones = bank.tally[j, k]
        odds = (prior.success[j] + (ones - 1.0)) / _others(prior.failure[j], n, ones)
        exponent, product = times(exponent, product, odds, cell - first)
    return bank.constant_without[k] + log_of_product(exponent, product)


@verbs.log_marginal.on(ListedOnesBank)
def log_marginal(bank, k):
    prior, listed, n = bank.prior, bank.listed, bank.n[k]
    total, exponent, product, n_factors = prior.log_nothing[int(n)], 0.0, 1.0, 0
    for i in range(listed.n[k]):
        j = listed.place[i, k]
        ones, success, zeros = bank.tally[j, k], prior.success[j], prior.failure[j] + (n - bank.tally[j, k])
        if ones > _SMALL:
            total += log_rising(success, ones) - log_rising(zeros, ones)
        else:
            for one in range(int(ones)):
                exponent, product = times(exponent, product, (success + one) / (zeros + one), n_factors)
                n_factors += 1
    return total + log_of_product(exponent, product)
