"""What an estimator keeps of a search: a mixture, and a label for every row."""

from typing import NamedTuple

import numpy as np

from mapdp.engine.build import seated
from mapdp.engine.state import State, predictive_bank
from mapdp.estimators.fitted import FittedMixture
from mapdp.estimators.map_fit import MapFit
from mapdp.partitions.labels import by_falling_size
from mapdp.search.run import Found
from mapdp.search.weighted_rows import RowBlocks, by_rows


class Kept(NamedTuple):
    """What an estimator keeps of an outcome."""

    mixture: FittedMixture
    labels: np.ndarray  # (N,) of all rows, also of those that count for nothing
    known_labels: np.ndarray | None = None  # of each cluster, where weights, groups or labels were given

    @classmethod
    def of(cls, fit: MapFit, best: Found) -> "Kept":
        """Return the mixture that an outcome is."""
        if fit.blocks is not None:
            return _of_blocks(fit, best, fit.blocks)
        state = _numbered(fit, best)
        reading = fit.reading
        return cls(FittedMixture.of(reading.schema, reading.family, best.process, state), state.labels)


def _numbered(fit: MapFit, best: Found) -> State:
    """Number clusters of equal size by their lowest row, also where columns are encoded together."""
    family, rows, numbers = fit.reading.family, fit.reading.rows, fit.reading.numbers
    if family.has_columns or not family.takes_gaps(numbers):
        return best.state
    labels = by_falling_size(best.state.labels, numbers)
    if np.array_equal(labels, best.state.labels):
        return best.state
    return seated(rows, labels, family, best.process, fit.budget.n_threads)


def _of_blocks(fit: MapFit, best: Found, blocks: RowBlocks) -> Kept:
    """Return the mixture of blocks of rows; rows that count for nothing are given a cluster last."""
    schema, family, rows = fit.reading.schema, fit.reading.family, fit.reading.rows
    found = by_rows(best, fit.problem(), rows, blocks)
    bank = predictive_bank(found.bank, family, len(found.sizes))
    mixture = FittedMixture(schema, family, best.process.counted_as(None), bank, found.sizes)
    labels = np.empty(len(rows), dtype=np.int32)
    labels[blocks.rows] = found.labels
    others = np.setdiff1d(np.arange(len(labels)), blocks.rows)
    if len(others):
        labels[others] = mixture.scores(rows[others], lambda s: s[:, :-1].argmax(axis=1))
    return Kept(mixture, labels, blocks.named(found.known))
