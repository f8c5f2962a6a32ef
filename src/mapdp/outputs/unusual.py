"""The rows that are least like any cluster: their values, and what is odd about them."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from mapdp.data.column import Column
from mapdp.estimators.mixture import Mixture
from mapdp.outputs.distributions import in_words

_ROWS = 12  # that are listed
_VALUES = 30  # columns whose values are given
_REASONS = 3
_LOOKED_AT = 100  # columns that are looked at one by one
_COMPARED = 20_000  # rows of a cluster that a row is compared with
_FEW = 5  # rows of a cluster, or fewer, say nothing: then all rows are compared with


def unusual_rows(
    model: Mixture, numbers: np.ndarray, labels: np.ndarray, novelty: np.ndarray, log_density: np.ndarray
) -> list[dict[str, Any]]:
    """Return the rows that are most probably something new, those of lower density first among equals."""
    order = np.lexsort((log_density, -novelty))[:_ROWS]
    return [
        {
            "row": int(i),
            "cluster": int(labels[i]),
            "novelty": float(novelty[i]),
            "log_density": float(log_density[i]),
            **_described(model, numbers, labels, int(i)),
        }
        for i in order
    ]


def _described(model: Mixture, numbers: np.ndarray, labels: np.ndarray, i: int) -> dict[str, Any]:
    """Return the values of a row, and the columns in which it is odd beside the rest of its cluster."""
    names, used = model.schema_.labels(), [model.schema_.columns[j] for j in model.schema_.used]
    own = np.flatnonzero(labels == labels[i])
    others = own[own != i] if len(own) > _FEW else np.delete(np.arange(len(labels)), i)
    others = others[:: max(1, len(others) // _COMPARED)]
    reasons = [
        {"name": names[j], **reason}
        for j in _candidates(used, numbers[i], numbers[others])
        if (reason := _reason(used[j], numbers[i, j], numbers[others, j])) is not None
    ]
    reasons.sort(key=lambda reason: -reason["nats"])
    values = [[names[j], in_words(used[j], numbers[i, j])] for j in range(min(len(used), _VALUES))]
    beside = "its cluster" if len(own) > _FEW else "all rows"
    return {"values": values, "reasons": reasons[:_REASONS], "beside": beside}


def _candidates(used: Sequence[Column], row: np.ndarray, others: np.ndarray) -> list[int]:
    """Return the columns that may be odd: all, or those of many in which the row is farthest off."""
    if len(used) <= _LOOKED_AT:
        return list(range(len(used)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # columns of gaps
        spread = np.nanstd(others, axis=0)
        off = np.abs(row - np.nanmean(others, axis=0)) / np.where(spread > 0.0, spread, 1.0)
    return np.argsort(-np.nan_to_num(off), kind="stable")[:_LOOKED_AT].tolist()


def _reason(column: Column, cell: float, others: np.ndarray) -> dict[str, Any] | None:
    """Return how a cell differs from those of others, and how much less probable it is than theirs."""
    seen = others[~np.isnan(others)]
    if np.isnan(cell) or not len(seen):
        return None
    if column.has_levels:
        shares = np.bincount(seen.astype(np.int64), minlength=len(column.values)) / len(seen)
        usual, least = int(shares.argmax()), 0.5 / len(seen)
        nats = float(np.log(shares[usual] / max(shares[int(cell)], least)))
        typical = f"{in_words(column, float(usual))} {100 * shares[usual]:.0f}%"
    else:
        nats, typical = _off(column, cell, seen)
    if not nats > 0.0:
        return None
    return {"value": in_words(column, cell), "typical": typical, "nats": round(float(nats), 2)}


def _off(column: Column, cell: float, seen: np.ndarray) -> tuple[float, str]:
    """Return by how many nats a number is off those of others, and what is typical of them."""
    others = seen[seen != column.special]
    if cell == column.special or len(others) < 0.5 * len(seen):
        return _apart(column, cell, others, len(seen))
    mean, sd = float(others.mean()), float(others.std())
    nats = 0.5 * ((cell - mean) / sd) ** 2 if sd > 0.0 else float(cell != mean) * np.log(2.0 * len(others))
    return nats, in_words(column, mean)


def _apart(column: Column, cell: float, others: np.ndarray, n_seen: int) -> tuple[float, str]:
    """Return the same where one number is a special value and most are not, or the other way round."""
    is_special, least = cell == column.special, 0.5 / n_seen
    share = min(max(1.0 - len(others) / n_seen, least), 1.0 - least)
    nats = float(np.log(share / (1.0 - share)))
    if is_special:
        return -nats, in_words(column, float(others.mean())) if len(others) else ""
    return nats, f"{in_words(column, column.special)} {100 * share:.0f}%"
