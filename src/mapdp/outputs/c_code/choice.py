"""What is exported of a fitted estimator; what cannot be is said in one sentence, before any file."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mapdp.data import checks
from mapdp.estimators.fitted import FittedMixture
from mapdp.estimators.map_dp import MAPDP
from mapdp.families import Gaussian, Mixed, Product, SharedGaussian, SphericalGaussian, verbs
from mapdp.families.base import Bank
from mapdp.families.counts.poisson_bank import PoissonBank, PoissonColumns
from mapdp.families.counts.trials_columns import TrialsColumns
from mapdp.families.gaussian.student import StudentColumns
from mapdp.families.levels.categorical_bank import LevelColumns
from mapdp.families.levels.ordered import CurveColumns
from mapdp.outputs.c_code import kinds
from mapdp.outputs.c_code.kinds import LEVELS, Chairs, Kind
from mapdp.outputs.c_code.whole_rows import full, sphere
from mapdp.partitions.process import MixtureOfFiniteMixtures, PitmanYor

PRECISIONS, WHEN_FULL = ("double", "float"), ("merge", "refuse")
_USUAL_CAPACITY = 16
_LARGEST_RATE = 20.0  # of a mixture of finite mixtures, whose sums over components stay within a float
_MOST_NAMED = 65_535  # columns, and levels of all columns: C counts them with 16 bits
_LARGEST_CAPACITY = 4096  # the search for a pair to merge looks at all of them
_EXPORTED = (
    "DiagonalGaussian, SphericalGaussian, SharedGaussian, Gaussian, Bernoulli, Categorical, Poisson, "
    "NegativeBinomial and Mixed tables of these can"
)
# Products of eight factors, and sums of squares of many rows, must be within what a number can hold.
_REACH = {"double": (1e12, checks.LARGEST_SQUARED), "float": (1e9, 1e15)}


class Export(NamedTuple):
    """A fitted mixture, and what its C code is to be like."""

    mixture: FittedMixture
    kinds: list[Kind]
    precision: str
    capacity: int
    learn: bool
    when_full: str

    @property
    def merges(self) -> bool:
        """Say whether clusters are merged where there is no room."""
        return self.learn and self.when_full == "merge"

    @property
    def real_bytes(self) -> int:
        """Return how many bytes a number has."""
        return 4 if self.precision == "float" else 8


def chosen(model: Any, precision: str, capacity: int | None, learn: bool, when_full: str) -> Export:
    """Check the arguments of an export; raise where this model cannot be exported so."""
    mixture = mixture_of(model)
    if not mixture.n_clusters:
        raise ValueError("model has no clusters left to export. Hint: export the model that was fitted.")
    checks.one_of("precision", precision, PRECISIONS)
    checks.one_of("when_full", when_full, WHEN_FULL)
    if checks.truth("learn", learn):
        check_process(mixture.process)
    room = _capacity(capacity, mixture.n_clusters, learn)
    found = kinds_of(mixture, precision, learn)
    _check_counts(mixture.family.n_features, max(kind.lengths.get(LEVELS, 0) for kind in found))
    return Export(mixture, found, precision, room, learn, when_full)


def check_process(process: Any) -> None:
    """Raise where C code does not know how likely a new cluster is."""
    if not isinstance(process, PitmanYor | MixtureOfFiniteMixtures):
        raise ValueError(
            f"a model under {type(process).__name__} cannot go on learning in C. "
            "Hint: leave learn at False."
        )
    rate = getattr(process, "rate", 0.0)
    if rate > _LARGEST_RATE:
        raise ValueError(
            f"a mixture of finite mixtures must have a rate of at most {_LARGEST_RATE:g} to go on learning "
            f"in C, got {rate:g}. Hint: leave learn at False."
        )


def _check_counts(n_columns: int, n_levels: int) -> None:
    """Raise where there are more columns or levels than the C code can count."""
    if max(n_columns, n_levels) > _MOST_NAMED:
        raise ValueError(
            f"a model of {n_columns:,} columns with {n_levels:,} levels cannot be exported: there is room "
            f"for {_MOST_NAMED:,} of each. Hint: leave out columns that only name rows."
        )


def mixture_of(model: Any) -> FittedMixture:
    """Return the mixture of a fitted estimator."""
    if not isinstance(model, MAPDP):
        raise TypeError(f"model must be a fitted MAPDP, got {model!r}. Hint: mapdp.load reads one.")
    check_is_fitted(model)
    return model.mixture_


def _capacity(capacity: int | None, n_clusters: int, learn: bool) -> int:
    """Return how many clusters there is room for."""
    if not learn and capacity is None:
        return n_clusters
    room = max(_USUAL_CAPACITY, n_clusters) if capacity is None else checks.whole("capacity", capacity, 1)
    if room < n_clusters:
        raise ValueError(
            f"capacity must be at least {n_clusters}, the clusters of the model, got {room}. "
            "Hint: model.cut(n_clusters=...) has fewer clusters."
        )
    if room > _LARGEST_CAPACITY:
        raise ValueError(f"capacity must be at most {_LARGEST_CAPACITY}, got {room}. Hint: try 16.")
    return room if learn else n_clusters


def kinds_of(mixture: FittedMixture, precision: str, learn: bool) -> list[Kind]:
    """Return what the columns, or the clusters, of a mixture are in C."""
    family, chairs = mixture.family, Chairs(mixture.n_clusters, *_REACH[precision])
    if isinstance(family, SphericalGaussian | SharedGaussian):
        return [sphere(family, mixture.bank, chairs, learn)]
    if isinstance(family, Gaussian):
        return [full(family, mixture.bank, chairs, learn)]
    if isinstance(family, Product):
        raise ValueError(
            "columns that vary together beside others cannot be exported as C. "
            "Hint: fit with covariance='diagonal'."
        )
    if not family.has_columns:
        raise _cannot(type(family).__name__)
    parts = {type(part): part for part in _parts(mixture)}
    for kind, part in parts.items():
        _check_kind(kind, part, mixture, learn)
    found = []
    if StudentColumns in parts:
        found.append(kinds.gaussian(parts[StudentColumns], chairs, learn))
    levels = [parts[kind] for kind in (LevelColumns, CurveColumns) if kind in parts]
    if levels:
        found.append(kinds.level(levels, chairs, learn))
    if PoissonColumns in parts:
        found.append(kinds.poisson(parts[PoissonColumns], chairs, learn))
    if TrialsColumns in parts:
        found.append(kinds.waiting(parts[TrialsColumns], chairs, learn))
    return found


def _parts(mixture: FittedMixture) -> list[Bank]:
    """Return a bank for each kind of column, with the clusters and an empty chair."""
    family, bank = mixture.family, mixture.bank
    _check_has_no_flags(mixture)
    n_chairs = mixture.n_clusters + 1
    parts = Mixed.of(family).banks_of([family.sums(bank, k) for k in range(n_chairs)])
    for part in parts:
        for k in range(n_chairs):
            verbs.refresh(part, k)
    if isinstance(bank, PoissonBank):  # it knows log factorials of whole rows only
        parts[0].second_high[0, :n_chairs] = -bank.factorials_high[:n_chairs]
        parts[0].second_low[0, :n_chairs] = -bank.factorials_low[:n_chairs]
    return parts


def _check_has_no_flags(mixture: FittedMixture) -> None:
    """Raise where a column has a special value."""
    flagged = Mixed.of(mixture.family).layout.flagged
    if len(flagged):
        raise ValueError(
            f"{mixture.schema.labels()[flagged[0]]!r} is a column of zeros and other numbers, which C code "
            "does not know. Hint: fit with columns={...: 'log'}, or 'real'."
        )


def _check_kind(kind: type, part: Bank, mixture: FittedMixture, learn: bool) -> None:
    """Raise where columns of this kind cannot be exported."""
    place = int(part.prior.place[0])
    family = type(Mixed.of(mixture.family).column(place)).__name__
    name = mixture.schema.labels()[place]
    if kind is CurveColumns and learn:
        raise ValueError(
            f"{name!r} is an ordered column, which C code can assign by and cannot learn from. "
            "Hint: leave learn at False, or fit with columns={...: 'category'}."
        )
    known = (StudentColumns, LevelColumns, CurveColumns, PoissonColumns, TrialsColumns)
    if kind not in known or (kind is TrialsColumns and np.any(part.prior.successes[1])):
        raise _cannot(family, f", which {name!r} is,")


def _cannot(family: str, where: str = "") -> ValueError:
    return ValueError(f"{family}{where} cannot be exported as C. Hint: {_EXPORTED}.")


def of_process(process: Any) -> dict[str, float]:
    """Return the hyperparameters of a prior over partitions."""
    if isinstance(process, PitmanYor):
        return {"alpha": process.alpha, "discount": process.discount}
    return {
        "concentration": process.concentration,
        "poisson_rate": process.rate,
        "discount": process.discount,
    }
