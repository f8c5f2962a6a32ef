"""How a training table becomes rows that kernels read, and how its family is chosen."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mapdp.data.column import Column
from mapdp.data.columns import Schema
from mapdp.data.frames import Raw
from mapdp.data.logs import with_logs
from mapdp.data.moments import gaps_filled_by_means, has_gaps
from mapdp.data.sparse import SparseRows
from mapdp.families import DiagonalGaussian, Mixed, Product
from mapdp.families.base import Family
from mapdp.families.for_columns import family_for
from mapdp.families.levels.listing import listing, row_numbers
from mapdp.search.weighted_rows import RowBlocks


class Reading(NamedTuple):
    """A training table, read."""

    schema: Schema
    family: Family
    numbers: np.ndarray  # (N, D) of the used columns, gaps as NaN
    rows: np.ndarray  # (N, D) encoded by the family
    has_gaps: bool
    log_units: np.ndarray | float  # (N,) what units and logarithms add to the log density of each row

    def under(self, family: Family) -> "Reading":
        """Return the same table under another family for the same columns."""
        if family.has_list:
            return self._replace(family=family)
        is_open = not (family.has_columns or family.takes_gaps(self.numbers))
        rows = self.numbers if is_open else family.encode(self.numbers)
        return self._replace(family=family, rows=rows)

    def holding(self, numbers: np.ndarray, counted: np.ndarray | None) -> "Reading":
        """Return the same table with some gaps filled; its family follows from what columns hold."""
        return _by_columns(self.schema, numbers, counted)

    def with_logs(self, places: Sequence[int], counted: np.ndarray | None) -> "Reading":
        """Return the same table with the logarithms of some columns."""
        return _by_columns(*with_logs(self.schema, self.numbers, places, counted), counted)

    def log_units_of(self, blocks: RowBlocks | None) -> float:
        """Return what they add to the log joint of all rows, each as often as it counts."""
        if blocks is None or isinstance(self.log_units, float):
            return float(np.sum(self.log_units))
        return float(self.log_units[blocks.rows] @ blocks.weights)


def _by_columns(schema: Schema, numbers: np.ndarray, counted: np.ndarray | None) -> Reading:
    """Return a table whose family follows from what its columns hold."""
    family = family_for(schema, numbers if counted is None else numbers[counted])
    gaps = has_gaps(numbers)
    family = Mixed.of(family) if gaps or counted is not None else family
    rows, log_units = family.encode(numbers, schema.names()), schema.log_units(numbers)
    return Reading(schema, family, numbers, rows, gaps, log_units)


class TableReader(NamedTuple):
    """What an estimator's parameters say about tables."""

    family: Any  # a Family, a class of Family, or one of `rules`
    columns: Mapping[object, str] | None
    rules: tuple[str | None, ...] = (None,)  # values of `family` that leave it to the columns
    fills_gaps: bool = False  # whether gaps are searched for where columns are not independent
    sets_copies_aside: bool = False  # whether a column that repeats another is left out

    def read(self, table: list[Raw], counted: np.ndarray | None = None) -> Reading:
        """Turn the training rows into what kernels read; choose the family.

        Kinds and priors are inferred from the `counted` rows, which may name a row more than once. Gaps,
        and rows that are counted, are for `Mixed` where columns are independent.
        """
        seen = table if counted is None else [raw._replace(cells=raw.cells[counted]) for raw in table]
        schema = self._schema(seen)
        numbers = schema.matrix(table)
        gaps = has_gaps(numbers)
        family = self._family(schema, numbers if counted is None else numbers[counted], gaps)
        if family.has_columns:
            family = Mixed.of(family) if gaps or counted is not None else family
        elif family.is_whole:
            family, gaps = family.fitting(numbers), False  # it says itself what a gap means
        elif isinstance(family, Product) and (gaps or counted is not None):
            family = family.for_gaps()
            _check_takes_gaps(family, numbers)
        elif gaps:
            self._check_fills_gaps(family)
            return Reading(schema, family, numbers, numbers, gaps, schema.log_units(numbers))
        rows = family.encode(numbers, schema.names())
        return Reading(schema, family, numbers, rows, gaps, schema.log_units(numbers))

    def read_sparse(self, rows: SparseRows) -> Reading:
        """Turn the rows of a sparse matrix into what kernels read: their numbers, as the family has them.

        Where there are many columns, main axes stand for the numbers of the table.
        """
        self._check_columns()
        family = self.family  # one that takes sparse rows, or a class of such
        if isinstance(family, type) and issubclass(family, Family):
            family = family.empirical(rows)  # type: ignore[arg-type]
        listed = listing(family.over(rows.n_columns), rows, len(rows)).fitting_rows()
        schema = Schema((Column(None, "given"),) * rows.n_columns)
        return Reading(schema, listed, listed.few_numbers(), row_numbers(rows), False, 0.0)

    def by_columns(self) -> bool:
        """Say whether the family follows from what columns hold."""
        return self.family in self.rules

    def _schema(self, table: list[Raw]) -> Schema:
        """Return what the columns hold; where a family is given, it says so itself."""
        if self.by_columns():
            schema = Schema.infer(table, self.columns)
            return schema.without_copies(table, self.columns) if self.sets_copies_aside else schema
        self._check_columns()
        return Schema.given(table, with_units=isinstance(self.family, type) and _has_units(self.family))

    def _check_columns(self) -> None:
        if self.columns is not None:
            raise ValueError(
                f"columns says what columns hold, and so does family, got columns={self.columns!r} and "
                f"family={self.family!r}. Hint: leave family at None."
            )

    def _family(self, schema: Schema, numbers: np.ndarray, gaps: bool) -> Family:
        """Return the family that the parameter names, with a prior made from the rows where it has none."""
        if self.by_columns():
            return family_for(schema, numbers)
        family = self.family or DiagonalGaussian
        if isinstance(family, type) and issubclass(family, Family):
            if gaps and family.has_columns:
                family = Mixed.empirical(numbers, [family] * numbers.shape[1])
            else:
                family = family.empirical(numbers if family.is_whole else gaps_filled_by_means(numbers))
        if not isinstance(family, Family):
            raise TypeError(
                f"family must be a Family, a class of Family or one of {self.rules}, got {self.family!r}. "
                "Hint: None chooses by what the columns hold."
            )
        return family.over(numbers.shape[1])

    def _check_fills_gaps(self, family: Family) -> None:
        if not self.fills_gaps:
            raise ValueError(
                f"X has gaps, and the columns of {type(family).__name__} are not independent. "
                "Hint: fill them first (MAPDP(...).impute), or use a family such as DiagonalGaussian."
            )


def _has_units(kind: type) -> bool:
    """Say whether the numbers of a class of families may be measured in other units."""
    return bool(getattr(kind, "has_units", True))


def _check_takes_gaps(family: Product, numbers: np.ndarray) -> None:
    if not family.takes_gaps(numbers):
        raise ValueError(
            "X has gaps in columns of a Product that are not independent, beside others of them. "
            "Hint: fill them first (MAPDP(...).impute), or name these columns in a part such as Mixed."
        )


def check_plain(is_plain: bool) -> None:
    """Raise where more is asked of sparse rows than a partition of them."""
    if not is_plain:
        raise ValueError(
            "a sparse X is fitted without background, weights, groups and known labels. "
            "Hint: leave them out, or X.toarray()."
        )
