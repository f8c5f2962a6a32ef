"""Knows what one cell adds to a cluster, by the kind of its column, and what a cluster makes of a cell.

The one idea: kinds are numbers that are looked up as the program runs, not types that are compiled in.
So one compiled sweep serves every table, whatever its columns; and as each column counts its own cells, a
gap adds nothing anywhere.

Statistics of a column are a count of cells n, an exact sum s (and what it lost, e), an exact second sum q
(and r): of squares for bells, of log orders for counts. Levels are tallied instead.
"""

from typing import NamedTuple

import numpy as np

from mapdp._lanes import whole_lanes

BELL = 0  # Gaussian, mean and variance unknown; numbers: strength, shape, rate
FIXED_BELL = 1  # Gaussian of known variance; numbers: strength, variance
WAIT = 2  # exponential; numbers: shape, rate
COUNT = 3  # Poisson; numbers: shape, rate
TRIALS = 4  # numbers: success, failure, then two each for successes, failures, orders of a count
LEVELS = 5  # categorical: pseudo-counts
ORDERED = 6  # levels in order: a grid of curves over them

N_NUMBERS = 8
REMEMBERED = 20  # counts below this have their log probability kept, as if they were levels

NOTHING = np.empty(0)


class Cell(NamedTuple):
    """The prior of one column, in the form that the loops read."""

    kind: int
    numbers: tuple[float, ...] = ()
    pseudo: np.ndarray = NOTHING  # (L,) pseudo-counts of levels; zeros where they have none
    curves: np.ndarray = np.empty((0, 0))  # (G, L) probability of each level on each curve
    log_weights: np.ndarray = NOTHING  # (G,) log prior probability of each curve


class Sums(NamedTuple):
    """What one column of a chair knows."""

    n: float  # cells
    total: float = 0.0  # sum of them
    second: float = 0.0  # of squares for bells, of log orders for counts
    tally: np.ndarray = NOTHING  # (L,) of levels


class Prior(NamedTuple):
    """The priors of all columns."""

    kind: np.ndarray  # (D,)
    numbers: np.ndarray  # (N_NUMBERS, D)
    first: np.ndarray  # (D + 1,) where a column's levels begin
    pseudo: np.ndarray  # (L,) pseudo-counts of all levels
    pseudo_total: np.ndarray  # (D,)
    curve: np.ndarray  # (D + 1,) where a column's curves begin
    log_weight: np.ndarray  # (G,) log prior probability of all curves
    height: np.ndarray  # (D + 1,) where the heights of a column's curves begin
    heights: np.ndarray  # (H,) probability of each level on each curve, curve after curve
    log_heights: np.ndarray  # (H,)


class CellBank(NamedTuple):
    """What the clusters know."""

    prior: Prior
    n: np.ndarray  # (D, K) cells
    sum_high: np.ndarray  # (D, K)
    sum_low: np.ndarray  # (D, K)
    second_high: np.ndarray  # (D, K)
    second_low: np.ndarray  # (D, K)
    tally: np.ndarray  # (L, K)
    log_chance: np.ndarray  # (L, K) log predictive probability of each level, and of small counts
    a: np.ndarray  # (D, K) what scoring reads of the other kinds: place
    b: np.ndarray  # (D, K) width
    power: np.ndarray  # (D, K)
    constant: np.ndarray  # (D, K)


def make_prior(cells: list[Cell]) -> Prior:
    """Lay the priors of columns side by side."""
    numbers = np.zeros((N_NUMBERS, len(cells)))
    for j, cell in enumerate(cells):
        numbers[: len(cell.numbers), j] = cell.numbers
    heights = np.concatenate([NOTHING, *[cell.curves.ravel() for cell in cells]])
    return Prior(
        kind=np.array([cell.kind for cell in cells], dtype=np.int64),
        numbers=numbers,
        first=_ends([len(cell.pseudo) for cell in cells]),
        pseudo=np.concatenate([NOTHING, *[cell.pseudo for cell in cells]]),
        pseudo_total=np.array([cell.pseudo.sum() for cell in cells]),
        curve=_ends([len(cell.log_weights) for cell in cells]),
        log_weight=np.concatenate([NOTHING, *[cell.log_weights for cell in cells]]),
        height=_ends([cell.curves.size for cell in cells]),
        heights=heights,
        log_heights=np.log(heights),
    )


def _ends(lengths: list[int]) -> np.ndarray:
    return np.cumsum([0, *lengths])


def make_bank(prior: Prior, capacity: int) -> CellBank:
    """Return the arrays of a bank with `capacity` chairs."""
    column, level = (len(prior.kind), capacity), (len(prior.pseudo), capacity)
    shapes = [column] * 5 + [level] * 2 + [column] * 4
    return CellBank(prior, *[np.zeros(shape) for shape in shapes])


def bank_of(prior: Prior, chairs: list[list[Sums]]) -> CellBank:
    """Return a bank in which chair k knows chairs[k]; its cached predictive is not worked out."""
    bank = make_bank(prior, whole_lanes(len(chairs)))
    for k, columns in enumerate(chairs):
        for j, (n, total, second, tally) in enumerate(columns):
            bank.n[j, k], bank.sum_high[j, k], bank.second_high[j, k] = n, total, second
            if len(tally):
                bank.tally[prior.first[j] : prior.first[j + 1], k] = tally
    return bank


def tallies_of(prior: Prior, tally: np.ndarray) -> list[np.ndarray]:
    """Return the tally of each column, nothing for columns that are not of levels."""
    parts = np.split(tally, prior.first[1:-1])
    return [part if kind >= LEVELS else NOTHING for part, kind in zip(parts, prior.kind, strict=True)]


def sums_of(bank: CellBank, k: int) -> list[Sums]:
    """Return what each column of chair k knows."""
    tallies = tallies_of(bank.prior, bank.tally[:, k])
    columns = zip(bank.n[:, k], bank.sum_high[:, k], bank.second_high[:, k], tallies, strict=True)
    return [Sums(*column) for column in columns]
