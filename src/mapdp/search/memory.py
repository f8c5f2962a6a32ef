"""What is remembered of clusters for as long as they have the same rows, where there are many of them.

A cluster is known by its rows alone: every row has a random number of 64 bits, and their sum names the
cluster wherever it sits. So what merging two clusters would gain is worked out once. And a row whose own
cluster is as it was needs to be scored only for clusters that are not.
"""

import numpy as np

from mapdp.engine.in_threads import Leads, best_scores, survey_in_full
from mapdp.engine.merge import MergeBuffers, merge_chairs
from mapdp.engine.problem import Problem
from mapdp.engine.state import CHAIRS, OPEN, State, some_chairs

FEWEST = 64  # clusters: fewer are looked at faster than they are remembered
_CERTAIN = 1.0  # nats of lead below which a row is scored for all clusters after all


class ClusterNames:
    """Names clusters by their rows."""

    def __init__(self, n_rows: int) -> None:
        self._numbers = np.random.default_rng(0).integers(2**64, size=n_rows, dtype=np.uint64)

    def of(self, order: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """Return the name of each chair, 0 for an empty one; chair k has order[ends[k - 1]:ends[k]]."""
        sums = np.append(np.uint64(0), np.cumsum(self._numbers[order]))[np.append(0, ends)]
        return sums[1:] - sums[:-1]


class MergeMemory:
    """Remembers what merges would gain from one look at all pairs of clusters to the next."""

    def __init__(self) -> None:
        self._names = np.empty(0, dtype=np.uint64)  # of the chairs that gains are known of
        self._log_gain = np.empty((0, 0))

    def merge(self, names: np.ndarray, state: State, least: int, buffers: MergeBuffers) -> int:
        """Merge chairs while that gains, until `least` are left; return how many are."""
        names = names[: state.counters[CHAIRS]]
        self._recall(names, buffers)
        n_left = merge_chairs(state, least, buffers)
        self._keep(names, buffers)
        return n_left

    def _recall(self, names: np.ndarray, buffers: MergeBuffers) -> None:
        """Fill in the gains that are known, and mark the chairs that are new."""
        place = {name: k for k, name in enumerate(self._names.tolist()) if name}
        old = np.array([place.get(name, -1) for name in names.tolist()])
        known = np.flatnonzero(old >= 0)
        some = self._log_gain[np.ix_(old[known], old[known])]
        some = np.maximum(some, some.T)  # chairs may have changed places
        buffers.log_gain[:] = -np.inf
        buffers.log_gain[np.ix_(known, known)] = np.where(np.tri(len(known), dtype=np.bool_), -np.inf, some)
        buffers.is_new[: len(names)] = old < 0

    def _keep(self, names: np.ndarray, buffers: MergeBuffers) -> None:
        """Remember all gains, also of chairs that others have merged into."""
        self._names = np.zeros_like(names)
        np.add.at(self._names, buffers.merged_into[: len(names)], names)
        self._log_gain = buffers.log_gain


class LeadMemory:
    """Remembers by how much rows prefer where they sit, since all of them were looked at last."""

    def __init__(self) -> None:
        self._names = np.empty(0, dtype=np.uint64)
        self._leads = Leads(np.empty(0, dtype=np.float32), np.empty(0))

    def survey_all(self, problem: Problem, state: State, names: np.ndarray) -> np.ndarray:
        """Return the lead of every row, and remember it."""
        everyone = np.arange(len(problem.X), dtype=np.int32)
        self._leads, self._names = self._looked_at(problem, state, names, everyone), names[names > 0]
        return self._leads.lead

    def survey(self, problem: Problem, state: State, names: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the lead of some rows, or less where it is above a nat."""
        return self._looked_at(problem, state, names, rows).lead

    def _looked_at(self, problem: Problem, state: State, names: np.ndarray, rows: np.ndarray) -> Leads:
        """Score rows for changed clusters, and for all where their own has changed or little leads."""
        is_same = np.isin(names, self._names) & (state.sizes > 1)  # alone, a row may as well sit elsewhere
        changed = np.flatnonzero((state.sizes > 0) & ~is_same)
        if 2 * len(changed) > state.n_clusters:
            return survey_in_full(problem.X, rows, state, problem.budget.n_threads)
        if state.counters[OPEN] >= 0:
            changed = np.append(changed, state.counters[OPEN])
        leads = Leads(self._leads.lead[rows], self._leads.own[rows])
        stays = is_same[state.labels[rows]]
        family, process = problem.model.family, problem.model.process
        self._compare(problem, rows, stays, some_chairs(state, family, process, changed), leads)
        doubtful = np.flatnonzero(~stays | (leads.lead < _CERTAIN))
        exact = survey_in_full(problem.X, rows[doubtful], state, problem.budget.n_threads)
        leads.lead[doubtful], leads.own[doubtful] = exact
        return leads

    def _compare(
        self, problem: Problem, rows: np.ndarray, stays: np.ndarray, changed: State, leads: Leads
    ) -> None:
        """Lower the lead of rows that stay where they like one of the changed chairs better than others."""
        best = best_scores(problem.X, rows[stays], changed, problem.budget.n_threads)
        leads.lead[stays] = np.minimum(leads.lead[stays], leads.own[stays] - best)
