"""How a guess is tried: the rows of some clusters are seated as guessed, settle, merge, and are judged.

Those rows are a problem of their own, on chairs of their own. The prior weights of new chairs count the
clusters that are not part of it, so a difference of joints here is one of the whole.
"""

from typing import Any, NamedTuple

import numpy as np

from mapdp.compiled.jit import inlined, kernel
from mapdp.compiled.special import log
from mapdp.engine.joint import log_joint_of_chairs
from mapdp.engine.merge import merge_buffers, merge_greedily
from mapdp.engine.propose import GuessBuffers, guess_buffers, part_by_axis, part_by_seeds, whiten
from mapdp.engine.score import beats, best_chair, rounding, score_chairs
from mapdp.engine.seat import fetch
from mapdp.engine.state import TRIAL_CAPACITY, new_state
from mapdp.families import verbs
from mapdp.families.base import Family
from mapdp.partitions.process import Process

_HOPELESS = 20.0  # nats by which a guess is too far below to come back in the passes that are left


class TrialBuffers(NamedTuple):
    """Working space for trials."""

    state: Any  # a State of no rows: its chairs are those of the trial
    merges: Any  # MergeBuffers
    guesses: GuessBuffers
    chairs: np.ndarray  # (K,) the chair that a part takes


def trial_buffers(n_rows: int, n_columns: int, family: Family, process: Process) -> TrialBuffers:
    """Return working space for trials with up to `n_rows` rows, guessed from `n_columns` columns."""
    return TrialBuffers(
        new_state(0, family, process, TRIAL_CAPACITY),
        merge_buffers(family, TRIAL_CAPACITY),
        guess_buffers(n_rows, n_columns),
        np.empty(TRIAL_CAPACITY, dtype=np.int32),
    )


@inlined
def _count(seats_of_rows):
    """Return how many chairs there are, from 0 to the last that is named."""
    n_chairs = 0
    for r in range(seats_of_rows.shape[0]):
        n_chairs = max(n_chairs, seats_of_rows[r] + 1)
    return n_chairs


@inlined
def _seat(X, rows, parts, n_chairs, state):
    """Build the first chairs from the parts of the rows."""
    sizes, bank, work = state.seats.sizes, state.chairs, state.work
    for k in range(n_chairs):
        verbs.clear(bank, k)
        sizes[k] = 0
    for r in range(rows.shape[0]):
        fetch(X, rows[r], work)
        verbs.insert(bank, parts[r], work.x, work.scratch)
        sizes[parts[r]] += 1


@inlined
def _price(n_chairs, state):
    """Bring the chairs' cached predictives and prior weights up to date."""
    seats, bank = state.seats, state.chairs
    for k in range(seats.sizes.shape[0]):
        seats.log_join[k] = -np.inf
        if k < n_chairs and seats.sizes[k] > 0:
            verbs.refresh(bank, k)
            seats.log_join[k] = log(seats.sizes[k] - seats.discount)


@inlined
def _choose(X, rows, parts, chosen, n_chairs, state):
    """Choose the best chair of every row while no chair changes.

    A row counts for itself where it sits: leaving it out would take as long again, and a guess need not
    be settled, only be judged.
    """
    log_join, bank, work = state.seats.log_join, state.chairs, state.work
    for r in range(rows.shape[0]):
        fetch(X, rows[r], work)
        score_chairs(n_chairs, log_join, bank, work)
        chosen[r] = best_chair(work.scores, n_chairs, parts[r])


@inlined
def _follow(X, rows, parts, chosen, state):
    """Move the rows to the chairs that they have chosen."""
    sizes, bank, work = state.seats.sizes, state.chairs, state.work
    for r in range(rows.shape[0]):
        k, own = chosen[r], parts[r]
        if k != own:
            fetch(X, rows[r], work)
            sizes[own] -= 1
            if sizes[own] > 0:
                verbs.remove(bank, own, work.x, work.scratch)
            else:
                verbs.clear(bank, own)
            verbs.insert(bank, k, work.x, work.scratch)
            sizes[k] += 1
            parts[r] = k


@inlined
def _merge(n_chairs, rows, parts, buffers):
    """Merge chairs where that gains, but for the last two; return the log joint."""
    state, merges, n_clusters = buffers.state, buffers.merges, 0
    seats = state.seats
    for k in range(n_chairs):
        if seats.sizes[k] > 0:
            n_clusters += 1
    n_clusters = merge_greedily(n_chairs, n_clusters, 2, seats, state.chairs, merges)
    for r in range(rows.shape[0]):
        parts[r] = merges.merged_into[parts[r]]
    return log_joint_of_chairs(n_chairs, n_clusters, seats.log_open, merges.log_worth)


@inlined
def _settle(X, rows, parts, chosen, n_passes, n_trusted, now, buffers):
    """Seat rows as guessed; settle and merge them in turn; return the log joint.

    After `n_trusted` passes it ends early where the joint is far below `now`, or the very same: then the
    rows sit as they did. `parts` numbers chairs from 0, and has where the rows sit afterwards; `chosen`
    is working space.
    """
    n_chairs, log_joint = _count(parts), -np.inf
    _seat(X, rows, parts, n_chairs, buffers.state)
    for n_done in range(n_passes + 1):
        if n_done > 0:
            _price(n_chairs, buffers.state)
            _choose(X, rows, parts, chosen, n_chairs, buffers.state)
            _follow(X, rows, parts, chosen, buffers.state)
        if n_done >= n_trusted or n_done == n_passes:
            log_joint = _merge(n_chairs, rows, parts, buffers)
            if log_joint < now - _HOPELESS or abs(log_joint - now) <= rounding(now):
                break
    return log_joint


@kernel
def try_guess(X, rows, parts, chosen, n_passes, now, buffers):
    """Do what `_settle` does, for one guess about rows of any number; its chairs can be scored then."""
    log_joint = _settle(X, rows, parts, chosen, n_passes, 1, now, buffers)
    _price(_count(parts), buffers.state)
    return log_joint


@inlined
def try_guesses(X, rows_for_guesses, rows, axis, uniforms, n_passes, n_trusted, best, buffers):
    """Try to part rows along their main axis and around seeds; return the highest log joint.

    Where that is above `best`, `guesses.parts` holds the parts of the rows. Seeds may be too many at first,
    so such a guess is trusted for twice as many passes.
    """
    n, guesses = rows.shape[0], buffers.guesses
    W, guess = guesses.W[:n], guesses.guess[:n]
    n_seeds = min(uniforms.shape[1], max(2, n // 2))  # as many as the rows can feed, and two at least
    whiten(rows_for_guesses, rows, W, guesses.shift, guesses.scale)
    for number in range(1 + uniforms.shape[0]):
        if number == 0:
            part_by_axis(W, axis, guesses.shift, guess)
        else:
            part_by_seeds(W, uniforms[number - 1, :n_seeds], guesses.nearest, guess)
        trusted = n_trusted if number == 0 else 2 * n_trusted
        log_joint = _settle(X, rows, guess, guesses.chosen, n_passes, trusted, best, buffers)
        if beats(log_joint, best):
            best = log_joint
            for r in range(n):
                guesses.parts[r] = guess[r]
    return best
