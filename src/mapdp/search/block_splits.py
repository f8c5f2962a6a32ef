"""Which clusters of a table in blocks should be parted: some rows of each are searched by themselves."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from mapdp.data.blocks import TableBlocks
from mapdp.engine.block_tasks import BlockModel, ClusterStats, Parts, encode_rows
from mapdp.engine.joint import log_worth_of_chairs
from mapdp.engine.problem import Model, Problem
from mapdp.search.climb import Start, search

_SAMPLE = 4096  # rows of a cluster that show whether it should be parted
_ALL_SAMPLES = 400_000  # rows of all clusters together
_FEWEST = 4  # rows of a cluster that is worth a look

Name = tuple[int, float]  # of a cluster that has not changed: its size and what it is worth


class SplitProposer:
    """Proposes parts, and remembers which clusters should stay whole."""

    def __init__(
        self, rows_to_guess_by: Callable[[np.ndarray], np.ndarray], seed: int, n_threads: int
    ) -> None:
        self._rows_to_guess_by, self._seed, self._n_threads = rows_to_guess_by, seed, n_threads
        self.refused: set[Name] = set()
        self._tried: set[Name] = set()

    def proposed(
        self, blocks: TableBlocks, model: BlockModel, labels: np.ndarray, clusters: ClusterStats
    ) -> list[Parts]:
        """Return how the clusters are to be parted that gain by it among some of their rows."""
        names = _names(model, clusters)
        new = [k for k, name in enumerate(names) if name not in self.refused and name[0] >= _FEWEST]
        self._tried = {names[k] for k in new}
        if not new:
            return []
        samples = _samples(blocks, model, labels, clusters.sizes, new)
        with ThreadPoolExecutor(self._n_threads) as pool:
            found = list(pool.map(lambda k, rows: self._parted(model, k, rows), new, samples))
        return _numbered([one for one in found if one is not None], len(clusters.sizes))

    def remember(self, model: BlockModel, clusters: ClusterStats) -> None:
        """Remember which of the clusters that were tried have stayed as they were."""
        self.refused |= self._tried & set(_names(model, clusters))

    def _parted(self, model: BlockModel, k: int, rows: np.ndarray) -> Parts | None:
        rng = np.random.default_rng([self._seed, k])
        parts = parts_of(model, rows, self._rows_to_guess_by(rows), rng)
        return None if parts is None else Parts(k, np.arange(len(parts.sizes)), parts)


def parts_of(
    model: BlockModel, rows: np.ndarray, guesses: np.ndarray, rng: np.random.Generator
) -> ClusterStats | None:
    """Search some rows of a cluster, which are together at first; None where they stay together."""
    process, order = model.process.counted_as(None), np.arange(len(rows), dtype=np.int32)
    problem = Problem(rows, guesses, Model(model.family, process))
    found = search(problem, "split-merge", Start("single", order, rng))
    return None if found.state.n_clusters == 1 else ClusterStats.of(found.state)


def _names(model: BlockModel, clusters: ClusterStats) -> list[Name]:
    log_worth = log_worth_of_chairs(model.state(clusters))[: len(clusters.sizes)]
    return [(int(n), round(float(worth), 3)) for n, worth in zip(clusters.sizes, log_worth, strict=True)]


def _samples(
    blocks: TableBlocks, model: BlockModel, labels: np.ndarray, sizes: np.ndarray, wanted: list[int]
) -> list[np.ndarray]:
    """Return some rows of each wanted cluster, evenly spread over the table."""
    most = min(_SAMPLE, max(_FEWEST, _ALL_SAMPLES // len(wanted)))
    steps = np.zeros(len(sizes), dtype=np.int64)
    steps[wanted] = np.maximum(1, -(-sizes[wanted] // most))
    mine = np.split(labels, blocks.starts[1:])
    places = [_every_so_many(some, steps) for some in mine]
    rows = np.concatenate([some for some in blocks.each(encode_rows, model, places) if len(some)])
    owners = np.concatenate([some[at] for some, at in zip(mine, places, strict=True)])
    return [np.ascontiguousarray(rows[owners == k]) for k in wanted]


def _every_so_many(labels: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Return every steps[k]-th of the rows with label k, none where that is 0."""
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels, minlength=len(steps))
    of_each = np.split(order, np.cumsum(sizes)[:-1])
    pieces = [rows[::step] for rows, step in zip(of_each, steps.tolist(), strict=True) if step]
    return np.sort(np.concatenate(pieces))


def _numbered(parted: list[Parts], n_clusters: int) -> list[Parts]:
    """Number the parts: the first of each cluster has its number, the others are new."""
    numbered = []
    for one in parted:
        more = np.arange(n_clusters, n_clusters + len(one.numbers) - 1)
        numbered.append(one._replace(numbers=np.concatenate([[one.cluster], more]).astype(np.int32)))
        n_clusters += len(more)
    return numbered
