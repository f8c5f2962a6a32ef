"""Knows clusters whose columns are of any kinds, and rows with gaps.

The one idea: columns are independent within a cluster and each counts its own cells, so a gap adds
nothing: the joint is that of the cells that are there, exactly. Where all columns are of one kind and there
are no gaps, that kind's own family says the same faster.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mapdp import family
from mapdp._jit import inlined
from mapdp.checks import Names, column_name
from mapdp.exact import accumulate, added, several
from mapdp.families import cells, levels, numbers
from mapdp.families.cells import COUNT, LEVELS, REMEMBERED, TRIALS, CellBank, Sums
from mapdp.family import Bank, Family, Parameters, rows_side_by_side


@dataclasses.dataclass(frozen=True, eq=False)
class Mixed(Family):
    """One family for each column; cells may be missing.

    Parameters
    ----------
    columns : sequence of Family
        Each describes one column.

    Examples
    --------
    >>> from mapdp.families import Bernoulli, Poisson
    >>> family = Mixed([Bernoulli(1.0, 1.0), Poisson(1.0, 1.0)])
    >>> round(float(np.exp(family.log_marginal([[1, 2]]))), 6)  # 1/2 * 1/8
    0.0625
    >>> round(float(np.exp(family.log_marginal([[1, np.nan]]))), 6)
    0.5
    """

    columns: Sequence[Family]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "_prior", cells.make_prior([column.cell for column in self.columns]))

    @classmethod
    def empirical(  # type: ignore[override]
        cls, X: np.ndarray, kinds: Sequence[type[Family]] = (), scale: float = 1.0
    ) -> Self:
        """Choose each column's hyperparameters from its cells: `kinds` holds a class for each column."""
        columns = np.asarray(X, dtype=np.float64).T[:, :, None]
        seen = [column[~np.isnan(column[:, 0])] for column in columns]
        if not all(map(len, seen)):
            j = next(j for j, column in enumerate(seen) if not len(column))
            raise ValueError(f"column {j} has no cell that is not a gap. Hint: drop the column.")
        return cls([kind.empirical(column, scale) for kind, column in zip(kinds, seen, strict=True)])

    @classmethod
    def of(cls, family: Family) -> Self:
        """Return what a family says of each column by itself: the same model, where it has columns."""
        if isinstance(family, cls):
            return family
        return cls([family.column(j) for j in range(family.n_features)])

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return len(self.columns)

    def over(self, n_features: int) -> Self:
        """A mixed family names its columns, so it does not spread."""
        if n_features != self.n_features:
            raise ValueError(
                f"family describes {self.n_features} columns, but X has {n_features}. "
                "Hint: give one family for each column of X."
            )
        return self

    def column(self, j: int) -> Family:
        """Return the family of column j."""
        return self.columns[j]

    @property
    def origin(self) -> np.ndarray:
        """Return the columns' origins."""
        return np.concatenate([column.origin for column in self.columns])

    def encode(self, X: np.ndarray, names: Names = None) -> np.ndarray:
        """Check each column; NaN is a gap."""
        out = np.empty(X.shape)
        for j, column in enumerate(self.columns):
            out[:, j] = _encoded(column, X[:, [j]], [column_name(j, names)])
        return out

    def decode(self, X: np.ndarray) -> np.ndarray:
        """Turn encoded rows back into the values that users know."""
        return np.hstack([column.decode(X[:, [j]]) for j, column in enumerate(self.columns)])

    def new_bank(self, capacity: int) -> Bank:
        """Return the arrays of a bank with `capacity` chairs."""
        return cells.make_bank(self._prior, capacity)  # type: ignore[attr-defined]

    def sums(self, bank: CellBank, k: int) -> list[Sums]:
        """Return what each column of chair k knows."""
        return cells.sums_of(bank, k)

    def posterior(self, bank: CellBank, k: int) -> Self:
        """Return the family whose prior is what chair k knows."""
        sums = self.sums(bank, k)
        return type(self)([column.learned(s) for column, s in zip(self.columns, sums, strict=True)])

    def summary(self) -> dict[str, Any]:
        """Return the summary of each column, under its number."""
        return {str(j): column.summary() for j, column in enumerate(self.columns)}

    def sample_parameters(self, n: int, rng: np.random.Generator) -> Parameters:
        """Draw the parameters of n clusters, column after column."""
        return tuple(p for column in self.columns for p in column.sample_parameters(n, rng))

    def sample_rows(self, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
        """Draw one encoded row for each drawn cluster."""
        return rows_side_by_side(self.columns, parameters, rng)


def _encoded(column: Family, cells: np.ndarray, names: Names) -> np.ndarray:
    """Return a column's cells as the verbs want them, gaps as they are."""
    gaps = np.isnan(cells)
    harmless = column.decode(np.zeros((1, 1)))
    return np.where(gaps, np.nan, column.encode(np.where(gaps, harmless, cells), names))[:, 0]


@family.clear.on(CellBank)
def clear(bank, k):
    for j in range(bank.n.shape[0]):
        bank.n[j, k] = 0.0
        bank.sum_high[j, k] = bank.sum_low[j, k] = 0.0
        bank.second_high[j, k] = bank.second_low[j, k] = 0.0
    for level in range(bank.tally.shape[0]):
        bank.tally[level, k] = 0.0


@inlined
def _add(bank, j, k, number, lost, square, square_lost):
    """Add to the exact sums of column j on chair k."""
    accumulate(bank.sum_high, bank.sum_low, j, k, number, lost)
    accumulate(bank.second_high, bank.second_low, j, k, square, square_lost)


@inlined
def _count(bank, k, x, sign):
    """Add the cells of a row to chair k (+1) or take them off (-1)."""
    for j in range(x.shape[0]):
        v = x[j]
        if v == v:  # not a gap
            bank.n[j, k] += sign
            if bank.prior.kind[j] >= LEVELS:
                bank.tally[bank.prior.first[j] + int(v), k] += sign
            else:
                square, lost = numbers.second(bank.prior, j, v)
                _add(bank, j, k, sign * v, 0.0, sign * square, sign * lost)


@family.insert.on(CellBank)
def insert(bank, k, x):
    _count(bank, k, x, 1.0)


@family.remove.on(CellBank)
def remove(bank, k, x):
    _count(bank, k, x, -1.0)


@family.pour.on(CellBank)
def pour(bank, k, other, j, times):
    for d in range(bank.n.shape[0]):
        bank.n[d, k] += times * other.n[d, j]
        total, lost = several(other.sum_high[d, j], other.sum_low[d, j], times)
        square, square_lost = several(other.second_high[d, j], other.second_low[d, j], times)
        _add(bank, d, k, total, lost, square, square_lost)
    for level in range(bank.tally.shape[0]):
        bank.tally[level, k] += times * other.tally[level, j]


@family.refresh.on(CellBank)
def refresh(bank, k):
    for j in range(bank.n.shape[0]):
        if bank.prior.kind[j] >= LEVELS:
            levels.refresh_levels(bank, j, k)
        else:
            numbers.refresh_numbers(bank, j, k)


@family.log_predictive.on(CellBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    for j in range(x.shape[0]):
        if x[j] == x[j]:
            score_cell(bank, j, x[j], n_chairs, scores)


@inlined
def score_cell(bank, j, v, n_chairs, scores):
    """Add to the scores the log density of one cell."""
    if bank.prior.kind[j] >= COUNT and v < bank.prior.first[j + 1] - bank.prior.first[j]:
        levels.score_level(bank, j, v, n_chairs, scores)
    else:
        numbers.score_numbers(bank, j, v, n_chairs, scores)


@family.log_leave_one_out.on(CellBank)
def log_leave_one_out(bank, k, x):
    total = 0.0
    for j in range(x.shape[0]):
        if x[j] == x[j]:
            if bank.prior.kind[j] >= LEVELS:
                total += levels.log_chance_without(bank, j, k, x[j])
            else:
                total += _log_density_without(bank, j, k, x[j])
    return total


@inlined
def _log_density_without(bank, j, k, v):
    """Return the log density of a cell that sits on chair k, given the others there."""
    if bank.prior.kind[j] == TRIALS and v < REMEMBERED and bank.prior.numbers[3, j] == 0.0:
        return numbers.log_chance_of_waiting(bank, j, k, v)
    square, lost = numbers.second(bank.prior, j, v)
    s, e = added(bank.sum_high[j, k], bank.sum_low[j, k], -v, 0.0)
    q, r = added(bank.second_high[j, k], bank.second_low[j, k], -square, -lost)
    return numbers.log_density(bank.prior, j, v, s, e, q, r, bank.n[j, k] - 1.0)


@family.log_marginal.on(CellBank)
def log_marginal(bank, k):
    total = 0.0
    for j in range(bank.n.shape[0]):
        total += log_marginal_of_column(bank, j, k)
    return total


@inlined
def log_marginal_of_column(bank, j, k):
    """Return the log density of the cells of column j on chair k."""
    if bank.prior.kind[j] >= LEVELS:
        return levels.log_marginal_of_levels(bank.prior, j, bank.tally, bank.n[j, k], k)
    s, e, q, r = bank.sum_high[j, k], bank.sum_low[j, k], bank.second_high[j, k], bank.second_low[j, k]
    return numbers.log_marginal_of_numbers(bank.prior, j, s, e, q, r, bank.n[j, k])
