"""Gaussian clusters whose centres and variances are drawn instead of integrated out.

A chair keeps its conjugate statistics and, beside them, one draw from their posterior. Scoring reads the
draw alone, so the Gibbs sweep of the paper's section 2.2 is the collapsed sweep over another bank. A
chair that gets its first row draws at once (that is the posterior given one row); all chairs draw anew
after a sweep. An empty chair has no parameters: it is scored by the prior predictive.

Randomness comes as standard noise that Python has drawn. `root` is the lower triangular W of the precision
W'W, so that a row's squared distance is the squared length of W (x - centre).
"""

import dataclasses
import math
from typing import Any, NamedTuple, Self

import numpy as np

from mapdp.compiled.jit import inlined
from mapdp.compiled.lanes import LANES, load, spread, store
from mapdp.compiled.special import LOG_2PI, log
from mapdp.families import verbs
from mapdp.families.base import Bank, Family
from mapdp.families.gaussian.diagonal import DiagonalGaussian
from mapdp.families.gaussian.full import Gaussian

# Draws of new chairs that are prepared; no more rows are visited between two refills.
_MOST_DRAWS, _FEWEST_DRAWS = 1024, 16
_SUPPLY_CELLS = 2**18  # noise held ready: 2 MB


class Supply(NamedTuple):
    """What all chairs share."""

    blank: Any  # a bank of empty chairs
    noise: np.ndarray  # (S, F) noise for chairs that get their first row
    used: np.ndarray  # (1,) how much of it is spent


class UncollapsedScratch(NamedTuple):
    """Working space."""

    inner: Any  # of the collapsed family
    blank_scores: np.ndarray  # (LANES,) what empty chairs are worth to the row in hand


class UncollapsedDiagonalBank(NamedTuple):
    """Statistics and drawn parameters of clusters with one variance per column."""

    prior: Supply
    known: Any  # the conjugate bank
    empty: np.ndarray  # (K,) 1 where nobody sits, else 0
    constant: np.ndarray  # (K,) log density at the centre
    centre: np.ndarray  # (D, K)
    root: np.ndarray  # (D, K) diagonal of W


class UncollapsedFullBank(NamedTuple):
    """Statistics and drawn parameters of clusters with a full covariance."""

    prior: Supply
    known: Any
    empty: np.ndarray
    constant: np.ndarray
    centre: np.ndarray
    root: np.ndarray  # (D (D + 1) / 2, K) lower triangle of W, row after row


@dataclasses.dataclass(frozen=True, eq=False)
class Uncollapsed(Family):
    """A Gaussian family for the uncollapsed sampler; its banks share one supply of noise."""

    collapsed: Any
    supply: np.ndarray  # (S, F)
    used: np.ndarray  # (1,)

    @classmethod
    def of(cls, collapsed: Family) -> Self:
        """Return the drawn form of a Gaussian family."""
        if isinstance(collapsed, Gaussian):
            width = collapsed.n_features * (collapsed.n_features + 1)
        elif isinstance(collapsed, DiagonalGaussian):
            width = 2 * collapsed.n_features
        else:
            raise TypeError(
                f"collapsed=False needs a Gaussian family, got {type(collapsed).__name__}. "
                "Hint: collapsed=True samples every family, and mixes better."
            )
        n_draws = max(_FEWEST_DRAWS, min(_MOST_DRAWS, _SUPPLY_CELLS // width))
        return cls(collapsed, np.zeros((n_draws, width)), np.full(1, n_draws))

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return self.collapsed.n_features

    @property
    def origin(self) -> np.ndarray:
        """Rows are measured from the prior mean."""
        return self.collapsed.origin

    def scratch(self) -> UncollapsedScratch:
        """Return working space for the collapsed family, and for the score of an empty chair."""
        return UncollapsedScratch(self.collapsed.scratch(), np.zeros(LANES))

    def new_bank(self, capacity: int) -> Bank:
        """Return the arrays of a bank with `capacity` chairs."""
        d, full = self.n_features, isinstance(self.collapsed, Gaussian)
        shared = Supply(self.collapsed.bank(1), self.supply, self.used)
        shapes = [(capacity,), (capacity,), (d, capacity), (d * (d + 1) // 2 if full else d, capacity)]
        kind = UncollapsedFullBank if full else UncollapsedDiagonalBank
        return kind(shared, self.collapsed.new_bank(capacity), *[np.zeros(shape) for shape in shapes])

    def refill(self, rng: np.random.Generator) -> None:
        """Replace the noise that chairs with a first row have used."""
        used = int(self.used[0])
        if used:
            self.supply[:used] = self.noise(np.ones(used), rng)
            self.used[0] = 0

    def noise(self, n: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return noise, from which `draw` makes the parameters of chairs with n rows."""
        d = self.n_features
        if isinstance(self.collapsed, DiagonalGaussian):
            shape = np.repeat(self.collapsed.shape + 0.5 * n[:, None], d, axis=1)
            return np.hstack([rng.standard_gamma(shape), rng.normal(size=(len(n), d))])
        # Bartlett's factor of a Wishart matrix, read from the last column to the first.
        factor = np.tril(rng.normal(size=(len(n), d, d)), -1)
        chi_square = 2.0 * rng.standard_gamma(0.5 * (self.collapsed.dof + n[:, None] - np.arange(d)[::-1]))
        factor[:, np.arange(d), np.arange(d)] = np.sqrt(chi_square)
        return np.hstack([factor.reshape(len(n), d * d), rng.normal(size=(len(n), d))])


@verbs.clear.on(UncollapsedDiagonalBank)
@verbs.clear.on(UncollapsedFullBank)
def clear(bank, k):
    verbs.clear(bank.known, k)
    bank.empty[k] = 1.0
    bank.constant[k] = 0.0
    for j in range(bank.centre.shape[0]):
        bank.centre[j, k] = 0.0
    for p in range(bank.root.shape[0]):
        bank.root[p, k] = 0.0


@verbs.insert.on(UncollapsedDiagonalBank)
@verbs.insert.on(UncollapsedFullBank)
def insert(bank, k, x, scratch):
    verbs.insert(bank.known, k, x, scratch.inner)


@verbs.remove.on(UncollapsedDiagonalBank)
@verbs.remove.on(UncollapsedFullBank)
def remove(bank, k, x, scratch):
    verbs.remove(bank.known, k, x, scratch.inner)


@verbs.pour.on(UncollapsedDiagonalBank)
@verbs.pour.on(UncollapsedFullBank)
def pour(bank, k, other, j, times, scratch):
    verbs.pour(bank.known, k, other.known, j, times, scratch.inner)


@verbs.refresh.on(UncollapsedDiagonalBank)
@verbs.refresh.on(UncollapsedFullBank)
def refresh(bank, k):
    """Parameters follow their statistics only when drawn: here, where a chair got its first row."""
    if bank.known.n[k] > 0.0 and bank.empty[k] == 1.0:
        used = bank.prior.used
        used[0] = used[0] % bank.prior.noise.shape[0] + 1
        verbs.draw(bank, k, bank.prior.noise[used[0] - 1])


@verbs.log_marginal.on(UncollapsedDiagonalBank)
@verbs.log_marginal.on(UncollapsedFullBank)
def log_marginal(bank, k):
    return verbs.log_marginal(bank.known, k)


@verbs.draw.on(UncollapsedDiagonalBank)
def draw_diagonal(bank, k, noise):
    known, d = bank.known, bank.centre.shape[0]
    verbs.refresh(known, k)
    spread_of_mean = 1.0 / math.sqrt(known.prior.strength + known.n[k])
    bank.empty[k] = 0.0
    bank.constant[k] = -0.5 * d * LOG_2PI
    for j in range(d):
        root = math.sqrt(noise[j] * known.inverse_rate[j, k])
        bank.root[j, k] = root
        bank.centre[j, k] = known.mean[j, k] + noise[d + j] * spread_of_mean / root
        bank.constant[k] += log(root) - known.prior.blur[j] * root * root


@verbs.draw.on(UncollapsedFullBank)
def draw_full(bank, k, noise):
    known, root, d = bank.known, bank.root, bank.centre.shape[0]
    verbs.refresh(known, k)
    spread_of_mean = 1.0 / math.sqrt(known.prior.strength + known.n[k])
    bank.empty[k] = 0.0
    bank.constant[k] = -0.5 * d * LOG_2PI
    for i in range(d):
        row = i * (i + 1) // 2
        for j in range(i, -1, -1):  # W times the factor of the posterior scale is the noise
            rest = noise[i * d + j]
            for p in range(j + 1, i + 1):
                rest -= root[row + p, k] * known.factor[p, j, k]
            root[row + j, k] = rest / known.factor[j, j, k]
        rest = noise[d * d + i] * spread_of_mean
        for j in range(i):
            rest -= root[row + j, k] * (bank.centre[j, k] - known.mean[j, k])
        bank.centre[i, k] = known.mean[i, k] + rest / root[row + i, k]
        bank.constant[k] += log(root[row + i, k])
        for j in range(i + 1):
            bank.constant[k] -= 0.5 * known.prior.rounding[j] * root[row + j, k] ** 2


@inlined
def _score_blank(bank, x, scratch):
    """Return the prior predictive density of a row."""
    scores = scratch.blank_scores
    store(scores, 0, spread(0.0))
    verbs.log_predictive(bank.prior.blank, x, 1, scores, scratch.inner)
    return scores[0]


@verbs.log_predictive.on(UncollapsedDiagonalBank)
def log_predictive_diagonal(bank, x, n_chairs, scores, scratch):
    blank = _score_blank(bank, x, scratch)
    for k in range(0, n_chairs, LANES):
        length = spread(0.0)
        for j in range(x.shape[0]):
            residual = load(bank.root[j], k) * (x[j] - load(bank.centre[j], k))
            length += residual * residual
        density = load(bank.constant, k) - 0.5 * length + blank * load(bank.empty, k)
        store(scores, k, load(scores, k) + density)


@verbs.log_predictive.on(UncollapsedFullBank)
def log_predictive_full(bank, x, n_chairs, scores, scratch):
    blank = _score_blank(bank, x, scratch)
    for k in range(0, n_chairs, LANES):
        length = spread(0.0)
        for i in range(x.shape[0]):
            store(scratch.inner.lanes[i], 0, x[i] - load(bank.centre[i], k))
            residual = spread(0.0)
            for j in range(i + 1):
                residual += load(bank.root[i * (i + 1) // 2 + j], k) * load(scratch.inner.lanes[j], 0)
            length += residual * residual
        density = load(bank.constant, k) - 0.5 * length + blank * load(bank.empty, k)
        store(scores, k, load(scores, k) + density)


@verbs.log_leave_one_out.on(UncollapsedDiagonalBank)
def log_leave_one_out_diagonal(bank, k, x, scratch):
    length = 0.0
    for j in range(x.shape[0]):
        length += (bank.root[j, k] * (x[j] - bank.centre[j, k])) ** 2
    return bank.constant[k] - 0.5 * length


@verbs.log_leave_one_out.on(UncollapsedFullBank)
def log_leave_one_out_full(bank, k, x, scratch):
    length = 0.0
    for i in range(x.shape[0]):
        residual = 0.0
        for j in range(i + 1):
            residual += bank.root[i * (i + 1) // 2 + j, k] * (x[j] - bank.centre[j, k])
        length += residual * residual
    return bank.constant[k] - 0.5 * length
