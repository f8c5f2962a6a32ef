"""What families of columns on a grid share: candidates for each column, and their prior probabilities."""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import logsumexp

from mapdp.data import checks
from mapdp.families.base import Family, Parameters
from mapdp.families.columns import Sums, sums_of
from mapdp.families.grid.grid_columns import GridColumns, GridPrior, grid_prior, room_for
from mapdp.families.weights import learned_weights

N_CENTRES = 48  # quantiles of a column that clusters may be centred at


@dataclasses.dataclass(frozen=True, eq=False)
class GridFamily(Family):
    """Columns that are independent within a cluster; the parameters of each are one of G candidates.

    Subclasses say what the candidates of a column are, by default, and what density each stands for.
    """

    has_words = True
    columns_type: ClassVar[Any] = GridColumns
    kind: ClassVar[int] = -1  # number of the compiled density
    names: ClassVar[tuple[str, ...]] = ()  # of the parameters

    candidates: Sequence[np.ndarray]
    log_weights: Sequence[np.ndarray] | None = None

    def __post_init__(self) -> None:
        candidates = [np.array(one, dtype=np.float64) for one in self.candidates]
        width = len(self.names)
        if not candidates or any(one.ndim != 2 or one.shape[1] != width for one in candidates):
            raise ValueError(
                f"candidates must hold for each column an array of shape (G, {width}): "
                f"{', '.join(self.names)}; got shapes {[one.shape for one in candidates]}."
            )
        self._check_candidates(np.vstack(candidates))
        object.__setattr__(self, "candidates", candidates)
        object.__setattr__(self, "log_weights", self._checked_weights([len(one) for one in candidates]))

    def _check_candidates(self, every: np.ndarray) -> None:
        """Raise where a candidate is not a set of parameters."""
        if not np.isfinite(every).all():
            raise ValueError(f"candidates must be finite numbers, got {every[~np.isfinite(every)][0]}.")
        for name, numbers in zip(self.names, every.T, strict=True):
            if name not in ("centre", "angle"):
                checks.positive_vector(name, numbers, "see `empirical` for candidates that fit a table.")

    def _checked_weights(self, lengths: list[int]) -> list[np.ndarray]:
        """Return the log prior probabilities of so many candidates for each column."""
        if self.log_weights is None:
            return [np.full(n, -np.log(n)) for n in lengths]
        weights = [checks.real_vector("log_weights", w) for w in self.log_weights]
        if [len(w) for w in weights] != lengths:
            raise ValueError(
                f"log_weights must have {lengths} numbers, one for each candidate of a column, "
                f"got {[len(w) for w in weights]}. Hint: None makes all equally probable."
            )
        return [w - logsumexp(w) for w in weights]

    @property
    def weights(self) -> Sequence[np.ndarray]:
        """Return the log prior probabilities of the candidates of each column."""
        return self.log_weights  # type: ignore[return-value]

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0) -> Self:
        """Place candidates where the cells of each column are; all are equally probable.

        `scale` multiplies the spread of clusters that is looked for.
        """
        checks.positive("scale", scale, "1.0 is the usual range.")
        columns = cls._checked(np.asarray(X, dtype=np.float64), None).T
        return cls([cls.candidates_for(column, scale) for column in columns])

    @classmethod
    def candidates_for(cls, cells: np.ndarray, scale: float) -> np.ndarray:
        """Return candidates for a column with these cells."""
        raise NotImplementedError

    @classmethod
    def coefficients(cls, candidates: np.ndarray) -> np.ndarray:
        """Return (G, 4): what the compiled log density reads of each candidate."""
        raise NotImplementedError

    @classmethod
    def moments(cls, candidates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of a cell under each candidate."""
        raise NotImplementedError

    @classmethod
    def drawn(cls, candidates: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw a cell for each candidate."""
        raise NotImplementedError

    @classmethod
    def _checked(cls, X: np.ndarray, names: checks.Names) -> np.ndarray:
        checks.finite(X, names)
        return X

    def encode(self, X: np.ndarray, names: checks.Names = None) -> np.ndarray:
        """Check the cells."""
        return self._checked(X, names)

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return len(self.candidates)

    def _with(self, candidates: Sequence[np.ndarray], weights: Sequence[np.ndarray]) -> Self:
        return dataclasses.replace(self, candidates=candidates, log_weights=weights)

    def _spread(self, n_features: int) -> Self:
        return self._with(list(self.candidates) * n_features, list(self.weights) * n_features)

    def column(self, j: int) -> Self:
        """Return this family for column j alone."""
        return self._with([self.candidates[j]], [self.weights[j]])

    @classmethod
    def joined(cls, columns: Sequence[Self]) -> Self:
        """Return one-column families as one."""
        return cls([one.candidates[0] for one in columns], [one.weights[0] for one in columns])

    @classmethod
    def column_prior(cls, columns: Sequence[Self], place: np.ndarray) -> GridPrior:
        """Return the prior of such columns, alone or in a mixed table."""
        coefficients = [one.coefficients(one.candidates[0]) for one in columns]
        weights = [one.weights[0] for one in columns]
        return grid_prior([one.kind for one in columns], weights, coefficients, place)

    def scratch(self) -> np.ndarray:
        """Return room for the densities of a row."""
        return room_for(self._prior_of_columns)

    def sums(self, bank: Any, k: int) -> Sums:
        """Return the log likelihoods of candidates on chair k, column by column."""
        return sums_of(bank, k)

    def _log_likelihoods(self, sums: Sums) -> list[np.ndarray]:
        """Return the log likelihoods of each column's candidates, without what fills up lanes."""
        return [tally[: len(w)] for tally, w in zip(sums.tallies, self.weights, strict=True)]

    def updated(self, sums: Sums) -> Self:
        """Return the posterior after cells with these log likelihoods, as a prior."""
        pairs = zip(self.weights, self._log_likelihoods(sums), strict=True)
        return self._with(self.candidates, [prior + seen for prior, seen in pairs])

    @property
    def n_learned(self) -> int:
        """Return the number of hyperparameters that count: place and spread of each column's candidates."""
        return 2 * self.n_features

    def learned_from(self, chairs: Sequence[Sums], rows: np.ndarray, least_gain: float) -> Self:
        """Return the family whose spreads make these clusters most probable; centres stay equally so."""
        seen = [self._log_likelihoods(sums) for sums in chairs]
        columns = zip(zip(*seen, strict=True), self.candidates, self.weights, strict=True)
        weights = [_learned(np.array(one), *grid, least_gain) for one, *grid in columns]  # type: ignore
        return self._with(self.candidates, weights)

    def log_hyperprior_from(self, chairs: Sequence[Sums]) -> float:
        """Return the log density of the weights: that of one more cluster, which all spreads describe."""
        pairs = zip(self.candidates, self.weights, strict=True)
        return float(sum(_by_spread(weights, _spreads(one)).mean() for one, weights in pairs))

    def summary(self) -> dict[str, Any]:
        """Return mean and variance of the predictive density of each column."""
        found = [self._moments_of(*pair) for pair in zip(self.candidates, self.weights, strict=True)]
        mean, variance = np.array(found).T
        return {"mean": mean, "variance": variance}

    def _moments_of(self, candidates: np.ndarray, log_weight: np.ndarray) -> tuple[float, float]:
        chance, (means, variances) = np.exp(log_weight), self.moments(candidates)
        mean = chance @ means
        return mean, chance @ (variances + (means - mean) ** 2)

    def in_words(self, sums: Sums) -> str:
        """Return the mean and the standard deviation of a column."""
        known = self.updated(sums).summary()
        return f"{known['mean'][0]:.4g} ± {np.sqrt(known['variance'][0]):.2g}"

    def sample_parameters(self, n: int, rng: np.random.Generator) -> Parameters:
        """Draw the parameters of n clusters, one array per column."""
        return tuple(
            one[rng.choice(len(one), size=n, p=np.exp(weights))]
            for one, weights in zip(self.candidates, self.weights, strict=True)
        )

    def sample_rows(self, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
        """Draw one row for each drawn cluster."""
        return np.stack([self.drawn(one, rng) for one in parameters], axis=1)


def _spreads(candidates: np.ndarray) -> np.ndarray:
    """Return for each candidate the number of its spread: of all its parameters but the first."""
    return np.unique(candidates[:, 1:], axis=0, return_inverse=True)[1].ravel()


def _by_spread(logs: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return the log of the sum over candidates with the same spread; logs are (..., G)."""
    return np.stack([logsumexp(logs[..., spread == s], axis=-1) for s in range(spread.max() + 1)], axis=-1)


def _learned(
    log_likelihood: np.ndarray, candidates: np.ndarray, log_weight: np.ndarray, least_gain: float
) -> np.ndarray:
    """Return the log prior weights of candidates after clusters with these log likelihoods (K, G)."""
    spread = _spreads(candidates)
    shares = _by_spread(log_weight, spread)
    within = log_weight - shares[spread]  # of a candidate among those with its spread
    learned = learned_weights(_by_spread(log_likelihood + within, spread), shares, least_gain)
    return within + learned[spread]


def centres_of(cells: np.ndarray) -> np.ndarray:
    """Return different numbers that stand for a column: its quantiles."""
    return np.unique(np.quantile(cells, np.linspace(0.01, 0.99, N_CENTRES)))


def combined(*parts: np.ndarray) -> np.ndarray:
    """Return all combinations of numbers, one after another."""
    return np.stack([part.ravel() for part in np.meshgrid(*parts, indexing="ij")], axis=1)
