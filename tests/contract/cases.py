"""Every family and every process, with data to try them on. A new one is one row here."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from mapdp import (
    AnyLikelihood,
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    DiagonalGaussian,
    DirichletProcess,
    Exponential,
    FixedGaussian,
    Gamma,
    Gaussian,
    LinearRegression,
    LogNormal,
    Mixed,
    MixtureOfFiniteMixtures,
    Multinomial,
    NegativeBinomial,
    Ordered,
    PitmanYor,
    Poisson,
    Product,
    SharedGaussian,
    SphericalGaussian,
    StudentT,
    VonMises,
    Weibull,
    ZeroInflated,
    grid,
)
from mapdp.families.background import Background
from mapdp.families.base import Family


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    family: Family
    draw: Callable  # (rng, n) -> rows in two loose groups

    def rows(self, rng, n):
        return self.draw(rng, n)


def _real(rng, n):
    return rng.normal(size=(n, 3)) * [1.0, 2.0, 0.5] + 4.0 * rng.integers(0, 2, size=(n, 1))


def _binary(rng, n):
    group = rng.integers(0, 2, size=(n, 1))
    return (rng.random((n, 4)) < np.where(group == 1, 0.9, 0.2)).astype(float)


def _codes(rng, n):
    group = rng.integers(0, 2, size=(n, 1))
    return np.where(rng.random((n, 3)) < 0.8, 2 * group, rng.integers(0, 3, size=(n, 3))).astype(float)


def _counts(rng, n):
    return rng.poisson(np.where(rng.integers(0, 2, size=(n, 1)) == 1, 30.0, 2.0), (n, 2)).astype(float)


def _grades(rng, n):
    low = np.where(rng.integers(0, 2, size=(n, 1)) == 1, 0.1, 0.3)
    return np.minimum(rng.binomial([3, 2, 3], low, (n, 3)), 2).astype(float)


def _times(rng, n):
    return rng.exponential(np.where(rng.integers(0, 2, size=(n, 1)) == 1, 20.0, 0.5), (n, 2))


def _trials(rng, n):
    chance = np.where(rng.integers(0, 2, size=(n, 1)) == 1, 0.85, 0.2)
    return rng.binomial([6, 3, 20], chance, (n, 3)).astype(float)


def _mixed(rng, n):
    return np.hstack([_binary(rng, n)[:, :2], _real(rng, n)[:, :2], _counts(rng, n)[:, :1]])


DIAGONAL = DiagonalGaussian(mean=[1.0, 2.0, 0.0], strength=0.3, shape=1.5, rate=[1.0, 2.0, 0.5])
FULL = Gaussian(
    mean=[1.0, 2.0, 0.0],
    strength=0.4,
    dof=4.5,
    scale=[[2.0, 0.5, 0.1], [0.5, 3.0, -0.2], [0.1, -0.2, 1.0]],
)
BERNOULLI = Bernoulli(success=[0.5, 1.0, 2.0, 0.7], failure=[1.0, 0.5, 1.5, 0.9])
CATEGORICAL = Categorical(
    levels=[[0, 1, 2], [0, 1, 2], [2, 1, 0]],
    concentration=[[0.5, 0.2, 0.9], [1.0, 1.0, 1.0], [0.3, 0.3, 2.0]],
)
POISSON = Poisson(shape=[1.5, 0.7], rate=[0.2, 0.05])
MIXED = Product(
    [
        (Poisson(1.0, 0.1), [4]),
        (DiagonalGaussian([1.0, 0.0], 0.2, 1.0, [1.0, 2.0]), [3, 2]),
        (Bernoulli(1.0, 1.0), [0, 1]),
    ]
)

EXPONENTIAL = Exponential(shape=1.2, rate=[60.0, 25.0])
BINOMIAL = Binomial(success=[1.0, 0.5, 2.0], failure=[0.7, 1.0, 1.5], trials=[6, 3, 20])
NEGATIVE_BINOMIAL = NegativeBinomial(success=[1.5, 0.8], failure=[2.0, 5.0], trials=[2.5, 1.0])
FIXED = FixedGaussian(mean=[1.0, 2.0, 0.0], strength=0.2, variance=[1.0, 2.0, 0.5])

SPHERICAL = SphericalGaussian([1.0, 2.0, 0.0], 0.2, 1.5, 1.2, [1.0, 2.0, 0.5])
SHARED = SharedGaussian([1.0, 2.0, 0.0], 0.3, 1.5, FULL.scale, [0.5, 0.0, 0.2])
ORDERED = Ordered([[0, 1, 2, 3], [0, 1, 2], [4, 2, 1, 0]], width=1.2)
TABLE = Mixed(
    [
        *[
            dataclasses.replace(DIAGONAL.column(0), resolution=0.4),
            BINOMIAL.column(2),
            NEGATIVE_BINOMIAL.column(0),
            BERNOULLI.column(2),
        ],
        *[CATEGORICAL.column(2), ORDERED.column(1), DIAGONAL.column(1)],
    ]
)
RARE_TABLE = Mixed([FIXED.column(1), EXPONENTIAL.column(0), POISSON.column(1), DIAGONAL.column(0)])


def laplace(rows, parameters):
    """Two columns of Laplace noise around one centre: not conjugate to anything."""
    centre, width = parameters.T
    return -np.abs(rows[:, :, None] - centre).sum(axis=1) / width - 2.0 * np.log(2.0 * width)


def laplace_rows(parameters, rng):
    return rng.laplace(parameters[:, :1], parameters[:, 1:], size=(len(parameters), 2))


def _laplace(rng, n):
    return rng.laplace(4.0 * rng.integers(0, 2, size=(n, 1)), 0.7, size=(n, 2))


ANY = AnyLikelihood(
    laplace,
    grid([-3.0, 0.3], [7.0, 3.0], [11, 4]),
    np.tile(np.linspace(-2.0, 0.0, 4), 11),
    laplace_rows,
    n_columns=2,
)


def _table(rng, n):
    counts = [_trials(rng, n)[:, 2:], _counts(rng, n)[:, :1]]
    real = _real(rng, n)
    return np.hstack([real[:, :1], *counts, _binary(rng, n)[:, :1], _codes(rng, n)[:, :2], real[:, 1:2]])


def _gaps(rng, n):
    X = _table(rng, n)
    return np.where(rng.random(X.shape) < 0.3, np.nan, X)


BLOCK = Product(
    [
        (dataclasses.replace(FULL, resolution=[0.5, 0.0, 1.0]), [4, 0, 2]),
        (Mixed([BERNOULLI.column(2), CATEGORICAL.column(2)]), [1, 3]),
    ]
)


def _block(rng, n):
    """Measurements beside levels: some rows lack all of the former, levels are missing one by one."""
    real, levels = _real(rng, n), np.hstack([_binary(rng, n)[:, :1], _codes(rng, n)[:, :1]])
    real[rng.random(n) < 0.2] = np.nan
    levels[rng.random(levels.shape) < 0.3] = np.nan
    return np.column_stack([real[:, 1], levels[:, 0], real[:, 2], levels[:, 1], real[:, 0]])


FAMILIES = [
    Case("diagonal", DIAGONAL, _real),
    Case("full", FULL, _real),
    Case("bernoulli", BERNOULLI, _binary),
    Case("categorical", CATEGORICAL, _codes),
    Case("poisson", POISSON, _counts),
    Case("product", MIXED, _mixed),
    Case("exponential", EXPONENTIAL, _times),
    Case("binomial", BINOMIAL, _trials),
    Case("negative binomial", NEGATIVE_BINOMIAL, _counts),
    Case("fixed", FIXED, _real),
    Case("spherical", SPHERICAL, _real),
    Case("log-normal", LogNormal([1.0, -0.5], 0.3, 1.5, [1.0, 2.0]), _times),
    Case("ordered", ORDERED, _grades),
    Case("mixed", TABLE, _table),
    Case("gaps", TABLE, _gaps),
    Case("rounded", dataclasses.replace(DIAGONAL, resolution=[0.5, 0.0, 1.0]), _real),
    Case("rounded full", dataclasses.replace(FULL, resolution=[0.5, 0.0, 1.0]), _real),
    Case("rounded spherical", dataclasses.replace(SPHERICAL, resolution=[0.5, 0.0, 1.0]), _real),
    Case("shared", SHARED, _real),
    Case("candidates", ANY, _laplace),
    Case("block", BLOCK, _block),
]
GRID = Mixed(
    [
        StudentT([grid([-2.0, 0.5, 3.0], [6.0, 2.0, 5.0], [5, 2, 2])]),
        Gamma([grid([0.5, 1.0], [30.0, 8.0], [4, 3], log=True)], [np.linspace(-1.0, 0.0, 12)]),
        Weibull([grid([0.5, 0.7], [30.0, 4.0], [4, 3], log=True)]),
        Beta([grid([0.1, 2.0], [0.9, 20.0], [4, 3])]),
        VonMises([grid([-3.0, 0.5], [2.5, 9.0], [5, 2])]),
    ]
)


def _grid_table(rng, n):
    group, times = rng.integers(0, 2, size=(n, 1)), _times(rng, n)
    shares = rng.beta(np.where(group == 1, 8.0, 2.0), 4.0)
    return np.hstack([_real(rng, n)[:, :1], times, shares, rng.vonmises(3.0 * group, 4.0)])


def _documents(rng, n):
    shares = np.where(rng.integers(0, 2, size=(n, 1)) == 1, [0.7, 0.1, 0.1, 0.05, 0.05], 0.2)
    return rng.multinomial(20, shares).astype(float)


def _amounts(rng, n):
    """Amounts of which some are none: more of them, and smaller ones, in one of two groups."""
    group = rng.integers(0, 2, size=(n, 1))
    amount = rng.lognormal(np.where(group == 1, 2.0, 0.0), 0.7)
    return np.where(rng.random((n, 1)) < np.where(group == 1, 0.2, 0.6), 0.0, amount)


ZEROS = ZeroInflated(LogNormal([0.5], 0.3, 1.5, [1.0]), special=0.8, other=1.3)
ZEROS_IN_TABLE = Mixed(
    [
        ZeroInflated(Gamma([grid([0.5, 1.0], [30.0, 8.0], [4, 3], log=True)]), 2.0, 1.0),
        BERNOULLI.column(2),
        ZeroInflated(dataclasses.replace(DIAGONAL.column(1), resolution=0.4), 0.7, 1.2, value=-9.0),
        DIAGONAL.column(0),
    ]
)


def _amounts_in_table(rng, n):
    """A special value of -9 stands for none in the third column; cells are missing one by one."""
    real = _real(rng, n)
    coded = np.where(rng.random((n, 1)) < 0.3, -9.0, real[:, 1:2])
    X = np.hstack([_amounts(rng, n), _binary(rng, n)[:, :1], coded, real[:, :1]])
    return np.where(rng.random(X.shape) < 0.2, np.nan, X)


MORE = [  # whose verbs are tested; they share all else with those above
    Case("grid columns", GRID, _grid_table),
    Case("zero-inflated", ZEROS, _amounts),
    Case("zeros in a table", ZEROS_IN_TABLE, _amounts_in_table),
    Case("multinomial", Multinomial([0.5, 1.0, 2.0, 0.3, 1.0], total=20), _documents),
    Case("regression", LinearRegression([0.2, 1.0, 2.0], [1.0, 2.0, 1.0], 0.3, 1.5, 0.8), _real),
    Case(
        "background",
        Background.around(DIAGONAL, _real(np.random.default_rng(5), 50), np.arange(3) > 2),
        _real,
    ),
]
PROCESSES = {
    "dp": DirichletProcess(0.7),
    "pitman-yor": PitmanYor(0.7, 0.4),
    "flat": PitmanYor(25.0, 0.0),
    "mfm": MixtureOfFiniteMixtures(concentration=0.8, rate=1.5),
}

over_families = pytest.mark.parametrize("case", FAMILIES, ids=[case.name for case in FAMILIES])
over_likelihoods = pytest.mark.parametrize("case", FAMILIES + MORE, ids=[c.name for c in FAMILIES + MORE])
over_processes = pytest.mark.parametrize("process", PROCESSES.values(), ids=PROCESSES)
over_gaussians = pytest.mark.parametrize("case", FAMILIES[:2], ids=["diagonal", "full"])
