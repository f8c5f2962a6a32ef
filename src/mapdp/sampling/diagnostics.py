"""Whether a chain has run for long enough (Raftery and Lewis 1992), and chains for ArviZ.

Raftery and Lewis look at one quantile. Whether the chain is below it or above is a process of zeros and
ones; thinned until it looks like a Markov chain of first order, its two rates of change give how soon the
start is forgotten and how many draws determine the quantile.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri, xlogy

from mapdp.engine.trace import Chains

_FORGOTTEN = 0.001  # how close to its limit the chance of being below the quantile must come


class RafteryLewis(NamedTuple):
    """How long a chain must be."""

    burn_in: int  # sweeps until the start is forgotten
    total: int  # sweeps needed, burn-in included
    n_min: int  # sweeps that independent draws would need
    dependence: float  # total / n_min; nan where the chain never crosses its quantile
    thinning: int  # sweeps between draws that look like a Markov chain of first order


def raftery_lewis(chain: Any, q: float = 0.025, r: float = 0.005, s: float = 0.95) -> RafteryLewis:
    """Return how many sweeps estimate a quantile of a chain to the wanted accuracy.

    Parameters
    ----------
    chain : array of shape (S,)
        A number for each sweep, for example the log joint.
    q : float
        The quantile of interest.
    r : float
        How close to q the share of draws below the estimated quantile should be ...
    s : float
        ... and with what probability.

    Returns
    -------
    RafteryLewis
        The same numbers as `raftery.diag` of R's coda. A chain that never crosses its quantile says
        nothing of its dependence: the answer is then `n_min`, with a dependence of nan.

    Examples
    --------
    >>> chain = np.random.default_rng(0).normal(size=5000)
    >>> raftery_lewis(chain, q=0.025, r=0.01, s=0.95).n_min
    937
    """
    values = np.asarray(chain, dtype=np.float64)
    n_min = least_sweeps(q, r, s)
    if values.ndim != 1 or len(values) < n_min:
        raise ValueError(
            f"chain must be one-dimensional with at least {n_min} sweeps for q={q}, r={r}, s={s}, "
            f"got shape {values.shape}. Hint: run longer, or ask for less accuracy by a larger r."
        )
    if not np.isfinite(values).all():
        raise ValueError(
            "chain must be finite numbers, got nan or inf. Hint: find the sweep where it began."
        )
    below = values <= np.quantile(values, q)
    thinning = _first_order_thinning(below)
    rise, fall = _rates_of_change(below[::thinning])
    if rise + fall == 0.0:
        return RafteryLewis(0, n_min, n_min, math.nan, thinning)
    burn_in = thinning * math.ceil(_sweeps_to_forget(rise, fall))
    wanted = (2.0 - rise - fall) * rise * fall / (rise + fall) ** 3 * (ndtri(0.5 * (1.0 + s)) / r) ** 2
    total = burn_in + thinning * math.ceil(wanted)
    return RafteryLewis(burn_in, total, n_min, total / n_min, thinning)


def least_sweeps(q: float, r: float, s: float) -> int:
    """Return how many independent draws estimate the quantile to the wanted accuracy."""
    for name, number in {"q": q, "r": r, "s": s}.items():
        if not 0.0 < number < 1.0:
            raise ValueError(f"{name} must be between 0 and 1, got {number}. Hint: try 0.025, 0.01, 0.95.")
    return math.ceil(q * (1.0 - q) * (ndtri(0.5 * (1.0 + s)) / r) ** 2)


def _first_order_thinning(below: np.ndarray) -> int:
    """Return the least thinning after which one step back explains as much as two, by BIC."""
    thinning = 1
    while _memory(below[::thinning]) > 0.0:
        thinning += 1
    return thinning


def _memory(below: np.ndarray) -> float:
    """Return the BIC of a chain of second order over one of first order."""
    triples = np.bincount(4 * below[:-2] + 2 * below[1:-1] + below[2:], minlength=8).reshape(2, 2, 2)
    n = triples.sum(dtype=np.float64)
    if n == 0:
        return -math.inf
    middle = triples.sum(axis=(0, 2))
    expected = (
        triples.sum(axis=2)[:, :, None] * triples.sum(axis=0)[None] / np.maximum(middle, 1)[None, :, None]
    )
    gain = 2.0 * (xlogy(triples, triples) - xlogy(triples, np.where(expected > 0, expected, 1.0))).sum()
    return gain - 2.0 * math.log(n)


def _rates_of_change(below: np.ndarray) -> tuple[float, float]:
    """Return how often the chain crosses its quantile from above, and from below."""
    pairs = np.bincount(2 * below[:-1] + below[1:], minlength=4).reshape(2, 2)
    rise, fall = pairs[0, 1] / max(pairs[0].sum(), 1), pairs[1, 0] / max(pairs[1].sum(), 1)
    return float(rise), float(fall)


def _sweeps_to_forget(rise: float, fall: float) -> float:
    """Return the sweeps until the start shows no more; a chain that has no memory needs none."""
    if abs(1.0 - rise - fall) in (0.0, 1.0):
        return 0.0
    return math.log(_FORGOTTEN * (rise + fall) / max(rise, fall)) / math.log(abs(1.0 - rise - fall))


def to_arviz(chains: Chains) -> Any:
    """Return chains as ArviZ InferenceData, whose `summary` gives R-hat and effective sample sizes.

    An alpha that was not drawn is left out.
    """
    try:
        import arviz
    except ImportError as error:
        raise ImportError("to_arviz needs ArviZ. Hint: pip install 'mapdp[arviz]'.") from error
    numbers = chains._asdict()
    if np.ptp(chains.alpha) == 0.0:
        del numbers["alpha"]
    return arviz.from_dict(posterior=numbers)
