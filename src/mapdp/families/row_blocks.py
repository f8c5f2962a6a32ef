"""Rows that must sit together, and rows that count for more or less than one.

A block of rows is poured into a chair as a whole, so any family will do: a block's score is the marginal
density of the chair with it, over that without. The prior over partitions counts rows, not blocks; what
that adds is part of the marginal, so the search does not change.
"""

import dataclasses
from typing import NamedTuple, Self

import numpy as np

from mapdp.compiled.handles import Handle
from mapdp.compiled.jit import inlined, kernel
from mapdp.compiled.special import log_sitting
from mapdp.families import verbs
from mapdp.families.base import Bank, Family

_FORBIDDEN = 1e12  # nats that it costs a block with a label of its own to sit with another such block


class BlocksPrior(NamedTuple):
    """What the blocks are."""

    items: Handle  # a bank with one slot for each block
    mass: np.ndarray  # (B,) rows that it counts for
    tagged: np.ndarray  # (B,) 1 where it must not sit with others of its sort
    discount: float


class BlocksBank(NamedTuple):
    """The statistics and cached predictives of all chairs."""

    prior: BlocksPrior
    chairs: Handle  # the bank of the rows' own family
    n: np.ndarray  # (K,) blocks
    mass: np.ndarray  # (K,) rows that they count for
    tagged: np.ndarray  # (K,) blocks with a label of their own
    log_worth: np.ndarray  # (K,) log marginal, with what the prior over partitions adds


class BlocksScratch(NamedTuple):
    """Working space."""

    chair: Handle  # a bank of one chair
    inner: Handle  # of the rows' own family


@dataclasses.dataclass(frozen=True, eq=False)
class Blocks(Family):
    """The model of `family` for blocks of rows; a block is given by its number.

    Parameters
    ----------
    family : Family
    X : array of shape (N, D)
        Encoded rows.
    block_of : array of shape (N,)
        Block of each row: 0, 1, ...
    weights : array of shape (N,)
        What each row counts for; positive.
    tagged : array of shape (B,)
        1 for blocks that must not share a cluster, else 0.
    discount : float
        Of the prior over partitions.
    """

    family: Family
    X: np.ndarray
    block_of: np.ndarray
    weights: np.ndarray
    tagged: np.ndarray
    discount: float

    def __post_init__(self) -> None:
        items = self.family.chairs(len(self.tagged))
        x, origin = np.empty(self.X.shape[1]), np.ascontiguousarray(self.family.origin, dtype=np.float64)
        _fill(self.X, self.block_of, self.weights, origin, x, self.scratch(), items)
        mass = np.bincount(self.block_of, self.weights, minlength=len(self.tagged))
        object.__setattr__(self, "_contents", (items, mass))

    @property
    def n_features(self) -> int:
        """A block is one number."""
        return 1

    def new_bank(self, capacity: int) -> Bank:
        """Return the arrays of a bank with `capacity` chairs."""
        items, mass = self._contents  # type: ignore[attr-defined]
        prior = BlocksPrior(items, mass, self.tagged, float(self.discount))
        chairs = self.family.handle(self.family.new_bank(capacity))
        return BlocksBank(prior, chairs, *np.zeros((4, capacity)))

    def scratch(self) -> BlocksScratch:
        """Return a chair to try a block on, and the working space of the rows' own family."""
        return BlocksScratch(self.family.chairs(1), self.family.scratch_handle())

    def posterior(self, bank: BlocksBank, k: int) -> Self:
        """Return the rows' family with the posterior of chair k as its prior."""
        return self.family.posterior(bank.chairs.contents, k)  # type: ignore[return-value]


@kernel
def _fill(X, block_of, weights, origin, x, scratch, items):
    """Put every row into its block, as often as it counts."""
    for i in range(X.shape[0]):
        for j in range(x.shape[0]):
            x[j] = X[i, j] - origin[j]
        verbs.clear(scratch.chair, 0)
        verbs.insert(scratch.chair, 0, x, scratch.inner)
        verbs.pour(items, block_of[i], scratch.chair, 0, weights[i], scratch.inner)


@verbs.clear.on(BlocksBank)
def clear(bank, k):
    verbs.clear(bank.chairs, k)
    bank.n[k] = bank.mass[k] = bank.tagged[k] = 0.0


@inlined
def _move(bank, k, x, sign, scratch):
    """Pour a block into chair k (+1) or out of it (-1)."""
    block = int(x[0])
    verbs.pour(bank.chairs, k, bank.prior.items, block, sign, scratch.inner)
    bank.n[k] += sign
    bank.mass[k] += sign * bank.prior.mass[block]
    bank.tagged[k] += sign * bank.prior.tagged[block]


@verbs.insert.on(BlocksBank)
def insert(bank, k, x, scratch):
    _move(bank, k, x, 1.0, scratch)


@verbs.remove.on(BlocksBank)
def remove(bank, k, x, scratch):
    _move(bank, k, x, -1.0, scratch)


@verbs.pour.on(BlocksBank)
def pour(bank, k, other, j, times, scratch):
    verbs.pour(bank.chairs, k, other.chairs, j, times, scratch.inner)
    bank.n[k] += times * other.n[j]
    bank.mass[k] += times * other.mass[j]
    bank.tagged[k] += times * other.tagged[j]


@inlined
def _beyond_blocks(n, mass, tagged, discount):
    """Return what the prior says of so many rows beyond what it says of so many blocks."""
    if n < 0.5:
        return 0.0
    apart = _FORBIDDEN * max(tagged - 1.0, 0.0)
    return log_sitting(mass, discount) - log_sitting(n, discount) - apart


@verbs.refresh.on(BlocksBank)
def refresh(bank, k):
    verbs.refresh(bank.chairs, k)
    bank.log_worth[k] = log_marginal(bank, k)


@inlined
def _log_marginal_with(bank, k, x, sign, scratch):
    """Return the log marginal of chair k with one block more (+1) or less (-1)."""
    prior, block = bank.prior, int(x[0])
    verbs.clear(scratch.chair, 0)
    verbs.pour(scratch.chair, 0, bank.chairs, k, 1.0, scratch.inner)
    verbs.pour(scratch.chair, 0, prior.items, block, sign, scratch.inner)
    mass = bank.mass[k] + sign * prior.mass[block]
    tagged = bank.tagged[k] + sign * prior.tagged[block]
    more = _beyond_blocks(bank.n[k] + sign, mass, tagged, prior.discount)
    return verbs.log_marginal(scratch.chair, 0) + more


@verbs.log_predictive.on(BlocksBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    for k in range(n_chairs):
        scores[k] += _log_marginal_with(bank, k, x, 1.0, scratch) - bank.log_worth[k]


@verbs.log_leave_one_out.on(BlocksBank)
def log_leave_one_out(bank, k, x, scratch):
    return bank.log_worth[k] - _log_marginal_with(bank, k, x, -1.0, scratch)


@verbs.log_marginal.on(BlocksBank)
@inlined
def log_marginal(bank, k):
    more = _beyond_blocks(bank.n[k], bank.mass[k], bank.tagged[k], bank.prior.discount)
    return verbs.log_marginal(bank.chairs, k) + more
