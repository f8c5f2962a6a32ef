"""Climbs of a franchise: rows change table and dish, tables change dish, dishes merge and split."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mapdp.engine.score import beats
from mapdp.engine.structured.blocks import block_buffers, move_blocks
from mapdp.engine.structured.franchise import franchise_sweep
from mapdp.engine.structured.tables import grown_franchise, seated_franchise, settle_tables, weights_of
from mapdp.partitions.concentration import AlphaPrior
from mapdp.partitions.hierarchical import Counts
from mapdp.partitions.markov import START
from mapdp.search.structured import moves
from mapdp.search.structured.run import Move, StructuredRun, Task


def blocks(run: "FranchiseRun", rng: np.random.Generator) -> bool:
    """Let the rows of a group that share a dish change it together."""
    before = run.log_joint()
    n_moved = run.move_blocks(*run.blocks(rng))
    if n_moved == 0 or not beats(run.log_joint(), before):
        return False
    run.record("blocks", n_moved)
    return True


class FranchiseRun(StructuredRun):
    """A climb of a hierarchical Dirichlet process mixture."""

    moves: Sequence[Move] = (blocks, moves.merge, moves.split)

    def __init__(self, task: Task, labels: np.ndarray, process: Any) -> None:
        super().__init__(task, labels, process)
        self.franchise = seated_franchise(self._context, self.labels, self.state.capacity, process)

    @property
    def _context(self) -> np.ndarray:
        """Return the restaurant of each row."""
        return self.task.places

    @property
    def counts(self) -> Counts:
        """Return rows and tables of each restaurant and dish; dishes as in `labels`."""
        n = int(self.labels.max()) + 1
        n_restaurants = n + 1 if self.franchise.is_sequence else len(self.franchise.totals)
        return Counts(*[part[:n_restaurants, :n] for part in self.franchise.counts])

    def log_prior(self) -> float:
        """Return the log probability of the seating, with the density of learned concentrations."""
        return self.process.log_prior_of(self.franchise.counts) + self.log_hyperprior(self.process)

    def log_hyperprior(self, process: Any) -> float:
        """Return the log density of the concentrations that are learned."""
        alpha_prior, gamma_prior = self.task.priors[:2]
        return _density(alpha_prior, process.alpha) + _density(gamma_prior, process.gamma)

    def take(self, other: Any) -> None:
        """Go on with the seating of another run."""
        super().take(other)
        self.franchise = other.franchise

    def renamed(self, labels: np.ndarray) -> Self:
        """Return the same dishes under other names; tables stay where no better ones follow from dishes."""
        other = self.with_labels(labels)
        if beats(self.log_joint(), other.log_joint()):
            other.sit_as(self)
        return other

    def sit_as(self, other: Self) -> None:
        """Take over the tables of a run with the same dishes under other names."""
        dishes = other.labels[np.unique(self.labels, return_index=True)[1]]  # in our order
        n_dishes, mine, theirs = len(dishes), self.franchise, other.franchise
        places = np.append(START, dishes + 1) if mine.is_sequence else np.arange(len(mine.totals))
        for ours, one in ((mine.tables, theirs.tables), (mine.own, theirs.own)):
            ours[: len(places), :n_dishes] = one[np.ix_(places, dishes)]
        mine.served[:n_dishes], mine.n_tables[0] = theirs.served[dishes], theirs.n_tables[0]
        self.forget()

    def grow(self) -> None:
        """Make room for more dishes."""
        super().grow()
        self.franchise = grown_franchise(self.franchise, self.state.capacity)

    def visit(self, rows: np.ndarray) -> int:
        """Let rows change table and dish once, then tables settle; return how many rows changed dish."""
        X = self.task.X
        n_moved = self.pass_over(
            len(rows), lambda start: franchise_sweep(X, rows, self.state, self.franchise, start)
        )
        settle_tables(self.franchise)
        return n_moved

    def prepare_split(self) -> None:
        """Rows of groups need no more than a guess."""

    def blocks(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows, those of one restaurant and dish together, and where each block ends."""
        keys = self._context.astype(np.int64) * self.state.capacity + self.labels
        order = np.argsort(keys, kind="stable").astype(np.int32)
        ends = np.append(np.flatnonzero(np.diff(keys[order])) + 1, len(order))
        return order, ends

    def move_blocks(self, rows: np.ndarray, ends: np.ndarray) -> int:
        """Let blocks of rows change their dish where that gains; return how many rows did."""
        X, buffers = self.task.X, block_buffers(self.task.family)
        n_moved = self.pass_over(
            len(ends),
            lambda start: move_blocks(X, rows, ends, self.state, self.franchise, buffers, start),
        )
        settle_tables(self.franchise)
        return n_moved

    def learn(self) -> bool:
        """Put concentrations where they are most probable; say whether that gained."""
        return self.weigh_by(self.process.learned(self.franchise.counts, *self.task.priors[:2]))

    def weigh_by(self, process: Any) -> bool:
        """Go on under other concentrations if that gains."""
        counts, before = self.franchise.counts, self.log_prior()
        after = process.log_prior_of(counts) + self.log_hyperprior(process)
        if not beats(after, before):
            return False
        self.process = process
        self.forget()
        self.franchise.weights[:] = weights_of(process)
        settle_tables(self.franchise)
        return True


def _density(prior: AlphaPrior | None, alpha: float) -> float:
    return 0.0 if prior is None else prior.log_density(alpha)
