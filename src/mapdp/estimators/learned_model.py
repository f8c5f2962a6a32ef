"""What an estimator's parameters say about learning the model, and the model that a table teaches."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mapdp.data import checks
from mapdp.data.column_kinds import resolution_of
from mapdp.data.logs import gains_by_logs, may_be_logs
from mapdp.data.moments import MANY, distances_from_mean
from mapdp.estimators.filled_gaps import MEASURED, gaps_to_fill
from mapdp.estimators.reader import Reading
from mapdp.families import DiagonalGaussian, Gaussian, Mixed, Product, SharedGaussian, SphericalGaussian
from mapdp.families.base import Family
from mapdp.families.for_columns import with_block, with_resolution
from mapdp.search.weighted_rows import RowBlocks
from mapdp.selection.structure import Structure

COVARIANCES: dict[str, type[Family]] = {
    "diagonal": DiagonalGaussian,
    "full": Gaussian,
    "shared": SharedGaussian,
    "spherical": SphericalGaussian,
}
WORDS = {
    "diagonal": "independent columns",
    "full": "full covariance",
    "shared": "shared covariance",
    "spherical": "spherical clusters",
}
_CORRELATED = ("full", "shared")  # that "auto" tries beside independent columns
_MOST_ROWS = 2000  # that a model is learned from; more rows choose the same one, and take longer
_LOG_GAIN = 0.1  # nats for each cell; a logarithm that gains less is not worth a model of its own
_DIGITS = 9  # of distances, whose largest is 1 or so; more are rounding


class ModelChoice(NamedTuple):
    """The parameters `prior`, `covariance` and `family` of an estimator."""

    prior: str | None
    covariance: str
    family: Any
    columns: Any = None  # kinds that users gave to columns
    takes_logs: bool = False  # whether measurements may be replaced by their logarithms

    @classmethod
    def of(cls, estimator: Any) -> "ModelChoice":
        """Return the parameters of an estimator, or raise where one makes no sense."""
        is_free = estimator.family is None and estimator._sees_all_rows
        choice = cls(estimator.prior, estimator.covariance, estimator.family, estimator.columns, is_free)
        choice._check()
        return choice

    def _check(self) -> None:
        if self.prior is not None:
            checks.one_of("prior", self.prior, ("learned", "paper"), "None or ")
        checks.one_of("covariance", self.covariance, ("auto", *COVARIANCES))
        if self.family is not None and self.covariance != "auto":
            raise ValueError(
                f"give family or covariance, got family={self.family!r} and covariance="
                f"{self.covariance!r}. Hint: covariance is for tables whose family is not given."
            )

    @property
    def is_learned(self) -> bool:
        """Say whether hyperparameters are learned: by default where no family is given."""
        return (self.prior or ("learned" if self.family is None else "paper")) == "learned"

    def begun(self, reading: Reading, is_filled: bool = False) -> Reading:
        """Return a reading with the family to begin with: it has the covariance that was asked for.

        Not yet, where gaps have to be filled first.
        """
        family, is_ready = reading.family, is_filled or not self.is_learned
        if self.is_asked and (is_ready or self.gaps_to_fill(reading) is None):
            block = _measured_block(self.covariance, reading)
            family = _shaped(self.covariance, reading, block, reading.numbers)
        if self.is_learned and not isinstance(self.family, Family) and not family.has_list:
            family = with_resolution(family, resolutions(reading))
        return reading if family is reading.family else reading.under(family)

    @property
    def is_asked(self) -> bool:
        """Say whether a covariance is asked for in which columns vary together."""
        return self.covariance not in ("auto", "diagonal") and self.family is None

    def gaps_to_fill(self, reading: Reading) -> np.ndarray | None:
        """Return which gaps would have to be filled for measurements to vary together, None for none."""
        if self.family is not None or self.covariance == "diagonal" or not reading.has_gaps:
            return None
        return gaps_to_fill(reading.schema, reading.numbers, self.is_asked)

    def logs_to_try(self, reading: Reading, some: np.ndarray, labels: np.ndarray) -> list[int]:
        """Return the columns whose logarithm makes the cells of clusters clearly more probable."""
        if not self.takes_logs:
            return []
        places = may_be_logs(reading.schema, reading.numbers, self.columns)
        gains = gains_by_logs(reading.numbers[some], labels, places)
        return [place for place, gain in zip(places, gains, strict=True) if gain > _LOG_GAIN]

    def structures(self, reading: Reading, numbers: np.ndarray) -> list[Structure]:
        """Return the ways to describe a table that are to be tried; priors begin from some of its rows."""
        blocks = _blocks(reading, numbers) if self.covariance == "auto" and self.family is None else []
        families = [_shaped(name, reading, block, numbers) for block in blocks for name in _CORRELATED]
        if families:
            families = [_shaped("diagonal", reading, blocks[0], numbers), *families]
            families = [with_resolution(one, resolutions(reading)) for one in families]
        return [Structure(name_of(family.plain()), family) for family in families or [reading.family]]

    def rows_to_learn_from(
        self, numbers: np.ndarray, blocks: RowBlocks | None, rng: np.random.Generator
    ) -> np.ndarray:
        """Return the rows that the model is learned from, shuffled: their own order must not matter."""
        counted = np.arange(len(numbers)) if blocks is None else blocks.counted()
        if len(counted) > _MOST_ROWS:
            counted = rng.choice(counted, _MOST_ROWS, replace=False)
        some = numbers[counted]
        far = np.round(
            distances_from_mean(some), _DIGITS
        )  # the same in other units, and where rows are turned
        return rng.permutation(counted[np.lexsort([*some.T, far])]).astype(np.int32)


def resolutions(reading: Reading) -> np.ndarray:
    """Return the step that each used column is rounded to."""
    used = [reading.schema.columns[j] for j in reading.schema.used]
    return np.array(
        [
            resolution_of(cells) if column.kind in ("given", "count") else column.resolution
            for column, cells in zip(used, reading.numbers.T, strict=True)
        ]
    )


def _kinds(reading: Reading) -> list[str]:
    return [reading.schema.columns[j].kind for j in reading.schema.used]


def _of_kinds(reading: Reading, kinds: Sequence[str]) -> np.ndarray:
    """Return the columns of these kinds."""
    return np.array([j for j, kind in enumerate(_kinds(reading)) if kind in kinds], dtype=np.int64)


def _blocks(reading: Reading, numbers: np.ndarray) -> list[np.ndarray]:
    """Return columns that may vary together: all measurements and counts, and measurements alone.

    Beside others, counts are better counted in some tables and better measured in others.
    """
    blocks = [_block(reading, MEASURED)]
    if len(blocks[0]) < numbers.shape[1]:
        blocks.append(_block(reading, ("real", "log")))
    different = {tuple(block): block for block in blocks}.values()
    return [one for one in different if 2 <= len(one) <= MANY and _has_rows(numbers[:, one])]


def _block(reading: Reading, kinds: Sequence[str]) -> np.ndarray:
    """Return the columns of some kinds that have their gaps in the same rows: a row has all or none.

    Where not all columns do, these are most of them.
    """
    columns = _of_kinds(reading, kinds)
    if not reading.has_gaps:
        return columns
    alike: dict[bytes, list[int]] = {}
    for j in columns:
        alike.setdefault(np.packbits(np.isnan(reading.numbers[:, j])).tobytes(), []).append(j)
    block = np.array(max(alike.values(), key=len, default=[]), dtype=np.int64)
    return block[:0] if len(block) == reading.numbers.shape[1] else block  # rows without any cell


def _has_rows(cells: np.ndarray) -> bool:
    """Say whether there are rows to see how columns vary together; rows have all of them or none."""
    return int(np.count_nonzero(~np.isnan(cells[:, 0]))) >= 2


def _shaped(name: str, reading: Reading, block: np.ndarray, numbers: np.ndarray) -> Family:
    """Return a family for a table whose measurements vary as the name of a covariance says."""
    is_all = len(block) == numbers.shape[1]
    if name == "diagonal" and (not is_all or "count" in _kinds(reading)):
        return reading.family  # counts are counted there, and measured beside others
    kind = COVARIANCES[name]
    return kind.empirical(numbers) if is_all else with_block(kind, Mixed.of(reading.family), block, numbers)


def _measured_block(covariance: str, reading: Reading) -> np.ndarray:
    """Return the columns that vary together where a covariance is asked for; of mixed tables not counts."""
    kinds = MEASURED if set(_kinds(reading)) <= set(MEASURED) else ("real", "log")
    block = _block(reading, kinds)
    if not len(block) or len(block) < len(_of_kinds(reading, kinds)):
        raise ValueError(
            f"covariance={covariance!r} needs measurements, with gaps only in rows that lack all of them, "
            "got others or none. Hint: covariance='auto' takes any table; see schema_."
        )
    return block


def name_of(family: Family) -> str:
    """Return a structure in words."""
    names = {kind: WORDS[name] for name, kind in COVARIANCES.items()}
    if isinstance(family, Product) and (block := family.parts[0][0]).has_columns is False:
        return f"{names.get(type(block), type(block).__name__)} of {block.n_features} columns"
    return names.get(type(family), "independent columns" if family.has_columns else type(family).__name__)
