"""Clusters beside a background of outliers: each cluster follows the family, or one broad, fixed density.

Which of the two a cluster does is unknown and summed over, so the background is a cluster like others: no
step of a search or of a sampler has to know of it.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from mapdp.compiled.handles import Handle, handle
from mapdp.compiled.jit import inlined
from mapdp.compiled.lanes import LANES, larger, load, spread, store, whole_lanes
from mapdp.compiled.special import LOG_2, exp, log
from mapdp.data import checks
from mapdp.data.checks import Names
from mapdp.families import verbs
from mapdp.families.base import Bank, Family
from mapdp.families.columns import Sums

_NEGLIGIBLE = -700.0  # nats below the other of two densities, beyond which one adds nothing
_NO_LEVELS = (np.empty(0), np.empty(0))
_SPARE = 16  # chairs beyond one for each row that are scored at times


class BackgroundPrior(NamedTuple):
    """Where a row's log density under the background stands."""

    split: int


class BackgroundBank(NamedTuple):
    """The statistics and cached predictives of all chairs."""

    prior: BackgroundPrior
    inner: Any  # bank of the family
    n: np.ndarray  # (K,) rows
    log_broad: np.ndarray  # (K,) log density of the rows under the background
    log_own: np.ndarray  # (K,) log marginal under the family, with its prior probability
    log_total: np.ndarray  # (K,) log marginal under either


class BackgroundScratch(NamedTuple):
    """Working space."""

    inner: Any
    scores: np.ndarray  # of the family alone


@dataclasses.dataclass(frozen=True, eq=False)
class Background(Family):
    """A family, or a broad density of independent columns: a cluster follows one or the other.

    Parameters
    ----------
    family : Family
    centre, width : arrays of shape (D,)
        Of the broad density, a Cauchy density in each measured column; 0 is the width of others.
    values, log_shares : sequences of D arrays
        The values of columns of levels, in rising order, and how frequent they are: empty where a column is
        measured. A value that is not among them is as frequent as the rarest, or as one more share says.
        A measured column with a value has that as a special value; its density is that of others.
    n_rows : int
        Most rows of a partition.
    """

    has_columns = False
    is_whole = True

    family: Family
    centre: np.ndarray
    width: np.ndarray
    values: Sequence[np.ndarray]
    log_shares: Sequence[np.ndarray]
    n_rows: int

    def __post_init__(self) -> None:
        checks.whole("n_rows", self.n_rows, 1)
        for name in ("centre", "width"):
            object.__setattr__(self, name, checks.real_vector(name, getattr(self, name)))
        for name in ("values", "log_shares"):
            vectors = tuple(np.asarray(one, dtype=np.float64) for one in getattr(self, name))
            object.__setattr__(self, name, vectors)

    @classmethod
    def around(
        cls, family: Family, numbers: np.ndarray, is_level: np.ndarray, special: np.ndarray | None = None
    ) -> Self:
        """Return a family with a background as broad as a table: centres are medians, widths half of it.

        `special` (D,) are values that mean none, NaN in most columns.
        """
        special = np.full(len(is_level), np.nan) if special is None else special
        measured = np.where(numbers == special, np.nan, numbers)
        low, middle, high = np.nanquantile(measured, [0.25, 0.5, 0.75], axis=0)
        spread = np.where(high > low, 0.5 * (high - low), np.nanstd(measured, axis=0))
        tallies = [
            _tally(cells) if one else _NO_LEVELS for one, cells in zip(is_level, numbers.T, strict=True)
        ]
        for j in np.flatnonzero(~np.isnan(special)):
            tallies[j] = _tally_of(special[j], numbers[:, j])
        values, log_shares = zip(*tallies, strict=True)
        return cls(family, middle, np.where(is_level, 0.0, spread), values, log_shares, len(numbers))

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return self.family.n_features

    @property
    def n_cells(self) -> int:
        """Return the number of cells of an encoded row: the family's, and a log density."""
        return self.family.n_cells + 1

    @property
    def n_described(self) -> int:
        """Return the number of columns that clusters are described by."""
        return self.family.n_described

    @property
    def origin(self) -> np.ndarray:
        """Return the family's origin; log densities are as they are."""
        return np.append(self.family.origin, 0.0)

    def over(self, n_features: int) -> Self:
        """Return this family for so many columns."""
        return dataclasses.replace(self, family=self.family.over(n_features))

    def column(self, j: int) -> Family:
        """Return what the family says of column j."""
        return self.family.column(j)

    def encode(self, X: np.ndarray, names: Names = None) -> np.ndarray:
        """Return rows as the family encodes them, with their log density under the background."""
        return np.column_stack([self.family.encode(X, names), self.log_broad(X)])

    def log_broad(self, X: np.ndarray) -> np.ndarray:
        """Return the log density of rows under the background; gaps add nothing."""
        used = self.width > 0.0
        special = np.array([one[0] if len(one) else np.nan for one in self.values])
        measured = np.where(special == X, np.nan, X)[:, used]
        z = (measured - self.centre[used]) / self.width[used]
        cells = -np.log(np.pi * self.width[used]) - np.log1p(z * z)
        total = np.where(np.isnan(cells), 0.0, cells).sum(axis=1)
        for cells, values, log_share in zip(X.T, self.values, self.log_shares, strict=True):
            if len(values):
                total += _log_frequency(cells, values, log_share)
        return total

    def new_bank(self, capacity: int) -> Bank:
        """Return the arrays of a bank with `capacity` chairs."""
        arrays = np.zeros((4, capacity))
        return BackgroundBank(BackgroundPrior(self.family.n_cells), self.family.new_bank(capacity), *arrays)

    def written(self, bank: Bank) -> Any:
        """Return a bank with a handle of the family's bank."""
        return bank._replace(inner=self.family.handle(bank.inner))

    def scratch(self) -> BackgroundScratch:
        """Return the family's working space, and room for a score of each chair."""
        return BackgroundScratch(self.family.scratch(), np.zeros(whole_lanes(self.n_rows + _SPARE)))

    def new_scratch_handle(self) -> Handle:
        """Return new working space as kernels take it."""
        inner, scores = self.family.scratch_handle(), np.zeros(whole_lanes(self.n_rows + _SPARE))
        return handle(BackgroundScratch(inner.contents, scores), written=BackgroundScratch(inner, scores))

    def posterior(self, bank: BackgroundBank, k: int) -> Family:  # type: ignore[override]
        """Return what the family has learned from chair k."""
        return self.family.posterior(bank.inner, k)

    def sums(self, bank: BackgroundBank, k: int) -> Sums:
        """Return the family's statistics of chair k."""
        return self.family.sums(bank.inner, k)

    def is_background(self, bank: BackgroundBank, n_clusters: int) -> np.ndarray:
        """Say of each cluster whether it rather follows the background."""
        return (bank.log_total - bank.log_own)[:n_clusters] > LOG_2


def _tally(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of a column of levels and how frequent they are, each counted once more."""
    values, counts = np.unique(cells[~np.isnan(cells)], return_counts=True)
    return values, np.log((counts + 1.0) / (counts.sum() + len(counts)))


def _tally_of(value: float, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a special value, and how frequent it and others are, each counted once more."""
    counts = np.array([(cells == value).sum(), (~np.isnan(cells) & (cells != value)).sum()]) + 1.0
    return np.array([value]), np.log(counts / counts.sum())


def _log_frequency(cells: np.ndarray, values: np.ndarray, log_share: np.ndarray) -> np.ndarray:
    """Return how frequent the level of each cell is; a gap adds nothing."""
    place = np.minimum(np.searchsorted(values, cells), len(values) - 1)
    else_share = log_share[-1] if len(log_share) > len(values) else log_share.min()
    known = np.where(values[place] == cells, log_share[place], else_share)
    return np.where(np.isnan(cells), 0.0, known)


@inlined
def _log_either(a, b):
    """Return log(exp(a) + exp(b))."""
    best = max(a, b)
    return best + log(exp(max(a - best, _NEGLIGIBLE)) + exp(max(b - best, _NEGLIGIBLE)))


@verbs.clear.on(BackgroundBank)
def clear(bank, k):
    verbs.clear(bank.inner, k)
    bank.n[k] = bank.log_broad[k] = 0.0


@verbs.insert.on(BackgroundBank)
def insert(bank, k, x, scratch):
    split = bank.prior.split
    verbs.insert(bank.inner, k, x[:split], scratch.inner)
    bank.n[k] += 1.0
    bank.log_broad[k] += x[split]


@verbs.remove.on(BackgroundBank)
def remove(bank, k, x, scratch):
    split = bank.prior.split
    verbs.remove(bank.inner, k, x[:split], scratch.inner)
    bank.n[k] -= 1.0
    bank.log_broad[k] -= x[split]


@verbs.pour.on(BackgroundBank)
def pour(bank, k, other, j, times, scratch):
    verbs.pour(bank.inner, k, other.inner, j, times, scratch.inner)
    bank.n[k] += times * other.n[j]
    bank.log_broad[k] += times * other.log_broad[j]


@verbs.refresh.on(BackgroundBank)
def refresh(bank, k):
    verbs.refresh(bank.inner, k)
    bank.log_own[k] = verbs.log_marginal(bank.inner, k) - LOG_2
    bank.log_total[k] = _log_either(bank.log_own[k], bank.log_broad[k] - LOG_2)


@verbs.log_predictive.on(BackgroundBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    split, own = bank.prior.split, scratch.scores
    for k in range(0, n_chairs, LANES):
        store(own, k, load(bank.log_own, k))
    verbs.log_predictive(bank.inner, x[:split], n_chairs, own, scratch.inner)
    for k in range(0, n_chairs, LANES):
        a, b = load(own, k), load(bank.log_broad, k) + (x[split] - LOG_2)
        best = larger(a, b)
        sum_of_two = exp(larger(a - best, spread(_NEGLIGIBLE))) + exp(larger(b - best, spread(_NEGLIGIBLE)))
        store(scores, k, load(scores, k) + best + log(sum_of_two) - load(bank.log_total, k))


@verbs.log_leave_one_out.on(BackgroundBank)
def log_leave_one_out(bank, k, x, scratch):
    split = bank.prior.split
    own = bank.log_own[k] - verbs.log_leave_one_out(bank.inner, k, x[:split], scratch.inner)
    return bank.log_total[k] - _log_either(own, bank.log_broad[k] - x[split] - LOG_2)


@verbs.log_marginal.on(BackgroundBank)
def log_marginal(bank, k):
    return _log_either(verbs.log_marginal(bank.inner, k), bank.log_broad[k]) - LOG_2
