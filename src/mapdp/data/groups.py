"""Groups of rows and lengths of sequences, as users pass them."""

import reprlib
from typing import Any, NamedTuple

import numpy as np

from mapdp.data.frames import is_gap
from mapdp.data.matrices import without_mask

_TOO_LARGE = 2**63  # for a whole number of 64 bits


class Groups(NamedTuple):
    """The group of each row."""

    names: np.ndarray  # (G,) in their order
    codes: np.ndarray  # (N,) place of each row's group in `names`


def read_groups(groups: Any, n_rows: int) -> Groups:
    """Return the groups of rows; None is one group."""
    if groups is None:
        return Groups(np.zeros(1, dtype=np.int64), np.zeros(n_rows, dtype=np.int64))
    names, codes = np.unique(_names(groups, n_rows), return_inverse=True)
    return Groups(names, codes.astype(np.int64))


def codes_among(names: np.ndarray, groups: Any, n_rows: int) -> np.ndarray:
    """Return the place of each row's group among known names; len(names) where it was never seen."""
    if groups is None:
        return np.full(n_rows, len(names), dtype=np.int64)
    given = _names(groups, n_rows)
    if (given.dtype.kind == "U") != (names.dtype.kind == "U"):
        return np.full(n_rows, len(names), dtype=np.int64)
    places = np.minimum(np.searchsorted(names, given), len(names) - 1)
    return np.where(names[places] == given, places, len(names)).astype(np.int64)


def _names(groups: Any, n_rows: int) -> np.ndarray:
    """Return names of groups as numbers or words, or say what is wrong with them."""
    names = np.asarray(without_mask(groups))
    if names.shape != (n_rows,):
        raise ValueError(
            f"groups must name the group of each of the {n_rows} rows, got shape {names.shape}. "
            "Hint: pass a one-dimensional array as long as X."
        )
    if names.dtype.kind not in "OSUiubf":
        raise TypeError(
            f"groups must be whole numbers or words, got {names.dtype}. Hint: turn them into words."
        )
    cells = names.tolist()
    _check_all_there(cells)
    if all(isinstance(name, int) for name in cells):
        return _whole_numbers(cells)
    are_words = names.dtype.kind in "OSU" and not all(isinstance(name, int | float) for name in cells)
    return names.astype(str if are_words else np.float64)


def _check_all_there(cells: list) -> None:
    missing = [i for i, name in enumerate(cells) if is_gap(name)]
    if missing:
        raise ValueError(
            f"groups must not be missing, got {cells[missing[0]]} in row {missing[0]}. "
            "Hint: give such rows a group of their own, or leave them out."
        )


def _whole_numbers(cells: list) -> np.ndarray:
    """Return whole numbers as they are: as floats, two large ones could be the same."""
    largest = max(cells, key=abs)
    if abs(largest) >= _TOO_LARGE:
        raise ValueError(
            f"groups must be smaller than 2^63 where they are numbers, got {largest}. "
            "Hint: turn them into words."
        )
    return np.array(cells, dtype=np.int64)


def read_lengths(lengths: Any, n_rows: int) -> np.ndarray:
    """Return which rows begin a sequence, from the lengths of all of them; None is one sequence."""
    is_first = np.zeros(n_rows, dtype=np.bool_)
    if lengths is None:
        is_first[0] = True
        return is_first
    ends = np.cumsum(_checked_lengths(lengths, n_rows))
    if ends[-1] != n_rows:
        raise ValueError(
            f"lengths must add up to the {n_rows} rows of X, got {ends[-1]}. "
            "Hint: rows of all sequences follow each other in X."
        )
    is_first[np.append(0, ends[:-1])] = True
    return is_first


def _checked_lengths(lengths: Any, n_rows: int) -> np.ndarray:
    """Return lengths that are whole numbers, none of them below 1 or longer than all rows."""
    given = np.atleast_1d(np.asarray(without_mask(lengths)))
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise TypeError(
            f"lengths must be whole numbers, got {reprlib.repr(given.tolist())}. "
            "Hint: one for each sequence."
        )
    wrong = given[(given < 1) | (given > n_rows)]
    if len(given) == 0 or len(wrong):
        raise ValueError(
            f"lengths must be at least 1 and at most the {n_rows} rows of X, "
            f"got {wrong[0] if len(wrong) else 'none'}. Hint: leave out empty ones."
        )
    return given.astype(np.int64)
