"""A fit of MAPDP to a table in blocks: a sample of rows teaches the model, then all rows are searched."""

import dataclasses
import math
from typing import Any, NamedTuple, Self

import numpy as np

from mapdp.data.blocks import TableBlocks
from mapdp.data.filled_blocks import BlockFills, FilledBlocks
from mapdp.data.first_look import FirstLook, look_at
from mapdp.data.frames import columns_of
from mapdp.data.moments import gaps_filled_by_means
from mapdp.engine.block_tasks import BlockModel, ClusterStats
from mapdp.engine.problem import Budget
from mapdp.estimators.checkpoint import Checkpoint, check_place
from mapdp.estimators.filled_gaps import FilledCells, vary_together
from mapdp.estimators.fitted import FittedMixture
from mapdp.estimators.mixture import Mixture
from mapdp.estimators.settings import Settings, generator, silent_copy
from mapdp.families.slots import fill_slots, slots_of
from mapdp.partitions.concentration import make_prior, most_probable_alpha
from mapdp.partitions.process import PitmanYor, Process
from mapdp.search.block_splits import SplitProposer
from mapdp.search.in_blocks import BlockSearch

SAMPLE = 100_000  # rows, or more, that are searched in memory first; all rows then join their clusters
_CELLS = 4_000_000  # that these may hold where columns are few
_MOST = 1_000_000  # rows, however few columns there are


class BlockFit(NamedTuple):
    """What a fit in blocks found."""

    first: Any  # the estimator that was fitted to the sample
    search: BlockSearch
    mixture: FittedMixture
    labels: np.ndarray  # (N,)
    log_joint: float  # in the units of the table
    filled: FilledCells | None
    is_done: bool


def fit_in_blocks(estimator: Any, blocks: TableBlocks, budget: Budget, checkpoint: str | None) -> BlockFit:
    """Search a table in blocks."""
    settings = Settings.of(estimator)
    look = look_at(blocks)
    first = _for_sample(estimator).fit(_sample(blocks, look, settings))
    model, clusters = _model_of(first, look, settings, blocks.n_rows)
    proposer = SplitProposer(guesses_for(model), _seed(settings), budget.n_threads)
    filled = _filled(blocks, first.mixture_, look)
    table = FilledBlocks(blocks, [BlockFills(*one[:3]) for one in filled]) if filled else blocks
    search = BlockSearch(table, model, budget, proposer)
    kept = Checkpoint.at(checkpoint, model, blocks)
    kept.restore(search)
    is_done = search.search(clusters, kept.write)
    found = search.by_falling_size()
    mixture, log_joint = _mixture(model, found.clusters), found.log_joint - search.log_units
    kept_fills = FilledCells.together(blocks.starts, filled)
    return BlockFit(first, search, mixture, found.labels, log_joint, kept_fills, is_done)


def _for_sample(estimator: Any) -> Any:
    """Return the estimator of the sample, which may take half of the time."""
    seconds = None if estimator.seconds is None else 0.5 * estimator.seconds
    return silent_copy(estimator, seconds=seconds)


def _sample(blocks: TableBlocks, look: FirstLook, settings: Settings) -> Any:
    """Return random rows, and those that show what a column can hold."""
    n_rows, rng = blocks.n_rows, np.random.default_rng(_seed(settings))
    some = rng.choice(n_rows, min(sample_size(len(look.n_missing)), n_rows), replace=False, shuffle=False)
    return blocks.rows(np.union1d(some, look.rows))


def sample_size(n_columns: int) -> int:
    """Return how many rows are searched in memory first: more of them show smaller clusters."""
    return max(SAMPLE, min(_MOST, _CELLS // n_columns))


def _seed(settings: Settings) -> int:
    return int(generator(settings.random_state).integers(2**31))


def _model_of(
    first: Any, look: FirstLook, settings: Settings, n_rows: int
) -> tuple[BlockModel, ClusterStats]:
    """Return the model that a sample taught, for all rows, and the clusters that were found in it."""
    mixture = first.mixture_
    process = _process_for(mixture.process, settings, mixture.n_clusters, n_rows)
    columns = [
        dataclasses.replace(column, n_missing=n)
        for column, n in zip(mixture.schema.columns, look.n_missing, strict=True)
    ]
    schema = mixture.schema._replace(columns=tuple(columns))
    clusters = ClusterStats(
        slots_of(mixture.bank, mixture.n_clusters), np.asarray(mixture.sizes, dtype=np.int64)
    )
    return BlockModel(schema, mixture.family, process), clusters


def _filled(blocks: TableBlocks, mixture: FittedMixture, look: FirstLook) -> list[FilledCells]:
    """Return what the clusters of the sample expect in gaps of columns that vary together, by block."""
    has_gaps = np.array(look.n_missing)[list(mixture.schema.used)] > 0
    if mixture.family.is_whole or not (has_gaps & vary_together(mixture.family)).any():
        return []
    return list(blocks.each(_fills_of, mixture, [None] * len(blocks.sizes)))


def _fills_of(block: Any, mixture: FittedMixture, _: None) -> FilledCells:
    numbers = mixture.schema.matrix(columns_of(block))
    return FilledCells.of(numbers, mixture.without_open_gaps(numbers))


def _process_for(process: Process, settings: Settings, n_clusters: int, n_rows: int) -> Process:
    """Return the process of all rows; where alpha is learned, it is the one that goes with their number."""
    is_free = isinstance(settings.alpha, str) and settings.process is None
    if isinstance(process, PitmanYor) and is_free and settings.expected_clusters is None:
        prior = make_prior(settings.alpha_prior)
        alpha = most_probable_alpha(n_rows, n_clusters, prior, process.discount)
        process = dataclasses.replace(process, alpha=alpha)
    return process.counted_as(n_rows)


def guesses_for(model: BlockModel) -> Any:
    """Return how encoded rows become numbers to guess parts by."""

    def guesses(rows: np.ndarray) -> np.ndarray:
        if model.family.has_columns:
            return gaps_filled_by_means(rows)
        return model.family.to_guess_by(model.family.decode(rows), rows)

    return guesses


def _mixture(model: BlockModel, clusters: ClusterStats) -> FittedMixture:
    bank = model.family.bank(len(clusters.sizes) + 1)
    fill_slots(bank, clusters.slots)
    process = model.process.counted_as(None)
    return FittedMixture(model.schema, model.family, process, bank, clusters.sizes)


class BlockFitMixin(Mixture):
    """Fitting an estimator to a table in blocks."""

    def _fit_in_blocks(
        self, blocks: TableBlocks, budget: Budget, others: tuple[Any, ...], checkpoint: Any
    ) -> Self:
        """Search a table in blocks, and keep what was found; `others` must not be given beside it."""
        _check_alone(self, others)
        check_place(checkpoint)
        blocks.n_threads = budget.n_threads
        found = fit_in_blocks(self, blocks, budget, checkpoint)
        for name in ("n_features_in_", "feature_names_in_", "inits_", "alphas_", "_models"):
            if hasattr(found.first, name):
                setattr(self, name, getattr(found.first, name))
        self._keep_search(found)
        self._filled = found.filled
        return self._keep(found.mixture, blocks.as_labels(found.labels))

    def _keep_search(self, found: BlockFit) -> None:
        """Store trace, convergence and the joint; the sample's climbs come first."""
        sampled, search = found.first.trace_, found.search
        self.winning_climb_ = 1 + max(step.climb for step in sampled)
        self.trace_ = sampled + [
            step._replace(climb=self.winning_climb_, log_joint=step.log_joint - search.log_units)
            for step in search.trace
        ]
        self.converged_, self.n_iter_ = found.is_done, search.progress.n_passes
        self.log_joint_ = found.log_joint
        self.alpha_ = getattr(found.mixture.process, "alpha", math.nan)


def _check_alone(estimator: Any, others: tuple[Any, ...]) -> None:
    if any(one is not None for one in others):
        raise ValueError(
            "a table in blocks is fitted without y, sample_weight and groups. "
            "Hint: they need a table in memory."
        )
    if not isinstance(estimator.init, str):
        raise ValueError(f"init must be a name for a table in blocks, got {type(estimator.init).__name__}.")
