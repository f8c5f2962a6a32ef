"""Candidates of `AnyLikelihood` moved to where clusters are, so that few of them do for a continuous prior.

A cluster of many rows knows its parameters better than a coarse grid can say. New candidates are spread
over each cluster's posterior, and each counts for the prior density over the density of candidates around
it (importance sampling with a mixture; Owen and Zhou 2000), so that sums over candidates come ever nearer
to the integral under the prior that the first candidates stood for.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, qmc
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from mapdp.data import checks
from mapdp.families import AnyLikelihood

_ROUNDS = 10  # at most
_LEAST_GAIN = 0.05  # nats by which the joint must change for another round
_WIDER = 1.5  # times the posterior's own spread: its tails need candidates, too
_SEED = 0  # of the quasi-random numbers that candidates are spread by


class _Cloud(NamedTuple):
    """A bell curve over parameters that candidates are drawn from."""

    mean: np.ndarray  # (P,)
    covariance: np.ndarray  # (P, P)

    def points(self, n: int) -> np.ndarray:
        """Return n candidates, evenly spread by probability."""
        drawn = qmc.MultivariateNormalQMC(self.mean, self.covariance, rng=np.random.default_rng(_SEED))
        return np.atleast_2d(drawn.random(n))

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """Return the log density of candidates."""
        found = multivariate_normal(self.mean, self.covariance, allow_singular=True).logpdf(points)
        return np.atleast_1d(found)


class _Box(NamedTuple):
    """The range of the first candidates, and their prior over it."""

    first: np.ndarray  # (G, P) the first candidates
    low: np.ndarray  # (P,)
    high: np.ndarray  # (P,)
    log_prior: Callable[[np.ndarray], np.ndarray] | None
    is_flat: bool  # whether candidates are plain numbers, not rows of numbers

    @property
    def log_volume(self) -> float:
        """Return the log of its volume."""
        return float(np.log(self.high - self.low).sum())

    def given(self, points: np.ndarray) -> np.ndarray:
        """Return candidates in the shape that the user gave them in."""
        return points[:, 0] if self.is_flat else points

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """Return the log prior density, up to a constant."""
        flat = np.zeros(len(points)) if self.log_prior is None else self.log_prior(self.given(points))
        inside = ((points >= self.low) & (points <= self.high)).all(axis=1)
        return np.where(inside, flat, -np.inf)


def refine(model: Any, X: Any, n_candidates: int = 64) -> Any:
    """Fit again with candidates where the clusters are, until the joint stops changing.

    Parameters
    ----------
    model : MAPDP
        Fitted with an `AnyLikelihood` whose candidates fill a box evenly (`grid`), and whose `log_prior` is
        None or a function: a density over that box.
    X : array or data frame of shape (N, D)
        The rows that were fitted.
    n_candidates : int, default 64
        New candidates for each cluster, beside the first ones.

    Returns
    -------
    MAPDP
        A new model; `model` is left as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from mapdp import MAPDP, AnyLikelihood, grid, refine
    >>> def log_density(rows, mean):
    ...     return -0.5 * (rows - mean) ** 2 - 0.9189385
    >>> X = np.random.default_rng(0).normal(size=(200, 1)) + 3.3
    >>> coarse = MAPDP(1.0, family=AnyLikelihood(log_density, grid(-50.0, 50.0, 100))).fit(X)
    >>> fine = MAPDP(1.0, family=AnyLikelihood(log_density, grid(-50.0, 50.0, 5000))).fit(X)
    >>> before, after = (abs(m.log_joint_ - fine.log_joint_) for m in (coarse, refine(coarse, X)))
    >>> bool(after < 0.05 * before)
    True
    """
    check_is_fitted(model)
    box = _box_of(model.family_)
    n_candidates = checks.whole("n_candidates", n_candidates, 2)
    for _ in range(_ROUNDS):
        family = _moved(model, box, n_candidates)
        again = clone(model).set_params(family=family, init=model.labels_, n_init=1).fit(X)
        has_settled = abs(again.log_joint_ - model.log_joint_) < _LEAST_GAIN
        model = again
        if has_settled:
            break
    return model


def _box_of(family: Any) -> _Box:
    if not isinstance(family, AnyLikelihood):
        raise TypeError(
            f"refine moves the candidates of AnyLikelihood, got {type(family).__name__}. "
            "Hint: other families have no candidates."
        )
    if family.log_prior is not None and not callable(family.log_prior):
        raise ValueError(
            "refine needs the prior at new candidates, got log_prior as numbers. "
            "Hint: give log_prior as a function of the parameters."
        )
    first = family.parameters.reshape(len(family.parameters), -1)
    low, high = first.min(axis=0), first.max(axis=0)
    if not (low < high).all():
        raise ValueError("refine needs candidates that differ in every parameter. Hint: see mapdp.grid.")
    half = 0.5 * (high - low) / (len(first) ** (1.0 / first.shape[1]) - 1.0)
    return _Box(first, low - half, high + half, family.log_prior, family.parameters.ndim == 1)


def _moved(model: Any, box: _Box, n: int) -> AnyLikelihood:
    """Return the family with candidates around the clusters of a model, beside the first ones."""
    family, bank = model.family_, model.mixture_.bank
    clouds = [_cloud(family.posterior(bank, k), box) for k in range(model.n_clusters_)]
    points = np.vstack([box.first, *[cloud.points(n) for cloud in clouds]])
    log_shares = [np.full(len(points), np.log(len(box.first)) - box.log_volume)]
    log_shares += [np.log(n) + cloud.log_density(points) for cloud in clouds]
    log_weight = box.log_density(points) - logsumexp(log_shares, axis=0)
    kept = np.isfinite(log_weight)
    moved = AnyLikelihood(
        family.log_density, box.given(points[kept]), log_weight[kept], family.draw, family.precision
    )
    return moved.over(family.n_features)


def _cloud(posterior: AnyLikelihood, box: _Box) -> _Cloud:
    """Return a bell curve as wide as a posterior, and no narrower than the candidates are apart there."""
    points = posterior.parameters.reshape(len(posterior.parameters), -1)
    chance = np.exp(posterior.log_weight)
    mean = chance @ points
    gap = points - mean
    unit = box.high - box.low
    near = np.argsort(((gap / unit) ** 2).sum(axis=1))[: 2 * points.shape[1]]
    apart = (gap[near] ** 2).mean(axis=0)
    covariance = _WIDER**2 * (gap * chance[:, None]).T @ gap
    return _Cloud(mean, covariance + np.diag(apart + (1e-12 * unit) ** 2))
