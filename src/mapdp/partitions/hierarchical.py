"""The hierarchical Dirichlet process: groups share clusters, and each has proportions of its own.

It is seated as a Chinese restaurant franchise. A group is a restaurant, its rows sit at tables, and each
table has a dish: the cluster of its rows. Rows choose tables as in a Dirichlet process with `alpha`, tables
of all restaurants choose dishes as in one with `gamma`, so the prior is a product of two kinds of EPPF.

Rows of one restaurant with one dish are alike to the prior, but for the sizes of their tables, and the log
gamma function is convex: for a given number of tables it is best that one of them is large and the others
have one row each. So the best seating of a partition is known from numbers of rows and tables alone, and a
search keeps no more than these (`Counts`).
"""

import dataclasses
from typing import NamedTuple, Self

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, gammaln

from mapdp.compiled.special import log_rising
from mapdp.data import checks
from mapdp.partitions.concentration import AlphaPrior

_FARTHEST = 60.0  # |log alpha|: no table is large enough to distinguish values beyond


class Counts(NamedTuple):
    """Who sits where, as far as the prior asks: one table is large, the others have one row each."""

    customers: np.ndarray  # (R, K) rows of each restaurant with each dish
    tables: np.ndarray  # (R, K) their tables with a dish of the franchise
    own: np.ndarray  # (R, K) their tables with a dish of the house, see `MarkovProcess`

    @property
    def n_restaurant_tables(self) -> np.ndarray:
        """Return the number of tables in each restaurant whose dish is the franchise's."""
        return self.tables.sum(axis=1)

    @property
    def n_dish_tables(self) -> np.ndarray:
        """Return the number of tables with each dish."""
        return self.tables.sum(axis=0)

    def table_sizes(self) -> list[tuple[int, int, int]]:
        """Return restaurant, dish and rows of every table."""
        n_tables = self.tables + self.own
        found = []
        for r, k in zip(*np.nonzero(self.customers), strict=True):
            n = int(n_tables[r, k])
            found += [(int(r), int(k), int(self.customers[r, k]) - n + 1)] + [(int(r), int(k), 1)] * (n - 1)
        return found


@dataclasses.dataclass(frozen=True)
class HierarchicalProcess:
    """The prior over seatings in a franchise.

    Parameters
    ----------
    alpha : float
        Concentration of each group: larger values favour more clusters in a group.
    gamma : float
        Concentration of the dishes: larger values favour clusters that groups do not share.

    Examples
    --------
    >>> process = HierarchicalProcess(alpha=1.0, gamma=1.0)
    >>> apart = process.log_prior([0, 1], tables=[0, 1], dishes=[0, 1])
    >>> shared = process.log_prior([0, 1], tables=[0, 1], dishes=[0, 0])
    >>> round(float(np.exp(apart)), 9), round(float(np.exp(shared)), 9)  # two groups of a row: all there is
    (0.5, 0.5)
    """

    alpha: float
    gamma: float

    def __post_init__(self) -> None:
        checks.positive("alpha", self.alpha, "small alpha gives few clusters in a group; try 1.0.")
        checks.positive("gamma", self.gamma, "small gamma gives few clusters in all; try 1.0.")

    def log_prior(self, groups: object, tables: object, dishes: object) -> float:
        """Return the log probability that rows sit at these tables, with these dishes.

        Tables have any whole numbers for names; rows of two groups never share one.
        """
        seats = np.column_stack([np.asarray(part) for part in (groups, tables, dishes)])
        found, sizes = np.unique(seats, axis=0, return_counts=True)
        customers = np.unique(seats[:, 0], return_counts=True)[1]
        dish_tables = np.unique(found[:, 2], return_counts=True)[1]
        concentration = np.full(len(customers), self.alpha)
        opened = len(found) * np.log(self.alpha)
        return float(opened + self._log_rest(sizes, customers, concentration, dish_tables))

    def log_prior_of(self, counts: Counts) -> float:
        """Return the same for tables of which one is large, and the others have one row each."""
        n_tables, there = counts.tables + counts.own, counts.customers > 0
        sizes = (counts.customers - n_tables + 1)[there]
        totals, dish_tables = counts.customers.sum(axis=1), counts.n_dish_tables
        opened = self.log_opened(counts)
        return float(opened + self._log_rest(sizes, totals, self.concentrations(len(totals)), dish_tables))

    def log_opened(self, counts: Counts) -> float:
        """Return the log weight of opening all tables."""
        return float(counts.tables.sum() * np.log(self.alpha))

    def concentrations(self, n_restaurants: int) -> np.ndarray:
        """Return the concentration of each restaurant."""
        return np.full(n_restaurants, self.alpha)

    def _log_rest(
        self, sizes: np.ndarray, totals: np.ndarray, concentration: np.ndarray, dish_tables: np.ndarray
    ) -> float:
        """Return the log weight of rows that join tables and tables that choose dishes."""
        served = dish_tables[dish_tables > 0]
        ordered = len(served) * np.log(self.gamma) + gammaln(served).sum()
        concentrations = np.append(concentration, self.gamma)
        log_norm = log_rising(concentrations, np.append(totals, served.sum()).astype(np.float64)).sum()
        return float(gammaln(sizes).sum() + ordered - log_norm)

    def log_weights(self, counts: Counts) -> np.ndarray:
        """Return the log probability of each dish for the next row of each restaurant, a new dish last.

        One more restaurant is added at the end: one that nobody has been to.
        """
        served = np.append(counts.n_dish_tables, self.gamma) / (counts.tables.sum() + self.gamma)
        customers = np.pad(counts.customers, ((0, 1), (0, 1))).astype(np.float64)
        weights = customers + self.alpha * served
        with np.errstate(divide="ignore"):  # the chance of a new one may be too small for a float
            return np.log(weights / weights.sum(axis=1, keepdims=True))

    def learned(
        self, counts: Counts, alpha_prior: AlphaPrior | None, gamma_prior: AlphaPrior | None
    ) -> Self:
        """Return the process with the most probable concentrations of a seating; None is for known ones."""
        alpha, gamma = self.alpha, self.gamma
        if alpha_prior is not None:
            alpha = most_probable(counts.customers.sum(axis=1), int(counts.tables.sum()), alpha_prior)
        if gamma_prior is not None:
            served = counts.n_dish_tables
            gamma = most_probable(served.sum()[None], int(np.count_nonzero(served)), gamma_prior)
        return dataclasses.replace(self, alpha=alpha, gamma=gamma)


def most_probable(totals: np.ndarray, n_opened: int, prior: AlphaPrior) -> float:
    """Return the mode of the density of log alpha, given tables opened in restaurants of these sizes."""
    totals = totals[totals > 0]

    def slope(u: float) -> float:
        alpha = np.exp(u)
        return (
            prior.slope(alpha) + n_opened - alpha * float((digamma(alpha + totals) - digamma(alpha)).sum())
        )

    if slope(_FARTHEST / 4) > 0.0:  # 3 million: as good as infinite
        return float(np.exp(_FARTHEST / 4))
    return float(np.exp(brentq(slope, -_FARTHEST, _FARTHEST / 4, xtol=1e-12)))
