"""One Markov chain over partitions: its state, what it visited, what it keeps."""

import math

import numpy as np

from mapdp.engine.build import build, seated
from mapdp.engine.gibbs_sweep import draw_parameters, gibbs_sweep
from mapdp.engine.problem import Problem, Walk
from mapdp.engine.starts import starting_state
from mapdp.engine.state import EMPTIED, MOVED, grown
from mapdp.engine.trace import Step
from mapdp.families.base import Family
from mapdp.families.uncollapsed import Uncollapsed
from mapdp.partitions.concentration import GammaPrior
from mapdp.partitions.labels import by_falling_size, compact
from mapdp.partitions.process import PitmanYor
from mapdp.sampling.split_merge import SPLIT_MERGE, SplitMerge

_FRESH = 100  # sweeps after which rounding in the statistics is washed out


class Chain(Walk):
    """A sampler under way; `trace` and `alphas` cover every sweep, `samples` holds what is kept.

    Cluster parameters are integrated out, or drawn as well where `collapsed` is False; splits and merges
    are always decided with parameters integrated out.
    """

    def __init__(
        self,
        problem: Problem,
        init: object,
        rng: np.random.Generator,
        *,
        collapsed: bool = True,
        moves: str = SPLIT_MERGE,
    ) -> None:
        self.rng = rng
        self.alphas: list[float] = []
        self.samples: list[np.ndarray] = []
        super().__init__(problem, problem.model.family if collapsed else self._drawn(problem.model.family))
        self.state = starting_state(problem.X, init, self.family, self.process)
        self._refill()
        self._visit_everyone(self.everyone[self.state.labels < 0])
        has_moves = moves == SPLIT_MERGE and len(problem.X) > 1
        self._moves = SplitMerge(problem.X, problem.model.family, self.process, rng) if has_moves else None

    def _drawn(self, family: Family) -> Uncollapsed:
        """Return a family whose cluster parameters are drawn."""
        drawn = Uncollapsed.of(family)
        drawn.refill(self.rng)
        return drawn

    def _refill(self) -> None:
        if isinstance(self.family, Uncollapsed):
            self.family.refill(self.rng)

    def _visit_everyone(self, rows: np.ndarray) -> None:
        """Let these rows choose a chair; parameters, where there are any, follow."""
        step = len(self.family.supply) if isinstance(self.family, Uncollapsed) else max(len(rows), 1)
        for begin in range(0, len(rows), step):
            self._visit(rows[begin : begin + step])
            self._refill()
        self._draw_parameters()

    def _draw_parameters(self) -> None:
        if isinstance(self.family, Uncollapsed):
            noise = self.family.noise(self.state.sizes.astype(np.float64), self.rng)
            draw_parameters(self.state, noise)

    def _split_and_merge(self) -> None:
        """Let whole clusters split and merge, where the chain has such moves."""
        if self._moves is None:
            return
        if not isinstance(self.family, Uncollapsed):
            self.state = self._moves.moved(self.state, self.process)
            return
        X, family = self.problem.X, self.problem.model.family
        collapsed = seated(X, compact(self.state.labels), family, self.process)
        collapsed = self._moves.moved(collapsed, self.process)
        self.state.labels[:] = collapsed.labels
        self.state.counters[[MOVED, EMPTIED]] += collapsed.counters[[MOVED, EMPTIED]]
        self._rebuild()

    def _rebuild(self) -> None:
        """Work out all statistics from the rows, on chairs without gaps; parameters are drawn anew."""
        self.state.labels[:] = compact(self.state.labels)
        while self.state.labels.max() + 1 >= self.state.capacity:
            self.state = grown(self.state, self.family, self.process)
        build(self.problem.X, np.int64(0), self.state)
        self._refill()
        self._draw_parameters()

    def _visit(self, rows: np.ndarray) -> None:
        X, uniforms = self.problem.X, self.rng.random(len(rows))
        self._pass_over(rows, lambda start: gibbs_sweep(X, rows, uniforms, self.state, start))

    def sweep(self) -> Step:
        """Visit every row, split and merge, draw alpha where it is unknown, and record what came of it."""
        if self.n_sweeps % _FRESH == _FRESH - 1:
            self._rebuild()
        before, prior = int(self.state.counters[MOVED]), self.problem.model.alpha_prior
        self._visit_everyone(self.everyone)
        self._split_and_merge()
        if isinstance(prior, GammaPrior):
            alpha = prior.draw(self.alpha, len(self.everyone), self.state.n_clusters, self.rng)
            self.weigh_by(PitmanYor(alpha))
        self.n_sweeps += 1
        self.alphas.append(self.alpha)
        return self.record("gibbs", int(self.state.counters[MOVED]) - before)

    @property
    def alpha(self) -> float:
        """Return the concentration as it stands, nan for a process that has none."""
        return getattr(self.process, "alpha", math.nan)

    def keep(self) -> None:
        """Keep the labels as they stand, in as few bytes as they need."""
        labels = by_falling_size(self.state.labels)
        self.samples.append(labels.astype(np.min_scalar_type(self.state.n_clusters)))
