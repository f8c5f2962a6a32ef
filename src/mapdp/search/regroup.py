"""Knows how a few clusters are parted anew: guesses from the shape of their rows, judged exactly.

The one idea: the rows of one cluster (a split) or of two that lie close (a fresh division) are a small
problem of their own. A guess settles there, on chairs of its own, and takes effect only if it beats
what the clusters are worth now.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from mapdp.kernels.score import beats
from mapdp.kernels.trial import Desk, try_groups, try_guess
from mapdp.model import worth_of_chairs
from mapdp.search.assign import assign
from mapdp.search.merge import merge_gains
from mapdp.search.run import Run, compact, spare_for
from mapdp.state import new_state

_PASSES = 2  # of a guess, before it is judged: all rows at once find their best part
_SEEDS = 8  # of a guess with many parts; fewer where there are not twice as many rows
_CAPACITY = 16  # chairs of a trial: the parts of a guess, and room for what settles out of them
_SAMPLE = 4096  # rows that a guess is made from; the others of a larger group follow once it pays

Group = tuple[int, ...]  # clusters that are regrouped together


class Regrouper:
    """Tries guesses for the rows of a few clusters of a run, and remembers what was refused."""

    def __init__(self, run: Run, rng: np.random.Generator) -> None:
        self._run = run
        self._rng = rng
        self._refused: set[tuple] = set()
        X, family, process, *_ = run.problem
        self._state = new_state(len(X), family, process, _CAPACITY)
        self._spare = spare_for(family, _CAPACITY)
        n = min(len(X), _SAMPLE)
        self._desk = Desk(np.empty((n, X.shape[1])), np.empty(n), np.empty(n), np.empty(n, dtype=np.int32))

    def split(self) -> bool:
        """Split the clusters that gain by it; say whether any did."""
        return self._regroup("split", [(k,) for k in range(self._settled_chairs())])

    def divide_pairs(self) -> bool:
        """Divide pairs of close clusters anew where that gains; say whether any did."""
        n_clusters = self._settled_chairs()
        return self._regroup("divide", close_pairs(merge_gains(self._run)) if n_clusters > 1 else [])

    def _settled_chairs(self) -> int:
        """Make chairs 0, 1, ... the taken ones; return how many there are."""
        if self._run.state.sizes[: self._run.state.n_clusters].min() == 0:
            self._run.reseat(compact(self._run.state.labels))
        return self._run.state.n_clusters

    def _regroup(self, move: str, groups: Sequence[Group]) -> bool:
        """Try the groups that were not refused; let those that gain take effect, each cluster once."""
        state, worth = self._run.state, worth_of_chairs(self._run.state)
        # What a cluster is worth names it: one that has not changed since it was refused stays refused.
        # A new chair may weigh more beside more clusters, so their number is part of the name.
        names = [
            (state.n_clusters, *((int(state.sizes[k]), round(float(worth[k]), 6)) for k in group))
            for group in groups
        ]
        new = [number for number, name in enumerate(names) if name not in self._refused]
        if not new:
            return False
        rows_of = members(state.labels, state.sizes)
        rows = [np.concatenate([rows_of[k] for k in groups[number]]) for number in new]
        outcomes = self._outcomes([groups[number] for number in new], rows, worth)
        labels, n_chairs, changed = state.labels.copy(), state.n_clusters, set[int]()
        for number, some, parts in zip(new, rows, outcomes, strict=True):
            if parts is None or same_partition(parts, compact(labels[some])):
                self._refused.add(names[number])
            elif changed.isdisjoint(groups[number]):
                changed.update(groups[number])
                n_parts = int(parts.max()) + 1
                chairs = [*groups[number], *range(n_chairs, n_chairs + n_parts)]
                labels[some] = np.array(chairs, dtype=np.int32)[parts]
                n_chairs += max(0, n_parts - len(groups[number]))
        if changed:
            self._run.adopt(move, labels, state.labels)
        return bool(changed)

    def _outcomes(
        self, groups: Sequence[Group], rows: list[np.ndarray], worth: np.ndarray
    ) -> list[np.ndarray | None]:
        """Return for each group the labels that raise the joint, None where no guess does."""
        now = self._joints_now(groups, worth)
        large = [number for number, some in enumerate(rows) if len(some) > _SAMPLE]
        outcomes = self._best([some[:0] if len(some) > _SAMPLE else some for some in rows], now)
        for number in large:
            outcomes[number] = self._best_of_many(rows[number], now[number])
        return outcomes

    def _joints_now(self, groups: Sequence[Group], worth: np.ndarray) -> np.ndarray:
        """Return the joint of each group's clusters among themselves, as a trial would.

        New chairs weigh what they do beside the clusters that are not in the group.
        """
        run, discount, in_group = self._run, self._state.discount, np.array(groups)
        n_others = run.state.n_clusters - in_group.shape[1]
        self._state.opens[:] = run.problem.process.log_open(n_others + np.arange(_CAPACITY + 1))
        seats = gammaln(run.state.sizes[in_group] - discount) - math.lgamma(1.0 - discount)
        opened = self._state.opens[: in_group.shape[1]].sum()
        return (worth[in_group] + seats).sum(axis=1) + opened

    def _best(self, rows: list[np.ndarray], now: np.ndarray) -> list[np.ndarray | None]:
        """Return the best settled guess for each group of rows, None where none beats now."""
        X, together = self._run.problem.X, np.concatenate(rows)
        ends = np.cumsum([len(some) for some in rows])
        axes = self._rng.normal(size=(len(rows), X.shape[1]))
        uniforms = self._rng.random((len(rows), _SEEDS))
        uniforms[:, :2] = 1.0  # the row farthest out, and the row farthest from that
        joints, outcome = now.copy(), np.empty(len(together), dtype=np.int32)
        try_groups(
            X,
            together,
            ends,
            self._desk,
            axes,
            uniforms,
            _PASSES,
            joints,
            self._state,
            self._spare,
            outcome,
        )
        parts = pieces(outcome, ends)
        return [compact(parts[g]) if joints[g] > now[g] else None for g in range(len(rows))]

    def _best_of_many(self, rows: np.ndarray, now: float) -> np.ndarray | None:
        """The same for more rows than a guess is made from: some propose, all are asked."""
        X, n_threads = self._run.problem.X, self._run.problem.n_threads
        sample = np.sort(self._rng.choice(rows, _SAMPLE, replace=False))
        as_is = self._judged(sample, compact(self._run.state.labels[sample]), 0)
        (parts,) = self._best([sample], np.array([as_is]))
        if parts is None:
            return None
        self._judged(sample, parts, 0)
        parts = assign(X, rows, int(parts.max()) + 1, self._state, n_threads)
        joint = self._judged(rows, compact(parts), 1)
        return compact(self._state.labels[rows]) if beats(joint, now) else None

    def _judged(self, rows: np.ndarray, guess: np.ndarray, n_passes: int) -> float:
        return try_guess(self._run.problem.X, rows, guess, n_passes, self._state, self._spare)


def pieces(array: np.ndarray, ends: np.ndarray) -> list[np.ndarray]:
    """Cut an array at these places."""
    return [array[begin:end] for begin, end in zip([0, *ends[:-1]], ends, strict=True)]


def members(labels: np.ndarray, sizes: np.ndarray) -> list[np.ndarray]:
    """Return the rows of each chair up to the last that is taken."""
    order = np.argsort(labels, kind="stable").astype(np.int32)
    return pieces(order, np.cumsum(sizes[: labels.max() + 1]))


def same_partition(a: np.ndarray, b: np.ndarray) -> bool:
    """Say whether two arrays of labels 0, 1, ... differ in names only."""
    n_parts = int(a.max()) + 1
    return n_parts == int(b.max()) + 1 == len(np.unique(a.astype(np.int64) * n_parts + b))


def close_pairs(gains: np.ndarray) -> list[Group]:
    """Return each cluster with the one it would lose least by merging with; closest pairs first."""
    both = np.maximum(gains, gains.T)
    pairs = {(min(a, b), max(a, b)) for a, b in enumerate(both.argmax(axis=1).tolist())}
    return sorted(pairs, key=lambda pair: -both[pair])
