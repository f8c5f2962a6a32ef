"""Climbs of a nested Dirichlet process: rows move within mixtures, groups between them."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mapdp.engine.propose import guess_buffers, guess_by_axis
from mapdp.engine.structured.nested import Nest, nested_sweep
from mapdp.partitions.labels import compact
from mapdp.search.structured import moves
from mapdp.search.structured.markov import densities
from mapdp.search.structured.run import Move, StructuredRun, Task

_PASSES = 4  # over the rows that a move has put elsewhere, before it is judged


def move_group(run: "NestedRun", rng: np.random.Generator) -> bool:
    """Let a group change its mixture, or have one of its own; the first that gains is taken."""
    n_mixtures = int(run.group_labels.max()) + 1
    for g in rng.permutation(len(run.group_labels)):
        for target in range(n_mixtures + 1):
            if target != run.group_labels[g] and run.adopt(run.with_group(int(g), target), "group"):
                return True
    return False


def merge_mixtures(run: "NestedRun", rng: np.random.Generator) -> bool:
    """Let all groups of two mixtures share one; the first that gains is taken."""
    n_mixtures = int(run.group_labels.max()) + 1
    pairs = [(a, b) for b in range(n_mixtures) for a in range(b)]
    return any(run.adopt(run.with_merged(a, b), "merge groups") for a, b in pairs)


def split_mixture(run: "NestedRun", rng: np.random.Generator) -> bool:
    """Part the groups of a mixture by their proportions; the first that gains is taken."""
    for mixture in range(int(run.group_labels.max()) + 1):
        inside = np.flatnonzero(run.group_labels == mixture)
        if len(inside) > 1:
            apart = inside[_by_proportions(run, inside)]
            if 0 < len(apart) < len(inside) and run.adopt(run.with_split(apart), "split groups"):
                return True
    return False


def _by_proportions(run: "NestedRun", inside: np.ndarray) -> np.ndarray:
    """Say which groups are on one side of the main axis of their proportions."""
    counts = np.zeros((len(run.group_labels), run.state.capacity))
    np.add.at(counts, (run.task.places, run.labels), 1.0)
    shares = counts[inside] / counts[inside].sum(axis=1, keepdims=True)
    buffers = guess_buffers(*shares.shape)
    everyone = np.arange(len(inside), dtype=np.int32)
    guess_by_axis(shares, everyone, np.ones(shares.shape[1]), buffers)
    return buffers.guess == 1


class NestedRun(StructuredRun):
    """A climb of a nested Dirichlet process mixture; `places` are the groups of rows."""

    moves: Sequence[Move] = (move_group, merge_mixtures, moves.merge, moves.split, split_mixture)

    def __init__(
        self, task: Task, labels: np.ndarray, process: Any, group_labels: np.ndarray | None = None
    ) -> None:
        super().__init__(task, labels, process)
        n_groups = int(task.places.max()) + 1
        start = np.zeros(n_groups, dtype=np.int32) if group_labels is None else compact(group_labels)
        self.group_labels = start.astype(np.int32)
        self.nest = self._nested()

    def _nested(self) -> Nest:
        mixtures = self.group_labels[self.task.places]
        owner = np.full(self.state.capacity, -1, dtype=np.int32)
        owner[self.labels] = mixtures
        return Nest(mixtures, owner, np.array([self.process.beta]))

    def with_labels(self, labels: np.ndarray, group_labels: np.ndarray | None = None) -> Self:
        """Return another run with these labels of rows, and of groups where they change."""
        of_groups = self.group_labels if group_labels is None else group_labels
        return self._sharing(type(self)(self.task, labels, self.process, of_groups))

    def key_of(self, labels: np.ndarray) -> object:
        """Return what the joint of another run with these labels depends on."""
        return super().key_of(labels), self.group_labels.tobytes()

    def under(self, task: Task) -> Self:
        """Return the same seating of another task."""
        return type(self)(task, self.labels, self.process, self.group_labels)

    def log_prior(self) -> float:
        """Return the log probability of both partitions, with the density of learned concentrations."""
        n_groups = np.bincount(self.group_labels)
        n_rows = np.bincount(self.group_labels, np.bincount(self.task.places))[n_groups > 0]
        sizes = self.state.sizes[self.state.sizes > 0]
        total = self.process.log_prior_of(n_groups[n_groups > 0], n_rows, sizes)
        return total + self.log_hyperprior(self.process)

    def log_hyperprior(self, process: Any) -> float:
        """Return the log density of the concentrations that are learned."""
        pairs = zip(self.task.priors, (process.alpha, process.beta), strict=True)
        return sum(prior.log_density(value) for prior, value in pairs if prior is not None)

    def visit(self, rows: np.ndarray) -> int:
        """Let rows stand up and sit down within their mixture; return how many moved."""
        X = self.task.X
        return self.pass_over(len(rows), lambda start: nested_sweep(X, rows, self.state, self.nest, start))

    def grow(self) -> None:
        """Make room for more clusters."""
        super().grow()
        owner = np.pad(self.nest.owner, (0, self.state.capacity - len(self.nest.owner)), constant_values=-1)
        self.nest = self.nest._replace(owner=owner)

    def take(self, other: Self) -> None:
        """Go on with the seating of another run."""
        super().take(other)
        self.group_labels, self.nest = other.group_labels, other.nest

    def learn(self) -> bool:
        """Put concentrations where they are most probable; say whether that gained."""
        process = self.process.learned(self.group_labels, self.task.places, self.labels, *self.task.priors)
        has_changed, self.process = process != self.process, process
        self.nest.weights[0] = process.beta
        self.forget()
        return has_changed

    def merge_gains(self) -> np.ndarray:
        """Return what merging two chairs of one mixture gains."""
        gains = super().merge_gains()
        owner = self.nest.owner[: len(gains)]
        return np.where(owner[:, None] == owner, gains, -np.inf)

    def prepare_split(self) -> None:
        """Rows need no more than a guess."""

    def with_group(self, g: int, mixture: int) -> Self:
        """Return a run in which group g has another mixture, whose clusters its rows join."""
        rows = np.flatnonzero(self.task.places == g).astype(np.int32)
        labels, of_groups = self.labels.copy(), self.group_labels.copy()
        of_groups[g] = mixture
        labels[rows] = self._labels_in(rows, mixture)
        return self._settled(labels, of_groups, rows)

    def _labels_in(self, rows: np.ndarray, mixture: int) -> np.ndarray:
        """Return the best chair of a mixture for each row; in a new one, rows that shared one still do."""
        chairs = np.flatnonzero((self.nest.owner == mixture) & (self.state.sizes > 0))
        if len(chairs) == 0:
            return self.labels[rows] + self.state.capacity
        n_chairs = int(chairs.max()) + 1
        scores = densities(self.task.X[rows], self.state.chairs, n_chairs, self.task.family)[:, chairs]
        return chairs[(scores + np.log(self.state.sizes[chairs])).argmax(axis=1)]

    def _settled(self, labels: np.ndarray, of_groups: np.ndarray, rows: np.ndarray) -> Self:
        trial = self.with_labels(compact(labels.astype(np.int32)), of_groups)
        for _ in range(_PASSES):
            if trial.visit(rows) == 0:
                break
        return trial

    def with_merged(self, a: int, b: int) -> Self:
        """Return a run in which the groups of mixture b have mixture a, and rows of both have settled."""
        of_groups = np.where(self.group_labels == b, a, self.group_labels)
        rows = np.flatnonzero(np.isin(self.nest.mixtures, (a, b))).astype(np.int32)
        trial = self._settled(self.labels.copy(), of_groups, rows)
        best, merged = trial.log_joint(), True
        while merged:
            gains = trial.merge_gains()
            x, y = np.unravel_index(int(gains.argmax()), gains.shape)
            other = trial.with_labels(compact(np.where(trial.labels == y, x, trial.labels)))
            merged = bool(np.isfinite(gains[x, y])) and other.log_joint() > best
            if merged:
                trial, best = other, other.log_joint()
        return trial

    def with_split(self, apart: np.ndarray) -> Self:
        """Return a run in which some groups of a mixture have one of their own, with the same clusters."""
        of_groups, labels = self.group_labels.copy(), self.labels.copy()
        of_groups[apart] = of_groups.max() + 1
        rows = np.flatnonzero(np.isin(self.task.places, apart)).astype(np.int32)
        labels[rows] += self.state.capacity
        return self._settled(labels, of_groups, rows)
