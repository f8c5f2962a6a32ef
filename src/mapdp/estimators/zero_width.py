"""Clusters in which all rows have the same value of a measurement, such as a default or a code."""

from typing import NamedTuple

import numpy as np

from mapdp.estimators.fitted import FittedMixture
from mapdp.families.columns import Sums

_FEWEST = 10  # rows that have the same value hardly by chance
_NOTHING = 1e-12  # share of a column's variance that is rounding
_MEASURED = ("real", "log")  # kinds of columns whose values should differ


class Spike(NamedTuple):
    """A cluster that has no width in a column."""

    cluster: int
    name: object  # of the column
    n_rows: int


def spikes(mixture: FittedMixture, n_clusters: int) -> list[Spike]:
    """Return where the first clusters of a mixture have no width, cluster by cluster."""
    used = [mixture.schema.columns[j] for j in mixture.schema.used]
    places = np.array([j for j, column in enumerate(used) if column.kind in _MEASURED], dtype=np.int64)
    if not len(places) or mixture.family.is_whole:
        return []
    names = list(mixture.schema.names() or mixture.schema.used)
    chairs = [mixture.family.sums(mixture.bank, k).among(places) for k in range(n_clusters)]
    least = _NOTHING * _variance(*_moments(chairs))
    return [
        Spike(k, names[places[j]], int(chair.n[j]))
        for k, chair in enumerate(chairs)
        for j in np.flatnonzero((chair.n >= _FEWEST) & (_variance(*_moments([chair])) <= least))
    ]


def _moments(chairs: list[Sums]) -> list[np.ndarray]:
    """Return number, sum and squares of the cells of several clusters, column by column."""
    parts = [(one.n, one.total + one.total_lost, one.second + one.second_lost) for one in chairs]
    return [np.sum(numbers, axis=0) for numbers in zip(*parts, strict=True)]


def _variance(n: np.ndarray, total: np.ndarray, second: np.ndarray) -> np.ndarray:
    n = np.maximum(n, 1.0)
    return np.maximum(second / n - (total / n) ** 2, 0.0)
