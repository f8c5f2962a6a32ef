"""Clusters whose columns are of several kinds: a family for each, independent within a cluster.

Two banks side by side are a bank: every verb goes to the left and to the right. More than two families
are pairs of pairs.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from mapdp.compiled.handles import Handle, handle
from mapdp.data.checks import Names
from mapdp.families import verbs
from mapdp.families.base import Bank, Family, Parameters
from mapdp.families.columns import Sums, side_by_side
from mapdp.families.mixed import clear, log_marginal, pour, refresh
from mapdp.families.pairs import paired, rows_side_by_side, written_banks, written_scratch


class ProductPrior(NamedTuple):
    """Where the right bank's columns begin."""

    split: int


class ProductBank(NamedTuple):
    """The statistics of all chairs: a bank for the first columns, a bank for the rest."""

    prior: ProductPrior
    left: Any
    right: Any


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

    def column(self, j: int) -> Family:
        """Return the family of column j."""
        part, columns = next((part, columns) for part, columns in self.parts if j in columns)
        return part.column(columns.index(j))

    def scratch(self) -> Any:
        """Return the working space of each part, paired as the banks are."""
        return paired([part.scratch() for part, _ in self.parts])

    def scratch_handle(self) -> Handle:
        """Return new working space as kernels take it."""
        leaves = [part.scratch_handle() for part, _ in self.parts]
        if len(leaves) == 1:
            return leaves[0]
        scratch = paired([leaf.contents for leaf in leaves])
        return handle(scratch, written=written_scratch(scratch, leaves))

    def written(self, bank: Bank) -> Any:
        """Return the bank with handles of the parts' banks."""
        banks = self._banks(bank)
        if len(banks) == 1:
            return self.parts[0][0].written(bank)
        leaves = [part.handle(own) for (part, _), own in zip(self.parts, banks, strict=True)]
        return written_banks(bank, leaves)

    def _banks(self, bank: Bank) -> list[Bank]:
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
        return part.encode(X[:, list(columns)], [labels[j] for j in columns]).astype(np.float64)

    def decode(self, X: np.ndarray) -> np.ndarray:
        """Put the parts' columns back where they came from."""
        pieces = np.split(X, np.cumsum([part.n_cells for part, _ in self.parts])[:-1], axis=1)
        out = np.empty(X.shape)
        for (part, columns), piece in zip(self.parts, pieces, strict=True):
            out[:, list(columns)] = part.decode(piece)
        return out

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
        pairs = zip(self.parts, self._banks(bank), strict=True)
        parts = [(part.posterior(own, k), columns) for (part, columns), own in pairs]
        return dataclasses.replace(self, parts=parts)

    def sums(self, bank: Bank, k: int) -> Sums:
        """Return the statistics of chair k, column by column."""
        pairs = zip(self.parts, self._banks(bank), strict=True)
        found = [(np.array(columns), part.sums(own, k)) for (part, columns), own in pairs]
        return side_by_side(found, self.n_features)

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


verbs.clear.on(ProductBank)(clear)
verbs.refresh.on(ProductBank)(refresh)
verbs.pour.on(ProductBank)(pour)
verbs.log_marginal.on(ProductBank)(log_marginal)


@verbs.insert.on(ProductBank)
def insert(bank, k, x, scratch):
    verbs.insert(bank.left, k, x[: bank.prior.split], scratch[0])
    verbs.insert(bank.right, k, x[bank.prior.split :], scratch[1])


@verbs.remove.on(ProductBank)
def remove(bank, k, x, scratch):
    verbs.remove(bank.left, k, x[: bank.prior.split], scratch[0])
    verbs.remove(bank.right, k, x[bank.prior.split :], scratch[1])


@verbs.log_predictive.on(ProductBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    split = bank.prior.split
    verbs.log_predictive(bank.left, x[:split], n_chairs, scores, scratch[0])
    verbs.log_predictive(bank.right, x[split:], n_chairs, scores, scratch[1])


@verbs.log_leave_one_out.on(ProductBank)
def log_leave_one_out(bank, k, x, scratch):
    split = bank.prior.split
    left = verbs.log_leave_one_out(bank.left, k, x[:split], scratch[0])
    return left + verbs.log_leave_one_out(bank.right, k, x[split:], scratch[1])
