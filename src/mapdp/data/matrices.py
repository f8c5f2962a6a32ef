"""Tables that are all numbers, as matrices that kernels can read."""

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from mapdp.data.checks import Names, column_name


def without_mask(X: Any) -> Any:
    """Return a masked array as a plain one whose masked cells are gaps: NaN, None among words.

    Anything else is returned as it is.
    """
    if not isinstance(X, np.ma.MaskedArray):
        return X
    is_text, is_float = X.dtype.kind in "OUS", X.dtype.kind == "f"
    cells = np.array(X.data, dtype=object if is_text else X.dtype if is_float else np.float64)
    cells[np.ma.getmaskarray(X)] = None if is_text else np.nan
    return cells


def matrix_for(estimator: Any, X: Any, *, reset: bool) -> np.ndarray:
    """Return X as a matrix of floats that kernels can read; remember its columns where `reset`.

    float64 and float32 are taken as they are when their rows are contiguous. NaN and infinity are left to
    the family.
    """
    X = without_mask(X)
    if _is_ready(estimator, X, reset):
        estimator.n_features_in_ = X.shape[1]
        return X
    try:
        rows = validate_data(
            estimator, X, reset=reset, dtype=[np.float64, np.float32], order="C", ensure_all_finite=False
        )
    except ValueError as error:
        raise _explained(X, error) from error
    return np.require(rows, requirements=["C", "W"])


def _is_ready(estimator: Any, X: Any, reset: bool) -> bool:
    """Say whether X can be read as it is: all that `validate_data` would check, in less time than a fit."""
    if type(X) is not np.ndarray or X.dtype not in (np.float64, np.float32) or X.ndim != 2 or X.size == 0:
        return False
    is_expected = reset or estimator.n_features_in_ == X.shape[1]
    return is_expected and X.flags.carray and not hasattr(estimator, "feature_names_in_")


def names_of(estimator: Any) -> Names:
    """Return the column names that the estimator saw, None where there were none."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else list(names)


def _explained(X: Any, error: ValueError) -> ValueError:
    """Name the column and the value where a cell is not a number."""
    if "could not convert" not in str(error):
        return error
    names = list(X.columns) if hasattr(X, "columns") else None
    cells = np.asarray(X, dtype=object)
    if cells.ndim != 2:
        return ValueError(
            f"X must be a table of numbers, got text of shape {cells.shape}. Hint: rows x columns."
        )
    for j in range(cells.shape[1]):
        for i in range(cells.shape[0]):
            try:
                float(cells[i, j])
            except (TypeError, ValueError):
                return ValueError(
                    f"X must hold numbers, got {cells[i, j]!r} in {column_name(j, names)}, row {i}. "
                    "Hint: encode text as numbers, or drop the column."
                )
    return error
