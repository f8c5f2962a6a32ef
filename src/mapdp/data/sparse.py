"""Sparse matrices: of each row the cells that are not 0, which is all that is ever looked at."""

import dataclasses
import functools
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import validate_data

MOST = 32  # columns of the small dense table that stands for the rows where guesses are made
_STEPS = 4  # of the subspace iteration: a guess needs directions, not singular vectors


@dataclasses.dataclass(frozen=True, eq=False)
class SparseRows:
    """The cells of a table that are not 0, row by row, in the order of columns."""

    first: np.ndarray  # (N + 1,) where the cells of each row begin
    place: np.ndarray  # (M,) the column of each cell
    value: np.ndarray  # (M,)
    n_columns: int

    @classmethod
    def of(cls, X: Any) -> "SparseRows":
        """Return the cells of a sparse matrix of any format, which stays as it is."""
        if isinstance(X, cls):
            return X
        rows = csr_array(X, dtype=np.float64)
        if not (rows.has_canonical_format and rows.data.all()):
            rows = rows.copy()
            rows.sum_duplicates()
            rows.eliminate_zeros()
        first, place = rows.indptr.astype(np.int64), rows.indices.astype(np.int32, copy=False)
        return cls(first, place, rows.data, rows.shape[1])

    def __len__(self) -> int:
        return len(self.first) - 1

    @property
    def row(self) -> np.ndarray:
        """Return the row of each cell."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.first))

    def row_sums(self, values: np.ndarray) -> np.ndarray:
        """Return the sum over the cells of each row of these values."""
        return np.bincount(self.row, values, minlength=len(self))

    @functools.cached_property
    def column_sums(self) -> np.ndarray:
        """Return the sum of each column."""
        return np.bincount(self.place, self.value, minlength=self.n_columns)

    def check_cells(self, good: np.ndarray, rule: str, hint: str) -> None:
        """Raise unless all cells are `good`; name the first that is not."""
        if good.all():
            return
        cell = int(np.argmin(good))
        i = int(np.searchsorted(self.first, cell, side="right")) - 1
        raise ValueError(
            f"{rule}, got {self.value[cell]} in column {self.place[cell]}, row {i}. Hint: {hint}"
        )

    def check_finite(self) -> None:
        """Raise where a cell is NaN or infinite."""
        hint = "drop or fill such rows first; in a sparse matrix what is left out is 0."
        self.check_cells(np.isfinite(self.value), "X must be finite", hint)

    def few_columns(self, values: np.ndarray) -> np.ndarray:
        """Return a table of few columns in which rows are alike where they are alike in these values.

        It is the table itself where that has few columns, else its main axes.
        """
        matrix = csr_array((values, self.place, self.first), shape=(len(self), self.n_columns))
        if self.n_columns <= MOST:
            return matrix.toarray()
        basis = np.random.default_rng(0).normal(size=(len(self), min(MOST, len(self))))
        for _ in range(_STEPS):
            basis = np.linalg.qr(matrix @ (matrix.T @ basis))[0]
        axes = matrix.T @ basis
        return np.ascontiguousarray(basis @ np.linalg.eigh(axes.T @ axes)[1][:, ::-1])


def is_sparse(X: Any) -> bool:
    """Say whether a table is a sparse matrix of scipy, or the rows of one."""
    return isinstance(X, SparseRows) or bool(issparse(X))


def sparse_rows(estimator: Any, X: Any, *, reset: bool) -> SparseRows:
    """Return the rows of a sparse matrix; remember how many columns it has where `reset`."""
    rows = validate_data(
        estimator, X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, reset=reset
    )
    return SparseRows.of(rows)


def check_dense(X: Any) -> None:
    """Raise where a table is a sparse matrix."""
    if is_sparse(X):
        raise not_for_sparse()


def not_for_sparse() -> TypeError:
    """Return what is raised where rows must not be sparse."""
    return TypeError(
        "X must be dense here, got a sparse matrix. Hint: MAPDP(family=Multinomial) and "
        "MAPDP(family=Bernoulli) fit, predict and score sparse rows; for anything else X.toarray()."
    )
