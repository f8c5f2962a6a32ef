"""Knows one Markov chain over partitions: its state, what it visited, what it keeps."""

import math
import time
from typing import NamedTuple

import numpy as np

from mapdp.concentration import GammaPrior, log_density_of
from mapdp.families.drawn import Drawn
from mapdp.family import Family
from mapdp.kernels.draw import draw_parameters, gibbs_sweep
from mapdp.kernels.joint import build
from mapdp.model import state_log_joint
from mapdp.process import PitmanYor, Process
from mapdp.search.run import compact
from mapdp.search.starts import starting_state
from mapdp.state import EMPTIED, MOVED, OPEN, by_falling_size, grown, reweighted
from mapdp.trace import Step

_FRESH = 100  # sweeps after which rounding in the statistics is washed out


class Posterior(NamedTuple):
    """What is drawn from."""

    X: np.ndarray  # (N, D) encoded rows
    family: Family
    process: Process
    alpha_prior: GammaPrior | None  # None where alpha is known
    collapsed: bool


class Chain:
    """A Gibbs sampler under way; `steps` and `alphas` tell of every sweep, `samples` holds what is kept."""

    def __init__(self, posterior: Posterior, init: object, rng: np.random.Generator) -> None:
        self.posterior = posterior
        self.rng = rng
        self.process = posterior.process
        self.steps: list[Step] = []
        self.alphas: list[float] = []
        self.samples: list[np.ndarray] = []
        self._emptied = 0
        self._began = time.perf_counter()
        self._everyone = np.arange(len(posterior.X), dtype=np.int32)
        self.family = self._family()
        self.state = starting_state(posterior.X, init, self.family, self.process)
        self._refill()
        self._visit_everyone(self._everyone[self.state.labels < 0])

    def _family(self) -> Family:
        """Return the family that rows are scored by."""
        if self.posterior.collapsed:
            return self.posterior.family
        drawn = Drawn.of(self.posterior.family)
        drawn.refill(self.rng)
        return drawn

    def _refill(self) -> None:
        if isinstance(self.family, Drawn):
            self.family.refill(self.rng)

    def _visit_everyone(self, rows: np.ndarray) -> None:
        """Let these rows choose a chair; parameters, where there are any, follow."""
        step = len(self.family.supply) if isinstance(self.family, Drawn) else max(len(rows), 1)
        for begin in range(0, len(rows), step):
            self._visit(rows[begin : begin + step])
            self._refill()
        self._draw_parameters()

    def _draw_parameters(self) -> None:
        if isinstance(self.family, Drawn):
            noise = self.family.noise(self.state.sizes.astype(np.float64), self.rng)
            draw_parameters(self.state, noise)

    def _rebuild(self) -> None:
        """Work out all statistics from the rows, on chairs without gaps; parameters are drawn anew."""
        self.state.labels[:] = compact(self.state.labels)
        if self.state.counters[OPEN] < 0:
            self.state = grown(self.state, self.family, self.process)
        build(self.posterior.X, np.int64(0), self.state)
        self._refill()
        self._draw_parameters()

    def _visit(self, rows: np.ndarray) -> None:
        uniforms, reached = self.rng.random(len(rows)), np.int64(0)
        while (
            reached := gibbs_sweep(self.posterior.X, rows, uniforms, self.state, np.int64(reached))
        ) < len(rows):
            self.state = grown(self.state, self.family, self.process)

    def sweep(self) -> Step:
        """Visit every row once, draw alpha where it is unknown, and tell what came of it."""
        if len(self.steps) % _FRESH == _FRESH - 1:
            self._rebuild()
        before = int(self.state.counters[MOVED])
        self._visit_everyone(self._everyone)
        if self.posterior.alpha_prior is not None:
            self._draw_alpha(self.posterior.alpha_prior)
        return self._recorded(int(self.state.counters[MOVED]) - before)

    def _draw_alpha(self, prior: GammaPrior) -> None:
        alpha = prior.draw(self.alpha, len(self._everyone), self.state.n_clusters, self.rng)
        self.process = PitmanYor(alpha)
        self.state = reweighted(self.state, self.process)

    @property
    def alpha(self) -> float:
        """Return the concentration as it stands, nan for a process that has none."""
        return getattr(self.process, "alpha", math.nan)

    def log_joint(self) -> float:
        """Return log p(x, z), with the density of log alpha where alpha is unknown."""
        unknown = log_density_of(self.posterior.alpha_prior, self.process)
        return state_log_joint(self.state, self.process) + unknown

    def _recorded(self, n_moved: int) -> Step:
        emptied = int(self.state.counters[EMPTIED])
        step = Step(
            move="gibbs",
            sweep=len(self.steps) + 1,
            n_clusters=self.state.n_clusters,
            n_moved=n_moved,
            n_emptied=emptied - self._emptied,
            log_joint=self.log_joint(),
            seconds=time.perf_counter() - self._began,
        )
        self._emptied = emptied
        self.steps.append(step)
        self.alphas.append(self.alpha)
        return step

    def keep(self) -> None:
        """Keep the labels as they stand, in as few bytes as they need."""
        labels = by_falling_size(self.state.labels)
        self.samples.append(labels.astype(np.min_scalar_type(self.state.n_clusters)))
