"""What every estimator with a fitted mixture offers for new rows."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from mapdp.data import checks
from mapdp.data.blocks import blocks_of
from mapdp.data.columns import Schema
from mapdp.data.frames import Raw, filled, gaps_of, read_table
from mapdp.data.sparse import is_sparse, sparse_rows
from mapdp.estimators.filled_gaps import FilledCells
from mapdp.estimators.fitted import FittedMixture, Rows
from mapdp.estimators.settings import generator
from mapdp.families.base import Family
from mapdp.families.levels.listing import takes_sparse
from mapdp.insights.describe import Description
from mapdp.insights.explain import Explanation
from mapdp.insights.impute import Fill


class Mixture(ClusterMixin, BaseEstimator):
    """An estimator whose fit sets `mixture_`, `labels_` and what follows from them."""

    mixture_: FittedMixture
    schema_: Schema
    family_: Family
    n_clusters_: int
    cluster_sizes_: np.ndarray
    labels_: np.ndarray
    _filled: FilledCells | None = None  # what the fit put into gaps of columns that vary together
    _sees_all_rows = True  # whether a fit is given all rows there will be; others may have no logarithm

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that tables may hold words and gaps."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    def _keep(self, mixture: FittedMixture, labels: Any) -> Self:
        """Store a fitted mixture and what follows from it; return the estimator."""
        self.mixture_, self.labels_ = mixture, labels
        self.schema_, self.family_ = mixture.schema, mixture.family
        self.n_clusters_ = mixture.n_clusters - mixture.n_background
        self.cluster_sizes_ = mixture.sizes[: self.n_clusters_]
        return self

    @property
    def _chairs(self) -> np.ndarray:
        """Return the cluster of each row in the mixture, where outliers are in the last one."""
        labels = np.asarray(self.labels_)
        return np.where(labels < 0, self.mixture_.n_clusters - 1, labels).astype(np.int32)

    def _new_table(self, X: Any) -> list[Raw]:
        """Return the columns of new rows."""
        check_is_fitted(self)
        return read_table(self, X, reset=False)

    def numbers_of(self, X: Any) -> np.ndarray:
        """Return the used columns of a table as numbers: codes for levels, logarithms, NaN for gaps."""
        table = self._new_table(X)
        return self.schema_.matrix(table)

    def _rows_of(self, X: Any) -> Rows:
        """Return the same, or the rows of a sparse matrix where the family describes such rows."""
        check_is_fitted(self)
        if not (is_sparse(X) and takes_sparse(self.family_)):
            return self.numbers_of(X)
        return sparse_rows(self, X, reset=False)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable cluster of each row, -1 where that is a new cluster."""
        if (blocks := blocks_of(X)) is not None:
            return blocks.mapped(self.predict, (), np.int32)
        numbers = self._rows_of(X)
        return self.mixture_.assign(numbers)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return each row's probability of each cluster; the last column is "a new cluster"."""
        if (blocks := blocks_of(X)) is not None:
            return blocks.mapped(self.predict_proba, (self.n_clusters_ + 1,), np.float64)
        numbers = self._rows_of(X)
        return self.mixture_.probabilities(numbers)

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the log density of each row, its cluster summed out."""
        if (blocks := blocks_of(X)) is not None:
            return blocks.mapped(self.score_samples, (), np.float64)
        numbers = self._rows_of(X)
        return self.mixture_.log_density(numbers)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log density of the rows."""
        return float(self.score_samples(X).mean())

    def log_joint_of(self, X: Any, labels: Any) -> float:
        """Return exact log p(x, z) of any partition of any table, under the fitted family and process.

        Parameters
        ----------
        X : array or data frame of shape (N, D)
            A table with the columns that were fitted.
        labels : array of shape (N,)
            Which cluster each row is in; the names do not matter.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from mapdp import MAPDP
        >>> X = load_iris().data
        >>> model = MAPDP(alpha=0.3).fit(X)
        >>> bool(np.isclose(model.log_joint_of(X, model.labels_), model.log_joint_))
        True
        >>> model.log_joint_of(X, np.zeros(150, dtype=int)) < model.log_joint_
        True
        """
        numbers = self._rows_of(X)
        if isinstance(numbers, np.ndarray):
            numbers = self._as_fitted(numbers)
            self._check_no_open_gaps(numbers)
        return self.mixture_.log_joint_of(numbers, checks.partition(labels, len(numbers)))

    def _as_fitted(self, numbers: np.ndarray) -> np.ndarray:
        """Return the numbers of the table that was fitted, with what the fit put into its gaps."""
        return numbers if self._filled is None else self._filled.put_into(numbers)

    def _rows_without_open_gaps(self, numbers: np.ndarray) -> np.ndarray:
        """Return encoded rows, or raise where gaps would have to be filled for their joint."""
        rows = self.mixture_.encoded(numbers)
        self._check_no_open_gaps(numbers)
        return rows

    def _check_no_open_gaps(self, numbers: np.ndarray) -> None:
        if not (self.family_.has_columns or self.family_.takes_gaps(numbers)):
            raise ValueError(
                f"X must have no gaps for {type(self.family_).__name__}, whose columns are correlated. "
                "Hint: fill them with impute, and fit a model to that."
            )

    def describe(self) -> Description:
        """Describe each cluster: typical values, and how much evidence each column is.

        The evidence is the log Bayes factor, in nats, of "the rows of the cluster have a distribution of
        their own in this column" against "they have that of all other rows".

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from mapdp import MAPDP
        >>> clusters = MAPDP(alpha=0.3, prior="paper").fit(load_iris(as_frame=True).data).describe()
        >>> clusters[0].features[0].name
        'petal length (cm)'
        """
        check_is_fitted(self)
        return self.mixture_.describe()

    def predict_target(self, X: Any) -> np.ndarray:
        """Return the expected target of rows under `LinearRegression`, whatever their target says.

        Features do not tell the clusters apart, so it is the mean of all lines, by the sizes of clusters.

        Examples
        --------
        >>> from mapdp import MAPDP, LinearRegression
        >>> x = np.linspace(0.0, 1.0, 50)
        >>> model = MAPDP(family=LinearRegression).fit(np.column_stack([x, 3.0 * x + 1.0]))
        >>> bool(abs(model.predict_target([[0.5, 0.0]])[0] - 2.5) < 0.01)
        True
        """
        numbers = self.numbers_of(X)
        return self.mixture_.expected_target(numbers)

    def explain(self, X: Any) -> Explanation:
        """Explain why each row is where it is: log odds against its second choice, column by column.

        Where columns are independent within a cluster, `by_size` and `by_column` add up to `log_odds`. A
        full-covariance `Gaussian`, also beside other columns of a mixed table, sees columns together: there
        each is judged by itself.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from mapdp import MAPDP
        >>> X = load_iris(as_frame=True).data
        >>> why = MAPDP(alpha=0.3, covariance="diagonal").fit(X).explain(X)
        >>> bool(np.allclose(why.by_size + why.by_column.sum(axis=1), why.log_odds))
        True
        """
        numbers = self.numbers_of(X)
        return self.mixture_.explain(numbers)

    def impute(self, X: Any, return_spread: bool = False) -> Any:
        """Fill the gaps of a table with what the clusters make of them.

        Parameters
        ----------
        X : array or data frame of shape (N, D)
        return_spread : bool, default False
            Return also how sure each value is; a table in blocks is returned without.

        Returns
        -------
        X : like X
            Gaps hold the expected number or the most probable level, given the other cells of the row.
        spread : array of shape (N, D), if `return_spread`
            Standard deviation of a number (of its logarithm, where that is used), probability that a level
            is another one; 0 for cells that were there, NaN for gaps of columns that were set aside.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from mapdp import MAPDP
        >>> X = load_iris().data.copy()
        >>> X[0, 2] = np.nan
        >>> filled = MAPDP(alpha=0.3).fit(X).impute(X)
        >>> bool(abs(filled[0, 2] - 1.4) < 0.2)
        True
        """
        if (blocks := blocks_of(X)) is not None:
            return blocks.tables(self.impute)
        table = self._new_table(X)
        found = {}
        for j, fill in zip(self.schema_.used, self.mixture_.fills(self.schema_.matrix(table)), strict=True):
            if self.schema_.columns[j].part:  # a weekday does not say which date it was
                continue
            there = gaps_of(table[j])[fill.rows]  # and not a value that was never seen
            found[j] = Fill(*[part[there] for part in fill])
        found |= self._fills_of_copies(table, found)
        new = filled(X, {j: (fill.rows, fill.values) for j, fill in found.items() if len(fill.rows)})
        return (new, _spread(table, found)) if return_spread else new

    def _fills_of_copies(self, table: list[Raw], found: dict[int, Fill]) -> dict[int, Fill]:
        """Return what belongs in the gaps of columns that repeat another one."""
        fills = {}
        for j, column in enumerate(self.schema_.columns):
            if column.kind == "copy":
                i, slope, intercept = column.values
                source, spread = table[i].cells.astype(np.float64), np.zeros(len(table[i].cells))
                source[found[i].rows], spread[found[i].rows] = found[i].values, found[i].spread
                rows = np.flatnonzero(gaps_of(table[j]))
                fills[j] = Fill(rows, slope * source[rows] + intercept, abs(slope) * spread[rows])
        return fills

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows from the fitted density.

        Returns
        -------
        X : array of shape (n_samples, D)
            In the units of the table; columns that only name rows are empty.
        labels : array of shape (n_samples,)
            Cluster of each row, -1 for a new one.
        """
        check_is_fitted(self)
        return self.mixture_.sample(n_samples, generator(random_state))


def _spread(table: list[Raw], found: dict[int, Fill]) -> np.ndarray:
    """Return how sure each cell of a table is."""
    spread = np.zeros((len(table[0].cells), len(table)))
    for j, column in enumerate(table):
        if j in found:
            spread[found[j].rows, j] = found[j].spread
        else:
            spread[gaps_of(column), j] = np.nan
    return spread
