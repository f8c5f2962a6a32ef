"""Part clusters by one of their columns: its levels, a cut of its numbers, its gaps against its values."""

import numpy as np

from mapdp.engine.column_cuts import has_levels, parts_by_column, screen, screen_buffers
from mapdp.engine.problem import Problem
from mapdp.engine.score import beats
from mapdp.engine.trial import TrialBuffers, try_guess
from mapdp.partitions.labels import compact
from mapdp.search.moves.base import Proposal
from mapdp.search.moves.regroup import PASSES, Regrouper, TrialRoom, settled_chairs
from mapdp.search.run import Run

_FEWEST, _MOST = 4, 100  # columns: among fewer, other guesses see each; among more, one says little
_TRIED = 3  # columns of a cluster: those that promise most
_TRIED_IN_LARGE = 14  # in a large table; levels whatever they promise, as sums of codes overlook some
_SMALLEST = 200  # rows of a cluster that is parted by a column: other guesses see through fewer
_PROMISING = 0.3  # of the nats that the parameters of another cluster cost, about; chance promises less


class Cut:
    """Part the clusters that gain by it, each by one column."""

    name = "cut"

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._regrouper: _ByColumns | None = None  # most searches of few columns need none

    def propose(self, run: Run) -> Proposal | None:
        """Return labels with more clusters, None where no column parts a cluster with a gain."""
        if not _FEWEST <= run.problem.rows_for_guesses.shape[1] <= _MOST:
            return None
        groups = np.arange(settled_chairs(run))[:, None]
        large = groups[run.state.sizes[: len(groups)] >= _SMALLEST]
        if not len(large):
            return None
        self._regrouper = self._regrouper or _ByColumns(run, self._rng)
        return self._regrouper.propose(run, large)


class _ByColumns(Regrouper):
    """Tries guesses by single columns."""

    def __init__(self, run: Run, rng: np.random.Generator) -> None:
        super().__init__(TrialRoom(run.problem), rng)
        similar, X = run.problem.rows_for_guesses, run.problem.X
        self._cells = X if X.shape == similar.shape else similar  # the former have gaps
        self._is_level = has_levels(run.family, similar.shape[1])
        self._is_large = run.problem.is_large

    def _regroup_few(self, *_: object) -> None:
        """Leave all groups to guesses that look at columns."""

    def _best_parts(
        self,
        problem: Problem,
        sample: np.ndarray,
        labels: np.ndarray,
        buffers: TrialBuffers,
        _: np.random.Generator,
    ) -> np.ndarray | None:
        """Return the best parts of a sample by one column, None where it is better as it is."""
        X, chosen, found, columns = problem.X, buffers.guesses.chosen, None, self._promising(sample)
        if not len(columns):
            return None
        best = try_guess(X, sample, compact(labels[sample]), chosen, 0, -np.inf, buffers)
        for j in columns:
            parts = compact(parts_by_column(self._cells[sample, j]))
            try_guess(X, sample, parts, chosen, 0, -np.inf, buffers)  # parts that are alike are one
            parts = compact(parts)
            log_joint = try_guess(X, sample, parts, chosen, PASSES, best, buffers)
            if beats(log_joint, best):
                best, found = log_joint, compact(parts)
        return found

    def _promising(self, sample: np.ndarray) -> np.ndarray:
        """Return the columns that say most about others, or have a gap in the middle."""
        n_columns = self._cells.shape[1]
        promise, buffers = np.empty(n_columns), screen_buffers(len(sample), n_columns)
        screen(self._cells, sample, self._is_level, buffers, promise)
        best = np.argsort(-promise, kind="stable")[: _TRIED_IN_LARGE if self._is_large else _TRIED]
        is_tried = promise[best] * len(sample) > _PROMISING * n_columns * np.log(len(sample))
        return best[is_tried | (self._is_level[best] & self._is_large)]
