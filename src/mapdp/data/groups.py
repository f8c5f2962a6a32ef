"""Groups of rows and lengths of sequences, as users pass them."""

from typing import Any, NamedTuple

import numpy as np


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
    names = np.asarray(groups)
    if names.shape != (n_rows,):
        raise ValueError(
            f"groups must name the group of each of the {n_rows} rows, got shape {names.shape}. "
            "Hint: pass a one-dimensional array as long as X."
        )
    if names.dtype.kind not in "OSUiubf":
        raise TypeError(f"groups must be whole numbers or words, got {names.dtype}. Hint: name them.")
    missing = np.array([name is None or name != name for name in names.tolist()], dtype=bool)
    if missing.any():
        raise ValueError(
            f"groups must not be missing, got {names[missing][0]} in row {int(np.argmax(missing))}. "
            "Hint: give such rows a group of their own, or leave them out."
        )
    is_words = names.dtype.kind in "OSU" and not all(
        isinstance(name, int | float) for name in names.tolist()
    )
    if is_words:
        return names.astype(str)
    return names.astype(np.float64 if names.dtype.kind in "Of" else np.int64)


def read_lengths(lengths: Any, n_rows: int) -> np.ndarray:
    """Return which rows begin a sequence, from the lengths of all of them; None is one sequence."""
    is_first = np.zeros(n_rows, dtype=np.bool_)
    if lengths is None:
        is_first[0] = True
        return is_first
    given = np.atleast_1d(np.asarray(lengths))
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise TypeError(f"lengths must be whole numbers, got {lengths!r}. Hint: one for each sequence.")
    if len(given) == 0 or (given < 1).any():
        raise ValueError(f"lengths must be at least 1, got {given.tolist()}. Hint: leave out empty ones.")
    if given.sum() != n_rows:
        raise ValueError(
            f"lengths must add up to the {n_rows} rows of X, got {int(given.sum())}. "
            "Hint: rows of all sequences follow each other in X."
        )
    is_first[np.append(0, np.cumsum(given)[:-1])] = True
    return is_first
