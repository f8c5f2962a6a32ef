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
from mapdp.family import SCALE_HINT, Family, Parameters
from mapdp.special import log_rising

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
class _Trials(Family):
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

    def sample_parameters(self, n: int, rng: np.random.Generator) -> Parameters:
        """Draw the chances of success of n clusters."""
        return (rng.beta(self.success, self.failure, size=(n, self.n_features)),)


class Binomial(_Trials):
    """Columns of successes among a fixed number of trials, independent within a cluster.

    Parameters
    ----------
    success, failure : arrays of shape (D,)
        Pseudo-counts: the two parameters of a Beta prior.
    trials : array of shape (D,)
        Number of trials of a cell.

    Examples
    --------
    >>> family = Binomial(success=[1.0], failure=[1.0], trials=[4])
    >>> round(float(np.exp(family.log_marginal([[2]]))), 6)  # all five counts are equally probable
    0.2
    """

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0) -> Self:
        """The largest count of a column is its number of trials; one pseudo-count, shared as in the data.

        `scale` is that pseudo-count: smaller values look for purer clusters.
        """
        X = _checked(np.asarray(X, dtype=np.float64), None)
        trials = np.maximum(X.max(axis=0), 1.0)
        share = (X.sum(axis=0) + 1.0) / (len(X) * trials + 2.0)
        weight = checks.positive("scale", scale, SCALE_HINT)
        return cls(weight * share, weight * (1.0 - share), trials)

    def encode(self, X: np.ndarray, names: Names = None) -> np.ndarray:
        """Check that all cells are counts up to the number of trials."""
        rows = np.ascontiguousarray(_checked(X, names), dtype=np.float64)
        hint = "raise trials, or use Poisson for counts without a limit."
        checks.every_cell(rows, rows <= self.trials, "Binomial columns must not exceed trials", hint, names)
        return rows

    def _counted(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        zero, one = np.zeros(self.n_features), np.ones(self.n_features)
        return np.stack([zero, one]), np.stack([self.trials, -one]), np.stack([self.trials + 1.0, -one])

    def summary(self) -> dict[str, np.ndarray]:
        """Return mean and variance of the predictive."""
        both = self.success + self.failure
        chance = self.success / both
        spread_ = self.trials * chance * (1.0 - chance) * (both + self.trials) / (both + 1.0)
        return {"mean": self.trials * chance, "variance": spread_}

    def sample_rows(self, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
        """Draw one row for each drawn cluster."""
        return rng.binomial(self.trials.astype(np.int64), parameters[0]).astype(np.float64)


class NegativeBinomial(_Trials):
    """Columns of failures before a fixed number of successes, independent within a cluster.

    Counts that vary more than a Poisson's: the variance is the mean plus its square over `trials`.

    Parameters
    ----------
    success, failure : arrays of shape (D,)
        Pseudo-counts: the two parameters of a Beta prior.
    trials : array of shape (D,)
        Number of successes that are waited for; need not be whole.

    Examples
    --------
    >>> family = NegativeBinomial(success=[1.0], failure=[1.0], trials=[1.0])
    >>> round(float(np.exp(family.log_marginal([[0]]))), 6)
    0.5
    """

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0) -> Self:
        """The successes that explain how a column varies, and a prior around the chance that they imply.

        Clusters vary less than the whole table, so up to 4 successes are waited for even where fewer
        would explain it. `scale` multiplies the pseudo-counts (two in all): smaller values let clusters
        differ more.
        """
        X = _checked(np.asarray(X, dtype=np.float64), None)
        mean, beyond = X.mean(axis=0), np.maximum(X.var(axis=0) - X.mean(axis=0), 1e-3)
        return cls._around(X, np.clip(mean**2 / beyond, 4.0, 100.0), scale)

    @classmethod
    def _around(cls, X: np.ndarray, trials: np.ndarray, scale: float) -> Self:
        """Return a vague prior around the chance that the sample mean implies."""
        successes, failures = len(X) * trials + 0.5, X.sum(axis=0) + 0.5
        chance = successes / (successes + failures)
        weight = 2.0 * checks.positive("scale", scale, SCALE_HINT)
        return cls(weight * chance, weight * (1.0 - chance), trials)

    def encode(self, X: np.ndarray, names: Names = None) -> np.ndarray:
        """Check that all cells are counts."""
        return np.ascontiguousarray(_checked(X, names), dtype=np.float64)

    def _counted(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        zero, one = np.zeros(self.n_features), np.ones(self.n_features)
        return np.stack([self.trials, zero]), np.stack([zero, one]), np.stack([self.trials, zero])

    def summary(self) -> dict[str, np.ndarray]:
        """Return mean and variance of the predictive (infinite where the prior is too vague)."""
        room = np.maximum(self.success - 1.0, 0.0)
        more = np.maximum(self.success - 2.0, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = self.trials * self.failure / room
            spread_ = mean * (self.trials + room) * (self.failure + room) / (room * more)
        return {"mean": mean, "variance": np.where(more > 0.0, spread_, np.inf)}

    def sample_rows(self, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
        """Draw one row for each drawn cluster."""
        chance = np.maximum(parameters[0], 1e-12)  # a chance of nothing waits for ever
        return rng.negative_binomial(self.trials, chance).astype(np.float64)


class Geometric(NegativeBinomial):
    """Columns of failures before the first success, independent within a cluster.

    Parameters
    ----------
    success, failure : arrays of shape (D,)
        Pseudo-counts: the two parameters of a Beta prior.

    Examples
    --------
    >>> family = Geometric(success=[1.0], failure=[1.0])
    >>> round(float(np.exp(family.log_marginal([[2]]))), 6)  # 1 / ((2 + 1) (2 + 2))
    0.083333
    """

    def __init__(self, success: np.ndarray, failure: np.ndarray, trials: object = 1.0) -> None:
        super().__init__(success, failure, np.ones_like(trials, dtype=np.float64))

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0) -> Self:
        """A prior around the chance that the sample mean implies.

        `scale` multiplies the pseudo-counts (two in all): smaller values let clusters differ more.
        """
        X = _checked(np.asarray(X, dtype=np.float64), None)
        return cls._around(X, np.ones(X.shape[1]), scale)


def _checked(X: np.ndarray, names: Names) -> np.ndarray:
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
def pour(bank, k, other, j):
    bank.n[k] += other.n[j]
    bank.log_orders[k] += other.log_orders[j]
    for d in range(bank.total.shape[0]):
        bank.total[d, k] += other.total[d, j]


@family.refresh.on(TrialsBank)
def refresh(bank, k):
    prior, n = bank.prior, bank.n[k]
    for j in range(bank.total.shape[0]):
        total = bank.total[j, k]
        bank.success[j, k] = prior.success[j] + n * prior.successes[0, j] + prior.successes[1, j] * total
        bank.failure[j, k] = prior.failure[j] + n * prior.failures[0, j] + prior.failures[1, j] * total


@inlined
def _log_beta_step(success, failure, more_success, more_failure):
    """Return log B(a + s, b + f) - log B(a, b)."""
    both = log_rising(success + failure, more_success + more_failure)
    return log_rising(success, more_success) + log_rising(failure, more_failure) - both


@family.log_predictive.on(TrialsBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    shared = _log_orders(bank, x)
    for k in range(0, n_chairs, LANES):
        total = load(scores, k) + spread(shared)
        for j in range(x.shape[0]):
            s, f = _linear(bank.prior.successes, j, x[j]), _linear(bank.prior.failures, j, x[j])
            total += _log_beta_step(load(bank.success[j], k), load(bank.failure[j], k), s, f)
        store(scores, k, total)


@family.log_leave_one_out.on(TrialsBank)
def log_leave_one_out(bank, k, x):
    total = _log_orders(bank, x)
    for j in range(x.shape[0]):
        s, f = _linear(bank.prior.successes, j, x[j]), _linear(bank.prior.failures, j, x[j])
        total += _log_beta_step(bank.success[j, k] - s, bank.failure[j, k] - f, s, f)
    return total


@family.log_marginal.on(TrialsBank)
def log_marginal(bank, k):
    total, prior, n = bank.log_orders[k], bank.prior, bank.n[k]
    for j in range(bank.total.shape[0]):
        s = n * prior.successes[0, j] + prior.successes[1, j] * bank.total[j, k]
        f = n * prior.failures[0, j] + prior.failures[1, j] * bank.total[j, k]
        total += _log_beta_step(prior.success[j], prior.failure[j], s, f)
    return total
