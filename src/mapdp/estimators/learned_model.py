"""What an estimator's parameters say about learning the model, and the model that a table teaches."""

from typing import Any, NamedTuple

import numpy as np

from mapdp.data import checks
from mapdp.data.column_kinds import resolution_of
from mapdp.data.moments import MANY, distances_from_mean
from mapdp.estimators.reader import Reading
from mapdp.families import DiagonalGaussian, Gaussian, SharedGaussian, SphericalGaussian
from mapdp.families.base import Family
from mapdp.families.for_columns import with_resolution
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
_AUTO = ("diagonal", "full", "shared")
_MOST_ROWS = 2000  # that a model is learned from; more rows choose the same one, and take longer
_DIGITS = 9  # of distances, whose largest is 1 or so; more are rounding


class ModelChoice(NamedTuple):
    """The parameters `prior`, `covariance` and `family` of an estimator."""

    prior: str | None
    covariance: str
    family: Any

    @classmethod
    def of(cls, estimator: Any) -> "ModelChoice":
        """Return the parameters of an estimator, or raise where one makes no sense."""
        choice = cls(estimator.prior, estimator.covariance, estimator.family)
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

    def begun(self, reading: Reading) -> Reading:
        """Return a reading with the family to begin with: it has the covariance that was asked for."""
        family = reading.family
        if self.covariance not in ("auto", "diagonal") and self.family is None:
            _check_measured(self.covariance, reading)
            family = COVARIANCES[self.covariance].empirical(reading.numbers)
        if self.is_learned and not isinstance(self.family, Family):
            family = with_resolution(family, resolutions(reading))
        return reading if family is reading.family else reading.under(family)

    def structures(self, reading: Reading, numbers: np.ndarray) -> list[Structure]:
        """Return the ways to describe a table that are to be tried; priors begin from some of its rows."""
        has_choice = self.covariance == "auto" and self.family is None and _is_measured(reading)
        if not has_choice or not 2 <= numbers.shape[1] <= MANY or len(numbers) < 2:
            return [Structure(name_of(reading.family), reading.family)]
        steps = resolutions(reading)
        has_counts = any(reading.schema.columns[j].kind == "count" for j in reading.schema.used)
        families = {name: COVARIANCES[name].empirical(numbers) for name in _AUTO}
        if has_counts:  # which are counted where columns are independent, and measured beside others
            families["diagonal"] = reading.family
        return [Structure(WORDS[name], with_resolution(family, steps)) for name, family in families.items()]

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


def _is_measured(reading: Reading) -> bool:
    """Say whether all columns are measurements or counts, without gaps."""
    kinds = {reading.schema.columns[j].kind for j in reading.schema.used}
    return kinds <= {"real", "log", "count"} and not reading.has_gaps


def _check_measured(covariance: str, reading: Reading) -> None:
    if not _is_measured(reading):
        raise ValueError(
            f"covariance={covariance!r} needs a table of numbers without gaps, got columns of other "
            "kinds or gaps. Hint: covariance='auto' takes any table; see schema_."
        )


def name_of(family: Family) -> str:
    """Return a structure in words."""
    names = {kind: WORDS[name] for name, kind in COVARIANCES.items()}
    return names.get(type(family), "independent columns" if family.has_columns else type(family).__name__)
