"""How the kind of a column follows from its values."""

import collections
import re
from collections.abc import Iterable

import numpy as np

from mapdp.data.frames import Raw, is_number
from mapdp.data.times import PARTS

# Kinds that clusters are found by; the last five are never inferred.
DESCRIBED = (
    "real",
    "log",
    "count",
    "binary",
    "category",
    "ordered",
    "circular",
    "waiting",
    "share",
    "robust",
    "zeros",
)
KINDS = (*DESCRIBED, *PARTS, "ignore")  # what users may call a column
_ENOUGH = 10_000  # cells that are looked at to infer the kind of a column
_FEW = 5  # different numbers, or fewer, are levels in order
_EACH = 5  # cells for each of them, at least: in a short table all values are few
_ZEROS = 0.02  # share of zeros that makes whole numbers counts
_MEAN = 50.0  # of a count, at most: larger numbers are measured, not counted
_SMALLEST, _LARGEST = 1e-60, 1e60  # numbers whose squares, and sums of them, are ordinary floats
_LOST = 1e-12  # share of the largest number below which others hardly differ in its unit
_NO_STEP = 1e-9  # share of the range: numbers that differ by less differ by rounding of floats
_SMALL_STEPS = 0.05  # quantile of the steps between different numbers that is their resolution
_ONE_VALUE = 0.1  # share of the cells with the same number from which it is coarse ...
_COARSE = 0.1  # ... and of the standard deviation that is then the least resolution
_MANY = 0.25  # share from which one number stands for many: no cluster of rounded numbers has so many alike
_MEASURED = 30  # different numbers beside zeros that mean none, at least: fewer are scores or counts
_RARE = 0.25  # of the frequency of such a zero, at most, that of any other number
_SKEW = 2.0  # of a long tail: that of an exponential density
_ID = re.compile(r"(^|[\s_.-])(id|idx|index|key|uuid|no|nr)$", re.IGNORECASE)


def different(cells: np.ndarray) -> Iterable:
    """Return the different values of a column in their order."""
    if cells.dtype == object:
        return sorted({word for word in cells if word is not None})
    return np.unique(cells[~np.isnan(cells)]).tolist()


def kind_of_words(raw: Raw) -> str:
    """Return the kind of a column of words."""
    counts = collections.Counter(raw.cells.tolist())
    counts.pop(None, None)
    n_different, n_seen = len(counts), counts.total()
    _check_slips(raw, counts)
    if n_different <= 1:
        return "constant" if n_seen else "empty"
    if raw.ranks and n_different > 2:
        return "ordered"
    if n_different == 2:
        return "binary"
    many = n_different > n_seen / 2 and n_seen > 20
    return "identifier" if many or (n_different == n_seen and n_seen > 4) else "category"


def _check_slips(raw: Raw, counts: collections.Counter[str]) -> None:
    """Raise where a column holds numbers but for a few cells: those are slips, or words for "missing"."""
    slips = [word for word in counts if not is_number(word)]
    if not raw.ranks and 0 < sum(counts[word] for word in slips) <= 0.1 * counts.total():
        i = next(i for i, word in enumerate(raw.cells) if word == slips[0])
        name = f"column {raw.name!r}" if raw.name is not None else "a column"
        raise ValueError(
            f"{name} holds numbers, but got {slips[0]!r} in row {i}. Hint: leave cells without a number "
            f"empty, or say columns={{{raw.name!r}: 'category'}}."
        )


def kind_of_numbers(raw: Raw, n_missing: int) -> str:
    """Return the kind of a column of numbers, from a sample where that leaves no doubt."""
    if n_missing == len(raw.cells):
        return "empty"
    seen = raw.cells[~np.isnan(raw.cells)] if n_missing else raw.cells
    some = rows_to_look_at(seen)
    n_different = len(np.unique(some))
    if n_different == 1 and seen.min() == seen.max():
        return "constant"
    if raw.measure:
        return "binary" if raw.measure == "truth" else "real"
    if n_different <= _FEW and len(some) >= _EACH * n_different:
        n_values = len(np.unique(seen))
        if n_values <= _FEW:
            return "binary" if n_values <= 2 else "ordered"
    if (some == np.floor(some)).all() and np.isfinite(some).all():
        if n_different == len(some) and _is_identifier(seen, raw.name):
            return "identifier"
        if some.min() >= 0.0 and (some == 0.0).mean() >= _ZEROS and some.mean() <= _MEAN:
            return "count" if _is_whole(seen) else "real"
    return "log" if some.min() >= 0.0 and _has_long_tail(some) and seen.min() >= 0.0 else "real"


def _is_whole(seen: np.ndarray) -> bool:
    return bool((seen == np.floor(seen)).all() and (seen >= 0.0).all())


def _is_identifier(seen: np.ndarray, name: object) -> bool:
    """Say whether whole numbers only identify rows: they number the rows, or their name says so."""
    if len(seen) < 20 or len(np.unique(seen)) < len(seen):
        return False
    return bool(seen.max() - seen.min() == len(seen) - 1) or bool(_ID.search(str(name)))


def unit_of(raw: Raw) -> float:
    """Return the power of two that numbers are measured in: 1, but where their squares would not be floats.

    One number far beyond all others is refused: in its unit the others would all be the same.
    """
    largest = _largest(raw)
    if largest in (0.0, np.inf) or _SMALLEST <= largest <= _LARGEST:
        return 1.0
    sizes = np.abs(raw.cells)
    usual = float(np.nanmedian(sizes[sizes > 0.0]))
    if largest > _LARGEST and usual < largest * _LOST:
        i, name = int(np.nanargmax(sizes)), "a column" if raw.name is None else f"column {raw.name!r}"
        raise ValueError(
            f"{name} has {raw.cells[i]:g} in row {i}, far beyond its other values: it looks like a code "
            "for missing. Hint: leave such cells empty (NaN)."
        )
    return float(2.0 ** np.floor(np.log2(largest)))


def _largest(raw: Raw) -> float:
    """Return the largest size of a number, 0.0 where there is none."""
    if raw.is_finite and len(raw.cells):
        return float(max(raw.cells.max(), -raw.cells.min()))
    return float(np.nanmax(np.abs(raw.cells), initial=0.0))


def resolution_of(cells: np.ndarray) -> float:
    """Return the step that numbers are rounded to: about the smallest between different ones.

    Where one number is a share of all, they are no finer than a tenth of their spread: a cluster of equal
    numbers says nothing about how fine they are. Where it is a large share, as zero often is, the step is
    at least the one at which so many Gaussian numbers are rounded to one: else each pattern of zeros in
    several columns would be a cluster.
    """
    some = rows_to_look_at(cells)
    some = some[np.isfinite(some)]
    values, counts = np.unique(some, return_counts=True)
    if len(values) < 2:
        return 0.0
    share = counts.max() / len(some)
    least = np.sqrt(2.0 * np.pi) * share if share > _MANY else _COARSE if share > _ONE_VALUE else 0.0
    step = _step_between(values)
    return max(step, float(least * some.std())) if least > 0.0 else step


def rows_to_look_at(cells: np.ndarray) -> np.ndarray:
    """Return the cells that a column is judged by: some of many."""
    return cells[:: max(1, len(cells) // _ENOUGH)].astype(np.float64)


def step_of(cells: np.ndarray) -> float:
    """Return about the smallest step between different numbers, however frequent one of them is."""
    values = np.unique(cells)
    return _step_between(values) if len(values) > 1 else 0.0


def _step_between(values: np.ndarray) -> float:
    steps = np.diff(values)
    return _quantile(steps[steps > _NO_STEP * (values[-1] - values[0])], _SMALL_STEPS)


def _quantile(numbers: np.ndarray, share: float) -> float:
    """Return what np.quantile does, to the last bit, in a fraction of the time where numbers are few."""
    place = share * (len(numbers) - 1)
    first = int(place)
    last = min(first + 1, len(numbers) - 1)
    low, high = np.partition(numbers, (first, last))[[first, last]].tolist()
    beyond = place - first
    return low + (high - low) * beyond if beyond < 0.5 else high - (high - low) * (1.0 - beyond)


def shift_of(cells: np.ndarray) -> float:
    """Return what is added before a log is taken: nothing, or the least positive number beside zeros."""
    positive = cells[cells > 0.0]
    return float(positive.min()) if len(positive) and np.nanmin(cells) <= 0.0 else 0.0


def has_zeros(cells: np.ndarray) -> bool:
    """Say whether the lowest number of a column is frequent, and others are measured: it may mean none."""
    some = rows_to_look_at(cells)
    some = some[~np.isnan(some)]
    if not len(some) or np.count_nonzero(some == some.min()) < _MANY * len(some):
        return False
    values, counts = np.unique(some, return_counts=True)
    if len(values) <= _MEASURED or values[0] != special_value(some):
        return False
    return bool(counts[1:].max() <= _RARE * counts[0])


def special_value(cells: np.ndarray) -> float:
    """Return the number of a column that means "none": 0 where it occurs, else the most frequent one."""
    if (cells == 0.0).any():
        return 0.0
    values, counts = np.unique(cells[~np.isnan(cells)], return_counts=True)
    return float(values[counts.argmax()])


def others_than(value: float, cells: np.ndarray) -> np.ndarray:
    """Return the numbers of a column that are there and are not this value."""
    return cells[~np.isnan(cells) & (cells != value)]


def takes_logs(others: np.ndarray) -> bool:
    """Say whether the logarithms of numbers beside a special value are to be used."""
    return len(others) > 0 and bool(others.min() > 0.0) and _has_long_tail(others)


def _has_long_tail(cells: np.ndarray) -> bool:
    """Say whether a log makes numbers from 0 up much less skew."""
    if len(cells) < 20 or not np.isfinite(cells).all() or not (cells > 0.0).any():
        return False
    before = _skew(cells)
    return before > _SKEW and abs(_skew(np.log(cells + shift_of(cells)))) < 0.5 * before


def _skew(cells: np.ndarray) -> float:
    cells = cells / np.abs(cells).max()  # so that squares of large numbers are floats, too
    gap = cells - cells.mean()
    spread = np.sqrt((gap**2).mean())
    return float(((gap / spread) ** 3).mean()) if spread > 0.0 else 0.0
