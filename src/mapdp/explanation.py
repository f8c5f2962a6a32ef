"""Knows how to say what a cluster is, and why a row is in it: in nats, column by column, exactly.

The one idea: the log Bayes factor "these rows have a distribution of their own in this column" against
"they have that of all rows" follows from the statistics alone, and is a number that can be compared.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mapdp.families import Mixed
from mapdp.families.cells import BELL, Sums, bank_of, tallies_of
from mapdp.family import Bank, Family, refresh_all
from mapdp.kernels.explain import odds_of_cells, worth_of_columns
from mapdp.schema import Column


class Feature(NamedTuple):
    """What one column says of one cluster."""

    name: str
    nats: float  # log Bayes factor of its own distribution against that of all rows
    here: str  # what is typical in the cluster
    overall: str  # and in the whole table

    def __str__(self) -> str:
        return f"{self.name}: {self.here} (all rows: {self.overall}; {self.nats:+.1f} nats)"


class Cluster(NamedTuple):
    """What sets a cluster apart."""

    number: int
    size: float
    share: float
    features: tuple[Feature, ...]  # those that set it apart most come first

    def __str__(self) -> str:
        head = f"cluster {self.number}: {self.size:g} rows ({100 * self.share:.1f}%)"
        return "\n".join([head, *[f"  {feature}" for feature in self.features[:5]]])


class Description(tuple[Cluster, ...]):
    """All clusters, by falling size; prints as text with the five features that matter most."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self))


class Explanation(NamedTuple):
    """Why rows are where they are; all in nats."""

    labels: np.ndarray  # (N,) most probable cluster, -1 for a new one
    second: np.ndarray  # (N,) the next best
    log_odds: np.ndarray  # (N,) of the first against the second
    by_size: np.ndarray  # (N,) the part of it that comes from the sizes of the two
    by_column: np.ndarray  # (N, D) the part that each column adds; 0 for a gap
    names: tuple[str, ...]  # of the columns

    def reasons(self, i: int, n: int = 3) -> list[tuple[str, float]]:
        """Return the columns that say most about row i, for or against."""
        order = np.argsort(-np.abs(self.by_column[i]), kind="stable")[:n]
        return [(self.names[j], float(self.by_column[i, j])) for j in order]


def cell_bank(family: Family, bank: Bank, n_chairs: int) -> Bank:
    """Return what the chairs know of each column by itself."""
    prior = Mixed.of(family).bank(1).prior
    return bank_of(prior, [family.sums(bank, k) for k in range(n_chairs)])


def nats_apart(bank: Bank, n_chairs: int) -> np.ndarray:
    """Return (K, D): how much better each cluster's cells are told by themselves than with all others."""
    everything = bank_of(bank.prior, [_total(bank, n_chairs, -1)])
    rest = bank_of(bank.prior, [_total(bank, n_chairs, k) for k in range(n_chairs)])
    own, others, all_rows = (np.empty((bank.n.shape[0], n)) for n in (n_chairs, n_chairs, 1))
    worth_of_columns(bank, n_chairs, own)
    worth_of_columns(rest, n_chairs, others)
    worth_of_columns(everything, 1, all_rows)
    return (own + others - all_rows).T


def _total(bank: Bank, n_chairs: int, without: int) -> list[Sums]:
    """Return what all chairs but one know together."""
    chairs = [k for k in range(n_chairs) if k != without]
    n, total, second = (a[:, chairs].sum(axis=1) for a in (bank.n, bank.sum_high, bank.second_high))
    tallies = tallies_of(bank.prior, bank.tally[:, chairs].sum(axis=1))
    return [Sums(*column) for column in zip(n, total, second, tallies, strict=True)]


def described(
    family: Family, bank: Bank, sizes: np.ndarray, columns: Sequence[Column], names: Sequence[str]
) -> Description:
    """Say of each cluster what sets it apart."""
    n_clusters = len(sizes)
    cells = cell_bank(family, bank, n_clusters)
    nats = nats_apart(cells, n_clusters)
    priors = Mixed.of(family).columns
    overall = [_typical(*one) for one in zip(priors, _total(cells, n_clusters, -1), columns, strict=True)]
    out = []
    for k, size in enumerate(sizes.tolist()):
        here = [_typical(*one) for one in zip(priors, family.sums(bank, k), columns, strict=True)]
        features = map(Feature, names, nats[k].tolist(), here, overall)
        ranked = sorted(features, key=lambda feature: -feature.nats)
        out.append(Cluster(k, size, size / float(sizes.sum()), tuple(ranked)))
    return Description(out)


def short(number: float, digits: int = 4) -> str:
    """Return a number with few digits, but all of those before the point."""
    if number == 0.0 or not np.isfinite(number):
        return f"{number:g}"
    before = int(np.floor(np.log10(abs(number)))) + 1
    if not -4 < before < 10:
        return f"{number:.{digits}g}"
    return f"{number:.{max(digits - before, 0)}f}"


def _typical(prior: Family, sums: Sums, column: Column) -> str:
    """Say in a few characters what rows with these sums are like in one column."""
    if sums.n == 0:
        return "no values"
    if len(sums.tally):
        level = int(np.argmax(sums.tally))
        value = column.values[level] if column.values else prior.decode(np.array([[float(level)]]))[0, 0]
        word = value if isinstance(value, str) else f"{value:g}"
        return f"{word} {100.0 * sums.tally[level] / sums.tally.sum():.0f}%"
    mean = float(sums.total / sums.n)
    is_bell = prior.cell.kind == BELL
    spread = float(np.sqrt(max(sums.second / sums.n - mean**2, 0.0))) if is_bell else 0.0
    centre = mean + float(prior.origin[0])
    if column.kind == "log":
        low, middle, high = (max(np.exp(centre + s) - column.shift, 0.0) for s in (-spread, 0.0, spread))
        return f"{short(middle)} ({short(low, 3)} to {short(high, 3)})"
    return f"{short(centre)} ± {short(spread, 2)}" if spread > 0.0 else short(centre)


def explained(
    family: Family,
    bank: Bank,
    rows: np.ndarray,
    scores: np.ndarray,
    weights: np.ndarray,
    names: Sequence[str],
) -> Explanation:
    """Say of each row why it prefers its first choice; scores are log p(x, chair), an empty chair last."""
    n_chairs = scores.shape[1]
    order = np.argsort(-scores, axis=1, kind="stable")[:, :2]
    first, second = order[:, 0].copy(), order[:, 1].copy()
    cells = cell_bank(family, bank, n_chairs)
    columns = Mixed.of(family)
    refresh_all(cells, cells.n.shape[1])
    by_column, x = np.empty(rows.shape), np.empty(rows.shape[1])
    width = np.zeros(cells.n.shape[1])
    odds_of_cells(rows, np.ascontiguousarray(columns.origin), cells, first, second, x, width, by_column)
    everyone = np.arange(len(rows))
    log_odds = scores[everyone, first] - scores[everyone, second]
    by_size = weights[first] - weights[second]
    first, second = (np.where(chair == n_chairs - 1, -1, chair) for chair in (first, second))
    return Explanation(first, second, log_odds, by_size, by_column, tuple(names))
