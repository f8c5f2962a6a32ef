"""Family: the prior hyperparameters of one likelihood, and what can be made from them."""

import dataclasses
import functools
import weakref
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from mapdp.compiled.handles import Handle, handle
from mapdp.compiled.jit import kernel
from mapdp.compiled.lanes import LANES, whole_lanes
from mapdp.compiled.moulds import cast
from mapdp.data import checks
from mapdp.data.checks import Names
from mapdp.data.moments import gaps_filled_by_means, has_gaps
from mapdp.families import verbs
from mapdp.families.columns import Sums, new_columns, sums_of

SCALE_HINT = "1.0 is the paper's choice, smaller values look for tighter clusters."
_ADDRESSES: MutableMapping["Family", np.ndarray] = weakref.WeakKeyDictionary()  # of verbs in machine code
NO_SCRATCH = np.zeros((0, LANES))  # of a family whose verbs need none
Bank = Any  # a NamedTuple of arrays; fields called `prior` hold no slots
Parameters = tuple[np.ndarray, ...]  # a draw of cluster parameters, one per entry of the first axis


class Clusters(NamedTuple):
    """What a family learns from: a bank whose first chairs are the clusters, and the rows behind it."""

    bank: Bank
    n_clusters: int
    rows: np.ndarray  # (N, D) encoded
    labels: np.ndarray  # (N,) chair of each row

    def sums(self, family: "Family") -> list[Sums]:
        """Return the statistics of each cluster, column by column."""
        return [family.sums(self.bank, k) for k in range(self.n_clusters)]


class Family:
    """Prior hyperparameters of one likelihood; subclasses are frozen dataclasses."""

    has_columns = True  # whether columns are independent within a cluster, each with a prior of its own
    has_words = False  # whether it says itself what cells are like; else that follows from their kind
    columns_type: ClassVar[Any] = None  # the bank that describes such columns in a mixed table
    is_whole = False  # whether it sees rows as a whole: its cells are no columns, gaps its own affair
    learns_in_tables = True  # whether it learns where columns stand side by side as `Mixed`
    has_units = True  # whether numbers may be measured in other units: counts, shares and angles may not
    has_list = False  # whether it holds the rows of a sparse matrix; an encoded row is then its number

    @property
    def n_features(self) -> int:
        """Return the number of columns this family describes."""
        raise NotImplementedError

    def plain(self) -> "Family":
        """Return the same model for rows that are yet to come, without rows that the family holds."""
        return self

    def plain_bank(self, bank: Bank) -> Bank:
        """Return a bank of this family as one of the plain family."""
        return bank

    @property
    def n_cells(self) -> int:
        """Return the number of cells of an encoded row."""
        return self.n_features

    @property
    def cells(self) -> "tuple[Family, ...]":
        """Return, for a family of one column, that of each cell that the column is encoded as."""
        return (self,)

    def fitting(self, X: np.ndarray) -> Self:
        """Return this family with what it has to know of the rows it will encode; it is the same model."""
        return self

    def takes_gaps(self, X: np.ndarray) -> bool:
        """Say whether rows of the table, with the gaps they have, are described by the cells they have."""
        return self.is_whole or not has_gaps(X)

    def takes_encoded_gaps(self, rows: np.ndarray) -> bool:
        """Say the same of rows that are encoded."""
        return self.takes_gaps(rows)

    @property
    def n_described(self) -> int:
        """Return the number of columns that clusters are described by."""
        return self.n_features

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0) -> Self:
        """Choose the hyperparameters from the data.

        `scale` says how wide a cluster is beside the whole table; what that means is the family's to say.
        """
        raise NotImplementedError

    def bank(self, capacity: int) -> Bank:
        """Return a bank of at least `capacity` empty chairs, ready to be scored."""
        return self.chairs(capacity).contents

    def chairs(self, capacity: int) -> Handle:
        """Return such a bank as kernels take it."""
        slots = whole_lanes(capacity)
        return cast(self, slots, lambda: self._new_chairs(slots))

    def _new_chairs(self, slots: int) -> Handle:
        chairs = self.handle(self.new_bank(slots))
        refresh_chairs(chairs, 0, slots)
        return chairs

    def handle(self, bank: Bank) -> Handle:
        """Return a bank of this family as kernels take it."""
        written = self.written(bank)
        if self not in _ADDRESSES:
            _ADDRESSES[self] = verbs.addresses_of(written, self.new_scratch_handle().written)
        return handle(bank, _ADDRESSES[self], written)

    def written(self, bank: Bank) -> Any:
        """Return a bank with handles in the place of the parts that have verbs of their own."""
        return bank

    def scratch_handle(self) -> Handle:
        """Return new working space as kernels take it."""
        return cast(self, 0, self.new_scratch_handle)

    def new_scratch_handle(self) -> Handle:
        """Return one that is not a cast of another."""
        return handle(self.scratch())

    def new_bank(self, capacity: int) -> Bank:
        """Return the arrays of a bank with `capacity` chairs that hold nothing yet, not even the prior.

        Independent columns need no bank of their own: what serves in mixed tables serves here.
        """
        return new_columns(self.columns_type, self._prior_of_columns, capacity)

    @functools.cached_property
    def _prior_of_columns(self) -> Any:
        columns = [self.column(j) for j in range(self.n_features)]
        return self.column_prior(columns, np.arange(self.n_features))

    def scratch(self) -> Any:
        """Return the working space that the verbs need: an array, or a tuple; threads have one each."""
        return NO_SCRATCH

    def posterior(self, bank: Bank, k: int) -> Self:
        """Return the family whose prior is the posterior of chair k."""
        return self.updated(self.sums(bank, k))

    def learned(self, clusters: "Clusters", least_gain: float) -> Self:
        """Return this family with the hyperparameters under which clusters are most probable.

        Joint and `log_hyperprior` together do not drop. A step that gains less than `least_gain` nats is
        the last one. A family that cannot learn returns itself.
        """
        return self.learned_from(clusters.sums(self), clusters.rows, least_gain)

    def learned_from(self, chairs: Sequence[Sums], rows: np.ndarray, least_gain: float) -> Self:
        """Do what `learned` does for independent columns, from what chairs hold and the rows there."""
        return self

    def log_hyperprior(self, clusters: "Clusters") -> float:
        """Return the log density of the hyperparameters, which keeps them sane while they are learned."""
        return self.log_hyperprior_from(clusters.sums(self))

    def log_hyperprior_from(self, chairs: Sequence[Sums]) -> float:
        """Do what `log_hyperprior` does, for columns that are independent."""
        return 0.0

    @property
    def n_learned(self) -> int:
        """Return the number of hyperparameters that are learned."""
        return 0

    @classmethod
    def joined(cls, columns: Sequence[Self]) -> Self:
        """Return one-column families of this kind as one family, which learns for all of them."""
        raise NotImplementedError

    def summary(self) -> dict[str, Any]:
        """Return what the predictive density says of each column: mean, variance, ..."""
        raise NotImplementedError

    def in_words(self, sums: Sums) -> str:
        """Return in a few words what cells with these statistics are like, where `has_words` is True."""
        raise NotImplementedError

    def log_marginal_of(self, sums: Sums) -> float:
        """Return the log density of rows with these statistics, where rows are described as a whole."""
        raise NotImplementedError

    def sample_parameters(self, n: int, rng: np.random.Generator) -> Parameters:
        """Draw the parameters of n clusters."""
        raise NotImplementedError

    def sample_rows(self, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
        """Draw one row for each drawn cluster."""
        raise NotImplementedError

    def over(self, n_features: int) -> Self:
        """Return this family for `n_features` columns; one that was given for one column spreads."""
        if self.n_features == n_features:
            return self
        if self.n_features != 1:
            raise ValueError(
                f"family describes {self.n_features} columns, but X has {n_features}. "
                "Hint: give one value per column, or a single one for all."
            )
        return self._spread(n_features)

    def _spread(self, n_features: int) -> Self:
        return self._with_arrays(lambda values: np.repeat(values, n_features))

    def column(self, j: int) -> "Family":
        """Return this family for column j alone."""
        return self._with_arrays(lambda values: values[j : j + 1])

    def _with_arrays(self, change: Callable[[np.ndarray], np.ndarray]) -> Self:
        """Return the family with arrays of hyperparameters that are changed in the same way."""
        fields = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}  # type: ignore[arg-type]
        arrays = {name: change(one) for name, one in fields.items() if isinstance(one, np.ndarray)}
        return dataclasses.replace(self, **arrays)  # type: ignore[type-var]

    def log_densities(self, seen: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the log density of new rows of which only these columns are known, for such a family."""
        raise NotImplementedError

    @classmethod
    def column_prior(cls, columns: Sequence[Any], place: np.ndarray) -> Any:
        """Return the prior of `columns_type` for one-column families of this kind.

        `place` says which cell of a row each of them describes.
        """
        raise NotImplementedError

    def sums(self, bank: Bank, k: int) -> Sums:
        """Return the statistics of chair k, column by column; what all partitions share may be left out."""
        return sums_of(bank, k)

    def all_sums(self, bank: Bank, k: int) -> Sums:
        """Return the same with all that the joint needs: what is of whole rows stands in some column."""
        return self.sums(bank, k)

    def updated(self, sums: Sums) -> Self:
        """Return the family whose prior is this one's posterior after cells with these sums."""
        raise NotImplementedError

    @property
    def origin(self) -> np.ndarray:
        """Return the point that rows are measured from."""
        return np.zeros(self.n_cells)

    def encode(self, X: np.ndarray, names: Names = None) -> np.ndarray:
        """Check the cells of X and return them as the verbs want them."""
        checks.finite(X, names)
        return X

    def to_guess_by(self, numbers: np.ndarray, encoded: np.ndarray) -> np.ndarray:
        """Return rows as numbers without gaps, which are alike where the rows are alike to this family."""
        return gaps_filled_by_means(numbers if self.is_whole else encoded)

    def decode(self, X: np.ndarray) -> np.ndarray:
        """Turn encoded rows back into the values of the table."""
        return X

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw n independent rows from the predictive density."""
        return self.decode(self.sample_rows(self.sample_parameters(n, rng), rng))

    def log_marginal(self, X: np.ndarray) -> float:
        """Return the log density of rows that share one cluster (interpreted: for small X)."""
        return float(verbs.log_marginal(self._holding(X), 0))

    def log_predictive(self, x: np.ndarray, X: np.ndarray) -> float:
        """Return the log density of row x given rows X of its cluster (interpreted: for small X)."""
        row = self.encode(np.array([x], dtype=np.float64))[0] - self.origin
        scores, bank = np.zeros(LANES), self._holding(X)
        verbs.refresh(bank, 0)
        verbs.log_predictive(bank, row, 1, scores, self.scratch())
        return float(scores[0])

    def _holding(self, X: np.ndarray) -> Bank:
        """Return a bank whose first chair has the statistics of rows; its predictive is not worked out."""
        bank, scratch = self.bank(1), self.scratch()
        rows = np.asarray(X, dtype=np.float64).reshape(-1, self.n_features)
        for x in self.encode(rows):
            verbs.insert(bank, 0, x - self.origin, scratch)
        return bank


@kernel
def refresh_chairs(bank, n_taken, capacity):
    """Make all chairs after the first `n_taken` empty, and bring all cached predictives up to date."""
    for k in range(capacity):
        if k >= n_taken:
            verbs.clear(bank, k)
        verbs.refresh(bank, k)
