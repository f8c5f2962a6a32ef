"""Knows how the rows of a few chairs are parted anew, group after group, and what comes of each."""

from typing import NamedTuple

import numpy as np

from mapdp._jit import inlined, kernel
from mapdp.kernels.trial import try_guesses

# What is said of a group.
REFUSED = 0  # no guess gains
GAINED = 1  # its rows have new labels
PASSED_OVER = 2  # one of its chairs has changed hands already
TOO_LARGE = 3  # for the desk


class Outcome(NamedTuple):
    """What comes of trying groups."""

    labels: np.ndarray  # (N,) of all rows
    changed: np.ndarray  # (K,) whether a chair has been regrouped
    fresh: np.ndarray  # (1,) the next chair that nobody has sat on
    said: np.ndarray  # (G,) of each group


@inlined
def _collect(group, order, ends, rows):
    """Copy the rows of a group's chairs; return how many there are, also where there is no room."""
    n = 0
    for g in range(group.shape[0]):
        begin = ends[group[g] - 1] if group[g] > 0 else 0
        for r in range(begin, ends[group[g]]):
            if n < rows.shape[0]:
                rows[n] = order[r]
            n += 1
    return n


@inlined
def _has_changed(group, changed):
    n = 0
    for g in range(group.shape[0]):
        n += changed[group[g]]
    return n > 0


@inlined
def _joint_now(group, worth, opens):
    """Return the joint of a group's chairs among themselves, as a trial would."""
    total = 0.0
    for g in range(group.shape[0]):
        total += worth[group[g]] + opens[g]
    return total


@kernel
def seat_parts(group, rows, parts, chairs, outcome):
    """Do what `_seat_parts` does, for Python."""
    _seat_parts(group, rows, parts, chairs, outcome)


@inlined
def _seat_parts(group, rows, parts, chairs, outcome):
    """Give rows the labels of their parts: the group's chairs first, then fresh ones."""
    labels, changed, fresh, _ = outcome
    for g in range(group.shape[0]):
        changed[group[g]] = True
    for p in range(chairs.shape[0]):
        chairs[p] = -1
    n_taken = 0
    for r in range(rows.shape[0]):
        if chairs[parts[r]] < 0:
            if n_taken < group.shape[0]:
                chairs[parts[r]] = group[n_taken]
                n_taken += 1
            else:
                chairs[parts[r]] = fresh[0]
                fresh[0] += 1
        labels[rows[r]] = chairs[parts[r]]


@kernel
def regroup(X, outline, groups, order, ends, worth, axes, uniforms, n_passes, bench, outcome):
    """Part the rows of each group of chairs anew where that gains.

    The rows of chair k are order[ends[k - 1]:ends[k]], and `worth[k]` is what it adds to the joint.
    """
    desk = bench.desk
    n_trusted = 2 - groups.shape[1]  # a guess at what is parted already is judged before it settles
    for g in range(groups.shape[0]):
        group = groups[g]
        n = _collect(group, order, ends, desk.rows)
        if n > desk.rows.shape[0]:
            outcome.said[g] = TOO_LARGE
        elif _has_changed(group, outcome.changed):
            outcome.said[g] = PASSED_OVER
        else:
            outcome.said[g] = REFUSED
            rows, now = desk.rows[:n], _joint_now(group, worth, bench.state.opens)
            dice = axes[g], uniforms[g]
            if n > 1 and try_guesses(X, outline, rows, dice, n_passes, n_trusted, now, bench) > now:
                outcome.said[g] = GAINED
                _seat_parts(group, rows, desk.parts, bench.chairs, outcome)
