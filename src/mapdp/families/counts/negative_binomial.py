"""Counts of failures before a number of successes: they vary more than a Poisson's."""

from collections.abc import Sequence
from typing import Self

import numpy as np

from mapdp.data import checks
from mapdp.data.checks import Names
from mapdp.families.base import SCALE_HINT, Family, Parameters
from mapdp.families.columns import Sums, gathered
from mapdp.families.counts.learning import CountsSeen, learned_counts, log_hyperprior, log_mean_of
from mapdp.families.counts.trials import Trials, checked_counts


class NegativeBinomial(Trials):
    """Columns of failures before a fixed number of successes, independent within a cluster.

    Counts that vary more than a Poisson's: the variance is the mean plus its square over `trials`.

    Parameters
    ----------
    success, failure : arrays of shape (D,)
        Pseudo-counts: the two parameters of a Beta prior.
    trials : array of shape (D,)
        Number of successes that are waited for; need not be whole.

    Notes
    -----
    With `prior="learned"` all three are learned where the family is given and no cell is missing. As one
    of several kinds of columns, and where counts are inferred, it keeps the prior of `empirical`: learning
    makes counts more probable, but clusters multiply, agree less with known classes, and take longer.

    Examples
    --------
    >>> family = NegativeBinomial(success=[1.0], failure=[1.0], trials=[1.0])
    >>> round(float(np.exp(family.log_marginal([[0]]))), 6)
    0.5
    """

    learns_in_tables = False

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0) -> Self:
        """The successes that explain how a column varies, and a prior around the chance that they imply.

        At least one success is waited for, even where less would explain it. `scale` multiplies the
        pseudo-counts (two in all): smaller values let clusters differ more.
        """
        X = checked_counts(np.asarray(X, dtype=np.float64), None)
        mean, beyond = X.mean(axis=0), np.maximum(X.var(axis=0) - X.mean(axis=0), 1e-3)
        return cls._around(X, np.clip(mean**2 / beyond, 1.0, 100.0), scale)

    @classmethod
    def _around(cls, X: np.ndarray, trials: np.ndarray, scale: float) -> Self:
        """Return a vague prior around the chance that the sample mean implies."""
        successes, failures = len(X) * trials + 0.5, X.sum(axis=0) + 0.5
        chance = successes / (successes + failures)
        weight = 2.0 * checks.positive("scale", scale, SCALE_HINT)
        return cls(weight * chance, weight * (1.0 - chance), trials)

    @classmethod
    def joined(cls, columns: Sequence[Self]) -> Self:
        """Return one-column families as one."""
        return cls(*gathered(columns, "success", "failure", "trials"))

    @property
    def _logs(self) -> np.ndarray:
        """Return the logarithms of what is learned, (3, D)."""
        return np.log([self.success, self.failure, self.trials])

    @property
    def n_learned(self) -> int:
        """Return the number of hyperparameters that are learned: trials and the prior of each column."""
        return 3 * self.n_features

    def learned_from(self, chairs: Sequence[Sums], rows: np.ndarray, least_gain: float) -> Self:
        """Return the family whose trials and pseudo-counts make these clusters most probable."""
        return type(self)(*np.exp(learned_counts(self._logs, CountsSeen.of(chairs, rows), least_gain)))

    def log_hyperprior_from(self, chairs: Sequence[Sums]) -> float:
        """Return the log density of trials and pseudo-counts."""
        return float(log_hyperprior(self._logs, log_mean_of(chairs)).sum())

    def encode(self, X: np.ndarray, names: Names = None) -> np.ndarray:
        """Check that all cells are counts."""
        return np.ascontiguousarray(checked_counts(X, names), dtype=np.float64)

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
        X = checked_counts(np.asarray(X, dtype=np.float64), None)
        return cls._around(X, np.ones(X.shape[1]), scale)

    n_learned = Family.n_learned  # the pseudo-counts stay as they are given
    learned_from = Family.learned_from
    log_hyperprior_from = Family.log_hyperprior_from
