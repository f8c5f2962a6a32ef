"""Independent columns, cell by cell: what lets any likelihood work in mixed tables and with gaps.

Each column counts its own cells, so a gap adds nothing anywhere. A likelihood says what one cell does to
one column (the second half of `verbs.py`); the loops over the cells of a row are written here, once.
Statistics are of two sorts: exact sums of numbers, or tallies of levels.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mapdp.compiled.exact import accumulate, added, several
from mapdp.compiled.jit import inlined
from mapdp.compiled.lanes import LANES, load, store
from mapdp.families import verbs

NOTHING = np.empty(0)


class Sums(NamedTuple):
    """The statistics of a chair, column by column."""

    n: np.ndarray  # (D,) cells
    total: np.ndarray  # (D,) sum of the cells ...
    total_lost: np.ndarray  # (D,) ... and its rounding error
    second: np.ndarray  # (D,) second sum: of squares where cells are Gaussian
    second_lost: np.ndarray  # (D,)
    tallies: tuple[np.ndarray, ...]  # for each column the tally of its levels, empty where it has none

    def among(self, place: np.ndarray) -> "Sums":
        """Return the statistics of some of the columns."""
        n, total, total_lost, second, second_lost = (part[place] for part in self[:5])
        return Sums(n, total, total_lost, second, second_lost, tuple(self.tallies[j] for j in place))


def exact_sums(*numbers: np.ndarray, tallies: tuple[np.ndarray, ...] = ()) -> Sums:
    """Return statistics from n, both sums and their rounding errors, in the order of `Sums`."""
    n, total, total_lost, second, second_lost = numbers
    return Sums(n, total, total_lost, second, second_lost, tallies or (NOTHING,) * len(n))


def plain_sums(n: Any, total: np.ndarray, second: np.ndarray | None = None) -> Sums:
    """Return the statistics of columns of numbers whose rounding errors are not known."""
    nothing = np.zeros(len(total))
    return exact_sums(nothing + n, total, nothing, nothing if second is None else second, nothing)


def tallied(n: Any, tallies: Sequence[np.ndarray]) -> Sums:
    """Return the statistics of columns of levels."""
    nothing = np.zeros(len(tallies))
    return Sums(nothing + n, nothing, nothing, nothing, nothing, tuple(tallies))


def together(chairs: Sequence[Sums]) -> Sums:
    """Return the statistics of all these chairs in one."""
    *sums, tallies = zip(*chairs, strict=True)
    has_levels = any(map(len, tallies[0]))
    summed = tuple(np.sum(levels, axis=0) for levels in zip(*tallies, strict=True)) if has_levels else ()
    return exact_sums(*[np.sum(part, axis=0) for part in sums], tallies=summed)


def side_by_side(parts: Sequence[tuple[np.ndarray, Sums]], n_columns: int) -> Sums:
    """Return the statistics of all columns, from parts that say which columns they are about."""
    numbers = np.zeros((5, n_columns))
    tallies = [NOTHING] * n_columns
    for place, sums in parts:
        numbers[:, place] = sums[:5]
        for j, tally in zip(place, sums.tallies, strict=True):
            tallies[j] = tally
    return exact_sums(*numbers, tallies=tuple(tallies))


class SumColumns(NamedTuple):
    """Columns whose statistics are sums; each kind of column has a subclass of its own.

    The prior has `place` (D,), the cell of a row that each column describes, and `first` (D + 1,), where
    the log probabilities begin that a column keeps for small counts.
    """

    prior: Any
    n: np.ndarray  # (D, K) cells
    sum_high: np.ndarray  # (D, K) exact sum of the cells ...
    sum_low: np.ndarray  # (D, K) ... and what its first part lost
    second_high: np.ndarray  # (D, K) exact second sum
    second_low: np.ndarray  # (D, K)
    centre: np.ndarray  # (D, K) cached predictive: what these four mean depends on the kind
    width: np.ndarray  # (D, K)
    power: np.ndarray  # (D, K)
    constant: np.ndarray  # (D, K)
    log_chance: np.ndarray  # (L, K) log probabilities of small counts


class TallyColumns(NamedTuple):
    """Columns whose statistics are tallies; `prior.first` (D + 1,) says where a column's levels begin."""

    prior: Any
    n: np.ndarray  # (D, K) cells
    tally: np.ndarray  # (L, K)
    log_chance: np.ndarray  # (L, K) log predictive probability of each level


def new_columns(kind: Any, prior: Any, capacity: int) -> Any:
    """Return the arrays of a bank of columns of one kind, with `capacity` chairs."""
    column, level = (len(prior.place), capacity), (prior.first[-1], capacity)
    levels = {"tally", "log_chance"}
    return kind(prior, *[np.zeros(level if name in levels else column) for name in kind._fields[1:]])


def gathered(columns: Sequence[Any], *names: str) -> list[np.ndarray]:
    """Return these hyperparameters of one-column families, each as one array."""
    return [np.array([np.ravel(getattr(one, name))[0] for one in columns], dtype=float) for name in names]


def beginnings(lengths: Sequence[int]) -> np.ndarray:
    """Return where each of several runs begins when they stand in one array, and where the last ends."""
    return np.cumsum([0, *lengths], dtype=np.int64)


def no_levels(place: np.ndarray) -> np.ndarray:
    """Return what `prior.first` is where nothing is kept for levels or small counts."""
    return np.zeros(len(place) + 1, dtype=np.int64)


def sums_of(bank: Any, k: int) -> Sums:
    """Return the statistics of chair k."""
    if isinstance(bank, TallyColumns):
        tallies = np.split(bank.tally[:, k], bank.prior.first[1:-1])
        return tallied(bank.n[:, k], tallies[: len(bank.n)])
    numbers = (bank.n, bank.sum_high, bank.sum_low, bank.second_high, bank.second_low)
    return exact_sums(*[array[:, k] for array in numbers])


def put(bank: Any, k: int, sums: Sums) -> None:
    """Make these the statistics of chair k; its cached predictive is not worked out."""
    bank.n[:, k] = sums.n
    if isinstance(bank, TallyColumns):
        bank.tally[:, k] = np.concatenate([NOTHING, *sums.tallies])
        return
    bank.sum_high[:, k], bank.sum_low[:, k] = sums.total, sums.total_lost
    bank.second_high[:, k], bank.second_low[:, k] = sums.second, sums.second_lost


def keeps_sums(kind: Any) -> Any:
    """Register the verbs of a bank of columns whose statistics are sums (a class decorator)."""
    verbs.clear.on(kind)(_clear_sums)
    verbs.pour.on(kind)(_pour_sums)
    verbs.add_cell.on(kind)(_add_to_sums)
    verbs.log_cell_without.on(kind)(log_cell_without)
    return _goes_by_cells(kind)


def keeps_tallies(kind: Any) -> Any:
    """Register the verbs of a bank of columns whose statistics are tallies (a class decorator)."""
    verbs.clear.on(kind)(_clear_tallies)
    verbs.pour.on(kind)(_pour_tallies)
    verbs.add_cell.on(kind)(_add_to_tallies)
    verbs.score_cell.on(kind)(look_up)
    return _goes_by_cells(kind)


def _goes_by_cells(kind: Any) -> Any:
    row_verbs: dict[Any, Any] = {
        verbs.insert: _insert,
        verbs.remove: _remove,
        verbs.refresh: _refresh,
        verbs.log_predictive: _log_predictive,
        verbs.log_leave_one_out: _log_leave_one_out,
        verbs.log_marginal: _log_marginal,
    }
    for verb, implementation in row_verbs.items():
        verb.on(kind)(implementation)
    return kind


def _clear_sums(bank, k):
    for j in range(bank.n.shape[0]):
        bank.n[j, k] = 0.0
        bank.sum_high[j, k] = bank.sum_low[j, k] = 0.0
        bank.second_high[j, k] = bank.second_low[j, k] = 0.0


def _clear_tallies(bank, k):
    for j in range(bank.n.shape[0]):
        bank.n[j, k] = 0.0
    for level in range(bank.tally.shape[0]):
        bank.tally[level, k] = 0.0


@inlined
def add_sums(bank, j, k, number, lost, second, second_lost):
    """Add to the exact sums of column j on chair k."""
    accumulate(bank.sum_high, bank.sum_low, j, k, number, lost)
    accumulate(bank.second_high, bank.second_low, j, k, second, second_lost)


def _pour_sums(bank, k, other, j, times, scratch):
    for d in range(bank.n.shape[0]):
        bank.n[d, k] += times * other.n[d, j]
        total, lost = several(other.sum_high[d, j], other.sum_low[d, j], times)
        second, second_lost = several(other.second_high[d, j], other.second_low[d, j], times)
        add_sums(bank, d, k, total, lost, second, second_lost)


def _pour_tallies(bank, k, other, j, times, scratch):
    for d in range(bank.n.shape[0]):
        bank.n[d, k] += times * other.n[d, j]
    for level in range(bank.tally.shape[0]):
        bank.tally[level, k] += times * other.tally[level, j]


def _add_to_sums(bank, j, k, v, sign):
    second, lost = verbs.second_of_cell(bank, j, v)
    bank.n[j, k] += sign
    add_sums(bank, j, k, sign * v, 0.0, sign * second, sign * lost)


def _add_to_tallies(bank, j, k, v, sign):
    bank.n[j, k] += sign
    bank.tally[bank.prior.first[j] + int(v), k] += sign


def _insert(bank, k, x, scratch):
    for j in range(bank.n.shape[0]):
        v = x[bank.prior.place[j]]
        if v == v:  # not a gap
            verbs.add_cell(bank, j, k, v, 1.0)


def _remove(bank, k, x, scratch):
    for j in range(bank.n.shape[0]):
        v = x[bank.prior.place[j]]
        if v == v:
            verbs.add_cell(bank, j, k, v, -1.0)


def _refresh(bank, k):
    for j in range(bank.n.shape[0]):
        verbs.refresh_column(bank, j, k)


def _log_predictive(bank, x, n_chairs, scores, scratch):
    for j in range(bank.n.shape[0]):
        v = x[bank.prior.place[j]]
        if v == v:
            verbs.score_cell(bank, j, v, n_chairs, scores)


def _log_leave_one_out(bank, k, x, scratch):
    total = 0.0
    for j in range(bank.n.shape[0]):
        v = x[bank.prior.place[j]]
        if v == v:
            total += verbs.log_cell_without(bank, j, k, v)
    return total


@inlined
def log_cell_without(bank, j, k, v):
    """Return the log density of a cell given the others of its column, by subtracting it from the sums."""
    second, lost = verbs.second_of_cell(bank, j, v)
    s, e = added(bank.sum_high[j, k], bank.sum_low[j, k], -v, 0.0)
    q, r = added(bank.second_high[j, k], bank.second_low[j, k], -second, -lost)
    return verbs.log_density_of_cell(bank, j, v, s, e, q, r, bank.n[j, k] - 1.0)


def _log_marginal(bank, k):
    total = 0.0
    for j in range(bank.n.shape[0]):
        total += verbs.log_marginal_of_column(bank, j, k)
    return total


@inlined
def look_up(bank, j, v, n_chairs, scores):
    """Add to the scores the cached log probability of a level, or of a small count."""
    chance = bank.log_chance[bank.prior.first[j] + int(v)]
    for k in range(0, n_chairs, LANES):
        store(scores, k, load(scores, k) + load(chance, k))
