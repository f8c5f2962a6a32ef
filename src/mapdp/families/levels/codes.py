"""Values of a few levels as codes 0, 1, 2, ..., and back."""

from collections.abc import Sequence

import numpy as np

from mapdp.data import checks
from mapdp.data.checks import Names
from mapdp.families.base import Parameters


def as_codes(X: np.ndarray, levels: Sequence[np.ndarray], names: Names) -> np.ndarray:
    """Replace each value by its place among the levels of its column."""
    checks.finite(X, names)
    codes = np.empty(X.shape, dtype=np.float64)
    for j, values in enumerate(levels):
        order = np.argsort(values)
        place = np.clip(np.searchsorted(values, X[:, j], sorter=order), 0, len(values) - 1)
        codes[:, j] = order[place]
        _check_seen(X[:, j], values[order[place]], values, checks.column_name(j, names))
    return codes


def _check_seen(column: np.ndarray, found: np.ndarray, values: np.ndarray, name: str) -> None:
    if not (found == column).all():
        i = int(np.argmin(found == column))
        known = ", ".join(str(value) for value in np.sort(values)[:6])
        raise ValueError(
            f"{name} has no level {column[i]}, found in row {i}. "
            f"Hint: known levels are {known}; list all of them in the family's levels."
        )


def from_codes(X: np.ndarray, levels: Sequence[np.ndarray]) -> np.ndarray:
    """Replace places among the levels by the levels."""
    return np.stack([v[X[:, j].astype(int)] for j, v in enumerate(levels)], axis=1)


def sampled_codes(parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
    """Draw one row of codes for each row of level probabilities."""
    cumulative = [np.cumsum(p, axis=1) for p in parameters]
    draws = [(rng.random((len(c), 1)) * c[:, -1:] > c).sum(axis=1) for c in cumulative]
    return np.stack(draws, axis=1).astype(np.float64)
