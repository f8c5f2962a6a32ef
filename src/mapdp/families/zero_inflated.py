"""Columns in which one value, mostly zero, means "none" and all others are measured.

A cell holds the special value with a probability of its own, which is integrated out; else it follows
another family. So a column is two independent columns: a flag, and a number that is missing where the flag
is set. The marginal is a Beta-Bernoulli marginal times that of the numbers that are there: a special value
counts with its probability, another number with its density.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mapdp.compiled.handles import Handle
from mapdp.data import checks
from mapdp.data.checks import Names
from mapdp.data.column_kinds import special_value, takes_logs
from mapdp.families.base import Bank, Family, Parameters
from mapdp.families.cells import CellLayout
from mapdp.families.columns import Sums
from mapdp.families.gaussian.diagonal import DiagonalGaussian
from mapdp.families.gaussian.log_normal import LogNormal
from mapdp.families.levels.bernoulli import Bernoulli
from mapdp.families.mixed import Mixed


@dataclasses.dataclass(frozen=True, eq=False)
class ZeroInflated(Family):
    """A column whose cells hold a special value, such as 0 for "none", or follow a family.

    For more columns, give one for each to `Mixed`; in a table, say `columns={name: "zeros"}`.

    Parameters
    ----------
    family : Family
        Describes one column: the cells that do not hold the special value.
    special, other : float, default 1.0
        Pseudo-counts of cells with the special value and of others: the two parameters of a Beta prior.
    value : float, default 0.0
        The special value.

    Examples
    --------
    >>> from mapdp.families import Exponential
    >>> family = ZeroInflated(Exponential(1.0, 1.0))
    >>> round(float(np.exp(family.log_marginal([[0.0], [0.0]]))), 6)  # 1/2 * 2/3
    0.333333
    >>> round(float(np.exp(family.log_marginal([[1.0]]))), 6)  # 1/2 * 1/4
    0.125
    """

    family: Any
    special: float = 1.0
    other: float = 1.0
    value: float = 0.0

    def __post_init__(self) -> None:
        one = self.family
        is_column = isinstance(one, Family) and one.has_columns and (one.n_features, one.n_cells) == (1, 1)
        if not is_column or hasattr(one, "levels") or isinstance(one, Bernoulli):
            raise ValueError(
                "family must describe one column of numbers, such as LogNormal or Gamma, "
                f"got {one!r:.60}. Hint: Mixed takes a ZeroInflated for each of several columns."
            )
        checks.positive("special", self.special, "1.0 is a flat prior.")
        checks.positive("other", self.other, "1.0 is a flat prior.")
        checks.real_vector("value", self.value)
        object.__setattr__(self, "family", one if one.columns_type else one.column(0))

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0, value: float | None = None) -> Any:  # type: ignore[override]
        """Choose each column's hyperparameters from its cells; `Mixed` where there are several columns.

        The special value is 0 where there are zeros, else the most frequent one. Others are `LogNormal`
        where they are positive and have a long tail, else Gaussian. `scale` is that of these families.
        """
        X = np.asarray(X, dtype=np.float64)
        checks.finite(X, None)
        columns = [cls._around(cells, scale, value) for cells in X.T]
        return columns[0] if len(columns) == 1 else Mixed(columns)

    @classmethod
    def _around(cls, cells: np.ndarray, scale: float, value: float | None) -> Self:
        """Return a prior for a column with these cells."""
        value = special_value(cells) if value is None else value
        others = cells[cells != value]
        kind = LogNormal if takes_logs(others) else DiagonalGaussian
        flags = Bernoulli.empirical((cells == value).astype(np.float64)[:, None], scale)
        inner = kind.empirical((others if len(others) else cells)[:, None], scale)
        return cls(inner, value=float(value)).with_cells(inner, flags)

    def with_cells(self, family: Family, flags: Bernoulli) -> Self:
        """Return this family with other hyperparameters of the numbers and of the flag."""
        special, other = float(flags.success[0]), float(flags.failure[0])
        return dataclasses.replace(self, family=family, special=special, other=other)

    @property
    def cells(self) -> tuple[Family, ...]:
        """Return the families of the number and of the flag."""
        return self.family, Bernoulli(np.array([self.special]), np.array([self.other]))

    @functools.cached_property
    def _layout(self) -> CellLayout:
        return CellLayout.of([self])

    @functools.cached_property
    def _table(self) -> Mixed:
        """Return the same model as a table of one column, which has a bank."""
        return Mixed([self])

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return 1

    @property
    def n_cells(self) -> int:
        """Return the number of cells of an encoded row: a number and a flag."""
        return 2

    def over(self, n_features: int) -> Any:
        """Return this family for so many columns."""
        return self if n_features == 1 else Mixed([self] * n_features)

    def column(self, j: int) -> Self:
        """Return this family, which has one column."""
        return self

    def takes_encoded_gaps(self, rows: np.ndarray) -> bool:
        """Say that an encoded number may be missing: the cell may hold the special value."""
        return True

    @property
    def origin(self) -> np.ndarray:
        """Return the origin of the numbers; flags are as they are."""
        return np.append(self.family.origin, 0.0)

    def encode(self, X: np.ndarray, names: Names = None) -> np.ndarray:
        """Return numbers, missing where a cell holds the special value, and flags."""
        checks.finite(X, names)
        is_special, harmless = self.value == X, self.family.decode(self.family.origin[None])
        numbers = self.family.encode(np.where(is_special, harmless, X), names)
        return np.hstack([np.where(is_special, np.nan, numbers), is_special])

    def decode(self, X: np.ndarray) -> np.ndarray:
        """Turn numbers and flags back into values; without flags a missing number is the special value."""
        is_special = X[:, 1:] == 1.0 if X.shape[1] > 1 else np.isnan(X)
        return np.where(is_special, self.value, self.family.decode(X[:, :1]))

    def new_bank(self, capacity: int) -> Bank:
        """Return the arrays of a bank with `capacity` chairs."""
        return self._table.new_bank(capacity)

    def scratch(self) -> Any:
        """Return the working space that the verbs need."""
        return self._table.scratch()

    def new_scratch_handle(self) -> Handle:
        """Return new working space as kernels take it."""
        return self._table.new_scratch_handle()

    def written(self, bank: Bank) -> Any:
        """Return the bank with handles of its two parts."""
        return self._table.written(bank)

    def sums(self, bank: Bank, k: int) -> Sums:
        """Return the statistics of chair k; its tally begins with others and special values."""
        return self._table.sums(bank, k)

    def of_others(self, sums: Sums) -> Sums:
        """Return the statistics of the cells that do not hold the special value."""
        return self._layout.by_cell(sums).among(np.array([0]))

    def updated(self, sums: Sums) -> Self:
        """Return the posterior after cells with these sums, as a prior."""
        by_cell = self._layout.by_cell(sums)
        number, flag = (one.updated(by_cell.among(np.array([i]))) for i, one in enumerate(self.cells))
        return self.with_cells(number, flag)  # type: ignore[arg-type]

    @property
    def n_learned(self) -> int:
        """Return the number of hyperparameters that are learned: the family's, and a concentration."""
        return sum(cell.n_learned for cell in self.cells)

    def learned_from(self, chairs: Sequence[Sums], rows: np.ndarray, least_gain: float) -> Self:
        """Return the family with the highest joint of these clusters."""
        return self._table.learned_from(chairs, rows, least_gain).columns[0]  # type: ignore[return-value]

    def log_hyperprior_from(self, chairs: Sequence[Sums]) -> float:
        """Return the log density of the hyperparameters."""
        return self._table.log_hyperprior_from(chairs)

    def summary(self) -> dict[str, Any]:
        """Return mean and variance of the predictive of others, and the chance of the special value."""
        chance = self.special / (self.special + self.other)
        return {**self.family.summary(), "special": np.array([chance])}

    def sample_parameters(self, n: int, rng: np.random.Generator) -> Parameters:
        """Draw the parameters of n clusters: the family's, and chances of the special value."""
        return self._table.sample_parameters(n, rng)

    def sample_rows(self, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
        """Draw one row for each drawn cluster."""
        return self._table.sample_rows(parameters, rng)
