"""A fitted mixture: what prediction, description, filling of gaps, sampling, summaries and files share."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mapdp.data.columns import Column, Schema
from mapdp.data.moments import has_gaps
from mapdp.engine.density import encoded_for_scores, log_sum, reduced_scores
from mapdp.engine.merge import merged_bank
from mapdp.engine.state import State, predictive_bank
from mapdp.estimators.filled_gaps import vary_together
from mapdp.families import LinearRegression, Mixed, Product
from mapdp.families.background import Background
from mapdp.families.base import Family
from mapdp.insights.branches import TreeDescription, described_tree
from mapdp.insights.describe import Description, described
from mapdp.insights.explain import Explanation, explained
from mapdp.insights.impute import Fill, fills, log_density_of_cells
from mapdp.insights.tree import ClusterTree, tree_of
from mapdp.partitions.process import Process


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
        bank = predictive_bank(state.bank, family, n_clusters)
        return cls(schema, family, process, bank, state.sizes[:n_clusters].copy())

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

    def scores(self, rows: np.ndarray, reduce: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Apply `reduce` to log p(x, cluster) of encoded rows; the last column is a new cluster."""
        return reduced_scores(rows, self.log_weights, self.bank, self.family, reduce)

    def assign(self, numbers: np.ndarray) -> np.ndarray:
        """Return the most probable cluster of each row, -1 where that is a new one."""
        best = self.scores(self.encoded(numbers), lambda scores: scores.argmax(axis=1))
        return self.as_labels(best)

    def as_labels(self, chairs: np.ndarray) -> np.ndarray:
        """Return chairs as labels: the empty chair is -1, and so is a background."""
        return np.where(chairs >= self.n_clusters - self.n_background, -1, chairs).astype(np.int32)

    def probabilities(self, numbers: np.ndarray) -> np.ndarray:
        """Return each row's probability of each cluster; the last column is a new cluster."""
        return self.scores(self.encoded(numbers), lambda s: np.exp(s - log_sum(s)[:, None]))

    def log_density(self, numbers: np.ndarray) -> np.ndarray:
        """Return the log density of each row, its cluster summed out, in the units of the table."""
        return self.scores(self.encoded(numbers), log_sum) - self.schema.log_units(numbers)

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
        return described(self.family, self.bank, self.sizes, *self._shown())

    def _check_has_clusters(self) -> None:
        if not self.n_clusters:
            raise ValueError(
                "this model has no clusters: the device it is of has forgotten all rows. "
                "Hint: the model that was exported has some."
            )

    def _used(self) -> list[Column]:
        """Return the columns that the family describes."""
        return [self.schema.columns[j] for j in self.schema.used]

    def _shown(self) -> tuple[list[Column], list[str]]:
        """Return what clusters are described by: columns and their names, or rows as a whole."""
        if self.family.n_described != self.family.n_features:
            return [Column("row", "given")], ["row"]
        return self._used(), self.schema.labels()

    def tree(self, labels: np.ndarray, apart: np.ndarray) -> ClusterTree:
        """Return the tree of the clusters of these rows; `apart` marks those with a known label."""
        self._check_has_clusters()
        return tree_of(labels, self.sizes, self.bank, self.family, self.process, apart)

    def describe_tree(self, tree: ClusterTree) -> TreeDescription:
        """Describe each branch of the tree by what sets it apart."""
        return described_tree(tree, self.family, self.bank, *self._shown())

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
        cells = Mixed.of(self.family).encode(numbers, self.schema.names())
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
        if not (together.any() and has_gaps(numbers[:, together])):
            return numbers
        gaps = np.isnan(numbers) & together
        is_left = gaps[:, together].all(axis=1, keepdims=True) & isinstance(self.family, Product)
        return self.with_expected(numbers, gaps & ~is_left)

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
