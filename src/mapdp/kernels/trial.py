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
from mapdp.kernels.score import MARGIN, beats, best_chair, score_chairs
from mapdp.kernels.seat import fetch
from mapdp.special import log

_HOPELESS = 20.0  # nats by which a guess is too far below to come back in the passes that are left


class Bench(NamedTuple):
    """All that trials need beside the rows."""

    state: Any  # a State of no rows: its chairs are those of the trial
    spare: Any  # a Spare for merges
    desk: Desk
    chairs: np.ndarray  # (K,) the chair that a part takes


@inlined
def _count(seats):
    """Return how many chairs there are, from 0 to the last that is named."""
    n_chairs = 0
    for r in range(seats.shape[0]):
        n_chairs = max(n_chairs, seats[r] + 1)
    return n_chairs


@inlined
def _seat(X, rows, seats, n_chairs, state):
    """Build the first chairs from where the rows sit."""
    labels, sizes, joins, opens, discount, counters, bank, origin, x, scores, scratch = state
    for k in range(n_chairs):
        family.clear(bank, k)
        sizes[k] = 0
    for r in range(rows.shape[0]):
        fetch(X, rows[r], origin, x)
        family.insert(bank, seats[r], x)
        sizes[seats[r]] += 1


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
def _choose(X, rows, seats, chosen, n_chairs, state):
    """Choose the best chair of every row while no chair changes.

    A row counts for itself where it sits: to leave it out would take as long again, and a guess need not
    be settled, only be judged.
    """
    labels, sizes, joins, opens, discount, counters, bank, origin, x, scores, scratch = state
    for r in range(rows.shape[0]):
        fetch(X, rows[r], origin, x)
        score_chairs(x, n_chairs, joins, bank, scores, scratch)
        chosen[r] = best_chair(scores, n_chairs, seats[r])


@inlined
def _follow(X, rows, seats, chosen, state):
    """Move the rows to the chairs that they have chosen."""
    labels, sizes, joins, opens, discount, counters, bank, origin, x, scores, scratch = state
    for r in range(rows.shape[0]):
        k, own = chosen[r], seats[r]
        if k != own:
            fetch(X, rows[r], origin, x)
            sizes[own] -= 1
            if sizes[own] > 0:
                family.remove(bank, own, x)
            else:
                family.clear(bank, own)
            family.insert(bank, k, x)
            sizes[k] += 1
            seats[r] = k


@inlined
def _merge(n_chairs, rows, seats, bench):
    """Merge chairs where that gains, but for the last two; return the joint."""
    state, spare, n_clusters = bench.state, bench.spare, 0
    labels, sizes, joins, opens, discount, counters, bank, origin, x, scores, scratch = state
    for k in range(n_chairs):
        if sizes[k] > 0:
            n_clusters += 1
    n_clusters = merge_greedily(n_chairs, n_clusters, 2, sizes, opens, discount, bank, spare)
    for r in range(rows.shape[0]):
        seats[r] = spare.merged_into[seats[r]]
    return log_joint_of_chairs(n_chairs, n_clusters, opens, spare.worth)


@inlined
def settle(X, rows, seats, chosen, n_passes, n_trusted, now, bench):
    """Seat rows as guessed; settle and merge them in turn; return the joint.

    After `n_trusted` passes it ends early where the joint is far below `now`, or the very same: then the
    rows sit as they did. `seats` numbers chairs from 0, and has where the rows sit afterwards; `chosen`
    is working space.
    """
    n_chairs, joint = _count(seats), -np.inf
    _seat(X, rows, seats, n_chairs, bench.state)
    for n_done in range(n_passes + 1):
        if n_done > 0:
            _price(n_chairs, bench.state)
            _choose(X, rows, seats, chosen, n_chairs, bench.state)
            _follow(X, rows, seats, chosen, bench.state)
        if n_done >= n_trusted or n_done == n_passes:
            joint = _merge(n_chairs, rows, seats, bench)
            if joint < now - _HOPELESS or abs(joint - now) <= MARGIN:
                break
    return joint


@kernel
def try_guess(X, rows, seats, chosen, n_passes, now, bench):
    """Do what `settle` does, for one guess about rows of any number; its chairs can be scored then."""
    joint = settle(X, rows, seats, chosen, n_passes, 1, now, bench)
    _price(_count(seats), bench.state)
    return joint


@inlined
def try_guesses(X, outline, rows, dice, n_passes, n_trusted, best, bench):
    """Try to part rows along their main axis and around seeds; return the highest joint.

    Where that is above `best`, `desk.parts` holds the parts of the rows. Seeds may be too many at first, so
    such a guess is trusted for twice as many passes.
    """
    n, desk = rows.shape[0], bench.desk
    axis, uniforms = dice
    W, guess = desk.W[:n], desk.guess[:n]
    n_seeds = min(uniforms.shape[1], max(2, n // 2))  # as many as the rows can feed, and two at least
    whiten(outline, rows, W, desk.shift, desk.scale)
    for number in range(1 + uniforms.shape[0]):
        if number == 0:
            part_by_axis(W, axis, desk.shift, guess)
        else:
            part_by_seeds(W, uniforms[number - 1, :n_seeds], desk.nearest, guess)
        trusted = n_trusted if number == 0 else 2 * n_trusted
        joint = settle(X, rows, guess, desk.chosen, n_passes, trusted, best, bench)
        if beats(joint, best):
            best = joint
            for r in range(n):
                desk.parts[r] = guess[r]
    return best
