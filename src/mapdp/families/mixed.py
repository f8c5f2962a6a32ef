"""Clusters whose columns are of any kinds, and rows with gaps.

Columns are independent within a cluster and each counts its own cells, so a gap adds nothing: the joint
is that of the cells that are there, exactly. Columns of one kind share a bank, and banks of several kinds
stand side by side. Where all columns are of one kind and there are no gaps, that kind's own family says
the same, often faster.
"""

import dataclasses
import functools
import weakref
from collections.abc import MutableMapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from mapdp.compiled.handles import Handle, handle
from mapdp.compiled.lanes import whole_lanes
from mapdp.data.checks import Names, column_name
from mapdp.families import verbs
from mapdp.families.base import NO_SCRATCH, Bank, Family, Parameters
from mapdp.families.cells import CellLayout
from mapdp.families.columns import Sums, new_columns, put, side_by_side, sums_of
from mapdp.families.grid.grid_columns import GridColumns, room_for
from mapdp.families.pairs import paired, rows_side_by_side, written_banks, written_scratch


class MixedBank(NamedTuple):
    """Columns of one kind beside all others; both are given whole rows and hold their places in them."""

    left: Any
    right: Any


_BY_COLUMNS: MutableMapping[Family, Any] = weakref.WeakKeyDictionary()  # families, column by column


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
        if not self.columns or any(one.is_whole or one.n_features != 1 for one in self.columns):
            got = [f"{type(one).__name__} of {one.n_features}" for one in self.columns]
            raise ValueError(
                f"columns must be families of one column each, got {', '.join(got) or 'none'}. "
                "Hint: Product takes families of several columns, and of whole rows."
            )
        columns = tuple(one if one.columns_type else one.column(0) for one in self.columns)
        object.__setattr__(self, "columns", columns)

    @functools.cached_property
    def _kinds(self) -> list[tuple[Any, Any]]:
        """Return the kinds of columns that the bank has, by name, each with its prior."""
        members: dict[Any, Any] = {one.columns_type: one for one in self.layout.families}
        kinds = sorted(members, key=lambda kind: kind.__name__)
        return [(kind, self._prior_of(kind, members[kind])) for kind in kinds]

    def _prior_of(self, kind: Any, member: Any) -> Any:
        """Return the prior of the columns of one kind; `member` is a family of that kind."""
        families = self.layout.families
        place = [j for j, one in enumerate(families) if one.columns_type is kind]
        return member.column_prior([families[j] for j in place], np.array(place, dtype=np.int64))

    @functools.cached_property
    def layout(self) -> CellLayout:
        """Return which cells of an encoded row belong to which column."""
        return CellLayout.of(self.columns)

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
        if family not in _BY_COLUMNS:  # summaries ask over and over, and ten thousand columns take a second
            _BY_COLUMNS[family] = cls([family.column(j) for j in range(family.n_described)])
        return _BY_COLUMNS[family]

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return len(self.columns)

    @property
    def n_cells(self) -> int:
        """Return the number of cells of an encoded row."""
        return len(self.layout.families)

    def over(self, n_features: int) -> Self:
        """A mixed family names its columns, so it does not spread."""
        if n_features != self.n_features:
            raise ValueError(
                f"family describes {self.n_features} columns, but X has {n_features}. "
                "Hint: give one family for each column of X."
            )
        return self

    def takes_gaps(self, X: np.ndarray) -> bool:
        """Say that any cell may be missing."""
        return True

    def column(self, j: int) -> Family:
        """Return the family of column j."""
        return self.columns[j]

    @property
    def origin(self) -> np.ndarray:
        """Return the columns' origins."""
        return np.concatenate([cell.origin for cell in self.layout.families])

    def encode(self, X: np.ndarray, names: Names = None) -> np.ndarray:
        """Check each column; NaN is a gap."""
        out = np.empty((len(X), self.n_cells))
        for j, (column, places) in enumerate(zip(self.columns, self.layout.places(), strict=True)):
            out[:, places] = _encoded(column, X[:, [j]], [column_name(j, names)])
        return out

    def decode(self, X: np.ndarray) -> np.ndarray:
        """Turn encoded rows back into the values of the table."""
        pairs = zip(self.columns, self.layout.places(), strict=True)
        return np.hstack([column.decode(X[:, places]) for column, places in pairs])

    def new_bank(self, capacity: int) -> Bank:
        """Return the arrays of a bank with `capacity` chairs."""
        parts = [new_columns(kind, prior, capacity) for kind, prior in self._kinds]
        return functools.reduce(lambda right, left: MixedBank(left, right), reversed(parts))

    def scratch(self) -> Any:
        """Return the working space of each kind of columns, paired as the banks are."""
        return paired(self._rooms())

    def _rooms(self) -> list[np.ndarray]:
        """Return the working space of each kind of columns."""
        is_grid = [kind is GridColumns for kind, _ in self._kinds]
        pairs = zip(is_grid, self._kinds, strict=True)
        return [room_for(prior) if one else NO_SCRATCH for one, (_, prior) in pairs]

    def new_scratch_handle(self) -> Handle:
        """Return new working space as kernels take it."""
        rooms = self._rooms()
        scratch, leaves = paired(rooms), [handle(room) for room in rooms]
        return leaves[0] if len(leaves) == 1 else handle(scratch, written=written_scratch(scratch, leaves))

    def written(self, bank: Bank) -> Any:
        """Return the bank with a handle for each kind of columns."""
        parts = parts_of(bank)
        if len(parts) == 1:
            return bank
        return written_banks(bank, [handle(part, verbs.addresses_of(part, NO_SCRATCH)) for part in parts])

    def banks_of(self, chairs: Sequence[Sums]) -> list[Bank]:
        """Return a bank for each kind of column, in which chair k has the statistics chairs[k].

        Their cached predictives are not worked out.
        """
        parts = [new_columns(kind, prior, whole_lanes(len(chairs))) for kind, prior in self._kinds]
        for part in parts:
            for k, sums in enumerate(chairs):
                put(part, k, self.layout.by_cell(sums).among(part.prior.place))
        return parts

    def sums(self, bank: Bank, k: int) -> Sums:
        """Return the statistics of chair k, column by column."""
        parts = [(part.prior.place, sums_of(part, k)) for part in parts_of(bank)]
        return self.layout.by_column(side_by_side(parts, self.n_cells))

    def updated(self, sums: Sums) -> Self:
        """Return the posterior after cells with these sums, as a prior."""
        return type(self)([one.updated(sums.among(np.array([j]))) for j, one in enumerate(self.columns)])

    @property
    def n_learned(self) -> int:
        """Return the number of hyperparameters that are learned."""
        return sum(column.n_learned for column in self.columns if column.learns_in_tables)

    def _by_kind(self, chairs: Sequence[Sums]) -> list[tuple[np.ndarray, Family, list[Sums]]]:
        """Return cells of one kind as one family, with their places and their statistics."""
        cells, chairs = self.layout.families, [self.layout.by_cell(sums) for sums in chairs]
        kinds = dict.fromkeys(type(one) for one in cells if one.n_learned and one.learns_in_tables)
        places = [np.array([j for j, one in enumerate(cells) if type(one) is k]) for k in kinds]
        return [
            (place, kind.joined([cells[j] for j in place]), [sums.among(place) for sums in chairs])
            for kind, place in zip(kinds, places, strict=True)
        ]

    def learned_from(self, chairs: Sequence[Sums], rows: np.ndarray, least_gain: float) -> Self:
        """Return the family with the highest joint of these clusters; kinds of columns learn together."""
        cells = list(self.layout.families)
        for place, family, sums in self._by_kind(chairs):
            learned = family.learned_from(sums, rows[:, place], least_gain)
            for i, j in enumerate(place):
                cells[j] = learned.column(i)
        return type(self)(self.layout.columns(self.columns, cells))

    def log_hyperprior_from(self, chairs: Sequence[Sums]) -> float:
        """Return the log density of all columns' hyperparameters."""
        return sum(family.log_hyperprior_from(sums) for _, family, sums in self._by_kind(chairs))

    def summary(self) -> dict[str, Any]:
        """Return the summary of each column, under its number."""
        return {str(j): column.summary() for j, column in enumerate(self.columns)}

    def sample_parameters(self, n: int, rng: np.random.Generator) -> Parameters:
        """Draw the parameters of n clusters, column after column."""
        return tuple(p for cell in self.layout.families for p in cell.sample_parameters(n, rng))

    def sample_rows(self, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
        """Draw one encoded row for each drawn cluster."""
        rows = rows_side_by_side(self.layout.families, parameters, rng)
        return self.layout.without_special(rows)


def _encoded(column: Family, cells: np.ndarray, names: Names) -> np.ndarray:
    """Return a column's cells as the verbs want them, gaps as they are."""
    gaps = np.isnan(cells)
    harmless = column.decode(column.origin[None])
    return np.where(gaps, np.nan, column.encode(np.where(gaps, harmless, cells), names))


def parts_of(bank: Bank) -> list[Bank]:
    """Return the banks that stand side by side."""
    return [bank.left, *parts_of(bank.right)] if isinstance(bank, MixedBank) else [bank]


@verbs.clear.on(MixedBank)
def clear(bank, k):
    verbs.clear(bank.left, k)
    verbs.clear(bank.right, k)


@verbs.insert.on(MixedBank)
def insert(bank, k, x, scratch):
    verbs.insert(bank.left, k, x, scratch[0])
    verbs.insert(bank.right, k, x, scratch[1])


@verbs.remove.on(MixedBank)
def remove(bank, k, x, scratch):
    verbs.remove(bank.left, k, x, scratch[0])
    verbs.remove(bank.right, k, x, scratch[1])


@verbs.pour.on(MixedBank)
def pour(bank, k, other, j, times, scratch):
    verbs.pour(bank.left, k, other.left, j, times, scratch[0])
    verbs.pour(bank.right, k, other.right, j, times, scratch[1])


@verbs.refresh.on(MixedBank)
def refresh(bank, k):
    verbs.refresh(bank.left, k)
    verbs.refresh(bank.right, k)


@verbs.log_predictive.on(MixedBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    verbs.log_predictive(bank.left, x, n_chairs, scores, scratch[0])
    verbs.log_predictive(bank.right, x, n_chairs, scores, scratch[1])


@verbs.log_leave_one_out.on(MixedBank)
def log_leave_one_out(bank, k, x, scratch):
    left = verbs.log_leave_one_out(bank.left, k, x, scratch[0])
    return left + verbs.log_leave_one_out(bank.right, k, x, scratch[1])


@verbs.log_marginal.on(MixedBank)
def log_marginal(bank, k):
    return verbs.log_marginal(bank.left, k) + verbs.log_marginal(bank.right, k)
