"""The model as plain functions: the joint of data and partition, and draws from both.

Given who sits with whom, everything is closed form: each cluster's rows have an exact marginal density, the
partition has an exact prior, and their product is what a search climbs.
"""

from typing import NamedTuple

import numpy as np

from mapdp.data import checks
from mapdp.data.matrices import without_mask
from mapdp.engine.build import seated
from mapdp.engine.joint import state_log_joint
from mapdp.engine.score import score_left_out
from mapdp.engine.state import State
from mapdp.families.base import Family, Parameters
from mapdp.partitions.process import DirichletProcess, Process, make_process


def _given(X: np.ndarray, labels: object, process: Process, family: Family) -> tuple[np.ndarray, State]:
    """Check the arguments of the public functions and seat the rows."""
    rows = np.ascontiguousarray(without_mask(X), dtype=np.float64)
    if rows.ndim != 2:
        raise ValueError(f"X must have two dimensions, got shape {rows.shape}. Hint: X.reshape(-1, 1).")
    sized = family.over(rows.shape[1])
    encoded = sized.encode(rows)
    chairs = checks.partition(labels, len(rows))
    return encoded, seated(encoded, chairs, sized, process)


def log_joint(
    X: np.ndarray,
    labels: object,
    *,
    alpha: float | None = None,
    discount: float = 0.0,
    process: Process | str | None = None,
    family: Family,
) -> float:
    """Return exact log p(x, z): the clusters' marginal densities times the partition's prior.

    Parameters
    ----------
    X : array of shape (N, D)
    labels : array of shape (N,)
        Which cluster each row is in; the names do not matter.
    alpha, discount : float
        Parameters of the partition prior, or ...
    process : Process or "mfm"
        ... the prior itself.
    family : Family
        Likelihood with its prior.

    Examples
    --------
    >>> from mapdp import DiagonalGaussian, log_joint
    >>> X = [[0.0], [0.1], [9.0]]
    >>> family = DiagonalGaussian(mean=0.0, strength=0.1, shape=1.0, rate=1.0)
    >>> apart = log_joint(X, [0, 0, 1], alpha=1.0, family=family)
    >>> together = log_joint(X, [0, 0, 0], alpha=1.0, family=family)
    >>> apart > together
    True
    """
    prior = make_process(alpha, discount, process)
    return state_log_joint(_given(X, labels, prior, family)[1], prior)


def log_pseudo_likelihood(
    X: np.ndarray,
    labels: object,
    *,
    alpha: float | None = None,
    discount: float = 0.0,
    process: Process | str | None = None,
    family: Family,
) -> float:
    """Return the paper's "complete data likelihood": leave-one-out densities times the prior.

    It is not log p(x, z) and a sweep may lower it; use `log_joint` for decisions.

    Examples
    --------
    >>> from mapdp import Poisson, log_pseudo_likelihood
    >>> family = Poisson(shape=1.0, rate=1.0)
    >>> value = log_pseudo_likelihood([[0], [1]], [0, 1], alpha=1.0, family=family)
    >>> round(float(np.exp(value)), 6)  # 1/2 * 1/4 for the rows, 1/2 for sitting apart
    0.0625
    """
    prior = make_process(alpha, discount, process)
    encoded, state = _given(X, labels, prior, family)
    left_out = np.empty(len(encoded))
    score_left_out(encoded, state, left_out)
    return float(left_out.sum()) + prior.log_eppf(state.sizes[state.sizes > 0])


def sample_crp(n: int, alpha: float, rng: np.random.Generator) -> np.ndarray:
    """Draw a partition of n rows from the Chinese restaurant process.

    Examples
    --------
    >>> sample_crp(8, 1.0, np.random.default_rng(0)).tolist()
    [0, 0, 0, 0, 1, 2, 1, 1]
    """
    return DirichletProcess(alpha).sample(n, rng)


class _Draw(NamedTuple):
    X: np.ndarray  # (N, D) rows
    labels: np.ndarray  # (N,) component of each row


class MixtureSample(_Draw):
    """Rows and labels drawn from the model; unpacks as `X, labels`, and can draw more rows."""

    _family: Family
    _parameters: Parameters

    def more(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw n new rows from the same components, each as likely as it was large."""
        sizes = np.bincount(self.labels)
        labels = rng.choice(len(sizes), size=n, p=sizes / sizes.sum()).astype(np.int32)
        return _rows_of(self._family, self._parameters, labels, rng), labels


def _rows_of(
    family: Family, parameters: Parameters, labels: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draw one row from the component that each label names."""
    return family.decode(family.sample_rows(tuple(p[labels] for p in parameters), rng))


def sample_mixture(n: int, alpha: float, family: Family, rng: np.random.Generator) -> MixtureSample:
    """Draw n rows from the model: a partition, parameters for each cluster, a row for each seat.

    Returns
    -------
    MixtureSample
        Unpacks as `X, labels`; its method `more(n, rng)` draws test rows from the same components.

    Examples
    --------
    >>> from mapdp import DiagonalGaussian, sample_mixture
    >>> rng = np.random.default_rng(0)
    >>> drawn = sample_mixture(600, 3.0, DiagonalGaussian([1, 1], 0.1, 1.0, [10, 10]), rng)
    >>> X, labels = drawn
    >>> X_test, labels_test = drawn.more(100, rng)
    >>> X.shape, X_test.shape
    ((600, 2), (100, 2))
    """
    labels = sample_crp(n, alpha, rng)
    parameters = family.sample_parameters(int(labels.max()) + 1, rng)
    sample = MixtureSample(_rows_of(family, parameters, labels, rng), labels)
    sample._family, sample._parameters = family, parameters
    return sample
