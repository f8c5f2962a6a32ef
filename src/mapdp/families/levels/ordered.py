"""Clusters of ordered categories: small, medium, large.

Within a cluster the levels follow a bell curve whose place and width are unknown. A grid of both is summed
over, so the marginal is exact, neighbours lend each other weight, and a cluster may still sit on one level.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import logsumexp

from mapdp.compiled.jit import inlined
from mapdp.compiled.special import exp, log
from mapdp.data import checks
from mapdp.data.checks import Names
from mapdp.families import verbs
from mapdp.families.base import SCALE_HINT, Family, Parameters
from mapdp.families.columns import NOTHING, Sums, TallyColumns, beginnings, keeps_tallies
from mapdp.families.levels.codes import as_codes, from_codes, sampled_codes
from mapdp.families.weights import learned_weights

_NEGLIGIBLE = -600.0  # nats below the best curve, beyond which a curve adds nothing
_NARROWEST = 0.3  # width of a curve, in steps between levels: all but on one level
_NORMALISED = 1e-9  # log weights whose sum is as near to one as this are left as they are
_ANYWHERE = 0.01  # share of a curve's weight that is spread over all levels: a slip of the pen


class CurvePrior(NamedTuple):
    """Hyperparameters of columns: a grid of curves over the levels of each."""

    place: np.ndarray  # (D,) cell of a row
    first: np.ndarray  # (D + 1,) where a column's levels begin
    curve: np.ndarray  # (D + 1,) where a column's curves begin
    log_weight: np.ndarray  # (G,) log prior probability of all curves
    height: np.ndarray  # (D + 1,) where the heights of a column's curves begin
    heights: np.ndarray  # (H,) probability of each level on each curve, curve after curve
    log_heights: np.ndarray  # (H,)


@keeps_tallies
class CurveColumns(TallyColumns):
    """Columns of levels in order."""


@dataclasses.dataclass(frozen=True, eq=False)
class Ordered(Family):
    """Columns of levels in order, independent within a cluster.

    Parameters
    ----------
    levels : sequence of arrays
        The values that each column may take, in their order.
    width : float, default 1.0
        Multiplies the widths of the curves that a cluster may follow.
    log_weights : sequence of arrays, default None
        Log prior probability of each curve of each column; None means that all are equally probable.

    Examples
    --------
    >>> family = Ordered([[1, 2, 3, 4, 5]])
    >>> seen = [[5], [5], [4]]
    >>> family.log_predictive([3], seen) > family.log_predictive([1], seen)  # 3 is nearer to what was seen
    True
    """

    columns_type = CurveColumns

    levels: Sequence[np.ndarray]
    width: float = 1.0
    log_weights: Sequence[np.ndarray] | None = None

    def __post_init__(self) -> None:
        levels = [checks.real_vector("levels", level) for level in self.levels]
        if not levels or any(len(np.unique(v)) < len(v) or not len(v) for v in levels):
            raise ValueError(f"levels must name each value of a column once, got {levels!r}.")
        checks.positive("width", self.width, SCALE_HINT)
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "log_weights", self._checked_weights([n_curves(len(v)) for v in levels]))

    def _checked_weights(self, lengths: list[int]) -> list[np.ndarray]:
        """Return the log prior probabilities of so many curves for each column."""
        if self.log_weights is None:
            return [np.full(n, -np.log(n)) for n in lengths]
        weights = [checks.real_vector("log_weights", w) for w in self.log_weights]
        if [len(w) for w in weights] != lengths:
            raise ValueError(
                f"log_weights must have {lengths} numbers, one for each curve of a column, "
                f"got {[len(w) for w in weights]}. Hint: None makes all curves equally probable."
            )
        return [w if abs(logsumexp(w)) < _NORMALISED else w - logsumexp(w) for w in weights]

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0) -> Self:
        """Take each column's values from the data, in rising order; all curves are equally probable.

        `scale` multiplies the widths of the curves.
        """
        return cls([np.unique(column) for column in np.asarray(X, dtype=np.float64).T], scale)

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return len(self.levels)

    def _spread(self, n_features: int) -> Self:
        return type(self)(list(self.levels) * n_features, self.width, list(self._weights()) * n_features)

    def _weights(self) -> Sequence[np.ndarray]:
        return self.log_weights  # type: ignore[return-value]

    def column(self, j: int) -> Self:
        """Return this family for column j alone."""
        return type(self)([self.levels[j]], self.width, [self._weights()[j]])

    @classmethod
    def column_prior(cls, columns: Sequence[Self], place: np.ndarray) -> CurvePrior:
        """Return the prior of such columns, alone or in a mixed table."""
        curves = [curves_over(len(one.levels[0]), one.width) for one in columns]
        heights = np.concatenate([NOTHING, *[part.ravel() for part in curves]])
        return CurvePrior(
            place,
            first=beginnings([part.shape[1] for part in curves]),
            curve=beginnings([part.shape[0] for part in curves]),
            log_weight=np.concatenate([NOTHING, *[one._weights()[0] for one in columns]]),
            height=beginnings([part.size for part in curves]),
            heights=heights,
            log_heights=np.log(heights),
        )

    @classmethod
    def joined(cls, columns: Sequence[Self]) -> Self:
        """Return one-column families as one; widths are those of the first."""
        levels, weights = [one.levels[0] for one in columns], [one._weights()[0] for one in columns]
        return cls(levels, columns[0].width, weights)

    @property
    def n_learned(self) -> int:
        """Return the number of hyperparameters that count: place and spread of each column's curves."""
        return 2 * self.n_features

    def learned_from(self, chairs: Sequence[Sums], rows: np.ndarray, least_gain: float) -> Self:
        """Return the family whose weights of curves make these clusters most probable."""
        likelihoods = [self._log_likelihoods(sums) for sums in chairs]
        weights = [
            learned_weights(np.array(of_column), prior, least_gain)
            for of_column, prior in zip(zip(*likelihoods, strict=True), self._weights(), strict=True)
        ]
        return type(self)(self.levels, self.width, weights)

    def log_hyperprior_from(self, chairs: Sequence[Sums]) -> float:
        """Return the log density of the weights: that of one more cluster, which all curves describe."""
        return float(sum(weights.mean() for weights in self._weights()))

    def _log_likelihoods(self, sums: Sums) -> list[np.ndarray]:
        """Return for each column the log likelihood of each of its curves."""
        return [np.log(curves_over(len(tally), self.width)) @ tally for tally in sums.tallies]

    def updated(self, sums: Sums) -> Self:
        """Return the posterior after cells with these tallies, as a prior."""
        likelihoods = self._log_likelihoods(sums)
        weights = [prior + one for prior, one in zip(self._weights(), likelihoods, strict=True)]
        return type(self)(self.levels, self.width, weights)

    def encode(self, X: np.ndarray, names: Names = None) -> np.ndarray:
        """Replace each value by its place among the levels of its column."""
        return as_codes(X, self.levels, names)

    def decode(self, X: np.ndarray) -> np.ndarray:
        """Replace places among the levels by the levels."""
        return from_codes(X, self.levels)

    def summary(self) -> dict[str, Any]:
        """Return the probability of each level, and the most probable level."""
        probability = [
            np.exp(weights) @ curves_over(len(level), self.width)
            for level, weights in zip(self.levels, self._weights(), strict=True)
        ]
        mode = [level[np.argmax(p)] for level, p in zip(self.levels, probability, strict=True)]
        return {"probability": probability, "mode": np.array(mode)}

    def sample_parameters(self, n: int, rng: np.random.Generator) -> Parameters:
        """Draw the level probabilities of n clusters, one array per column."""
        return tuple(
            curves_over(len(level), self.width)[rng.choice(len(weights), size=n, p=np.exp(weights))]
            for level, weights in zip(self.levels, self._weights(), strict=True)
        )

    def sample_rows(self, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
        """Draw one row of codes for each drawn cluster."""
        return sampled_codes(parameters, rng)


def n_curves(n_levels: int) -> int:
    """Return how many curves there are over so many levels."""
    return (2 * n_levels - 1) * math.ceil(math.log2(n_levels / _NARROWEST))


def curves_over(n_levels: int, width: float) -> np.ndarray:
    """Return the curves over so many levels: places half a step apart, widths that double."""
    places = np.arange(0.0, n_levels - 0.75, 0.5)
    widths = width * _NARROWEST * 2.0 ** np.arange(np.ceil(np.log2(n_levels / _NARROWEST)))
    gap = np.arange(n_levels) - places[:, None]
    bells = np.exp(-0.5 * (gap / widths[:, None, None]) ** 2).reshape(-1, n_levels)
    return (1.0 - _ANYWHERE) * bells / bells.sum(axis=1, keepdims=True) + _ANYWHERE / n_levels


@inlined
def _log_worth(prior, j, g, tally, k, without):
    """Return log prior plus log likelihood of curve g for a tally; level `without` counts one less."""
    first, n_levels = prior.first[j], prior.first[j + 1] - prior.first[j]
    begin = prior.height[j] + (g - prior.curve[j]) * n_levels
    total = prior.log_weight[g]
    for level in range(n_levels):
        total += tally[first + level, k] * prior.log_heights[begin + level]
    if without >= 0:
        total -= prior.log_heights[begin + without]
    return total


@inlined
def _best(prior, j, tally, k, without):
    """Return the highest log worth of the curves of column j."""
    best = -np.inf
    for g in range(prior.curve[j], prior.curve[j + 1]):
        best = max(best, _log_worth(prior, j, g, tally, k, without))
    return best


@inlined
def _weight(prior, j, g, tally, k, without, best):
    """Return the posterior weight of a curve beside that of the best one."""
    return exp(max(_log_worth(prior, j, g, tally, k, without) - best, _NEGLIGIBLE))


@verbs.refresh_column.on(CurveColumns)
def refresh_column(bank, j, k):
    prior = bank.prior
    first, n_levels = prior.first[j], prior.first[j + 1] - prior.first[j]
    for level in range(first, first + n_levels):
        bank.log_chance[level, k] = 0.0
    best, total = _best(prior, j, bank.tally, k, -1), 0.0
    for g in range(prior.curve[j], prior.curve[j + 1]):
        weight = _weight(prior, j, g, bank.tally, k, -1, best)
        total += weight
        begin = prior.height[j] + (g - prior.curve[j]) * n_levels
        for level in range(n_levels):
            bank.log_chance[first + level, k] += weight * prior.heights[begin + level]
    for level in range(first, first + n_levels):
        bank.log_chance[level, k] = log(bank.log_chance[level, k] / total)


@verbs.log_cell_without.on(CurveColumns)
def log_cell_without(bank, j, k, v):
    prior, level = bank.prior, int(v)
    n_levels = prior.first[j + 1] - prior.first[j]
    best, total, hit = _best(prior, j, bank.tally, k, level), 0.0, 0.0
    for g in range(prior.curve[j], prior.curve[j + 1]):
        weight = _weight(prior, j, g, bank.tally, k, level, best)
        total += weight
        hit += weight * prior.heights[prior.height[j] + (g - prior.curve[j]) * n_levels + level]
    return log(hit / total)


@verbs.log_marginal_of_column.on(CurveColumns)
def log_marginal_of_column(bank, j, k):
    prior = bank.prior
    best, total = _best(prior, j, bank.tally, k, -1), 0.0
    for g in range(prior.curve[j], prior.curve[j + 1]):
        total += _weight(prior, j, g, bank.tally, k, -1, best)
    return best + log(total)
