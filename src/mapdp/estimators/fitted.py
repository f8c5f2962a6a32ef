"""A fitted mixture: what prediction, description, filling of gaps, sampling, summaries and files share."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mapdp.data.column import Column
from mapdp.data.columns import Schema
from mapdp.data.moments import has_gaps
from mapdp.data.sparse import SparseRows
from mapdp.engine.build import seated
from mapdp.engine.density import encoded_for_scores, log_sum, reduced_scores
from mapdp.engine.joint import state_log_joint
from mapdp.engine.merge import merged_bank
from mapdp.engine.state import State, predictive_bank
from mapdp.estimators.filled_gaps import vary_together
from mapdp.families import LinearRegression, Mixed, Product
from mapdp.families.background import Background
from mapdp.families.base import Family, refresh_chairs
from mapdp.families.columns import Sums
from mapdp.families.for_gaps import for_gaps, moved
from mapdp.families.levels.listing import listing, row_numbers
from mapdp.insights.branches import TreeDescription, described_tree
from mapdp.insights.describe import Description, described
from mapdp.insights.explain import Explanation, explained
from mapdp.insights.impute import Fill, fills, log_density_of_cells
from mapdp.insights.tree import ClusterTree, tree_of
from mapdp.insights.wide import is_wide, narrowed
from mapdp.partitions.process import Process

Rows = np.ndarray | SparseRows  # a table as numbers: gaps are NaN


class View(NamedTuple):
    """A table as a fitted mixture sees it."""

    probabilities: np.ndarray  # (N, K + 1) of each cluster, and of a new one
    log_density: np.ndarray  # (N,)
    best: np.ndarray  # (N,) the most probable of the clusters, new ones left out


class FittedMixture(NamedTuple):
    """A partition as a mixture density with an open end.

    Chairs 0 to K - 1 of the bank are the clusters by falling size, chair K is an empty one.
    """

    schema: Schema
    family: Family
    process: Process
    bank: Any
    sizes: np.ndarray  # (K,) what the rows of each cluster count for

    @classmethod
    def of(cls, schema: Schema, family: Family, process: Process, state: State) -> "FittedMixture":
        """Return the mixture of a state whose clusters are numbered by falling size."""
        n_clusters = state.n_clusters
        bank = family.plain_bank(predictive_bank(state.bank, family, n_clusters))
        return cls(schema, family.plain(), process, bank, state.sizes[:n_clusters].copy())

    @property
    def n_clusters(self) -> int:
        """Return the number of clusters."""
        return len(self.sizes)

    @property
    def n_background(self) -> int:
        """Return 1 where the last cluster is a background of outliers, else 0."""
        if not isinstance(self.family, Background) or self.n_clusters == 1:
            return 0
        return int(self.family.is_background(self.bank, self.n_clusters)[-1])

    @property
    def log_weights(self) -> np.ndarray:
        """Return the log probability of each cluster for the next row, then that of a new one."""
        return self.process.log_seating(self.sizes)

    def encoded(self, numbers: np.ndarray) -> np.ndarray:
        """Turn the numbers of a table into what kernels read."""
        return encoded_for_scores(numbers, self.family, self.schema.names())

    def scores_of(self, numbers: Rows, reduce: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Apply `reduce` to log p(x, cluster) of a table; the last column is a new cluster."""
        if not isinstance(numbers, SparseRows):
            return self.scores(self.encoded(numbers), reduce)
        family = listing(self.family, numbers, int(self.sizes.max(initial=0)))
        bank = family.listed_bank(self.bank)
        return reduced_scores(row_numbers(numbers), self.log_weights, bank, family, reduce)

    def log_units(self, numbers: Rows) -> np.ndarray | float:
        """Return what a change of units adds to the log density of each row; counts have no units."""
        return 0.0 if isinstance(numbers, SparseRows) else self.schema.log_units(numbers)

    def scores(self, rows: np.ndarray, reduce: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Apply `reduce` to log p(x, cluster) of encoded rows; the last column is a new cluster."""
        return reduced_scores(rows, self.log_weights, self.bank, self.family, reduce)

    def assign(self, numbers: Rows) -> np.ndarray:
        """Return the most probable cluster of each row, -1 where that is a new one."""
        best = self.scores_of(numbers, lambda scores: scores.argmax(axis=1))
        return self.as_labels(best)

    def as_labels(self, chairs: np.ndarray) -> np.ndarray:
        """Return chairs as labels: the empty chair is -1, and so is a background."""
        return np.where(chairs >= self.n_clusters - self.n_background, -1, chairs).astype(np.int32)

    def probabilities(self, numbers: Rows) -> np.ndarray:
        """Return each row's probability of each cluster; the last column is a new cluster."""
        return self.scores_of(numbers, lambda s: np.exp(s - log_sum(s)[:, None]))

    def log_density(self, numbers: Rows) -> np.ndarray:
        """Return the log density of each row, its cluster summed out, in the units of the table."""
        return self.scores_of(numbers, log_sum) - self.log_units(numbers)

    def log_joint_of(self, numbers: Rows, chairs: np.ndarray) -> float:
        """Return the log joint of a table without open gaps, by cluster, in its units."""
        family, process = self.family, self.process
        if isinstance(numbers, SparseRows):
            family, rows = listing(family, numbers, len(numbers)), row_numbers(numbers)
        else:
            rows = self.encoded(numbers)
        state = seated(rows, chairs, family, process)
        return state_log_joint(state, process) - float(np.sum(self.log_units(numbers)))

    def view(self, numbers: np.ndarray) -> View:
        """Return probabilities, log density and the best cluster of each row, in one pass."""

        def all_three(scores: np.ndarray) -> np.ndarray:
            density, best = log_sum(scores), scores[:, :-1].argmax(axis=1)
            return np.column_stack([np.exp(scores - density[:, None]), density, best])

        seen = self.scores(self.encoded(numbers), all_three)
        density = seen[:, -2] - self.schema.log_units(numbers)
        return View(seen[:, :-2], density, seen[:, -1].astype(np.int32))

    def describe(self) -> Description:
        """Describe each cluster by what sets it apart."""
        self._check_has_clusters()
        family, chairs, columns, names = self._shown()
        return described(family, chairs, self.sizes, columns, names)

    def _check_has_clusters(self) -> None:
        if not self.n_clusters:
            raise ValueError(
                "this model has no clusters: the device it is of has forgotten all rows. "
                "Hint: the model that was exported has some."
            )

    def _used(self) -> list[Column]:
        """Return the columns that the family describes."""
        return [self.schema.columns[j] for j in self.schema.used]

    def _shown(self) -> tuple[Family, list[Sums], list[Column], list[str]]:
        """Return what clusters are described by: a prior, what each holds, columns and their names.

        It may be rows as a whole; of very many columns those that set clusters apart most.
        """
        family, used, names = self.family, self._used(), self.schema.labels()
        if is_wide(family):
            narrow, chairs, some = narrowed(family, self.bank, self.n_clusters)
            return narrow, chairs, [used[j] for j in some], [names[j] for j in some]
        if family.n_described != family.n_features:
            used, names = [Column("row", "given")], ["row"]
        return family, [family.sums(self.bank, k) for k in range(self.n_clusters)], used, names

    def tree(self, labels: np.ndarray, apart: np.ndarray) -> ClusterTree:
        """Return the tree of the clusters of these rows; `apart` marks those with a known label."""
        self._check_has_clusters()
        return tree_of(labels, self.sizes, self.bank, self.family, self.process, apart)

    def describe_tree(self, tree: ClusterTree) -> TreeDescription:
        """Describe each branch of the tree by what sets it apart."""
        return described_tree(tree, *self._shown())

    def merged(self, into: np.ndarray) -> "FittedMixture":
        """Return the mixture in which cluster k is part of cluster into[k]."""
        sizes = np.bincount(into, self.sizes).astype(self.sizes.dtype)
        return self._replace(bank=merged_bank(self.bank, into, self.family), sizes=sizes)

    def explain(self, numbers: np.ndarray) -> Explanation:
        """Explain why each row is where it is."""
        self._check_has_clusters()
        columns = self.family if self.family.is_whole else Mixed.of(self.family)
        rows = columns.encode(numbers, self.schema.names())
        scores = self.scores(self.encoded(numbers), np.copy)
        return explained(self.family, self.bank, rows, scores, self.log_weights, self.schema.labels())

    def expected_target(self, numbers: np.ndarray) -> np.ndarray:
        """Return the mean of all regression lines, by the sizes of clusters."""
        if not isinstance(self.family, LinearRegression):
            raise TypeError(f"predict_target is for LinearRegression, got {type(self.family).__name__}.")
        features, total = np.delete(numbers, self.family.target, axis=1), self.sizes.sum()
        lines = [self.family.line(self.bank, k) for k in range(self.n_clusters)]
        means = [intercept + features @ slopes for intercept, slopes in lines]
        return np.tensordot(self.sizes / total, means, axes=1)

    def fills(self, numbers: np.ndarray) -> list[Fill]:
        """Return what belongs in the gaps of each used column, in the values of the table."""
        if self.family.is_whole:
            raise ValueError(
                f"{type(self.family).__name__} sees rows as a whole and cannot fill gaps. "
                "Hint: use a family with columns, such as DiagonalGaussian."
            )
        found = zip(self._used(), self._expected(numbers, self._chances(numbers)), strict=True)
        return [fill._replace(values=column.decoded(fill.values)) for column, fill in found]

    def _chances(self, numbers: np.ndarray) -> np.ndarray:
        """Return each row's probability of each cluster, new ones left out."""
        return self.scores(self.encoded(numbers), lambda s: np.exp(s[:, :-1] - log_sum(s[:, :-1])[:, None]))

    def _expected(self, numbers: np.ndarray, chances: np.ndarray) -> list[Fill]:
        """Return what belongs in the gaps of each used column, as numbers of the schema."""
        cells = Mixed.of(self.family).encode(numbers, self.schema.names())[:, : numbers.shape[1]]
        cells[np.isnan(cells) & ~np.isnan(numbers)] = 0.0  # a special value is no gap
        found = fills(self.family, self.bank, cells, chances)
        return [self._as_number(place, fill) for place, fill in enumerate(found)]

    def _as_number(self, place: int, fill: Fill) -> Fill:
        return fill._replace(values=self.family.column(place).decode(fill.values[:, None])[:, 0])

    def with_expected(self, numbers: np.ndarray, gaps: np.ndarray) -> np.ndarray:
        """Return numbers in which these gaps hold what the clusters expect there; counts stay whole.

        A row without any cell is taken for one of the largest cluster: between clusters it would be alone.
        """
        out, chances = numbers.copy(), self._chances(numbers)
        nothing = np.isnan(numbers).all(axis=1)
        chances[nothing] = np.arange(chances.shape[1]) == 0
        for j, (column, fill) in enumerate(
            zip(self._used(), self._expected(numbers, chances), strict=True)
        ):
            some = gaps[fill.rows, j]
            out[fill.rows[some], j] = column.possible(fill.values[some])
        return out

    def log_density_of_cells(self, numbers: np.ndarray, some: np.ndarray, labels: np.ndarray) -> float:
        """Return the log density of some cells, given the other cells of their rows and their clusters."""
        return log_density_of_cells(self.family, self.bank, numbers, some, labels)

    def without_open_gaps(self, numbers: np.ndarray) -> np.ndarray:
        """Return numbers with gaps filled in columns that vary together.

        Beside other columns, rows that lack all of them are described without them.
        """
        together = vary_together(self.family)
        if self.family.is_whole or not (together.any() and has_gaps(numbers[:, together])):
            return numbers
        gaps = np.isnan(numbers) & together
        is_left = gaps[:, together].all(axis=1, keepdims=True) & isinstance(self.family, Product)
        out, gaps = numbers.copy(), gaps & ~is_left
        some = gaps.any(axis=1)
        if some.any():
            out[some] = self.with_expected(numbers[some], gaps[some])
        return out

    def for_gaps(self) -> "FittedMixture":
        """Return the same mixture in a family that takes gaps."""
        family, n_chairs = for_gaps(self.family), self.n_clusters + 1
        if family is None:
            raise ValueError(
                "this batch has gaps where the rows that the stream began with had none. "
                "Hint: fill them with impute, or begin with rows that have some."
            )
        bank = moved(self.bank, n_chairs, self.family, family)
        refresh_chairs(family.handle(bank), n_chairs, n_chairs)
        return self._replace(family=family, bank=bank)

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows in the values of the table, and the cluster of each, -1 for a new one."""
        weights = np.exp(self.log_weights)
        chairs = rng.choice(len(weights), size=n, p=weights / weights.sum())
        return self.drawn(chairs, rng), self.as_labels(chairs)

    def drawn(self, chairs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw a row of each of these clusters, in the values of the table; the last chair is a new one."""
        X = np.empty((len(chairs), self.family.n_features))
        for k in np.unique(chairs):
            X[chairs == k] = self.family.posterior(self.bank, k).sample(int((chairs == k).sum()), rng)
        return self.schema.decoded(X)
