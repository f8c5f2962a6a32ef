"""What users pass, as columns of numbers or of words, with names.

A table is a list of `Raw` columns, whatever it came in (narwhals reads pandas, polars and Arrow); a gap
is NaN among numbers and None among words.
"""

import collections
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from sklearn.utils.validation import validate_data

from mapdp.data.checks import LARGEST_COUNT, has_finite_sum
from mapdp.data.matrices import matrix_for, without_mask
from mapdp.data.sparse import check_dense
from mapdp.data.times import as_time, days_of, measure_of

NO_ANSWER = frozenset({"", "?", "na", "n/a", "nan", "null", "none", "<na>"})  # words for "missing"


class Raw(NamedTuple):
    """One column as it was passed."""

    name: object  # None where the table has no names
    cells: np.ndarray  # (N,) floats with NaN, or words with None
    is_text: bool = False
    measure: str = ""  # "date", "moment", "time" or "span", in days; "truth" for yes and no
    ranks: tuple[str, ...] = ()  # all words in their order, where the column says that they have one
    is_finite: bool = False  # whether all cells are known to be numbers: no gap, no infinity


def read_table(estimator: Any, X: Any, *, reset: bool) -> list[Raw]:
    """Return the columns of X; remember their names where `reset`."""
    check_dense(X)
    _check_names(X)
    frame = X if isinstance(X, np.ndarray) else nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError("X must be a table in memory, got a lazy one. Hint: X.collect().")
    if isinstance(frame, nw.DataFrame):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        _check_shape(frame.shape)
        return [_looked_at(_from_series(series, X)) for series in frame.iter_columns()]
    X = without_mask(X)
    if getattr(X, "dtype", None) is not None and X.dtype.kind in "OUS" and np.ndim(X) == 2:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        _check_shape(X.shape)
        return [_looked_at(_from_objects(None, column)) for column in np.asarray(X).T]
    rows = matrix_for(estimator, X, reset=reset)
    is_finite = has_finite_sum(rows)
    return [Raw(None, column, is_finite=is_finite) for column in rows.T]


def joined(tables: Sequence[Any]) -> Any:
    """Return the rows of several tables of the same sort as one table."""
    for one in tables:
        check_dense(one)
    if len(tables) == 1:
        return tables[0]
    if all(isinstance(nw.from_native(one, pass_through=True), nw.DataFrame) for one in tables):
        return nw.to_native(nw.concat([nw.from_native(one) for one in tables]))
    return np.concatenate([np.asarray(without_mask(one)) for one in tables])


def columns_of(block: Any) -> list[Raw]:
    """Return the columns of a part of a table that has been read before."""
    if isinstance(block, np.ndarray) and block.dtype.kind not in "OUS":
        rows = np.require(block, requirements=["C"])
        rows = rows if rows.dtype in (np.float64, np.float32) else rows.astype(np.float64)
        return [Raw(None, column) for column in rows.T]
    if isinstance(block, np.ndarray):
        return [_from_objects(None, column) for column in block.T]
    return [_from_series(series, block) for series in nw.from_native(block).iter_columns()]


def _looked_at(raw: Raw) -> Raw:
    """Remember of a column of numbers whether all of them are finite."""
    return raw if raw.is_text else raw._replace(is_finite=has_finite_sum(raw.cells))


def _check_names(X: Any) -> None:
    """Raise where two columns of a data frame have the same name."""
    library = type(X).__module__.split(".")[0]
    if library == "polars":  # which has seen to it, and would work out a lazy table for its names
        return
    is_arrow = library == "pyarrow" and hasattr(X, "column_names")
    names = X.column_names if is_arrow else getattr(X, "columns", None)
    check_names(names if isinstance(names, Iterable) else ())


def check_names(names: Iterable[object]) -> None:
    """Raise where two columns have the same name."""
    counted = collections.Counter(list(names))
    twice = [name for name, n in counted.items() if n > 1]
    if twice:
        raise ValueError(f"columns must have different names, got {twice[0]!r} twice. Hint: rename one.")


def _check_shape(shape: tuple[int, ...]) -> None:
    for length, what in zip(shape, ("sample(s)", "feature(s)"), strict=True):
        if length == 0:
            raise ValueError(
                f"Found array with 0 {what} (shape={shape}) while a minimum of 1 is required. "
                "Hint: the table is empty."
            )


def _from_series(series: Any, X: Any) -> Raw:
    """Turn a column of a data frame into numbers or words."""
    dtype = series.dtype
    if dtype == nw.Boolean:
        return Raw(series.name, _floats(series), measure="truth")
    if dtype.is_integer():
        return _from_integers(series)
    if dtype.is_numeric():
        return Raw(series.name, _floats(series))
    if dtype.is_temporal():
        return Raw(series.name, days_of(series), measure=measure_of(dtype))
    if isinstance(dtype, nw.Enum) or _is_ordered_arrow(X, series.name):
        ranks = dtype.categories if isinstance(dtype, nw.Enum) else _arrow_ranks(X, series.name)
        return _from_objects(series.name, series.to_list(), tuple(map(str, ranks)))
    return _from_objects(series.name, series.to_list(), as_words=dtype == nw.Categorical)


def _floats(series: Any) -> np.ndarray:
    """Return numbers with NaN for nulls."""
    if series.dtype == nw.Float64 and series.null_count() == 0:  # without a cast, which takes longest
        return np.asarray(series.to_numpy(), dtype=np.float64)
    return np.asarray(series.cast(nw.Float64).fill_null(np.nan).to_numpy(), dtype=np.float64)


def _from_integers(series: Any) -> Raw:
    """Turn whole numbers into floats, or into words where floats could not tell them apart."""
    gaps = series.is_null().to_numpy()
    whole = np.asarray(series.fill_null(0).to_numpy()) if gaps.any() else np.asarray(series.to_numpy())
    cells = whole.astype(np.float64)
    cells[gaps] = np.nan
    if (np.abs(cells) > LARGEST_COUNT).any() and _are_lost(whole[~gaps], cells[~gaps]):
        return _from_objects(series.name, series.to_list(), as_words=True)
    return Raw(series.name, cells)


def _are_lost(whole: Any, floats: np.ndarray) -> bool:
    """Say whether different whole numbers are the same as floats: then they are names."""
    return len(np.unique(floats)) < len(set(whole.tolist()))


def _is_ordered_arrow(X: Any, name: str) -> bool:
    """Say whether a column of an Arrow table is a dictionary whose values have an order."""
    field = X.schema.field(name) if hasattr(getattr(X, "schema", None), "field") else None
    return bool(getattr(getattr(field, "type", None), "ordered", False))


def _arrow_ranks(X: Any, name: str) -> list[str]:
    return X.column(name).combine_chunks().dictionary.to_pylist()


def _from_objects(name: object, cells: Any, ranks: tuple[str, ...] = (), as_words: bool = False) -> Raw:
    """Turn cells of any kind into words, or into numbers where all of them are."""
    words, known = np.empty(len(cells), dtype=object), _Words()
    words[:] = [known[cell] if type(cell) is str else _word(cell) for cell in cells]
    if not (ranks or as_words) and all(word is None or is_number(word) for word in set(words)):
        numbers = np.array([np.nan if word is None else float(word) for word in words])
        is_large = np.abs(numbers) > LARGEST_COUNT
        if not is_large.any() or not _are_lost(words[is_large], numbers[is_large]):
            return Raw(name, numbers)
    return Raw(name, words, is_text=True, ranks=ranks)


class _Words(dict):
    """What strings say; each is looked at once, as most columns hold few."""

    def __missing__(self, cell: str) -> str | None:
        word = self[cell] = _word(cell)
        return word


def is_number(word: str) -> bool:
    """Say whether a word is a number as people write them."""
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word


def is_gap(cell: Any) -> bool:
    """Say whether a cell of a data frame is missing: None, NaN, NaT, NA."""
    return cell is None or type(cell).__name__ == "NAType" or bool(cell != cell)


def _word(cell: Any) -> str | None:
    """Return what a cell says, None where it says nothing."""
    if not isinstance(cell, np.ndarray | list) and is_gap(cell):
        return None
    if isinstance(cell, dict | list | tuple | set | np.ndarray):
        raise TypeError(
            f"a cell must be a string or a number, got {cell!r}: argument must be a string or a real "
            "number. Hint: give each part a column of its own."
        )
    word = str(cell).strip()
    return None if word.lower() in NO_ANSWER else word


def gaps_of(raw: Raw) -> np.ndarray:
    """Return whether each cell is missing."""
    if raw.is_text:
        return np.array([word is None for word in raw.cells])
    return np.isnan(raw.cells)


def n_missing(raw: Raw) -> int:
    """Count the gaps of a column."""
    return 0 if raw.is_finite else int(gaps_of(raw).sum())


def check_not_infinite(raw: Raw, j: int) -> None:
    """Raise where a cell of column number j is infinite."""
    if raw.is_text or raw.is_finite or not np.isinf(raw.cells).any():
        return
    i, name = int(np.argmax(np.isinf(raw.cells))), j if raw.name is None else repr(raw.name)
    raise ValueError(
        f"X must not be infinite, got {raw.cells[i]} in column {name}, row {i}. "
        "Hint: leave the cell empty (NaN) where the value is not known."
    )


def count_rows(X: Any) -> int:
    """Return the number of rows of a table of any sort."""
    return X.num_rows if hasattr(X, "num_rows") else len(X)


def some_rows(X: Any, rows: np.ndarray) -> Any:
    """Return some rows of a table, as a table of the same sort."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return (
        frame[rows.tolist()].to_native()
        if isinstance(frame, nw.DataFrame)
        else np.asarray(without_mask(X))[rows]
    )


def filled(X: Any, fills: Mapping[int, tuple[np.ndarray, np.ndarray]]) -> Any:
    """Return a copy of a table in which cells of some columns are filled: rows and values of each."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        cells = np.asarray(without_mask(X))
        out = cells.astype(object if cells.dtype.kind in "OUS" else np.float64)
        for j, (rows, values) in fills.items():
            out[rows, j] = values
        return out
    columns = list(frame.iter_columns())
    new = [_filled_series(columns[j], *fill) for j, fill in fills.items()]
    return frame.with_columns(*new).to_native()


def _filled_series(series: Any, rows: np.ndarray, values: np.ndarray) -> Any:
    """Return a column with some cells filled; whole numbers become real ones."""
    cells, dtype = series.to_list(), series.dtype
    known = {str(cell).strip(): cell for cell in cells if not is_gap(cell)}
    for i, value in zip(rows.tolist(), values.tolist(), strict=True):
        if dtype.is_temporal():
            cells[i] = as_time(value, dtype)
        else:
            word = value if isinstance(value, str) else f"{value:.12g}"
            cells[i] = known.get(word, word if dtype == nw.String else value)
    if dtype.is_numeric():
        dtype, cells = nw.Float64(), [np.nan if cell is None else float(cell) for cell in cells]
    elif dtype == nw.Boolean:
        cells = [None if cell is None else bool(cell) for cell in cells]
    return nw.new_series(series.name, cells, dtype, backend=series.implementation)


def as_matrix(columns: Sequence[Raw]) -> np.ndarray:
    """Return columns of numbers as one matrix; the very one they were cut from, where there is one."""
    for raw in columns:
        if raw.is_text:
            i = next(i for i, word in enumerate(raw.cells) if word is not None)
            name = "a column" if raw.name is None else f"column {raw.name!r}"
            raise ValueError(
                f"X must hold numbers, got {raw.cells[i]!r} in {name}, row {i}. "
                "Hint: leave family at None to have columns of words read as categories."
            )
    whole, shape = columns[0].cells.base, (len(columns[0].cells), len(columns))
    if isinstance(whole, np.ndarray) and whole.shape == shape:
        cut = [not _is_column(raw.cells, whole, j) for j, raw in enumerate(columns)]
        return np.column_stack([raw.cells for raw in columns]) if any(cut) else whole
    return np.column_stack([raw.cells for raw in columns])


def _is_column(cells: np.ndarray, whole: np.ndarray, j: int) -> bool:
    """Say whether cells are column j of a matrix, and not a copy."""
    column = whole[:, j]
    return column.__array_interface__ == cells.__array_interface__
