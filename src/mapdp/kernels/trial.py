"""Knows how a guess is tried: some clusters' rows are seated as guessed, settle, merge, are judged.

The one idea: those rows are a problem of their own, on chairs of their own. The prior weights of new
chairs count the clusters that stand by, so a difference of joints here is one of the whole.
"""

from typing import Any, NamedTuple

import numpy as np

from mapdp import family
from mapdp._jit import inlined, kernel
from mapdp.kernels.guess import Desk, part_by_axis, part_by_seeds, whiten
from mapdp.kernels.joint import log_joint_of_chairs
from mapdp.kernels.merge import merge_greedily
from mapdp.kernels.score import beats, best_chair, score_chairs
from mapdp.kernels.seat import fetch
from mapdp.special import log


class Bench(NamedTuple):
    """All that trials need beside the rows."""

    state: Any  # a State whose labels are those of the rows in hand
    spare: Any  # a Spare for merges
    desk: Desk
    chairs: np.ndarray  # (K,) the chair that a part takes


@inlined
def _seat(X, rows, n_chairs, state):
    """Build the first chairs from the labels of the rows."""
    labels, sizes, joins, opens, discount, counters, bank, origin, x, scores, scratch = state
    for k in range(n_chairs):
        family.clear(bank, k)
        sizes[k] = 0
    for r in range(rows.shape[0]):
        fetch(X, rows[r], origin, x)
        k = labels[rows[r]]
        family.insert(bank, k, x)
        sizes[k] += 1
    _price(n_chairs, state)


@inlined
def _price(n_chairs, state):
    """Bring the chairs' cached predictives and prior weights up to date."""
    labels, sizes, joins, opens, discount, counters, bank, origin, x, scores, scratch = state
    for k in range(sizes.shape[0]):
        joins[k] = -np.inf
        if k < n_chairs and sizes[k] > 0:
            family.refresh(bank, k)
            joins[k] = log(sizes[k] - discount)


@inlined
def _choose_at_once(X, rows, n_chairs, state):
    """Give every row the label of its best chair while no chair changes."""
    labels, sizes, joins, opens, discount, counters, bank, origin, x, scores, scratch = state
    for r in range(rows.shape[0]):
        i = rows[r]
        own = labels[i]
        fetch(X, i, origin, x)
        score_chairs(x, n_chairs, joins, bank, scores, scratch)
        if sizes[own] > 1:
            scores[own] = log(sizes[own] - 1 - discount) + family.log_leave_one_out(bank, own, x)
            labels[i] = best_chair(scores, n_chairs, own)


@inlined
def _follow(X, rows, sat, n_chairs, state):
    """Move the rows whose labels are no longer where they sat."""
    labels, sizes, joins, opens, discount, counters, bank, origin, x, scores, scratch = state
    for r in range(rows.shape[0]):
        k = labels[rows[r]]
        if k != sat[r]:
            fetch(X, rows[r], origin, x)
            sizes[sat[r]] -= 1
            if sizes[sat[r]] > 0:
                family.remove(bank, sat[r], x)
            else:
                family.clear(bank, sat[r])
            family.insert(bank, k, x)
            sizes[k] += 1
            sat[r] = k
    _price(n_chairs, state)


@inlined
def settled_guess(X, rows, guess, n_passes, bench):
    """Seat rows as guessed, settle them a little, merge; return the joint.

    `guess` numbers chairs from 0; afterwards the labels of the bench's state have the chairs of the rows.
    """
    state, spare = bench.state, bench.spare
    labels, sizes, joins, opens, discount, counters, bank, origin, x, scores, scratch = state
    n_chairs, n_clusters = 0, 0
    for r in range(rows.shape[0]):
        labels[rows[r]] = guess[r]
        n_chairs = max(n_chairs, guess[r] + 1)
    _seat(X, rows, n_chairs, state)
    for _ in range(n_passes):
        _choose_at_once(X, rows, n_chairs, state)
        _follow(X, rows, guess, n_chairs, state)
    for k in range(n_chairs):
        if sizes[k] > 0:
            n_clusters += 1
    n_clusters = merge_greedily(n_chairs, n_clusters, 1, sizes, opens, discount, bank, spare)
    for r in range(rows.shape[0]):
        labels[rows[r]] = spare.merged_into[labels[rows[r]]]
    return log_joint_of_chairs(n_chairs, n_clusters, opens, spare.worth)


@kernel
def try_guess(X, rows, guess, n_passes, bench):
    """Do what `settled_guess` does, for rows of any number."""
    return settled_guess(X, rows, guess, n_passes, bench)


@inlined
def try_guesses(X, rows, axis, uniforms, n_passes, best, bench):
    """Try to part rows along their main axis and around seeds; return the highest joint.

    Where that is above `best`, `desk.parts` holds the parts of the rows.
    """
    n, desk = rows.shape[0], bench.desk
    W, guess = desk.W[:n], desk.guess[:n]
    n_seeds = min(uniforms.shape[0], max(2, n // 2))  # as many as the rows can feed, and two at least
    whiten(X, rows, W, desk.shift, desk.scale)
    for kind in range(2):
        if kind == 0:
            part_by_axis(W, axis, desk.shift, guess)
        else:
            part_by_seeds(W, uniforms[:n_seeds], desk.nearest, guess)
        joint = settled_guess(X, rows, guess, n_passes, bench)
        if beats(joint, best):
            best = joint
            for r in range(n):
                desk.parts[r] = bench.state.labels[rows[r]]
    return best
