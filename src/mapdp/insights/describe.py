"""What sets each cluster apart, column by column, in nats.

The log Bayes factor "these rows have a distribution of their own in this column" against "they have that
of all rows" follows from the statistics alone, and is a number that can be compared.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mapdp.data.column import Column
from mapdp.data.wording import counted
from mapdp.engine.columns import log_marginals_of_columns
from mapdp.families import Mixed
from mapdp.families.base import Family
from mapdp.families.columns import Sums, together
from mapdp.insights.typical import Typical, has_one_column_for_all, typical_values


class Feature(NamedTuple):
    """What one column says of one cluster."""

    name: str
    nats: float  # log Bayes factor of its own distribution against that of all rows
    here: Typical  # what is typical in the cluster: text, with `numbers`
    overall: Typical  # and in the whole table

    def __str__(self) -> str:
        return f"{self.name}: {self.here} (all rows: {self.overall}; {self.nats:+.1f} nats)"


class Cluster(NamedTuple):
    """What sets a cluster apart."""

    number: int
    size: float
    share: float
    features: tuple[Feature, ...]  # those that set it apart most come first

    def __str__(self) -> str:
        head = f"cluster {self.number}: {counted(self.size, 'row')} ({100 * self.share:.1f}%)"
        return "\n".join([head, *[f"  {feature}" for feature in self.features[:5]]])


class Description(tuple[Cluster, ...]):
    """All clusters, by falling size; prints as text with the five features that matter most."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self))


def nats_apart(family: Family, chairs: Sequence[Sums]) -> np.ndarray:
    """Return (K, D): by how much each cluster's cells are more probable apart than with all others."""
    if len(chairs) == 1:
        return np.zeros((1, len(chairs[0].n)))
    rest = [together([*chairs[:k], *chairs[k + 1 :]]) for k in range(len(chairs))]
    return nats_between(family, chairs, rest)


def nats_between(family: Family, some: Sequence[Sums], others: Sequence[Sums]) -> np.ndarray:
    """Return for pairs of clusters by how much the cells of each column are more probable apart."""
    both = [together(pair) for pair in zip(some, others, strict=True)]
    one, other, joined = (_log_marginals(family, chairs) for chairs in (some, others, both))
    return (one + other - joined).T


def _log_marginals(family: Family, chairs: Sequence[Sums]) -> np.ndarray:
    """Return (D, K): the log marginal density of each column on each chair."""
    if has_one_column_for_all(family):
        return np.array([[family.log_marginal_of(sums) for sums in chairs]])
    columns = Mixed.of(family)
    out = np.empty((columns.n_cells, len(chairs)))
    for bank in columns.banks_of(chairs):
        part = np.empty((len(bank.prior.place), len(chairs)))
        log_marginals_of_columns(bank, len(chairs), part)
        out[bank.prior.place] = part
    return columns.layout.added(out.T).T


def described(
    family: Family,
    chairs: Sequence[Sums],
    sizes: np.ndarray,
    columns: Sequence[Column],
    names: Sequence[str],
) -> Description:
    """Describe each cluster, of which statistics are given, by what sets it apart."""
    values = [typical_values(family, chair, columns) for chair in chairs]
    overall = typical_values(family, together(chairs), columns)
    return introduced(nats_apart(family, chairs), values, overall, sizes, float(sizes.sum()), names)


def introduced(
    nats: np.ndarray,
    values: Sequence[list[Typical]],
    overall: list[Typical],
    sizes: np.ndarray,
    total: float,
    names: Sequence[str],
) -> Description:
    """Put together what sets clusters apart: nats and typical values of each, and those of all rows."""
    out = []
    for k, size in enumerate(sizes.tolist()):
        features = map(Feature, names, nats[k].tolist(), values[k], overall)
        ranked = sorted(features, key=lambda feature: -feature.nats)
        out.append(Cluster(k, size, size / total, tuple(ranked)))
    return Description(out)
