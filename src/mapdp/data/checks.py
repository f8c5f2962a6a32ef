"""Checks of arguments: each raises one sentence with what was wrong, what we got, and a hint."""

import numbers
from collections.abc import Sequence

import numpy as np

Names = Sequence[object] | None  # what columns are called; None where they have only numbers

LARGEST_SQUARED = 1e150  # squares of larger numbers, added up over many rows, would overflow
LARGEST_COUNT = 2.0**53  # the last whole number before floats leave gaps
EXTREME = 1e290  # beyond it, and below one over it, a number or what it is divided by is no float


def positive(name: str, number: object, hint: str) -> float:
    """Return `number` as a float, or say that it must be positive."""
    if not isinstance(number, numbers.Real) or isinstance(number, bool):
        raise TypeError(f"{name} must be a positive number, got {number!r}. Hint: {hint}")
    if not (float(number) > 0.0 and np.isfinite(float(number))):
        raise ValueError(f"{name} must be positive and finite, got {number}. Hint: {hint}")
    if not 1.0 / EXTREME <= float(number) <= EXTREME:
        raise ValueError(f"{name} must be between 1e-290 and 1e290, got {number}. Hint: {hint}")
    return float(number)


def whole(name: str, number: object, least: int) -> int:
    """Return `number` as an int, or say that it must be a whole number from `least` up."""
    if not isinstance(number, numbers.Integral) or isinstance(number, bool):
        raise TypeError(f"{name} must be a whole number, got {number!r}. Hint: try {max(least, 1)}.")
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {number}. Hint: try {max(least, 1)}.")
    return int(number)


def not_negative(name: str, number: object) -> float:
    """Return `number` as a float, or say that it must not be negative."""
    if not isinstance(number, numbers.Real) or isinstance(number, bool):
        raise TypeError(f"{name} must be a number, got {number!r}. Hint: try 0.0.")
    if not float(number) >= 0.0:
        raise ValueError(f"{name} must not be negative, got {number}. Hint: try 0.0.")
    return float(number)


def discount(number: object) -> float:
    """Return `number` as a float, or say what a Pitman-Yor discount is."""
    if not_negative("discount", number) >= 1.0:
        raise ValueError(
            f"discount must be from 0 to below 1, got {number}. "
            "Hint: 0 is the Dirichlet process; 0.25 allows more small clusters."
        )
    return float(number)  # type: ignore[arg-type]


def stickiness(number: object) -> float:
    """Return `number` as a float, or say that it must be 0 or positive and finite."""
    value = not_negative("stickiness", number)
    return positive("stickiness", number, "0 is for none; try 10.0.") if value > 0.0 else value


def truth(name: str, value: object) -> bool:
    """Return `value`, or say that it must be True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def one_of(name: str, value: object, choices: Sequence[str], besides: str = "") -> str:
    """Return `value`, or list what it may be; `besides` names what else that is."""
    if value not in choices:
        raise ValueError(f"{name} must be {besides}one of {', '.join(map(repr, choices))}, got {value!r}.")
    return str(value)


def positive_vector(name: str, values: object, hint: str) -> np.ndarray:
    """Return `values` as a one-dimensional float array of positive numbers."""
    vector = real_vector(name, values)
    if not (vector > 0.0).all():
        j = int(np.argmin(vector > 0.0))
        raise ValueError(f"{name} must be positive, got {vector[j]} at position {j}. Hint: {hint}")
    is_ordinary = (vector >= 1.0 / EXTREME) & (vector <= EXTREME)
    if not is_ordinary.all():
        j = int(np.argmin(is_ordinary))
        raise ValueError(
            f"{name} must be between 1e-290 and 1e290, got {vector[j]} at position {j}. Hint: {hint}"
        )
    return vector


def real_vector(name: str, values: object) -> np.ndarray:
    """Return `values` as a one-dimensional array of finite floats."""
    vector = np.atleast_1d(np.array(values, dtype=np.float64))
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise ValueError(f"{name} must be finite numbers, one per column, got {values!r}.")
    return vector


def steps(name: str, values: object) -> np.ndarray:
    """Return `values` as a one-dimensional float array of numbers from 0 up."""
    vector = real_vector(name, values)
    if (vector < 0.0).any():
        raise ValueError(f"{name} must not be negative, got {vector.min()}. Hint: 0.0 is exact numbers.")
    return vector


def partition(labels: object, n_rows: int) -> np.ndarray:
    """Return labels of any integer names as chairs 0, 1, ... in order of first appearance."""
    array = np.asarray(labels)
    if array.shape != (n_rows,):
        raise ValueError(
            f"labels must hold one cluster for each of the {n_rows} rows, got shape {array.shape}. "
            "Hint: pass a one-dimensional array as long as X."
        )
    if array.dtype.kind not in "iubf" or not np.array_equal(array, np.floor(array)):
        raise TypeError(f"labels must be whole numbers, got {array.dtype}. Hint: encode the names.")
    _, first, inverse = np.unique(array, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int32)


def column_name(j: int, names: Names) -> str:
    """Name column `j` for an error message."""
    return f"column {j if names is None else repr(names[j])}"


def every_cell(X: np.ndarray, good: np.ndarray, rule: str, hint: str, names: Names) -> None:
    """Raise unless all cells are `good`; name the first that is not."""
    if good.all():
        return
    i, j = np.unravel_index(int(np.argmin(good)), good.shape)
    raise ValueError(f"{rule}, got {X[i, j]} in {column_name(int(j), names)}, row {i}. Hint: {hint}")


def has_finite_sum(X: np.ndarray) -> bool:
    """Say whether cells add up to a number, as finite ones do: a look that needs no memory."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(X.sum(dtype=np.float64)))


def within(
    X: np.ndarray, centre: np.ndarray | float, reach: np.ndarray | float, rule: str, hint: str, names: Names
) -> None:
    """Raise where a cell is farther than `reach` from `centre`, a number for each column; NaN is a gap."""
    for axis in (None, 0):  # looks that need no memory; the first, in a tenth of the time, often will do
        least = np.fmin.reduce(X, axis=axis, initial=np.inf)
        most = np.fmax.reduce(X, axis=axis, initial=-np.inf)
        if np.all(most - centre <= reach) and np.all(centre - least <= reach):
            return
    every_cell(X, ~(np.abs(X - centre) > reach), rule, hint, names)


def exact_counts(X: np.ndarray, names: Names) -> None:
    """Raise where a count is too large to be known to one."""
    hint = "use LogNormal, or DiagonalGaussian, for numbers of such size."
    within(X, 0.0, LARGEST_COUNT, "counts must be at most 2^53 to be exact", hint, names)


def finite(X: np.ndarray, names: Names) -> None:
    """Raise where a cell is NaN or infinite."""
    if has_finite_sum(X):
        return
    hint = "drop or fill such rows first; NaN and inf have no likelihood."
    every_cell(X, np.isfinite(X), "X must be finite", hint, names)
