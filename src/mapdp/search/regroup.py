"""Knows how a few clusters are parted anew: guesses from the shape of their rows, judged exactly.

The one idea: the rows of one cluster (a split) or of two that lie close (a fresh division) are a small
problem of their own. A guess settles there, on chairs of its own, and takes effect only if it beats
what the clusters are worth now.
"""

from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import NamedTuple

import numpy as np

from mapdp.family import Family
from mapdp.kernels.guess import guess_by_axis, guess_by_seeds, new_desk
from mapdp.kernels.merge import Spare
from mapdp.kernels.regroup import GAINED, PASSED_OVER, REFUSED, TOO_LARGE, Outcome, regroup, seat_parts
from mapdp.kernels.score import beats
from mapdp.kernels.trial import Bench, try_guess
from mapdp.model import worth_of_chairs
from mapdp.process import Process
from mapdp.search.frozen import assign
from mapdp.search.merge import merge_gains
from mapdp.search.run import Problem, Run, compact, spare_for
from mapdp.state import OPEN, TRIAL_CAPACITY, new_state

_PASSES = 2  # of a guess, before it is judged: all rows at once find their best part
_GUESSES = 3  # around seeds, at most: one for every two columns
_SEEDS = 6  # of such a guess; fewer where there are not twice as many rows
_SAMPLE = 2048  # rows that a guess is made from, or ...
_CELLS = 16384  # ... as many as hold so many cells; the others of a larger group follow once it pays


def new_bench(outline: np.ndarray, family: Family, process: Process, spare: Spare) -> Bench:
    """Return working space for trials with the rows of a table."""
    n_rows, d = outline.shape
    n = min(n_rows, max(_SAMPLE, _CELLS // d))
    state = new_state(0, family, process, TRIAL_CAPACITY)
    return Bench(state, spare, new_desk(n, d), np.empty(TRIAL_CAPACITY, dtype=np.int32))


class Regrouper:
    """Tries guesses for the rows of a few clusters of a run, and remembers what was refused."""

    def __init__(self, run: Run, rng: np.random.Generator) -> None:
        self._run = run
        self._rng = rng
        self._refused: set[tuple] = set()
        problem, spare = run.problem, run.spare(TRIAL_CAPACITY)
        self._bench = new_bench(problem.outline, problem.family, run.process, spare)

    def split(self) -> bool:
        """Split the clusters that gain by it; say whether any did."""
        return self._regroup("split", np.arange(self._settled_chairs())[:, None])

    def divide_pairs(self) -> bool:
        """Divide pairs of close clusters anew where that gains; say whether any did."""
        if self._settled_chairs() < 2:
            return False
        return self._regroup("divide", close_pairs(merge_gains(self._run)))

    def _settled_chairs(self) -> int:
        """Make chairs 0, 1, ... the taken ones; return how many there are."""
        n_clusters = self._run.state.n_clusters
        if self._run.state.counters[OPEN] not in (n_clusters, -1):
            self._run.reseat(compact(self._run.state.labels))
        return n_clusters

    def _names(self, groups: np.ndarray, worth: np.ndarray) -> list[tuple]:
        """Name each group by what its clusters are worth: one that has not changed keeps its name.

        The weight of a new chair is part of the name: it may change with alpha and the number of clusters.
        """
        weight = float(self._run.state.opens[self._run.state.n_clusters])
        return [(weight, *worths) for worths in worth[groups].tolist()]

    def _regroup(self, move: str, groups: np.ndarray) -> bool:
        """Try the groups that were not refused; let those that gain take effect, each cluster once."""
        worth = worth_of_chairs(self._run.state)
        names = self._names(groups, worth)
        new = [number for number, name in enumerate(names) if name not in self._refused]
        if not new:
            return False
        outcome = self._tried(groups[new], worth)
        said = outcome.said.tolist()
        self._refused.update(names[new[g]] for g, word in enumerate(said) if word == REFUSED)
        if GAINED in said:
            self._run.adopt(move, outcome.labels, self._run.state.labels)
        return GAINED in said

    def _tried(self, groups: np.ndarray, worth: np.ndarray) -> Outcome:
        """Try all groups; those with few rows at once, then those with many."""
        (X, outline, *_), state, opens = self._run.problem, self._run.state, self._bench.state.opens
        # New chairs weigh what they do beside the clusters that are not in the group.
        others = state.n_clusters - groups.shape[1]
        opens[: TRIAL_CAPACITY + 1] = state.opens[others : others + TRIAL_CAPACITY + 1]
        changed, fresh = np.zeros(state.capacity, dtype=np.bool_), np.array([state.n_clusters])
        outcome = Outcome(state.labels.copy(), changed, fresh, np.empty(len(groups), dtype=np.int8))
        order, ends = self._run.rows_by_chair()
        axes, uniforms = _dice(self._rng, len(groups), outline.shape[1])
        regroup(X, outline, groups, order, ends, worth, axes, uniforms, _PASSES, self._bench, outcome)
        if TOO_LARGE in outcome.said.tolist():
            large = np.flatnonzero(outcome.said == TOO_LARGE)
            rows = [_Members(group, order, ends) for group in groups[large]]
            now = worth[groups[large]].sum(axis=1) + opens[: groups.shape[1]].sum()
            for g, some, parts in zip(large, rows, self._of_many(rows, now), strict=True):
                outcome.said[g] = REFUSED if parts is None else GAINED
                if changed[groups[g]].any():
                    outcome.said[g] = PASSED_OVER
                elif parts is not None:
                    seat_parts(groups[g], some.all(), parts, self._bench.chairs, outcome)
        return outcome

    def _of_many(self, rows: list["_Members"], now: np.ndarray) -> list[np.ndarray | None]:
        """Return the parts of groups with more rows than a guess is made from; None where none gains."""
        problem, free = self._run.problem, SimpleQueue[Bench]()
        n_threads = min(problem.n_threads, len(rows))
        free.put(self._bench)
        for _ in range(n_threads - 1):
            spare = spare_for(problem.family, TRIAL_CAPACITY)
            bench = new_bench(problem.outline, problem.family, self._run.process, spare)
            bench.state.opens[:] = self._bench.state.opens
            free.put(bench)

        def work(some: _Members, now: float, rng: np.random.Generator) -> np.ndarray | None:
            bench = free.get()
            parts = _parted(problem, some.all(), self._run.state.labels, now, bench, rng)
            free.put(bench)
            return parts

        with ThreadPoolExecutor(n_threads) as pool:
            return list(pool.map(work, rows, now, self._rng.spawn(len(rows))))


class _Members(NamedTuple):
    """The rows of a group's chairs, not yet put together."""

    group: np.ndarray
    order: np.ndarray
    ends: np.ndarray

    def all(self) -> np.ndarray:
        """Return the rows."""
        pieces = [self.order[self.ends[k - 1] if k else 0 : self.ends[k]] for k in self.group]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def _dice(rng: np.random.Generator, n_groups: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw a first axis and, for each guess, the numbers that choose its seeds, for each group."""
    n_guesses = min(_GUESSES, max(1, n_features // 2))
    uniforms = rng.random((n_groups, n_guesses, _SEEDS))
    uniforms[:, 0, :2] = 1.0  # the row farthest out, and the row farthest from that
    return rng.normal(size=(n_groups, n_features)), uniforms


def _parted(
    problem: Problem,
    rows: np.ndarray,
    labels: np.ndarray,
    now: float,
    bench: Bench,
    rng: np.random.Generator,
) -> np.ndarray | None:
    """Return parts of many rows that beat what they are worth now: some propose, all are asked."""
    (X, outline, *_), desk = problem, bench.desk
    sample = np.sort(rows[rng.choice(len(rows), len(desk.rows), replace=False, shuffle=False)])
    axes, uniforms = _dice(rng, 1, outline.shape[1])
    as_is = try_guess(X, sample, compact(labels[sample]), desk.chosen, 0, -np.inf, bench)
    guess_by_axis(outline, sample, axes[0], desk)
    best = try_guess(X, sample, desk.guess, desk.chosen, _PASSES, as_is, bench)
    parts = desk.guess.copy()
    guess_by_seeds(outline, sample, uniforms[0, 0], desk)
    if (joint := try_guess(X, sample, desk.guess, desk.chosen, _PASSES, as_is, bench)) > best:
        best, parts = joint, desk.guess
    if not beats(best, as_is):
        return None
    parts = compact(parts)
    try_guess(X, sample, parts, desk.chosen, 0, -np.inf, bench)
    parts = compact(assign(X, rows, int(parts.max()) + 1, bench.state, 1))
    joint = try_guess(X, rows, parts, np.empty_like(parts), 1, -np.inf, bench)
    return compact(parts) if beats(joint, now) else None


def close_pairs(gains: np.ndarray) -> np.ndarray:
    """Return each cluster with the one it would lose least by merging with; closest pairs first."""
    both = np.maximum(gains, gains.T)
    pairs = {(min(a, b), max(a, b)) for a, b in enumerate(both.argmax(axis=1).tolist())}
    return np.array(sorted(pairs, key=lambda pair: -both[pair]))
