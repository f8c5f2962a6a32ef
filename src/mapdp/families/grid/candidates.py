"""Evenly spaced candidates for the parameters of a density."""

from typing import Any

import numpy as np

from mapdp.data import checks

_MOST = 10**7  # candidates of a grid: a bank holds two numbers for each, on every chair


def grid(low: Any, high: Any, n: Any, *, log: Any = False) -> np.ndarray:
    """Return evenly spaced candidates, for one parameter or for several.

    Parameters
    ----------
    low, high : float, or one for each parameter
        The ends, which are candidates, too.
    n : int, or one for each parameter
        Number of values of each parameter; candidates are all combinations.
    log : bool, or one for each parameter, default False
        Whether the logarithm is evenly spaced.

    Returns
    -------
    array of shape (G,) for one parameter, (G, P) for several

    Examples
    --------
    >>> grid(0.0, 1.0, 3)
    array([0. , 0.5, 1. ])
    >>> grid([0.0, 1.0], [1.0, 100.0], [2, 3], log=[False, True]).shape
    (6, 2)
    """
    axes = [_axis(*one) for one in zip(*_per_parameter(low, high, n, log), strict=True)]
    n_candidates = np.prod([len(axis) for axis in axes], dtype=np.float64)
    if n_candidates > _MOST:
        raise ValueError(
            f"a grid must have at most {_MOST:,} candidates, got {n_candidates:,.0f}. "
            "Hint: draws from a prior are candidates, too, and need no more for more parameters."
        )
    if all(np.ndim(part) == 0 for part in (low, high, n)):
        return axes[0]
    return np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], axis=1)


def _per_parameter(low: Any, high: Any, n: Any, log: Any) -> tuple[np.ndarray, ...]:
    """Return the arguments of `grid`, one number of each for every parameter."""
    try:
        ends = [np.atleast_1d(np.asarray(part, dtype=np.float64)) for part in (low, high, n)]
        return np.broadcast_arrays(*ends, np.atleast_1d(log))
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"low, high and n must be numbers, or one for each parameter, got {low!r}, {high!r} and {n!r}."
        ) from error


def _axis(low: Any, high: Any, n: Any, log: Any) -> np.ndarray:
    """Return the values of one parameter."""
    checks.whole("n", int(n) if n % 1.0 == 0.0 else float(n), 1)
    if not -np.inf < low < high < np.inf or (log and low <= 0.0):
        raise ValueError(
            "low must be below high, and both finite"
            f"{', and positive for logarithms' if log else ''}, got {low} and {high}."
        )
    return np.geomspace(low, high, int(n)) if log else np.linspace(low, high, int(n))
