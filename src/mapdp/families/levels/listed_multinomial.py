"""`Multinomial` for the rows of a sparse matrix: the same model, in the time and memory of its counts."""

import dataclasses
import functools
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import gammaln

from mapdp.compiled.jit import inlined
from mapdp.compiled.lanes import LANES, load, spread, store
from mapdp.compiled.special import log_of_product, log_rising
from mapdp.data.sparse import MOST, SparseRows
from mapdp.families import verbs
from mapdp.families.levels.listed_columns import (
    Listed,
    columns_with_counts,
    count_chair,
    count_row,
    forget,
    no_columns,
)
from mapdp.families.levels.multinomial import Multinomial
from mapdp.families.levels.multinomial_bank import MultinomialBank, new_multinomial_bank, risen


class ListedCountsPrior(NamedTuple):
    """Hyperparameters, and the rows."""

    concentration: np.ndarray  # (D,) pseudo-counts
    total: float  # their sum
    first: np.ndarray  # (N + 1,) where the counts of each row begin
    place: np.ndarray  # (M,) the column of each count
    value: np.ndarray  # (M,) the counts, divided by the dispersion
    mass: np.ndarray  # (N,) their sum in each row
    log_coefficient: np.ndarray  # (N,) of the multinomial, of each row


class ListedCountsBank(NamedTuple):
    """The statistics of all chairs; scoring reads them as they are."""

    prior: ListedCountsPrior
    n: np.ndarray  # (K,) rows
    tally: np.ndarray  # (D, K) counts of each column
    mass: np.ndarray  # (K,) counts of all columns
    log_coefficient: np.ndarray  # (K,) sum over rows
    listed: Listed


@dataclasses.dataclass(frozen=True, eq=False)
class ListedMultinomial(Multinomial):
    """A `Multinomial` with the rows that it is to describe."""

    has_list = True
    rows: SparseRows = dataclasses.field(kw_only=True)

    @property
    def n_cells(self) -> int:
        """Return the number of cells of an encoded row: its number."""
        return 1

    def to_guess_by(self, numbers: np.ndarray, encoded: np.ndarray) -> np.ndarray:
        """Return roots of shares, or main axes of these, which is what such numbers are."""
        return super().to_guess_by(numbers, encoded) if numbers.shape[1] == self.n_features else numbers

    def few_numbers(self) -> np.ndarray:
        """Return the table where it has few columns, else the main axes of the roots of shares."""
        rows = self.rows
        total = np.maximum(rows.row_sums(rows.value), 1.0)
        is_small = rows.n_columns <= MOST
        return rows.few_columns(rows.value if is_small else np.sqrt(rows.value / total[rows.row]))

    def fitting_rows(self) -> Self:
        """Return the family with what it has to know of its rows to describe others."""
        rows = self.rows
        widest, total = int(np.diff(rows.first).max(initial=0)), rows.value.sum() / max(len(rows), 1)
        return dataclasses.replace(self, widest=widest, total=round(float(total)))

    def plain(self) -> Multinomial:
        """Return the family without its rows."""
        return Multinomial(self.concentration, self.dispersion, self.total, self.widest)

    def plain_bank(self, bank: ListedCountsBank) -> MultinomialBank:
        """Return the same chairs as the plain family has them; arrays are shared."""
        plain = new_multinomial_bank(self.concentration, 0)
        return plain._replace(**{name: getattr(bank, name) for name in MultinomialBank._fields[1:]})

    def listed_bank(self, bank: MultinomialBank) -> ListedCountsBank:
        """Return chairs of the plain family as this one has them."""
        return ListedCountsBank(self._prior, *bank[1:], columns_with_counts(bank.tally))

    def new_bank(self, capacity: int) -> Any:
        """Return the arrays of a bank with `capacity` chairs."""
        shape = (self.n_features, capacity)
        listed, (n, mass, log_coefficient) = no_columns(*shape), np.zeros((3, capacity))
        return ListedCountsBank(self._prior, n, np.zeros(shape), mass, log_coefficient, listed)

    @functools.cached_property
    def _prior(self) -> ListedCountsPrior:
        rows, total = self.rows, float(self.concentration.sum())
        value = rows.value if self.dispersion == 1.0 else rows.value / self.dispersion
        mass, log_coefficient = rows.row_sums(value), np.zeros(len(rows))
        if self.dispersion == 1.0:
            log_coefficient = gammaln(mass + 1.0) - rows.row_sums(gammaln(rows.value + 1.0))
        return ListedCountsPrior(
            self.concentration, total, rows.first, rows.place, value, mass, log_coefficient
        )


@inlined
def _add(bank, k, x, sign):
    prior, i = bank.prior, int(x[0])
    count_row(bank.tally, bank.listed, k, prior, i, sign)
    bank.n[k] += sign
    bank.mass[k] += sign * prior.mass[i]
    bank.log_coefficient[k] += sign * prior.log_coefficient[i]


@verbs.clear.on(ListedCountsBank)
def clear(bank, k):
    bank.n[k] = bank.mass[k] = bank.log_coefficient[k] = 0.0
    forget(bank.tally, bank.listed, k)


@verbs.insert.on(ListedCountsBank)
def insert(bank, k, x, scratch):
    _add(bank, k, x, 1.0)


@verbs.remove.on(ListedCountsBank)
def remove(bank, k, x, scratch):
    _add(bank, k, x, -1.0)


@verbs.pour.on(ListedCountsBank)
def pour(bank, k, other, j, times, scratch):
    bank.n[k] += times * other.n[j]
    bank.mass[k] += times * other.mass[j]
    bank.log_coefficient[k] += times * other.log_coefficient[j]
    count_chair(bank.tally, bank.listed, k, other.tally, other.listed, j, times)


@verbs.refresh.on(ListedCountsBank)
def refresh(bank, k):
    pass


@verbs.log_predictive.on(ListedCountsBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    prior, tally, i = bank.prior, bank.tally, int(x[0])
    first, last, mass = prior.first[i], prior.first[i + 1], prior.mass[i]
    for k in range(0, n_chairs, LANES):
        total = load(scores, k) + prior.log_coefficient[i]
        total -= log_rising(load(bank.mass, k) + prior.total, mass)
        exponent, product, n_factors = spread(0.0), spread(1.0), 0
        for cell in range(first, last):
            j, number = prior.place[cell], prior.value[cell]
            weight = load(tally[j], k) + prior.concentration[j]
            total, exponent, product, n_factors = risen(total, exponent, product, n_factors, weight, number)
        store(scores, k, total + log_of_product(exponent, product))


@verbs.log_leave_one_out.on(ListedCountsBank)
def log_leave_one_out(bank, k, x, scratch):
    prior, i = bank.prior, int(x[0])
    total = prior.log_coefficient[i]
    total -= log_rising(prior.total + bank.mass[k] - prior.mass[i], prior.mass[i])
    exponent, product, n_factors = 0.0, 1.0, 0
    for cell in range(prior.first[i], prior.first[i + 1]):
        j, number = prior.place[cell], prior.value[cell]
        weight = prior.concentration[j] + (bank.tally[j, k] - number)
        total, exponent, product, n_factors = risen(total, exponent, product, n_factors, weight, number)
    return total + log_of_product(exponent, product)


@verbs.log_marginal.on(ListedCountsBank)
def log_marginal(bank, k):
    prior, listed = bank.prior, bank.listed
    total = bank.log_coefficient[k] - log_rising(prior.total, bank.mass[k])
    exponent, product, n_factors = 0.0, 1.0, 0
    for i in range(listed.n[k]):
        j = listed.place[i, k]
        weight, number = prior.concentration[j], max(bank.tally[j, k], 0.0)  # rounding may leave less
        total, exponent, product, n_factors = risen(total, exponent, product, n_factors, weight, number)
    return total + log_of_product(exponent, product)
