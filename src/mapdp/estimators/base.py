"""Knows what a fitted mixture can tell of new rows: the same for every algorithm that found it."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from mapdp.explanation import Description, Explanation, described, explained
from mapdp.families import DiagonalGaussian, Mixed
from mapdp.family import Family
from mapdp.imputation import Fill, fills
from mapdp.moments import has_gaps, outlined
from mapdp.predictive import log_sum, reduced_scores
from mapdp.process import Process
from mapdp.schema import Schema
from mapdp.state import State, predictive_bank
from mapdp.tables import Raw, filled, gaps_of, read_table


def generator(random_state: Any) -> np.random.Generator:
    """Return a Generator; None is the seed 0, so that every run gives the same answer."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(0 if random_state is None else random_state)


def cores(n_jobs: int | None) -> int:
    """Return how many threads `n_jobs` allows; None allows one for each core."""
    return effective_n_jobs(-1 if n_jobs is None else n_jobs)


class Mixture(ClusterMixin, BaseEstimator):
    """A fitted partition as a mixture density with an open end.

    Subclasses set `family_`, `_process`, `_bank`, `cluster_sizes_` in fit. Chairs 0 to K - 1 are the
    clusters by falling size, chair K is the empty one.
    """

    _family_rules: tuple[str | None, ...] = (None,)  # what `family` may be besides a Family
    _fills_gaps = False  # whether cells can be searched for where columns are not independent
    family: Family | type[Family] | str | None
    columns: Mapping[object, str] | None
    family_: Family
    n_clusters_: int
    cluster_sizes_: np.ndarray
    _process: Process
    _bank: Any

    def _read(self, table: list[Raw], counted: np.ndarray | None = None) -> np.ndarray:
        """Turn the training rows into what kernels read; choose the family.

        Kinds and priors are told from the `counted` rows, which may name a row more than once. Gaps, and
        rows that are counted, are for `Mixed` where columns are independent.
        """
        told = table if counted is None else [raw._replace(cells=raw.cells[counted]) for raw in table]
        self.schema_ = self._schema(told)
        rows = self._as_numbers(table)
        gaps = has_gaps(rows)
        family = self._chosen_family(rows if counted is None else rows[counted])
        in_columns = family.has_columns and (gaps or counted is not None)
        self.family_ = Mixed.of(family) if in_columns else family
        if gaps and not family.has_columns:
            self._check_fills_gaps()
            return rows
        return self.family_.encode(rows, self.schema_.names())

    def _check_fills_gaps(self) -> None:
        if not self._fills_gaps:
            raise ValueError(
                f"X has gaps, and the columns of {type(self.family_).__name__} are not independent. "
                "Hint: fill them first (MAPDP(...).impute), or use a family such as DiagonalGaussian."
            )

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that tables may hold words and gaps."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    def _by_columns(self) -> bool:
        """Say whether the family follows from what columns hold."""
        return self.family in self._family_rules

    def _schema(self, table: list[Raw]) -> Schema:
        """Return what the columns hold; a family that is given needs no telling."""
        said = self.columns
        if self._by_columns():
            return Schema.infer(table, said)
        if said is not None:
            raise ValueError(
                f"columns says what columns hold, and so does family, got columns={said!r} and "
                f"family={self.family!r}. Hint: leave family at None."
            )
        return Schema.given(table)

    def _chosen_family(self, rows: np.ndarray) -> Family:
        """Return the family that the parameter names, with a prior made from the rows where it has none."""
        if self._by_columns():
            return self.schema_.family(rows)
        family = self.family or DiagonalGaussian
        if isinstance(family, type) and issubclass(family, Family):
            if has_gaps(rows) and family.has_columns:
                family = Mixed.empirical(rows, [family] * rows.shape[1])
            else:
                family = family.empirical(outlined(rows))
        if not isinstance(family, Family):
            raise TypeError(
                f"family must be a Family, a class of Family or one of {self._family_rules}, "
                f"got {self.family!r}. Hint: None has the columns tell."
            )
        return family.over(rows.shape[1])

    def _keep(self, state: State, process: Process) -> None:
        """Remember what prediction needs of a state whose clusters are numbered by falling size."""
        self._process = process
        self.n_clusters_ = state.n_clusters
        self.labels_ = state.labels
        self.cluster_sizes_ = state.sizes[: state.n_clusters].copy()
        self._bank = predictive_bank(state.bank, self.family_, state.n_clusters)

    def _read_new(self, X: Any) -> list[Raw]:
        """Return the columns of new rows."""
        check_is_fitted(self)
        return read_table(self, X, reset=False)

    def _as_numbers(self, table: list[Raw]) -> np.ndarray:
        """Turn columns into numbers, gaps into NaN."""
        return self.schema_.matrix(table)

    def _encoded(self, numbers: np.ndarray) -> np.ndarray:
        """Turn numbers into what kernels read."""
        family = Mixed.of(self.family_) if has_gaps(numbers) else self.family_
        return family.encode(numbers, self.schema_.names())

    def _new_rows(self, X: Any) -> np.ndarray:
        """Turn new rows into what kernels read."""
        return self._encoded(self._as_numbers(self._read_new(X)))

    def _scored(self, rows: np.ndarray, reduce: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Apply `reduce` to the scores of encoded rows."""
        weights = self._process.log_seating(self.cluster_sizes_)
        return reduced_scores(rows, weights, self._bank, self.family_, reduce)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable cluster of each row, -1 where that is a new cluster."""
        best = self._scored(self._new_rows(X), lambda scores: scores.argmax(axis=1))
        return np.where(best == self.n_clusters_, -1, best).astype(np.int32)

    def _told_of(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what `predict_proba` and `score_samples` do, and the best cluster, in one pass."""

        def all_three(scores: np.ndarray) -> np.ndarray:
            density, best = log_sum(scores), scores[:, :-1].argmax(axis=1)
            return np.column_stack([np.exp(scores - density[:, None]), density, best])

        told = self._scored(self._encoded(numbers), all_three)
        return told[:, :-2], told[:, -2], told[:, -1].astype(np.int32)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return each row's probability of each cluster; the last column is "a new cluster"."""
        return self._scored(self._new_rows(X), lambda scores: np.exp(scores - log_sum(scores)[:, None]))

    def describe(self) -> Description:
        """Say what sets each cluster apart: typical values, and how much evidence each column is.

        The evidence is the log Bayes factor, in nats, of "the rows of the cluster have a distribution of
        their own in this column" against "they have that of all other rows".

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from mapdp import MAPDP
        >>> clusters = MAPDP(alpha=0.3).fit(load_iris(as_frame=True).data).describe()
        >>> clusters[0].features[0].name
        'petal length (cm)'
        """
        check_is_fitted(self)
        used = [self.schema_.columns[j] for j in self.schema_.used]
        return described(self.family_, self._bank, self.cluster_sizes_, used, self.schema_.labels())

    def explain(self, X: Any) -> Explanation:
        """Say why each row is where it is: the log odds against its second choice, column by column.

        Where columns are independent within a cluster, `by_size` and `by_column` add up to `log_odds`. A
        full-covariance `Gaussian` sees columns together: there each is judged by itself.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from mapdp import MAPDP
        >>> X = load_iris(as_frame=True).data
        >>> why = MAPDP(alpha=0.3).fit(X).explain(X)
        >>> bool(np.allclose(why.by_size + why.by_column.sum(axis=1), why.log_odds))
        True
        """
        numbers = self._as_numbers(self._read_new(X))
        rows = Mixed.of(self.family_).encode(numbers, self.schema_.names())
        weights = self._process.log_seating(self.cluster_sizes_)
        scores = self._scored(self._encoded(numbers), np.copy)
        return explained(self.family_, self._bank, rows, scores, weights, self.schema_.labels())

    def impute(self, X: Any, return_spread: bool = False) -> Any:
        """Fill the gaps of a table with what the clusters say of them.

        Parameters
        ----------
        X : array or data frame of shape (N, D)
        return_spread : bool, default False
            Tell also how sure each value is.

        Returns
        -------
        X : like X
            Gaps hold the expected number or the most probable level, given the other cells of the row.
        spread : array of shape (N, D), where asked
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
        raw, columns, found = self._read_new(X), self.schema_.columns, {}
        rows = self._encoded(self._as_numbers(raw))
        chances = self._scored(rows, lambda s: np.exp(s[:, :-1] - log_sum(s[:, :-1])[:, None]))
        for place, (j, fill) in enumerate(
            zip(self.schema_.used, fills(self.family_, self._bank, rows, chances), strict=True)
        ):
            there = gaps_of(raw[j])[fill.rows]  # and not a value that was never seen
            rows_, values, spread = (part[there] for part in fill)
            told = self.family_.column(place).decode(values[:, None])[:, 0]
            found[j] = Fill(rows_, columns[j].decoded(told), spread)
        table = filled(X, {j: (fill.rows, fill.values) for j, fill in found.items() if len(fill.rows)})
        return (table, self._spread(raw, found)) if return_spread else table

    def _spread(self, raw: list[Raw], found: dict[int, Fill]) -> np.ndarray:
        """Return how sure each cell is."""
        spread = np.zeros((len(raw[0].cells), len(raw)))
        for j, column in enumerate(raw):
            if j in found:
                spread[found[j].rows, j] = found[j].spread
            else:
                spread[gaps_of(column), j] = np.nan
        return spread

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the log density of each row, its cluster integrated out."""
        return self._scored(self._new_rows(X), log_sum)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log density of the rows."""
        return float(self.score_samples(X).mean())

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
        rng = generator(random_state)
        weights = np.exp(self._process.log_seating(self.cluster_sizes_))
        labels = rng.choice(len(weights), size=n_samples, p=weights / weights.sum())
        X = np.empty((n_samples, self.family_.n_features))
        for k in np.unique(labels):
            X[labels == k] = self.family_.posterior(self._bank, k).sample(int((labels == k).sum()), rng)
        return self.schema_.decoded(X), np.where(labels == len(weights) - 1, -1, labels).astype(np.int32)
