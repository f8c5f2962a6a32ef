"""Part a few clusters anew: guesses from the shape of their rows, judged exactly.

The rows of one cluster (a split) or of two that lie close (a fresh division) are a small problem of their
own. A guess settles there, on chairs of its own, and takes effect only if it beats what the clusters are
worth now.
"""

import functools
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import NamedTuple

import numpy as np

from mapdp.data.column_order import ColumnOrder, order_by_content
from mapdp.engine.in_threads import assign
from mapdp.engine.joint import log_worth_of_chairs
from mapdp.engine.problem import Problem
from mapdp.engine.propose import guess_by_axis, guess_by_seeds
from mapdp.engine.regroup import GAINED, PASSED_OVER, REFUSED, TOO_LARGE, Regrouping, regroup, seat_parts
from mapdp.engine.score import beats
from mapdp.engine.state import OPEN, TRIAL_CAPACITY
from mapdp.engine.trial import TrialBuffers, trial_buffers, try_guess
from mapdp.partitions.labels import compact
from mapdp.search.moves.base import Proposal
from mapdp.search.moves.merge import close_pairs
from mapdp.search.run import Run

PASSES = 2  # of a guess, before it is judged: all rows at once find their best part
_GUESSES = 3  # around seeds, at most: one for every two columns
_SEEDS = 6  # of such a guess; fewer where there are not twice as many rows
_SAMPLE = 2048  # rows that a guess is made from, or ...
_CELLS = 16384  # ... as many as hold so many cells; the others of a larger group follow once it pays


class Split:
    """Split the clusters that gain by it."""

    name = "split"

    def __init__(self, regrouper: "Regrouper") -> None:
        self._regrouper = regrouper

    def propose(self, run: Run) -> Proposal | None:
        """Return labels with more clusters, None where no split gains."""
        return self._regrouper.propose(run, np.arange(settled_chairs(run))[:, None])


class Divide:
    """Divide pairs of close clusters anew where that gains."""

    name = "divide"

    def __init__(self, regrouper: "Regrouper") -> None:
        self._regrouper = regrouper

    def propose(self, run: Run) -> Proposal | None:
        """Return labels in which some pairs are divided in another way, None where that gains nothing."""
        if settled_chairs(run) < 2:
            return None
        return self._regrouper.propose(run, close_pairs(run))


def settled_chairs(run: Run) -> int:
    """Make chairs 0, 1, ... the taken ones; return how many there are."""
    n_clusters = run.state.n_clusters
    if run.state.counters[OPEN] not in (n_clusters, -1):
        run.reseat(compact(run.state.labels))
    return n_clusters


def _buffers_for(problem: Problem) -> TrialBuffers:
    """Return working space for trials with the rows of a table."""
    n_rows, n_columns = problem.rows_for_guesses.shape
    n = min(n_rows, max(_SAMPLE, _CELLS // n_columns))
    return trial_buffers(n, n_columns, problem.model.family, problem.model.process)


class _Members(NamedTuple):
    """The rows of a group's chairs, not yet put together."""

    group: np.ndarray
    order: np.ndarray
    ends: np.ndarray

    def all(self) -> np.ndarray:
        """Return the rows."""
        pieces = [self.order[self.ends[k - 1] if k else 0 : self.ends[k]] for k in self.group]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


class _Parted(NamedTuple):
    """Parts of the rows of a group, and what the log joint gains by them."""

    parts: np.ndarray
    log_gain: float


class TrialRoom:
    """What trials with the rows of a problem need, made for the first of them.

    Climbs that follow one another share it.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    @functools.cached_property
    def columns(self) -> ColumnOrder:
        """Return the order of columns that random numbers are drawn in."""
        return order_by_content(self._problem.rows_for_guesses)

    @functools.cached_property
    def buffers(self) -> TrialBuffers:
        """Return working space."""
        return _buffers_for(self._problem)


class Regrouper:
    """Tries guesses for the rows of a few clusters of a run, and remembers what was refused."""

    def __init__(self, room: TrialRoom, rng: np.random.Generator) -> None:
        self._rng = rng
        self._refused: set[tuple] = set()
        self._room = room

    def propose(self, run: Run, groups: np.ndarray) -> Proposal | None:
        """Try the groups that were not refused; return labels in which those that gain take effect."""
        log_worth = log_worth_of_chairs(run.state)
        names = _names(run, groups, log_worth)
        new = [number for number, name in enumerate(names) if name not in self._refused]
        if not new:
            return None
        outcome = self._tried(run, groups[new], log_worth)
        verdicts = outcome.verdicts.tolist()
        self._refused.update(names[new[g]] for g, verdict in enumerate(verdicts) if verdict == REFUSED)
        if GAINED not in verdicts:
            return None
        gained = [groups[new[g]] for g, verdict in enumerate(verdicts) if verdict == GAINED]
        return Proposal(outcome.labels, run.state.labels, _log_gain_of_all(run, gained, outcome))

    def _tried(self, run: Run, groups: np.ndarray, log_worth: np.ndarray) -> Regrouping:
        """Try all groups; those with few rows at once, then those with many."""
        state = run.state
        # New chairs weigh what they do beside the clusters that are not in the group.
        others, log_open = state.n_clusters - groups.shape[1], self._room.buffers.state.seats.log_open
        log_open[: TRIAL_CAPACITY + 1] = state.seats.log_open[others : others + TRIAL_CAPACITY + 1]
        changed, fresh = np.zeros(state.capacity, dtype=np.bool_), np.array([state.n_clusters])
        verdicts = np.full(len(groups), TOO_LARGE, dtype=np.int8)
        outcome = Regrouping(state.labels.copy(), changed, fresh, verdicts, np.zeros(1))
        order, ends = run.rows_by_chair()
        self._regroup_few(run.problem, groups, order, ends, log_worth, outcome)
        if TOO_LARGE in verdicts.tolist():
            large = np.flatnonzero(verdicts == TOO_LARGE)
            members = [_Members(group, order, ends) for group in groups[large]]
            now = log_worth[groups[large]].sum(axis=1) + log_open[: groups.shape[1]].sum()
            self._regroup_many(run, groups, large, members, now, outcome)
        return outcome

    def _regroup_few(
        self,
        problem: Problem,
        groups: np.ndarray,
        order: np.ndarray,
        ends: np.ndarray,
        log_worth: np.ndarray,
        outcome: Regrouping,
    ) -> None:
        """Part the groups whose rows a guess can be made from, all in one go."""
        drawn = _random_guesses(self._rng, len(groups), self._room.columns)
        given = (problem.X, problem.rows_for_guesses, groups, order, ends, log_worth)
        regroup(*given, *drawn, PASSES, self._room.buffers, outcome)

    def _regroup_many(
        self,
        run: Run,
        groups: np.ndarray,
        large: np.ndarray,
        members: list[_Members],
        now: np.ndarray,
        outcome: Regrouping,
    ) -> None:
        """Part the groups that have more rows than a guess is made from."""
        found = self._parted_in_threads(run, members, now)
        for g, some, parted in zip(large, members, found, strict=True):
            outcome.verdicts[g] = REFUSED if parted is None else GAINED
            if outcome.changed[groups[g]].any():
                outcome.verdicts[g] = PASSED_OVER
            elif parted is not None:
                outcome.log_gained[0] += parted.log_gain
                seat_parts(groups[g], some.all(), parted.parts, self._room.buffers.chairs, outcome)

    def _parted_in_threads(
        self, run: Run, members: list[_Members], now: np.ndarray
    ) -> list[_Parted | None]:
        """Return the parts of each group, None where none gains."""
        problem, free = run.problem, SimpleQueue[TrialBuffers]()
        n_threads = min(problem.budget.n_threads, len(members))
        free.put(self._room.buffers)
        for _ in range(n_threads - 1):
            buffers = _buffers_for(problem)
            buffers.state.seats.log_open[:] = self._room.buffers.state.seats.log_open
            free.put(buffers)

        def work(some: _Members, now: float, rng: np.random.Generator) -> _Parted | None:
            buffers = free.get()
            parted = self._parted(problem, some.all(), run.state.labels, now, buffers, rng)
            free.put(buffers)
            return parted

        rngs = self._rng.spawn(len(members))
        if n_threads == 1:
            return list(map(work, members, now, rngs))
        with ThreadPoolExecutor(n_threads) as pool:
            return list(pool.map(work, members, now, rngs))

    def _parted(
        self,
        problem: Problem,
        rows: np.ndarray,
        labels: np.ndarray,
        now: float,
        buffers: TrialBuffers,
        rng: np.random.Generator,
    ) -> _Parted | None:
        """Propose parts from a sample and extend them to all rows; None unless the joint rises."""
        X, sample = problem.X, rows
        if len(rows) > len(buffers.guesses.rows):
            some = rng.choice(len(rows), len(buffers.guesses.rows), replace=False, shuffle=False)
            sample = np.sort(rows[some])
        parts = self._best_parts(problem, sample, labels, buffers, rng)
        if parts is None:
            return None
        if sample is not rows:
            try_guess(X, sample, parts, buffers.guesses.chosen, 0, -np.inf, buffers)
            parts = compact(assign(X, rows, int(parts.max()) + 1, buffers.state, 1))
        log_joint = try_guess(X, rows, parts, np.empty_like(parts), 1, -np.inf, buffers)
        parts = compact(parts)
        if not beats(log_joint, now) or np.array_equal(parts, compact(labels[rows])):
            return None
        return _Parted(parts, log_joint - now)

    def _best_parts(
        self,
        problem: Problem,
        sample: np.ndarray,
        labels: np.ndarray,
        buffers: TrialBuffers,
        rng: np.random.Generator,
    ) -> np.ndarray | None:
        """Return the best of two guesses at the parts of a sample, None where it is better as it is."""
        X, guesses, similar = problem.X, buffers.guesses, problem.rows_for_guesses
        axes, uniforms = _random_guesses(rng, 1, self._room.columns)
        as_is = try_guess(X, sample, compact(labels[sample]), guesses.chosen, 0, -np.inf, buffers)
        guess_by_axis(similar, sample, axes[0], guesses)
        best = try_guess(X, sample, guesses.guess, guesses.chosen, PASSES, as_is, buffers)
        parts = guesses.guess.copy()
        guess_by_seeds(similar, sample, uniforms[0, 0], guesses)
        by_seeds = try_guess(X, sample, guesses.guess, guesses.chosen, PASSES, as_is, buffers)
        if by_seeds > best:
            best, parts = by_seeds, guesses.guess
        return compact(parts) if beats(best, as_is) else None


def _log_gain_of_all(run: Run, gained: list[np.ndarray], outcome: Regrouping) -> float:
    """Return what groups gain together: each was judged as if it alone opened new chairs."""
    log_gain, n_clusters, before = float(outcome.log_gained[0]), run.state.n_clusters, run.state.labels
    if len(gained) == 1:
        return log_gain
    more = int(outcome.fresh[0]) - n_clusters + TRIAL_CAPACITY
    log_open = np.asarray(run.process.log_open(np.arange(n_clusters + more), len(before)))
    alone = 0.0
    for group in gained:
        others = n_clusters - len(group)
        n_parts = len(np.unique(outcome.labels[np.isin(before, group)]))
        alone += log_open[others : others + n_parts].sum() - log_open[others:n_clusters].sum()
    n_after = len(np.unique(outcome.labels))
    return log_gain - alone + float(log_open[:n_after].sum() - log_open[:n_clusters].sum())


def _names(run: Run, groups: np.ndarray, log_worth: np.ndarray) -> list[tuple]:
    """Name each group by what its clusters are worth: one that has not changed keeps its name.

    The weight of a new chair is part of the name: it may change with alpha and the number of clusters.
    """
    weight = float(run.state.seats.log_open[run.state.n_clusters])
    return [(weight, *worths) for worths in log_worth[groups].tolist()]


def _random_guesses(
    rng: np.random.Generator, n_groups: int, columns: ColumnOrder
) -> tuple[np.ndarray, np.ndarray]:
    """Draw a first axis and, for each guess, the numbers that choose its seeds, for each group."""
    n_features = len(columns.rank)
    n_guesses = min(_GUESSES, max(1, n_features // 2))
    uniforms = rng.random((n_groups, n_guesses, _SEEDS))
    uniforms[:, 0, :2] = 1.0  # the row farthest out, and the row farthest from that
    return columns.arranged(rng.normal(size=(n_groups, n_features))), uniforms
