"""Learning how counts vary: for each column the successes waited for, and the prior of their chance.

Which counts a column has depends on the successes waited for alone, not on the clusters. So the joint needs
two sums for each cluster, and how often the column has each count. Newton's method takes the logarithms of
both pseudo-counts and of the successes. Under the hyperprior the logs of the pseudo-count of failure, of
the successes and of the mean count are normal around 0, 0 and the table's, with standard deviation 2.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import betaln, digamma, zeta

from mapdp.families.columns import Sums

_SPREAD = 2.0  # standard deviation of what the hyperprior is about
_ABOUT = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 1.0, 1.0]])  # that, from the three logarithms
_STARTS = [(failure, trials) for failure in (-2.0, 0.0, 3.0) for trials in (-2.0, 0.0, 2.0, 5.0)]  # logs
_LONGEST = 2.0  # nats that one step may change the logarithms by
_MOST_STEPS = 100
_HALVINGS = 10  # of a step that leads down


class CountsSeen(NamedTuple):
    """What clusters hold, and how often each count occurs."""

    n: np.ndarray  # (K, D) cells
    total: np.ndarray  # (K, D)
    value: np.ndarray  # (V,) the different counts of a column, above 0 ...
    times: np.ndarray  # (V,) ... how often each occurs there ...
    column: np.ndarray  # (V,) ... and which column that is
    log_mean: np.ndarray  # (D,) of the table, half a count added

    @classmethod
    def of(cls, chairs: Sequence[Sums], rows: np.ndarray) -> "CountsSeen":
        """Return what these chairs hold, on which the rows sit."""
        n, total = (np.array([chair[i] for chair in chairs]) for i in range(2))
        known = [np.unique(cells[cells > 0.0], return_counts=True) for cells in rows.T]
        value, times = (np.concatenate(part) for part in zip(*known, strict=True))
        column = np.repeat(np.arange(len(known)), [len(values) for values, _ in known])
        return cls(n, total, value, times.astype(np.float64), column, log_mean_of(chairs))

    def _by_column(self, numbers: np.ndarray) -> np.ndarray:
        return np.bincount(self.column, numbers, minlength=self.n.shape[1])

    def log_value(self, logs: np.ndarray) -> np.ndarray:
        """Return for each column the log probability of its cells, but for a constant, and the hyperprior.

        `logs` (3, D) are those of the pseudo-counts of success and of failure, and of the successes.
        """
        success, failure, trials = np.exp(logs)
        inside = betaln(success + self.n * trials, failure + self.total) - betaln(success, failure)
        orders = self._by_column(self.times * betaln(trials[self.column], self.value))
        return inside.sum(axis=0) - orders + log_hyperprior(logs, self.log_mean)

    def derivatives(self, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return gradient (D, 3) and curvature (D, 3, 3) of that value."""
        theta, nothing = np.exp(logs), np.zeros_like(self.n[:1])
        slope, bend = _derivatives(theta, self.n, self.total)
        of_prior = _derivatives(theta, nothing, nothing)
        slope, bend = slope - len(self.n) * of_prior[0], bend - len(self.n) * of_prior[1]
        few, more = theta[2, self.column], theta[2, self.column] + self.value
        slope[2] += self._by_column(self.times * (digamma(more) - digamma(few)))
        bend[2, 2] += self._by_column(self.times * (_trigamma(more) - _trigamma(few)))
        gradient, curvature = theta * slope, theta * theta[:, None] * bend
        curvature[range(3), range(3)] += gradient
        gradient -= _ABOUT.T @ _away(logs, self.log_mean) / _SPREAD**2
        return gradient.T, curvature.transpose(2, 0, 1) - _ABOUT.T @ _ABOUT / _SPREAD**2


def _derivatives(theta: np.ndarray, n: np.ndarray, total: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return first and second derivatives of the log beta functions of clusters, (3, D) and (3, 3, D)."""
    success, failure = theta[0] + n * theta[2], theta[1] + total
    both, one, none = success + failure, np.ones_like(n), np.zeros_like(n)
    inner = np.array([[one, none, n], [none, one, none]])  # of both pseudo-counts by what is learned
    first = np.array([digamma(success), digamma(failure)]) - digamma(both)
    second = -np.tile(_trigamma(both), (2, 2, 1, 1))
    second[[0, 1], [0, 1]] += _trigamma(success), _trigamma(failure)
    slope = np.einsum("pikd,pkd->id", inner, first)
    return slope, np.einsum("pikd,pjkd->ijd", inner, np.einsum("pqkd,qjkd->pjkd", second, inner))


def _trigamma(x: np.ndarray) -> np.ndarray:
    """Return the derivative of digamma: Hurwitz's zeta function of 2."""
    return zeta(2.0, x)


def log_mean_of(chairs: Sequence[Sums]) -> np.ndarray:
    """Return the log mean count of each column, half a count added."""
    n, total = (np.sum([chair[i] for chair in chairs], axis=0) for i in range(2))
    return np.log((total + 0.5) / np.maximum(n, 1.0))


def _away(logs: np.ndarray, log_mean: np.ndarray) -> np.ndarray:
    """Return how far off the middle of the hyperprior three numbers are."""
    return _ABOUT @ logs - [[0.0], [0.0], [1.0]] * log_mean


def log_hyperprior(logs: np.ndarray, log_mean: np.ndarray) -> np.ndarray:
    """Return for each column the log density of what is learned."""
    return -0.5 * (_away(logs, log_mean) ** 2).sum(axis=0) / _SPREAD**2


def learned_counts(logs: np.ndarray, counts: CountsSeen, least_gain: float) -> np.ndarray:
    """Return the logarithms under which the clusters are most probable, from these or better ones."""
    logs, value = _best_start(logs, counts)
    for _ in range(_MOST_STEPS):
        before = value
        logs, value = _stepped(logs, value, counts)
        if (value - before).sum() <= least_gain:
            break
    return logs


def _best_start(logs: np.ndarray, counts: CountsSeen) -> tuple[np.ndarray, np.ndarray]:
    """Return for each column the best of its own numbers and of others that fit its mean."""
    value = counts.log_value(logs)
    for failure, trials in _STARTS:
        one = np.stack(
            [failure + trials - counts.log_mean, *np.full((2, len(value)), [[failure], [trials]])]
        )
        other = counts.log_value(one)
        logs, value = np.where(other > value, one, logs), np.maximum(other, value)
    return logs, value


def _stepped(logs: np.ndarray, value: np.ndarray, counts: CountsSeen) -> tuple[np.ndarray, np.ndarray]:
    """Take a step of Newton's method in each column, or a part of it that does not lead down."""
    step = _newton(*counts.derivatives(logs))
    for _ in range(_HALVINGS):
        found = counts.log_value(logs + step)
        if (found >= value).all():
            break
        step = np.where(found >= value, step, 0.5 * step)
    is_up = found >= value
    return np.where(is_up, logs + step, logs), np.where(is_up, found, value)


def _newton(gradient: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    """Return a step (3, D) that leads up: along each axis of the curvature, whatever its sign."""
    bend, axes = np.linalg.eigh(curvature)
    along = np.einsum("dia,di->da", axes, gradient) / np.maximum(np.abs(bend), 1e-9)
    step = np.einsum("dia,da->id", axes, along)
    return step * np.minimum(1.0, _LONGEST / np.maximum(np.linalg.norm(step, axis=0), 1e-300))
