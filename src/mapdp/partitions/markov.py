"""The prior of a state sequence whose number of states is not known: a franchise of transitions.

The restaurant of a row is the state before it, and its dish is its own state, so each state has transition
probabilities of its own and all share what states there are (a hierarchical Dirichlet process hidden Markov
model). The first rows of all sequences are in a restaurant of their own, restaurant 0; that of state j is
restaurant j + 1.

A state that likes to stay has a table dish of the house (Fox et al. 2011): whoever opens a table in the
restaurant of state j gets dish j with the weight `stickiness`, and a dish of the franchise with the weight
alpha. Tables with the dish of the house do not count among those of the franchise.
"""

import dataclasses
from typing import Self

import numpy as np
from scipy.optimize import minimize_scalar

from mapdp.data import checks
from mapdp.partitions.concentration import AlphaPrior
from mapdp.partitions.hierarchical import Counts, HierarchicalProcess, most_probable

START = 0  # restaurant of the first rows
_LOG_ALPHAS = (-15.0, 15.0)  # between which a logarithm of alpha is looked for


def restaurants(states: np.ndarray, is_first: np.ndarray) -> np.ndarray:
    """Return the restaurant of each row: the state before, or that of first rows."""
    before = np.append(states[-1:], states[:-1])
    return np.where(is_first, START, before + 1)


def at_home(counts: Counts) -> Counts:
    """Return the counts if all tables of rows that stay in their state had the dish of the house."""
    staying = np.zeros_like(counts.own)
    n = counts.own.shape[1]
    states = np.arange(n)
    staying[states + 1, states] = counts.tables[states + 1, states]
    return counts._replace(tables=counts.tables - staying, own=counts.own + staying)


@dataclasses.dataclass(frozen=True)
class MarkovProcess(HierarchicalProcess):
    """The prior over seatings of transitions.

    Parameters
    ----------
    alpha, gamma : float
        As in `HierarchicalProcess`.
    stickiness : float
        Extra weight of staying in a state; 0 for none.

    Examples
    --------
    >>> process = MarkovProcess(alpha=1.0, gamma=1.0, stickiness=2.0)
    >>> stay = process.log_prior_of_states([0, 0], [True, False], [0, 0], is_own=[False, True])
    >>> float(np.exp(stay).round(6))  # the only table of a new state, and its dish is that of the house
    0.666667
    """

    stickiness: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.stickiness(self.stickiness)

    def log_prior_of_states(
        self, states: object, is_first: object, tables: object, is_own: object
    ) -> float:
        """Return the log probability of states whose rows sit at these tables.

        `is_own` says which rows sit at a table with the dish of the house.
        """
        labels, first = np.asarray(states), np.asarray(is_first)
        seats = np.column_stack(
            [restaurants(labels, first), np.asarray(tables), labels, np.asarray(is_own)]
        )
        found, sizes = np.unique(seats, axis=0, return_counts=True)
        totals = np.bincount(seats[:, 0], minlength=labels.max() + 2)
        ours = found[:, 3] == 1
        opened = (~ours).sum() * np.log(self.alpha) + (
            ours.sum() * np.log(self.stickiness) if ours.any() else 0
        )
        dish_tables = np.bincount(found[~ours, 2])
        return float(opened + self._log_rest(sizes, totals, self.concentrations(len(totals)), dish_tables))

    def log_opened(self, counts: Counts) -> float:
        """Return the log weight of opening all tables."""
        n_own = counts.own.sum()
        return super().log_opened(counts) + (float(n_own * np.log(self.stickiness)) if n_own else 0.0)

    def concentrations(self, n_restaurants: int) -> np.ndarray:
        """Return the concentration of each restaurant; nobody stays where all begin."""
        concentration = np.full(n_restaurants, self.alpha + self.stickiness)
        concentration[START] = self.alpha
        return concentration

    def log_weights(self, counts: Counts) -> np.ndarray:
        """Return the log probability of each state after each one, a new state last in both directions.

        The first row is for the beginning of a sequence.
        """
        n_states = counts.customers.shape[1]
        served = np.append(counts.n_dish_tables, self.gamma) / (counts.tables.sum() + self.gamma)
        weights = np.zeros((len(counts.customers) + 1, n_states + 1)) + self.alpha * served
        weights[:-1, :-1] += counts.customers
        weights[1:] += self.stickiness * np.eye(n_states + 1)
        with np.errstate(divide="ignore"):  # the chance of a new one may be too small for a float
            return np.log(weights / weights.sum(axis=1, keepdims=True))

    def learned(
        self, counts: Counts, alpha_prior: AlphaPrior | None, gamma_prior: AlphaPrior | None
    ) -> Self:
        """Return the process whose alpha and gamma are most probable beside this stickiness."""
        known = super().learned(counts, None, gamma_prior)
        if alpha_prior is None:
            return known

        def loss(u: float) -> float:
            process = dataclasses.replace(known, alpha=float(np.exp(u)))
            return -process.log_prior_of(counts) - alpha_prior.log_density(process.alpha)

        best = minimize_scalar(loss, bounds=_LOG_ALPHAS, method="bounded")
        return dataclasses.replace(known, alpha=float(np.exp(best.x)))

    def learned_stickiness(self, counts: Counts, prior: AlphaPrior) -> "MarkovProcess":
        """Return the process with an alpha and a stickiness that are most probable, or nearly so.

        `prior` is that of alpha + stickiness, see `log_density_of_share`. What the few first rows say about
        alpha is left out.
        """
        n_own, n_shared = int(counts.own.sum()), int(counts.tables[START + 1 :].sum())
        both = most_probable(counts.customers.sum(axis=1)[START + 1 :], n_own + n_shared, prior)
        share = (n_own + 0.5) / (n_own + n_shared + 1.0)
        return dataclasses.replace(self, alpha=both * (1.0 - share), stickiness=both * share)

    @property
    def log_density_of_share(self) -> float:
        """Return the log density of stickiness / (alpha + stickiness) under Beta(3/2, 3/2), its prior."""
        share = self.stickiness / (self.alpha + self.stickiness)
        return 0.5 * float(np.log(share * (1.0 - share))) + float(np.log(8.0 / np.pi))
