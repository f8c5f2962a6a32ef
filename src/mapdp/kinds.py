"""Knows how to tell what a column holds from its values."""

import collections
import re
from collections.abc import Iterable

import numpy as np

from mapdp.tables import Raw, is_number

_ENOUGH = 10_000  # cells that are looked at to tell the kind of a column
_FEW = 5  # different numbers, or fewer, are levels in order
_EACH = 5  # cells for each of them, at least: in a short table all values are few
_ZEROS = 0.02  # share of zeros that makes whole numbers counts
_MEAN = 50.0  # of a count, at most: larger numbers are measured, not counted
_SKEW = 2.0  # of a long tail: that of an exponential density
_ID = re.compile(r"(^|[\s_.-])(id|idx|index|key|uuid|no|nr)$", re.IGNORECASE)


def different(cells: np.ndarray) -> Iterable:
    """Return the different values of a column in their order."""
    if cells.dtype == object:
        return sorted({word for word in cells if word is not None})
    return np.unique(cells[~np.isnan(cells)]).tolist()


def kind_of_words(raw: Raw) -> str:
    """Tell the kind of a column of words."""
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
    """Tell the kind of a column of numbers: some are looked at, all only where those leave a doubt."""
    if n_missing == len(raw.cells):
        return "empty"
    seen = raw.cells[~np.isnan(raw.cells)] if n_missing else raw.cells
    some = seen[:: max(1, len(seen) // _ENOUGH)].astype(np.float64)
    n_different = len(np.unique(some))
    if n_different == 1 and seen.min() == seen.max():
        return "constant"
    if raw.unit:
        return "binary" if raw.unit == "truth" else "real"
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
    """Say whether whole numbers only tell rows apart: they count the rows, or are called so."""
    if len(seen) < 20 or len(np.unique(seen)) < len(seen):
        return False
    return bool(seen.max() - seen.min() == len(seen) - 1) or bool(_ID.search(str(name)))


def shift_of(cells: np.ndarray) -> float:
    """Return what is added before a log is taken: nothing, or the least positive number beside zeros."""
    positive = cells[cells > 0.0]
    return float(positive.min()) if len(positive) and np.nanmin(cells) <= 0.0 else 0.0


def _has_long_tail(cells: np.ndarray) -> bool:
    """Say whether a log makes numbers from 0 up much less skew."""
    if len(cells) < 20 or not np.isfinite(cells).all() or not (cells > 0.0).any():
        return False
    before = _skew(cells)
    return before > _SKEW and abs(_skew(np.log(cells + shift_of(cells)))) < 0.5 * before


def _skew(cells: np.ndarray) -> float:
    gap = cells - cells.mean()
    spread = np.sqrt((gap**2).mean())
    return float(((gap / spread) ** 3).mean()) if spread > 0.0 else 0.0
