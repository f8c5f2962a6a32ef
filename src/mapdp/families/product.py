"""Clusters whose columns are of several kinds: a family for each, independent within a cluster.

Two banks side by side are a bank: every verb goes to the left and to the right. More than two families
are pairs of pairs. A row that has no cell of a part adds nothing to it; cells of a `Mixed` part may be
missing one by one.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mapdp.compiled.handles import Handle, handle
from mapdp.data.checks import Names
from mapdp.data.moments import has_gaps
from mapdp.families.base import Bank, Clusters, Family, Parameters
from mapdp.families.columns import Sums, side_by_side
from mapdp.families.mixed import Mixed
from mapdp.families.pairs import paired, rows_side_by_side, written_banks, written_scratch
from mapdp.families.product_bank import ProductBank, ProductPrior
from mapdp.families.slots import copy_slots


@dataclasses.dataclass(frozen=True, eq=False)
class Product(Family):
    """Families over disjoint columns of a mixed table.

    Parameters
    ----------
    parts : sequence of (family, columns)
        Each family with the columns it describes; together they name every column once.

    Examples
    --------
    >>> from mapdp.families import Bernoulli, Poisson
    >>> yes_no, counts = Bernoulli([1.0], [1.0]), Poisson([1.0], [1.0])
    >>> family = Product([(counts, [1]), (yes_no, [0])])
    >>> round(float(np.exp(family.log_marginal([[1, 2]]))), 6)  # 1/2 * 1/8
    0.0625
    """

    parts: Sequence[tuple[Family, Sequence[int]]]

    def __post_init__(self) -> None:
        parts = tuple((part.over(len(columns)), tuple(columns)) for part, columns in self.parts)
        named = sorted(j for _, columns in parts for j in columns)
        if not parts or named != list(range(len(named))):
            raise ValueError(
                f"parts must name every column once, got columns {named}. "
                "Hint: number the columns of X from 0."
            )
        object.__setattr__(self, "parts", parts)

    @classmethod
    def empirical(cls, X: np.ndarray, parts: Any = (), scale: float = 1.0) -> Self:  # type: ignore[override]
        """Choose each part's hyperparameters from its columns: `parts` holds (class, columns)."""
        return cls([(kind.empirical(np.asarray(X)[:, columns], scale), columns) for kind, columns in parts])

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return sum(part.n_features for part, _ in self.parts)

    def over(self, n_features: int) -> Self:
        """A product names its columns, so it does not spread."""
        if n_features != self.n_features:
            raise ValueError(
                f"family describes {self.n_features} columns, but X has {n_features}. "
                "Hint: name every column of X in the parts of the Product."
            )
        return self

    @property
    def has_columns(self) -> bool:  # type: ignore[override]
        """Say whether every part has."""
        return all(part.has_columns for part, _ in self.parts)

    @property
    def is_whole(self) -> bool:  # type: ignore[override]
        """Say whether a part sees rows as a whole."""
        return any(part.is_whole for part, _ in self.parts)

    @property
    def n_cells(self) -> int:
        """Return the number of cells of an encoded row."""
        return sum(part.n_cells for part, _ in self.parts)

    def takes_gaps(self, X: np.ndarray) -> bool:
        """Say whether rows with gaps have all cells of a part, or none, where its columns depend."""
        return self.is_whole or all(_takes(part, X[:, list(columns)]) for part, columns in self.parts)

    def takes_encoded_gaps(self, rows: np.ndarray) -> bool:
        """Say the same of rows that are encoded."""
        return self.is_whole or all(_takes(part, piece) for part, piece in self.pieces(rows))

    def pieces(self, rows: np.ndarray) -> list[tuple[Family, np.ndarray]]:
        """Return the cells of encoded rows that each part describes."""
        ends = np.cumsum([part.n_cells for part, _ in self.parts])[:-1]
        families = [part for part, _ in self.parts]
        return list(zip(families, np.split(rows, ends, axis=1), strict=True))

    def for_gaps(self) -> Self:
        """Return the same model with parts whose columns are independent as `Mixed`."""
        parts = [(Mixed.of(part) if part.has_columns else part, columns) for part, columns in self.parts]
        return dataclasses.replace(self, parts=parts)

    def column(self, j: int) -> Family:
        """Return the family of column j."""
        part, columns = next((part, columns) for part, columns in self.parts if j in columns)
        return part.column(columns.index(j))

    def scratch(self) -> Any:
        """Return the working space of each part, paired as the banks are."""
        return paired([part.scratch() for part, _ in self.parts])

    def new_scratch_handle(self) -> Handle:
        """Return new working space as kernels take it."""
        leaves = [part.scratch_handle() for part, _ in self.parts]
        if len(leaves) == 1:
            return leaves[0]
        scratch = paired([leaf.contents for leaf in leaves])
        return handle(scratch, written=written_scratch(scratch, leaves))

    def written(self, bank: Bank) -> Any:
        """Return the bank with handles of the parts' banks."""
        banks = self.banks(bank)
        if len(banks) == 1:
            return self.parts[0][0].written(bank)
        leaves = [part.handle(own) for (part, _), own in zip(self.parts, banks, strict=True)]
        return written_banks(bank, leaves)

    def banks(self, bank: Bank) -> list[Bank]:
        """Return the bank of each part."""
        banks = []
        for _ in self.parts[:-1]:
            banks.append(bank.left)
            bank = bank.right
        return [*banks, bank]

    @property
    def origin(self) -> np.ndarray:
        """Return the parts' origins, in the order of their columns in the bank."""
        return np.concatenate([part.origin for part, _ in self.parts])

    def encode(self, X: np.ndarray, names: Names = None) -> np.ndarray:
        """Check each part's columns, and lay them side by side."""
        return np.ascontiguousarray(np.hstack([self._encoded(X, names, *p) for p in self.parts]))

    def _encoded(self, X: np.ndarray, names: Names, part: Family, columns: Sequence[int]) -> np.ndarray:
        labels = range(X.shape[1]) if names is None else names
        cells, named = X[:, list(columns)], [labels[j] for j in columns]
        if part.takes_gaps(cells):
            return part.encode(cells, named).astype(np.float64)
        seen = _has_cells(cells)
        rows = np.full((len(X), part.n_cells), np.nan)
        rows[seen] = part.encode(cells[seen], named)
        return rows

    def decode(self, X: np.ndarray) -> np.ndarray:
        """Put the parts' columns back where they came from."""
        out = np.empty((len(X), self.n_features))
        for (part, columns), (_, piece) in zip(self.parts, self.pieces(X), strict=True):
            gaps = np.isnan(piece)
            out[:, list(columns)] = part.decode(np.where(gaps, 0.0, piece))
            if gaps.any():
                out[:, list(columns)] = np.where(_absent(part, gaps), np.nan, out[:, list(columns)])
        return out

    def to_guess_by(self, numbers: np.ndarray, encoded: np.ndarray) -> np.ndarray:
        """Return rows as numbers without gaps, part by part."""
        if self.is_whole:
            return super().to_guess_by(numbers, encoded)
        pairs = zip(self.parts, self.pieces(encoded), strict=True)
        parts = [part.to_guess_by(numbers[:, list(some)], own) for (part, some), (_, own) in pairs]
        return np.ascontiguousarray(np.hstack(parts))

    def new_bank(self, capacity: int) -> Bank:
        """Return the arrays of a bank with `capacity` chairs."""
        banks = [part.new_bank(capacity) for part, _ in self.parts]
        widths = [part.n_cells for part, _ in self.parts]
        pairs = list(zip(widths, banks, strict=True))[:-1]
        return functools.reduce(
            lambda right, left: ProductBank(ProductPrior(left[0]), left[1], right),
            reversed(pairs),
            banks[-1],
        )

    def posterior(self, bank: Bank, k: int) -> Self:
        """Return the family whose prior is the posterior of chair k."""
        pairs = zip(self.parts, self.banks(bank), strict=True)
        parts = [(part.posterior(own, k), columns) for (part, columns), own in pairs]
        return dataclasses.replace(self, parts=parts)

    def sums(self, bank: Bank, k: int) -> Sums:
        """Return the statistics of chair k, column by column."""
        pairs = zip(self.parts, self.banks(bank), strict=True)
        found = [(np.array(columns), part.sums(own, k)) for (part, columns), own in pairs]
        return side_by_side(found, self.n_features)

    def _by_part(self, clusters: Clusters) -> list[tuple[Family, Clusters]]:
        """Return what each part learns from: rows that have its cells, and clusters that have such rows."""
        pairs = zip(self.pieces(clusters.rows), self.banks(clusters.bank), strict=True)
        return [
            (part, _with_cells(part, clusters._replace(bank=own, rows=piece)))
            for (part, piece), own in pairs
        ]

    def learned(self, clusters: Clusters, least_gain: float) -> Self:
        """Return the family with the highest joint of these clusters; parts learn by themselves."""
        learned = [part.learned(own, least_gain) for part, own in self._by_part(clusters)]
        parts = [(part, columns) for part, (_, columns) in zip(learned, self.parts, strict=True)]
        return dataclasses.replace(self, parts=parts)

    def log_hyperprior(self, clusters: Clusters) -> float:
        """Return the log density of all parts' hyperparameters."""
        return sum(part.log_hyperprior(own) for part, own in self._by_part(clusters))

    @property
    def n_learned(self) -> int:
        """Return the number of hyperparameters that are learned."""
        return sum(part.n_learned for part, _ in self.parts)

    def summary(self) -> dict[str, Any]:
        """Return the summary of each part, under its columns."""
        return {str(columns): part.summary() for part, columns in self.parts}

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw n independent rows from the predictive density."""
        out = np.empty((n, self.n_features))
        for part, columns in self.parts:
            out[:, list(columns)] = part.sample(n, rng)
        return out

    def sample_parameters(self, n: int, rng: np.random.Generator) -> Parameters:
        """Draw the parameters of n clusters, part after part."""
        return tuple(p for part, _ in self.parts for p in part.sample_parameters(n, rng))

    def sample_rows(self, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
        """Draw one encoded row for each drawn cluster."""
        return rows_side_by_side([part for part, _ in self.parts], parameters, rng)


def _has_cells(cells: np.ndarray) -> np.ndarray:
    """Say of each row whether it has a cell that is no gap."""
    return ~np.isnan(cells).all(axis=1)


def _absent(part: Family, gaps: np.ndarray) -> np.ndarray:
    """Say which cells of a table are missing, from the gaps of encoded rows."""
    return Mixed.of(part).layout.absent(gaps) if part.has_columns else gaps


def _takes(part: Family, cells: np.ndarray) -> bool:
    """Say whether a part describes rows with these gaps."""
    return part.takes_gaps(cells) or part.takes_gaps(cells[_has_cells(cells)])


def _with_cells(part: Family, clusters: Clusters) -> Clusters:
    """Return the clusters that have rows with cells of a part, and those rows."""
    if part.has_columns or not has_gaps(clusters.rows):
        return clusters
    seen = _has_cells(clusters.rows)
    chairs, labels = np.unique(clusters.labels[seen], return_inverse=True)
    bank = part.bank(len(chairs))
    copy_slots(clusters.bank, bank, chairs)
    return Clusters(bank, len(chairs), clusters.rows[seen], labels.ravel().astype(np.int32))
