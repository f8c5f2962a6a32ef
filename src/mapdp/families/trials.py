"""Knows clusters of counts from trials with one chance of success, under Beta priors on the chance.

The one idea: a cell tells of successes and of failures, both linear in its count; what comes before them
(how many orders there are) depends on the count alone. So one bank serves the binomial, whose trials are
fixed, and the negative binomial and geometric, whose successes are.
"""

import dataclasses
from typing import NamedTuple, Self

import numpy as np

from mapdp import checks, family
from mapdp._jit import inlined
from mapdp._lanes import LANES, load, spread, store
from mapdp.checks import Names
from mapdp.families.cells import REMEMBERED, TRIALS, Cell, Sums
from mapdp.family import Family, Parameters
from mapdp.special import log_beta_step, log_rising

_CHANCE_HINT = "1.0 makes all chances equally probable."


class Prior(NamedTuple):
    """Hyperparameters, and how a count tells of successes and failures."""

    success: np.ndarray  # (D,)
    failure: np.ndarray  # (D,)
    successes: np.ndarray  # (2, D) of a cell: the first row, plus the second times the count
    failures: np.ndarray  # (2, D)
    orders: np.ndarray  # (2, D) a cell has gamma(order + count) / (gamma(order) count!) of them


class TrialsBank(NamedTuple):
    """What the clusters know."""

    prior: Prior
    n: np.ndarray  # (K,) rows
    total: np.ndarray  # (D, K) sum of the counts
    log_orders: np.ndarray  # (K,) of all rows
    success: np.ndarray  # (D, K) posterior pseudo-counts
    failure: np.ndarray  # (D, K)


@dataclasses.dataclass(frozen=True, eq=False)
class Trials(Family):
    """What the families of trials share."""

    success: np.ndarray
    failure: np.ndarray
    trials: np.ndarray

    def __post_init__(self) -> None:
        success = checks.positive_vector("success", self.success, _CHANCE_HINT)
        failure = checks.positive_vector("failure", self.failure, _CHANCE_HINT)
        trials = checks.positive_vector("trials", self.trials, "say how many, one number per column.")
        for name, values in zip(
            ("success", "failure", "trials"), np.broadcast_arrays(success, failure, trials), strict=True
        ):
            object.__setattr__(self, name, np.array(values))

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return len(self.success)

    def _counted(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return how successes, failures and orders follow from a count."""
        raise NotImplementedError

    def new_bank(self, capacity: int) -> TrialsBank:
        """Return the arrays of a bank with `capacity` chairs."""
        row, table = (capacity,), (self.n_features, capacity)
        prior = Prior(self.success, self.failure, *self._counted())
        return TrialsBank(prior, *[np.zeros(shape) for shape in (row, table, row, table, table)])

    def posterior(self, bank: TrialsBank, k: int) -> Self:
        """Return the family whose prior is what chair k knows."""
        return dataclasses.replace(self, success=bank.success[:, k], failure=bank.failure[:, k])

    @property
    def cell(self) -> Cell:
        """Return the prior of the one column."""
        rules = np.concatenate([rule[:, 0] for rule in self._counted()])
        numbers = (float(self.success[0]), float(self.failure[0]), *rules.tolist())
        return Cell(TRIALS, numbers, np.zeros(int(min(self._most(), REMEMBERED))))

    def _most(self) -> float:
        """Return how many different counts the one column can have."""
        return np.inf

    def sums(self, bank: TrialsBank, k: int) -> list[Sums]:
        """Return what each column of chair k knows, but for orders."""
        return [Sums(bank.n[k], total) for total in bank.total[:, k]]

    def learned(self, sums: Sums) -> Self:
        """Return the family of one column after n cells."""
        successes, failures, _ = self._counted()
        return dataclasses.replace(
            self,
            success=self.success + sums.n * successes[0] + successes[1] * sums.total,
            failure=self.failure + sums.n * failures[0] + failures[1] * sums.total,
        )

    def sample_parameters(self, n: int, rng: np.random.Generator) -> Parameters:
        """Draw the chances of success of n clusters."""
        return (rng.beta(self.success, self.failure, size=(n, self.n_features)),)


def checked_counts(X: np.ndarray, names: Names) -> np.ndarray:
    """Return X, or say which cell is not a count."""
    checks.finite(X, names)
    hint = "use DiagonalGaussian for measurements."
    checks.every_cell(
        X, (X >= 0) & (np.floor(X) == X), "counts must be whole numbers from 0 up", hint, names
    )
    return X


@inlined
def _linear(rule, j, count):
    """Return what a count tells, by a rule of the prior."""
    return rule[0, j] + rule[1, j] * count


@inlined
def _log_orders(bank, x):
    """Return the log number of orders in which the trials of a row may have come."""
    total = 0.0
    for j in range(x.shape[0]):
        if x[j] > 0.0:
            total += log_rising(_linear(bank.prior.orders, j, x[j]), x[j]) - log_rising(1.0, x[j])
    return total


@family.clear.on(TrialsBank)
def clear(bank, k):
    bank.n[k] = 0.0
    bank.log_orders[k] = 0.0
    for j in range(bank.total.shape[0]):
        bank.total[j, k] = 0.0


@inlined
def _count(bank, k, x, sign):
    """Add a row to the totals of chair k (+1) or take it off (-1)."""
    bank.n[k] += sign
    bank.log_orders[k] += sign * _log_orders(bank, x)
    for j in range(x.shape[0]):
        bank.total[j, k] += sign * x[j]


@family.insert.on(TrialsBank)
def insert(bank, k, x):
    _count(bank, k, x, 1.0)


@family.remove.on(TrialsBank)
def remove(bank, k, x):
    _count(bank, k, x, -1.0)


@family.pour.on(TrialsBank)
def pour(bank, k, other, j, times):
    bank.n[k] += times * other.n[j]
    bank.log_orders[k] += times * other.log_orders[j]
    for d in range(bank.total.shape[0]):
        bank.total[d, k] += times * other.total[d, j]


@family.refresh.on(TrialsBank)
def refresh(bank, k):
    prior, n = bank.prior, bank.n[k]
    for j in range(bank.total.shape[0]):
        total = bank.total[j, k]
        bank.success[j, k] = prior.success[j] + n * prior.successes[0, j] + prior.successes[1, j] * total
        bank.failure[j, k] = prior.failure[j] + n * prior.failures[0, j] + prior.failures[1, j] * total


@family.log_predictive.on(TrialsBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    shared = _log_orders(bank, x)
    for k in range(0, n_chairs, LANES):
        total = load(scores, k) + spread(shared)
        for j in range(x.shape[0]):
            s, f = _linear(bank.prior.successes, j, x[j]), _linear(bank.prior.failures, j, x[j])
            total += log_beta_step(load(bank.success[j], k), load(bank.failure[j], k), s, f)
        store(scores, k, total)


@family.log_leave_one_out.on(TrialsBank)
def log_leave_one_out(bank, k, x):
    total = _log_orders(bank, x)
    for j in range(x.shape[0]):
        s, f = _linear(bank.prior.successes, j, x[j]), _linear(bank.prior.failures, j, x[j])
        total += log_beta_step(bank.success[j, k] - s, bank.failure[j, k] - f, s, f)
    return total


@family.log_marginal.on(TrialsBank)
def log_marginal(bank, k):
    total, prior, n = bank.log_orders[k], bank.prior, bank.n[k]
    for j in range(bank.total.shape[0]):
        s = n * prior.successes[0, j] + prior.successes[1, j] * bank.total[j, k]
        f = n * prior.failures[0, j] + prior.failures[1, j] * bank.total[j, k]
        total += log_beta_step(prior.success[j], prior.failure[j], s, f)
    return total
