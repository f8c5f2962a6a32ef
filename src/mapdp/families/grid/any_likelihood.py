"""Clusters of rows under any density that can be written as one NumPy function.

A cluster's parameters are one of G candidates, so its knowledge is a vector of G log weights, and marginal
and predictive are sums over candidates: exact for that discrete prior, conjugate or not.
"""

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp

from mapdp.compiled.lanes import whole_lanes
from mapdp.data import checks
from mapdp.data.checks import Names
from mapdp.families.base import Bank, Family
from mapdp.families.columns import Sums, tallied
from mapdp.families.grid.candidate_bank import (
    IMPOSSIBLE,
    NO_CANDIDATE,
    CandidateBank,
    new_candidate_bank,
)

_LARGE = 2**30  # bytes of log densities from which a warning names them
_PRECISIONS = ("float64", "float32")


@dataclasses.dataclass(frozen=True, eq=False)
class AnyLikelihood(Family):
    """Rows under a density of your own, whose parameters are one of G candidates in each cluster.

    Parameters
    ----------
    log_density : callable
        `log_density(rows, parameters)` returns (n, G): the log density of each of n rows under each
        candidate. Where a row has gaps, it is given NaN and says what it makes of it; a row that is all
        gaps adds nothing anyway.
    parameters : array of shape (G,) or (G, P)
        The candidates: a grid (see `grid`), a quasi-random set, draws from a prior.
    log_prior : array of shape (G,), callable or None, default None
        Log prior probability of each candidate, up to a constant, or a function of the parameters; None
        makes all equally probable.
    draw : callable, default None
        `draw(parameters, rng)` returns one row for each of the parameters it is given; `sample` needs it.
    precision : {"float64", "float32"}, default "float64"
        How the log densities of rows are kept: N times G numbers.
    n_columns : int, default 1
        Columns of a row; a fit finds it out.

    Examples
    --------
    >>> from mapdp.families import grid
    >>> def log_density(rows, rate):  # waiting times
    ...     return np.log(rate) - rows * rate
    >>> family = AnyLikelihood(log_density, grid(0.1, 10.0, 2000))
    >>> from scipy.integrate import quad
    >>> exact = np.log(quad(lambda rate: rate**2 * np.exp(-3.0 * rate) / 9.9, 0.1, 10.0)[0])
    >>> bool(abs(family.log_marginal([[1.0], [2.0]]) - exact) < 0.001)
    True
    """

    has_columns = False
    is_whole = True
    has_words = True

    log_density: Callable[[np.ndarray, np.ndarray], np.ndarray]
    parameters: np.ndarray
    log_prior: Any = None
    draw: Callable[..., np.ndarray] | None = None
    precision: str = "float64"
    n_columns: int = 1

    def __post_init__(self) -> None:
        if not callable(self.log_density):
            raise TypeError(
                f"log_density must be a function of rows and parameters, got {self.log_density!r}. "
                "Hint: it returns one log density for each row and candidate."
            )
        candidates = _numbers("parameters", self.parameters)
        if candidates.ndim not in (1, 2) or not len(candidates) or not np.isfinite(candidates).all():
            raise ValueError(
                "parameters must be finite numbers, one candidate after another, got shape "
                f"{candidates.shape}. Hint: mapdp.grid(low, high, n) makes them."
            )
        checks.one_of("precision", self.precision, _PRECISIONS)
        checks.whole("n_columns", self.n_columns, 1)
        object.__setattr__(self, "parameters", candidates)
        object.__setattr__(self, "_log_weight", _log_weights(self.log_prior, candidates))

    @property
    def log_weight(self) -> np.ndarray:
        """Return the log prior probability of each candidate."""
        return self._log_weight  # type: ignore[attr-defined]

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0) -> Self:  # noqa: ARG003
        """There is no recipe: candidates are the user's."""
        raise TypeError(
            "AnyLikelihood has no prior of its own. Hint: give AnyLikelihood(log_density, ...)."
        )

    @property
    def n_features(self) -> int:
        """Return the number of columns of a row."""
        return self.n_columns

    @property
    def n_cells(self) -> int:
        """Return the number of log densities that a row is encoded as, in whole lanes."""
        return whole_lanes(len(self.parameters))

    def over(self, n_features: int) -> Self:
        """Return this family for rows of so many columns."""
        return dataclasses.replace(self, n_columns=n_features)

    def new_bank(self, capacity: int) -> Bank:
        """Return the arrays of a bank with `capacity` chairs."""
        log_weight = np.full(self.n_cells, NO_CANDIDATE)
        log_weight[: len(self.parameters)] = self.log_weight
        return new_candidate_bank(log_weight, capacity)

    def scratch(self) -> np.ndarray:
        """Return room for the densities of a row."""
        return np.zeros((1, self.n_cells))

    def encode(self, X: np.ndarray, names: Names = None) -> np.ndarray:
        """Return the log density of each row under each candidate."""
        n_bytes = len(X) * self.n_cells * np.dtype(self.precision).itemsize
        if n_bytes > _LARGE:
            warnings.warn(
                f"AnyLikelihood keeps {len(X)} x {self.n_cells} log densities: {n_bytes / 2**30:.1f} GB. "
                "Hint: fewer candidates, or precision='float32'.",
                UserWarning,
                stacklevel=2,
            )
        out = np.full((len(X), self.n_cells), IMPOSSIBLE, dtype=self.precision)
        out[:, : len(self.parameters)] = np.maximum(self._checked(X), IMPOSSIBLE)
        return out

    def _checked(self, X: np.ndarray) -> np.ndarray:
        """Return what the user's function says of rows, or one sentence about what is wrong with it."""
        rows = np.asarray(X, dtype=np.float64)
        is_empty = np.asarray(np.isnan(rows).all(axis=1))
        with np.errstate(all="ignore"):
            told = self._told(rows)
        told = np.where(is_empty[:, None], 0.0, told)
        _check_densities(told, rows)
        return told

    def _told(self, rows: np.ndarray) -> np.ndarray:
        name = getattr(self.log_density, "__name__", "log_density")
        wanted = (len(rows), len(self.parameters))
        try:
            told = np.asarray(self.log_density(rows.copy(), self.parameters.copy()))
            told = told.astype(np.float64, casting="same_kind" if np.iscomplexobj(told) else "unsafe")
        except Exception as error:  # any: it is the user's code
            raise ValueError(
                f"{name}(rows, parameters) failed on rows of shape {rows.shape} and parameters of shape "
                f"{self.parameters.shape}: {type(error).__name__}: {error}."
            ) from error
        if told.shape != wanted:
            raise ValueError(
                f"{name}(rows, parameters) must return shape {wanted}, one log density for each row and "
                f"candidate, got {told.shape}. Hint: rows[:, [0]] and parameters[:, 0] broadcast to it."
            )
        return told

    @property
    def n_described(self) -> int:
        """Clusters are described by their rows as a whole."""
        return 1

    def sums(self, bank: CandidateBank, k: int) -> Sums:
        """Return the log likelihoods of candidates on chair k, as those of one column."""
        return tallied(bank.n[k], [bank.log_like[: len(self.parameters), k]])

    def log_marginal_of(self, sums: Sums) -> float:
        """Return the log density of rows with these log likelihoods."""
        return float(logsumexp(self.log_weight + sums.tallies[0]))

    def updated(self, sums: Sums) -> Self:
        """Return the posterior after rows with these log likelihoods, as a prior."""
        return dataclasses.replace(self, log_prior=self.log_weight + sums.tallies[0])

    def summary(self) -> dict[str, Any]:
        """Return mean and standard deviation of the parameters."""
        chance = np.exp(self.log_weight)
        mean = chance @ self.parameters
        spread = np.sqrt(np.maximum(chance @ (self.parameters - mean) ** 2, 0.0))
        return {"parameters": mean, "spread": spread}

    def in_words(self, sums: Sums) -> str:
        """Return what is known of the parameters after rows with these log likelihoods."""
        known = self.updated(sums).summary()
        mean, spread = np.atleast_1d(known["parameters"]), np.atleast_1d(known["spread"])
        return "parameters " + ", ".join(f"{m:.4g} ± {s:.2g}" for m, s in zip(mean, spread, strict=True))

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw n independent rows from the predictive density."""
        if self.draw is None:
            raise ValueError(
                "AnyLikelihood cannot draw rows. Hint: give draw=, a function of parameters, rng."
            )
        chosen = rng.choice(len(self.parameters), size=n, p=np.exp(self.log_weight))
        drawn = _numbers("rows that draw returns", self.draw(self.parameters[chosen], rng))
        if drawn.size != n * self.n_columns or np.isnan(drawn).any():
            raise ValueError(
                f"draw(parameters, rng) must return {n} rows of {self.n_columns} numbers, not NaN, got "
                f"shape {drawn.shape}. Hint: it is given {n} parameters, and draws one row for each."
            )
        return drawn.reshape(n, -1)


def _numbers(name: str, given: Any) -> np.ndarray:
    """Return floats in an array of their own, or say what is no number."""
    try:
        return np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers, got {given!r:.60}.") from error


def _log_weights(log_prior: Any, candidates: np.ndarray) -> np.ndarray:
    """Return log prior probabilities that sum to one."""
    given: Any = np.zeros(len(candidates)) if log_prior is None else log_prior
    weights = _numbers("log_prior", given(candidates.copy()) if callable(given) else given)
    if weights.shape != (len(candidates),) or np.isnan(weights).any() or not (weights < np.inf).all():
        raise ValueError(
            f"log_prior must give one number below infinity for each of the {len(candidates)} candidates, "
            f"got shape {weights.shape}. Hint: None makes all equally probable."
        )
    if not np.isfinite(weights).any():
        raise ValueError("log_prior gives every candidate probability 0. Hint: it is a logarithm.")
    return np.maximum(weights - logsumexp(weights), 2.0 * IMPOSSIBLE)


def _check_densities(told: np.ndarray, rows: np.ndarray) -> None:
    """Raise where log densities are not numbers, or a row is impossible."""
    bad = np.isnan(told) | (told == np.inf)
    if bad.any():
        i, g = np.unravel_index(int(np.argmax(bad)), bad.shape)
        hint = "say what a gap means, or fill it first." if np.isnan(rows[i]).any() else "-inf is fine."
        raise ValueError(
            f"log_density must be a number, got {told[i, g]} for row {i} ({rows[i]}) and candidate {g}. "
            f"Hint: {hint}"
        )
    hopeless = (told <= IMPOSSIBLE).all(axis=1)
    if hopeless.any():
        first = int(np.argmax(hopeless))
        raise ValueError(
            f"every candidate gives row {first} ({rows[first]}) probability 0. "
            "Hint: widen the candidates, or drop the row."
        )
