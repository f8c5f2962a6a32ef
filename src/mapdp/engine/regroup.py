"""How the rows of a few chairs are parted anew, group after group, and what comes of each."""

from typing import NamedTuple

import numpy as np

from mapdp.compiled.jit import inlined, kernel
from mapdp.engine.trial import try_guesses

# What became of a group.
REFUSED = 0  # no guess gains
GAINED = 1  # its rows have new labels
PASSED_OVER = 2  # one of its chairs has been regrouped already
TOO_LARGE = 3  # for the buffers


class Regrouping(NamedTuple):
    """What comes of trying groups."""

    labels: np.ndarray  # (N,) of all rows
    changed: np.ndarray  # (K,) whether a chair has been regrouped
    fresh: np.ndarray  # (1,) the next chair that nobody has sat on
    verdicts: np.ndarray  # (G,) what became of each group
    log_gained: np.ndarray  # (1,) by how much the groups raised the log joint


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
def _joint_now(group, log_worth, log_open):
    """Return the log joint of a group's chairs among themselves, as a trial would."""
    total = 0.0
    for g in range(group.shape[0]):
        total += log_worth[group[g]] + log_open[g]
    return total


@inlined
def _is_new(group, rows, parts, chairs, labels):
    """Say whether parts divide the rows of a group in another way than labels do: rounding gains, too."""
    n_parts = 0
    for p in range(chairs.shape[0]):
        chairs[p] = -1
    for r in range(rows.shape[0]):
        if chairs[parts[r]] < 0:
            chairs[parts[r]] = labels[rows[r]]
            n_parts += 1
        elif chairs[parts[r]] != labels[rows[r]]:
            return True
    return n_parts != group.shape[0]


@kernel
def seat_parts(group, rows, parts, chairs, outcome):
    """Do what `_seat_parts` does, for Python."""
    _seat_parts(group, rows, parts, chairs, outcome)


@inlined
def _seat_parts(group, rows, parts, chairs, outcome):
    """Give rows the labels of their parts: the group's chairs first, then fresh ones."""
    labels, changed, fresh = outcome.labels, outcome.changed, outcome.fresh
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
def regroup(
    X, rows_for_guesses, groups, order, ends, log_worth, axes, uniforms, n_passes, buffers, outcome
):
    """Part the rows of each group of chairs anew where that gains.

    The rows of chair k are order[ends[k - 1]:ends[k]], and log_worth[k] is what it adds to the log joint.
    """
    space, parts, verdicts = buffers.guesses.rows, buffers.guesses.parts, outcome.verdicts
    n_trusted = 2 - groups.shape[1]  # a guess at what is parted already is judged before it settles
    for g in range(groups.shape[0]):
        group = groups[g]
        n = _collect(group, order, ends, space)
        if n > space.shape[0]:
            verdicts[g] = TOO_LARGE
        elif _has_changed(group, outcome.changed):
            verdicts[g] = PASSED_OVER
        else:
            verdicts[g] = REFUSED
            rows, now = space[:n], _joint_now(group, log_worth, buffers.state.seats.log_open)
            if n > 1:
                best = try_guesses(
                    X, rows_for_guesses, rows, axes[g], uniforms[g], n_passes, n_trusted, now, buffers
                )
                if best > now and _is_new(group, rows, parts, buffers.chairs, outcome.labels):
                    verdicts[g] = GAINED
                    outcome.log_gained[0] += best - now
                    _seat_parts(group, rows, parts, buffers.chairs, outcome)
