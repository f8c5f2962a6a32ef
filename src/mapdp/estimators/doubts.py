"""What a person should know before they trust a partition: sentences about the search and its outcome."""

import math
from collections.abc import Sequence

import numpy as np

from mapdp.data.wording import counted
from mapdp.engine.trace import Init
from mapdp.estimators.zero_width import Spike
from mapdp.selection.alpha import ALPHAS, Tried

_AGREE = 0.8  # adjusted Rand index of starts that found about the same
_CLOSE = 1e-3  # of the log joint by which a start may be behind and still be a good one
_FEW_ROWS = 100  # of which the square root says little


def doubts(
    inits: Sequence[Init],
    alphas: Sequence[Tried],
    alpha: float,
    sizes: np.ndarray,
    spikes: Sequence[Spike] = (),
    n_filled: int = 0,
    zeros: Sequence[object] = (),
) -> list[str]:
    """Return a sentence for each thing that is odd about an outcome."""
    found = [_about_starts(inits), _about_alpha(alphas, alpha), _about_number(sizes), _about_zeros(zeros)]
    return [sentence for sentence in (*found, _about_width(spikes), _about_fills(n_filled)) if sentence]


def _about_starts(inits: Sequence[Init]) -> str:
    """Good starts that end in different places: the search is hard, and more of them may find better."""
    best = max((one.log_joint for one in inits), default=0.0)
    good = [one.agreement for one in inits if one.log_joint >= best - _CLOSE * abs(best)]
    if len(good) < 2 or min(good) >= _AGREE:
        return ""
    return (
        f"Good starts disagree (adjusted Rand index down to {min(good):.2f}): other partitions are nearly "
        "as probable, and more starts (n_init) may find a better one."
    )


def _about_alpha(alphas: Sequence[Tried], alpha: float) -> str:
    if not alphas or alpha not in (ALPHAS[0], ALPHAS[-1]):
        return ""
    return f"alpha is at the end of its grid ({alpha:g}): the table says little about it."


def _about_number(sizes: np.ndarray) -> str:
    n_rows, n_clusters = float(np.sum(sizes)), len(sizes)
    if n_rows < _FEW_ROWS or n_clusters <= math.sqrt(n_rows):
        return ""
    return (
        f"There are {n_clusters} clusters of {n_rows:,.0f} rows, more than the square root of the rows: "
        "the columns may not be what the model takes them for (see schema_)."
    )


def _about_fills(n_filled: int) -> str:
    if not n_filled:
        return ""
    were = (
        "was filled with what its cluster expects, and counts"
        if n_filled == 1
        else ("were filled with what their clusters expect, and count")
    )
    return f"{counted(n_filled, 'missing measurement')} {were} as if measured: columns vary together."


def _about_zeros(names: Sequence[object]) -> str:
    """A measurement whose lowest value is that of many rows, as zero is where nothing was measured."""
    if not names:
        return ""
    others = "" if len(names) == 1 else f" (and {counted(len(names) - 1, 'other column')})"
    return (
        f"Many rows have the lowest value of {names[0]!r}{others}, and in the other rows values vary: if "
        f"the lowest one means 'none', use columns={{{names[0]!r}: 'zeros'}}."
    )


def _about_width(spikes: Sequence[Spike]) -> str:
    """A measurement that is the same in all rows of a cluster: its density there has no bound."""
    if not spikes:
        return ""
    first = spikes[0]
    n_others = len({one.cluster for one in spikes}) - 1
    others = "" if n_others == 0 else f" ({counted(n_others, 'other cluster')} in some column, too)"
    return (
        f"Cluster {first.cluster} has the same value of {first.name!r} in all of its {first.n_rows:,} cells"
        f"{others}: it may be a default, or stand for a missing value."
    )
