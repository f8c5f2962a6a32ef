"""Knows how a guess is tried: some clusters' rows are seated as guessed, settle, merge, are judged.

The one idea: those rows are a problem of their own, on chairs of their own. The prior weights of new
chairs count the clusters that stand by, so a difference of joints here is one of the whole.
"""

from typing import NamedTuple

import numpy as np

from mapdp import family
from mapdp._jit import inlined, kernel
from mapdp.kernels.guess import part_by_axis, part_by_seeds, whiten
from mapdp.kernels.joint import log_joint_of_chairs
from mapdp.kernels.merge import merge_greedily
from mapdp.kernels.score import beats, best_chair, score_chairs
from mapdp.kernels.seat import fetch
from mapdp.special import log


class Desk(NamedTuple):
    """Working space for guesses about up to n rows."""

    W: np.ndarray  # (n, D) whitened rows
    near: np.ndarray  # (n,)
    far: np.ndarray  # (n,)
    guess: np.ndarray  # (n,) part of each row


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
    for k in range(n_chairs):
        family.refresh(bank, k)
        joins[k] = log(sizes[k] - discount) if sizes[k] > 0 else -np.inf


@inlined
def _best_chairs_at_once(X, rows, n_chairs, state):
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


@kernel
def try_guess(X, rows, guess, n_passes, state, spare):
    """Seat rows as guessed, settle them a little, merge; return the joint.

    `guess` numbers chairs from 0; afterwards `state.labels` has the chairs of the rows.
    """
    labels, sizes, joins, opens, discount, counters, bank, origin, x, scores, scratch = state
    n_chairs, n_clusters = np.int64(0), np.int64(0)  # a plain 0 would have callees compiled for it
    for r in range(rows.shape[0]):
        labels[rows[r]] = guess[r]
        n_chairs = max(n_chairs, guess[r] + 1)
    _seat(X, rows, n_chairs, state)
    for _ in range(n_passes):
        _best_chairs_at_once(X, rows, n_chairs, state)
        _seat(X, rows, n_chairs, state)
    for k in range(n_chairs):
        if sizes[k] > 0:
            n_clusters += 1
    n_clusters = merge_greedily(n_chairs, n_clusters, sizes, opens, discount, bank, spare)
    for r in range(rows.shape[0]):
        labels[rows[r]] = spare.merged_into[labels[rows[r]]]
    return log_joint_of_chairs(n_chairs, n_clusters, sizes, opens, discount, spare.worth)


@inlined
def _kept_if_better(joint, best, rows, state, outcome):
    """Copy where rows sit after a trial to `outcome` if it beats the best so far; return the best."""
    if not beats(joint, best):
        return best
    for r in range(rows.shape[0]):
        outcome[r] = state.labels[rows[r]]
    return joint


@kernel
def try_guesses(X, rows, desk, axis, uniforms, n_passes, best, state, spare, outcome):
    """Try to part rows along their main axis and around seeds; return the highest joint.

    Where that is above `best`, `outcome` holds the chairs of the rows.
    """
    W, near, far = desk.W[: rows.shape[0]], desk.near[: rows.shape[0]], desk.far[: rows.shape[0]]
    guess = desk.guess[: rows.shape[0]]
    whiten(X, rows, W)
    part_by_axis(W, axis, near, guess)
    joint = try_guess(X, rows, guess, n_passes, state, spare)
    best = _kept_if_better(joint, best, rows, state, outcome)
    part_by_seeds(W, uniforms, near, far, guess)
    joint = try_guess(X, rows, guess, n_passes, state, spare)
    return _kept_if_better(joint, best, rows, state, outcome)


@kernel
def try_groups(X, rows, ends, desk, axes, uniforms, n_passes, joints, state, spare, outcome):
    """Try guesses for every group of rows, rows[ends[g - 1]:ends[g]]; raise joints[g] where one helps."""
    begin = 0
    for g in range(ends.shape[0]):
        end = ends[g]
        # As many seeds as the group can feed, and two at least.
        seeds = uniforms[g, : min(uniforms.shape[1], max(2, (end - begin) // 2))]
        group, best = rows[begin:end], outcome[begin:end]
        if end - begin > 1:
            joints[g] = try_guesses(X, group, desk, axes[g], seeds, n_passes, joints[g], state, spare, best)
        begin = end
