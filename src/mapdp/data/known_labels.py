"""What `y` says: which labels are known, and what they are called.

One rule for all spellings: -1, None, NaN and a blank mean "not known", and so does a cell that a masked
array hides; everything else is a label.
"""

from typing import Any, NamedTuple

import numpy as np

from mapdp.data.frames import is_gap
from mapdp.data.matrices import without_mask

_NOT_KNOWN = ("", "-1", "-1.0", "nan")  # an array of words spells -1 and NaN like this


class KnownLabels(NamedTuple):
    """Labels of which some are known."""

    numbers: np.ndarray  # (N,) place of the label among the names, -1 where it is not known
    names: np.ndarray  # (L,) whole numbers or words, in their order


def known_labels(y: Any, n_rows: int) -> KnownLabels | None:
    """Return what y says of labels; None where it does not say that some are known and others are not.

    Labels that are all known leave nothing to find: scikit-learn hands them to every estimator.
    """
    given = _as_array([] if y is None else y)
    unknown = _are_unknown(given)
    if unknown.all() or not unknown.any():
        return None
    if given.shape != (n_rows,):
        raise ValueError(f"y must hold a label for each of the {n_rows} rows, got shape {given.shape}.")
    numbers = np.full(n_rows, -1)
    names, numbers[~unknown] = np.unique(_as_one_kind(given, unknown), return_inverse=True)
    return KnownLabels(numbers, names)


def _as_array(y: Any) -> np.ndarray:
    """Return y as it is, in an array: a list must not turn numbers into words."""
    return np.asarray(without_mask(y)) if hasattr(y, "shape") else np.array(y, dtype=object)


def _are_unknown(given: np.ndarray) -> np.ndarray:
    if given.dtype.kind in "iufb":
        return np.isnan(given) | (given == -1)
    return np.array([_is_unknown(label) for label in given.flat], dtype=bool)


def _is_unknown(label: Any) -> bool:
    if isinstance(label, str):
        return label.strip().lower() in _NOT_KNOWN
    return is_gap(label) or label == -1


def _as_one_kind(given: np.ndarray, unknown: np.ndarray) -> np.ndarray:
    """Return the labels that are known, as whole numbers or as words."""
    rows = np.flatnonzero(~unknown)
    labels = [given[i] for i in rows]
    if any(isinstance(label, str) or not np.isreal(label) for label in labels):
        return np.array([str(label).strip() for label in labels])
    numbers = np.array(labels, dtype=np.float64)
    if not (numbers == np.floor(numbers)).all():
        at = int(np.argmin(numbers == np.floor(numbers)))
        raise ValueError(
            f"y must hold labels, got {labels[at]} in row {rows[at]}. Hint: whole numbers or words; -1, "
            "None or NaN where a label is not known."
        )
    return numbers.astype(np.int64)
