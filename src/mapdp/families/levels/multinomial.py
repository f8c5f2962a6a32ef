"""Clusters of rows of counts that share a total: documents, baskets, single cells."""

import dataclasses
from typing import Any, Self

import numpy as np
from scipy.special import gammaln

from mapdp.data import checks
from mapdp.data.checks import Names
from mapdp.data.moments import gaps_filled_by_means
from mapdp.data.sparse import SparseRows, check_dense, is_sparse
from mapdp.families.base import SCALE_HINT, Clusters, Family, Parameters
from mapdp.families.columns import Sums, tallied
from mapdp.families.levels.bernoulli import Bernoulli
from mapdp.families.levels.learning import Tallies, learned_pseudo_counts, log_hyperprior_of
from mapdp.families.levels.multinomial_bank import HEAD, MultinomialBank, new_multinomial_bank

_COMPARED = 500  # rows that are compared with each other
_HINT = "Multinomial is for counts; LogNormal and DiagonalGaussian are for measurements."
_HARDLY = 1.2  # dispersion up to which counts are taken as independent


@dataclasses.dataclass(frozen=True, eq=False)
class Multinomial(Family):
    """Rows of counts: how the total of a row is shared among columns depends on its cluster.

    The total itself tells nothing about the cluster.

    Parameters
    ----------
    concentration : array of shape (D,)
        Pseudo-counts of the columns: a Dirichlet prior of their shares.
    dispersion : float, default 1.0
        How many counts say as much as one independent count: words come in bursts, molecules in clumps.
        Counts are divided by it. At 1 the model is the Dirichlet-multinomial, and its joint is a
        probability; above, likelihoods are powers of it, and joints compare partitions, not dispersions.
    total : int, default 100
        Total of the rows that `sample` draws; a fit takes the mean of its rows.
    widest : int or None, default None
        Most counts of a row that are not 0; a fit finds it out, and rows then take only so much memory.

    Examples
    --------
    >>> from scipy.stats import dirichlet_multinomial
    >>> family = Multinomial([0.5, 1.0, 2.0])
    >>> expected = dirichlet_multinomial([0.5, 1.0, 2.0], 7).logpmf([4, 0, 3])
    >>> bool(np.isclose(family.log_marginal([[4, 0, 3]]), expected))
    True
    """

    has_columns = False
    is_whole = True
    has_units = False

    concentration: np.ndarray
    dispersion: float = 1.0
    total: int = 100
    widest: int | None = None

    def __post_init__(self) -> None:
        weights = checks.positive_vector("concentration", self.concentration, "1.0 is a flat prior.")
        checks.positive("dispersion", self.dispersion, "1.0 is independent counts.")
        checks.whole("total", self.total, 0)
        if self.widest is not None:
            checks.whole("widest", self.widest, 0)
        object.__setattr__(self, "concentration", weights)

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0) -> Self:
        """Take the shares of the whole table, each column counted once more; one pseudo-count per column.

        `scale` multiplies the pseudo-counts: smaller values look for clusters that differ more. X may be a
        sparse matrix.
        """
        counts = _column_totals(X) + 1.0
        weight = checks.positive("scale", scale, SCALE_HINT) * len(counts)
        return cls(np.maximum(weight * counts / counts.sum(), 1e-30))

    @classmethod
    def clumped(cls, X: np.ndarray) -> Self:
        """Return the prior of `empirical` with the dispersion of the rows beside those most like them.

        Where that is above 1, joints compare partitions of one table and are no probabilities.

        Examples
        --------
        >>> clumps = 5.0 * np.random.default_rng(0).multinomial(200, np.full(30, 1 / 30), size=60)
        >>> Multinomial.empirical(clumps).dispersion, round(Multinomial.clumped(clumps).dispersion)
        (1.0, 5)
        """
        check_dense(X)
        rows = np.asarray(X, dtype=np.float64)
        return dataclasses.replace(cls.empirical(rows), dispersion=dispersion_of(rows))

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return len(self.concentration)

    @property
    def n_cells(self) -> int:
        """Return the number of cells of an encoded row."""
        return HEAD + 2 * (self.n_features if self.widest is None else self.widest)

    def _spread(self, n_features: int) -> Self:
        return type(self)(np.repeat(self.concentration, n_features))

    def fitting(self, X: np.ndarray) -> Self:
        """Return this family for rows with as many counts as those of X have."""
        widest, total = int((X != 0.0).sum(axis=1).max(initial=0)), X.sum() / max(len(X), 1)
        return dataclasses.replace(self, widest=widest, total=round(float(total)))

    def new_bank(self, capacity: int) -> MultinomialBank:
        """Return the arrays of a bank with `capacity` chairs."""
        return new_multinomial_bank(self.concentration, capacity)

    def to_guess_by(self, numbers: np.ndarray, encoded: np.ndarray) -> np.ndarray:
        """Return the roots of each row's shares, whose spread does not depend on how large they are."""
        filled = gaps_filled_by_means(numbers)
        return np.sqrt(filled / np.maximum(filled.sum(axis=1, keepdims=True), 1.0))

    def encode(self, X: np.ndarray, names: Names = None) -> np.ndarray:
        """List the counts of each row that are not 0."""
        counts = _checked(np.asarray(X), names)
        there = counts != 0.0
        n_there = there.sum(axis=1)
        rows = np.zeros((len(counts), max(self.n_cells, HEAD + 2 * int(n_there.max(initial=0)))))
        i, j = np.nonzero(there)
        place = np.arange(len(i)) - np.repeat(np.cumsum(n_there) - n_there, n_there)
        rows[:, 0] = n_there
        if self.dispersion == 1.0:
            rows[:, 1] = gammaln(counts.sum(axis=1) + 1.0) - gammaln(counts + 1.0).sum(axis=1)
        rows[i, HEAD + 2 * place] = j
        rows[i, HEAD + 2 * place + 1] = counts[i, j] / self.dispersion
        return rows

    def posterior(self, bank: MultinomialBank, k: int) -> Self:
        """Return the family whose prior is the posterior of chair k."""
        return dataclasses.replace(self, concentration=self.concentration + bank.tally[:, k])

    def learned(self, clusters: Clusters, least_gain: float) -> Self:
        """Return the family whose concentration makes these clusters most probable."""
        tallies = [(clusters.bank.tally[:, k].copy(),) for k in range(clusters.n_clusters)]
        (weights,) = learned_pseudo_counts(Tallies.of(tallies), self._typical_log_total)
        return dataclasses.replace(self, concentration=weights)

    def log_hyperprior(self, clusters: Clusters) -> float:
        """Return the log density of the concentration."""
        return log_hyperprior_of([self.concentration], self._typical_log_total)

    @property
    def _typical_log_total(self) -> float:
        """Return the middle of the log concentration's hyperprior: one pseudo-count for each column."""
        return float(np.log(self.n_features))

    @property
    def n_learned(self) -> int:
        """Return the number of hyperparameters that are learned."""
        return 1

    def column(self, j: int) -> Bernoulli:
        """Return what is known of the share of column j."""
        own, total = self.concentration[j], self.concentration.sum()
        return Bernoulli(own, np.maximum(total - own, 1e-30))

    def sums(self, bank: MultinomialBank, k: int) -> Sums:
        """Return for each column how many counts are in others, and in it."""
        own, total = bank.tally[:, k], bank.mass[k]
        return tallied(total, [np.array([total - one, one]) for one in own])

    def summary(self) -> dict[str, Any]:
        """Return the expected share of each column, and its variance."""
        total = self.concentration.sum()
        share = self.concentration / total
        return {"share": share, "variance": share * (1.0 - share) / (total + 1.0)}

    def sample_parameters(self, n: int, rng: np.random.Generator) -> Parameters:
        """Draw the shares of columns for n clusters."""
        return (rng.dirichlet(self.concentration, size=n),)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw n independent rows from the predictive density, each with the typical total."""
        (shares,) = self.sample_parameters(n, rng)
        return rng.multinomial(self.total, shares).astype(np.float64)


def dispersion_of(X: np.ndarray) -> float:
    """Return how many times more rows vary than independent counts would: 1 where that is hardly more.

    Rows are compared with those that are most like them: who that is, half of the columns say, and how much
    they differ, the other half, so that likeness by chance does not count.
    """
    rows = X[:: max(1, len(X) // _COMPARED)]
    halves = [rows[:, 0::2], rows[:, 1::2]]
    found = [_differences(*pair) for pair in (halves, halves[::-1])] if rows.shape[1] > 1 else []
    differences, expected = np.sum(found, axis=0) if len(rows) > 1 and found else (0.0, 1.0)
    dispersion = float(differences / max(expected, 1.0))
    return dispersion if dispersion > _HARDLY else 1.0


def _differences(known: np.ndarray, judged: np.ndarray) -> tuple[float, float]:
    """Return squared differences of rows from those most like them, and what chance makes of them."""
    shares = np.sqrt(known / np.maximum(known.sum(axis=1, keepdims=True), 1.0))
    likeness = shares @ shares.T
    np.fill_diagonal(likeness, -1.0)
    other, total = judged[likeness.argmax(axis=1)], judged.sum(axis=1)
    seen = (total > 0.0) & (other.sum(axis=1) > 0.0)
    mine, other = judged[seen], other[seen]
    ratio = np.sqrt(other.sum(axis=1) / mine.sum(axis=1))[:, None]
    return float(((mine * ratio - other / ratio) ** 2).sum()), float(mine.sum() + other.sum())


def _column_totals(X: Any) -> np.ndarray:
    if is_sparse(X):
        return checked_counts(SparseRows.of(X)).column_sums
    return _checked(np.asarray(X, dtype=np.float64), None).sum(axis=0)


def checked_counts(rows: SparseRows) -> SparseRows:
    """Return the rows of a sparse matrix, or raise where a cell is no count."""
    rows.check_finite()
    rows.check_cells(rows.value >= 0.0, "counts must not be negative", _HINT)
    rows.check_cells(np.floor(rows.value) == rows.value, "counts must be whole numbers", _HINT)
    is_exact = rows.value <= checks.LARGEST_COUNT
    rows.check_cells(is_exact, "counts must be at most 2^53 to be exact", _HINT)
    return rows


def _checked(X: np.ndarray, names: Names) -> np.ndarray:
    checks.finite(X, names)
    checks.every_cell(X, X >= 0.0, "counts must not be negative", _HINT, names)
    checks.every_cell(X, np.floor(X) == X, "counts must be whole numbers", _HINT, names)
    checks.exact_counts(X, names)
    return X
