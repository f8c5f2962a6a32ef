"""What each kind of column, or of cluster, is in C: constants, statistics and cached predictive.

A kind has a name, with which its C functions begin, and pieces of C of its own (`pieces/`). Independent
columns come as the banks of a mixed table do, one for each kind of column; clusters that are described as
a whole come with their own bank.
"""

from typing import Any, NamedTuple

import numpy as np

from mapdp.families.base import Bank
from mapdp.outputs.c_code.text import CArray

_GAUSSIANS, _LEVEL_COLUMNS, LEVELS = "MAPDP_GAUSSIANS", "MAPDP_LEVEL_COLUMNS", "MAPDP_LEVELS"


class Kind(NamedTuple):
    """Columns of one kind, or clusters as a whole."""

    name: str
    lengths: dict[str, int]  # names of numbers that the C code knows
    prior: list[CArray]
    predictive: list[CArray]  # of the chairs and of an empty one
    sums: list[CArray]  # of the chairs
    needs: tuple[str, ...]  # pieces of C before its own
    needs_to_learn: tuple[str, ...]
    needs_to_merge: tuple[str, ...]
    fixed: str = ""  # piece with what the predictive of a model is that does not learn
    moving: str = ""  # and of one that does


class Chairs(NamedTuple):
    """How many clusters there are, and how far from the prior rows may be."""

    n: int
    widths: float  # prior widths from the prior mean
    largest: float  # and no further than this

    def reach(self, width: np.ndarray) -> np.ndarray:
        """Return how far from the prior mean a cell may be."""
        return np.minimum(self.widths * width, self.largest)

    def sums(self, name: str, length: str, array: np.ndarray, about: str) -> CArray:
        """Return the statistics of the clusters, from an array whose last axis is that of the chairs."""
        return CArray(name, length, np.atleast_2d(array)[:, : self.n].T, about)

    def predictive(self, name: str, length: str, array: np.ndarray, about: str) -> CArray:
        """Return the cached predictive of the clusters and of an empty chair."""
        return CArray(name, length, np.atleast_2d(array)[:, : self.n + 1].T, about)


def gaussian(part: Any, chairs: Chairs, learn: bool) -> Kind:
    """Return Gaussian columns, whose predictive is a Student t."""
    prior, some = part.prior, slice(chairs.n + 1)
    is_common = bool((part.power[:, some] == part.power[0, some]).all())
    shared = all(len(np.unique(a)) == 1 for a in (prior.strength, prior.shape))
    return Kind(
        "gaussian",
        {_GAUSSIANS: len(prior.place), "MAPDP_GAUSSIANS_SHARE_PRIOR": int(shared)},
        _student_prior(prior, chairs, learn),
        _student_predictive(part, chairs, is_common, learn),
        moments(part, chairs, _GAUSSIANS, _GAUSSIANS),
        ("log1p",),
        ("half_step", "exact", "exact_sums", "about_means"),
        ("gamma",),
        "gaussian_fixed_common" if is_common else "gaussian_fixed",
        "gaussian_moving",
    )


def _student_prior(prior: Any, chairs: Chairs, learn: bool) -> list[CArray]:
    n = _GAUSSIANS
    reach = CArray("reach", n, chairs.reach(np.sqrt(prior.rate)), "largest number, from the prior mean")
    to_learn = [
        CArray("strength", n, prior.strength, "c0"),
        CArray("shape", n, prior.shape, "a0"),
        CArray("rate", n, prior.rate, "b0"),
        CArray("log_rate", n, np.log(prior.rate), "log b0"),
        CArray("blur", n, prior.blur, "what rounding adds to b for each row"),
    ]
    return [_place(prior.place, n), reach, *(to_learn if learn else [])]


def _student_predictive(part: Any, chairs: Chairs, is_common: bool, learn: bool) -> list[CArray]:
    """Return what is cached; mean and power of a model that learns follow from its sums at once."""
    n = _GAUSSIANS
    cached = [
        chairs.predictive("weight", n, part.width, "c / (2 (b + blur) (c + 1))"),
        chairs.predictive("peak", n, part.constant, "log density at the mean"),
    ]
    if learn:
        return cached
    mean = chairs.predictive("mean", n, part.centre, "posterior mean m, from the prior mean")
    power = part.power[:1] if is_common else part.power
    return [mean, *cached, chairs.predictive("power", "1" if is_common else n, power, "a + 1/2")]


def _place(place: np.ndarray, n: str) -> CArray:
    return CArray("place", n, np.asarray(place), "which cell of an encoded row", is_whole=True)


def moments(bank: Bank, chairs: Chairs, n: str, length: str) -> list[CArray]:
    """Return n, sums and sums of squares, with their rounding errors."""
    return [
        chairs.sums("n", n, bank.n, "cells" if n == length else "rows"),
        chairs.sums("sum", length, bank.sum_high, "sum of x, from the prior mean, ..."),
        chairs.sums("sum_low", length, bank.sum_low, "... and what it lost to rounding"),
        chairs.sums("square", length, bank.second_high, "sum of x^2 ..."),
        chairs.sums("square_low", length, bank.second_low, "... and what it lost to rounding"),
    ]


def level(parts: list[Any], chairs: Chairs, learn: bool) -> Kind:
    """Return columns of levels; those of a model that does not learn may have an order."""
    lengths = np.concatenate([np.diff(part.prior.first) for part in parts])
    chance = np.concatenate([part.log_chance for part in parts])
    return Kind(
        "level",
        {_LEVEL_COLUMNS: len(lengths), LEVELS: int(lengths.sum())},
        _level_prior([part.prior for part in parts], lengths, learn),
        [chairs.predictive("log_chance", LEVELS, chance, "log probability of each level")],
        [
            chairs.sums("n", _LEVEL_COLUMNS, parts[0].n, "cells"),
            chairs.sums("tally", LEVELS, parts[0].tally, "cells at each level"),
        ],
        (),
        (),
        ("gamma",),
    )


def _level_prior(priors: list[Any], lengths: np.ndarray, learn: bool) -> list[CArray]:
    first = np.concatenate([[0], np.cumsum(lengths)])
    constants = [
        _place(np.concatenate([prior.place for prior in priors]), _LEVEL_COLUMNS),
        CArray("first", f"{_LEVEL_COLUMNS} + 1", first, "where a column's levels begin", is_whole=True),
    ]
    if learn:
        constants += [
            CArray("pseudo_count", LEVELS, priors[0].concentration, "prior count of each level"),
            CArray("total", _LEVEL_COLUMNS, priors[0].total, "prior count of a column"),
        ]
    return constants


def poisson(part: Any, chairs: Chairs, learn: bool) -> Kind:
    """Return columns of Poisson counts."""
    n, prior = "MAPDP_POISSONS", part.prior
    rate = prior.rate[:, None] + part.n
    priors = [CArray("shape", n, prior.shape, "of the Gamma prior"), CArray("rate", n, prior.rate, "of it")]
    return Kind(
        "poisson",
        {n: len(prior.place)},
        [_place(prior.place, n), *(priors if learn else [])],
        [
            chairs.predictive("shape", n, part.centre, "of the posterior"),
            chairs.predictive("rate", n, rate, "of the posterior"),
            chairs.predictive("log_none", n, part.constant, "log probability of 0"),
        ],
        _totals(part, chairs, n),
        ("log1p", "gamma", "exact", "large_counts"),
        ("exact_sums",),
        (),
    )


def _totals(part: Any, chairs: Chairs, n: str) -> list[CArray]:
    """Return n, totals, and what counts add to the joint wherever their rows sit."""
    return [
        chairs.sums("n", n, part.n, "cells"),
        chairs.sums("total", n, part.sum_high, "sum of the counts ..."),
        chairs.sums("total_low", n, part.sum_low, "... and what it lost to rounding"),
        chairs.sums("orders", n, part.second_high, "log number of orders of what was counted ..."),
        chairs.sums("orders_low", n, part.second_low, "... and what it lost to rounding"),
    ]


def waiting(part: Any, chairs: Chairs, learn: bool) -> Kind:
    """Return columns of failures before a fixed number of successes."""
    n, prior = "MAPDP_WAITINGS", part.prior
    successes = CArray("successes", n, prior.successes[0], "that are waited for")
    priors = [
        CArray("success", n, prior.success, "prior count of successes"),
        CArray("failure", n, prior.failure, "prior count of failures"),
    ]
    none = np.array([part.log_chance[first] for first in prior.first[:-1]])
    return Kind(
        "waiting",
        {n: len(prior.place)},
        [_place(prior.place, n), successes, *(priors if learn else [])],
        [
            chairs.predictive("success", n, part.centre, "posterior count of successes"),
            chairs.predictive("failure", n, part.width, "posterior count of failures"),
            chairs.predictive("log_none", n, none, "log probability of 0"),
        ],
        _totals(part, chairs, n),
        ("log1p", "gamma", "exact", "large_counts"),
        ("exact_sums",),
        (),
    )
