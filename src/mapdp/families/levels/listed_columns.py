"""What banks of sparse rows share: a chair lists the columns that its rows have a count in.

So a chair is emptied, poured into another and judged in a time that goes with what its rows hold, not with
the columns of the table. An encoded row is its number; its cells are in the prior.
"""

from typing import NamedTuple

import numpy as np

from mapdp.compiled.jit import inlined

_BYTES = 13  # of a column of a chair: its count, its place in the list, whether it is there
_MOST_BYTES = 2**32


class Listed(NamedTuple):
    """The columns of each chair that were ever counted since it was empty."""

    n: np.ndarray  # (K,) how many
    place: np.ndarray  # (D, K) which; the first n are in use
    is_there: np.ndarray  # (D, K) whether a column is among them


def no_columns(n_columns: int, capacity: int) -> Listed:
    """Return the lists of chairs that are empty, or raise where such chairs would take too much memory."""
    shape, n_bytes = (n_columns, capacity), _BYTES * n_columns * capacity
    if n_bytes > _MOST_BYTES:
        raise MemoryError(
            f"{capacity} clusters of {n_columns} columns would take {n_bytes / 2**30:.0f} GB: under this "
            "prior rows are best alone. Hint: leave out rare columns, or take a stronger prior, such as "
            "family=Bernoulli.empirical(X, scale=100)."
        )
    return Listed(np.zeros(capacity, np.int64), np.zeros(shape, np.int32), np.zeros(shape, np.int8))


def columns_with_counts(tally: np.ndarray) -> Listed:
    """Return the lists of chairs with these counts."""
    listed = no_columns(*tally.shape)
    listed.is_there[:] = tally != 0.0
    listed.n[:] = listed.is_there.sum(axis=0)
    for k, n in enumerate(listed.n):
        listed.place[:n, k] = np.flatnonzero(listed.is_there[:, k])
    return listed


@inlined
def count(tally, listed, k, j, amount):
    """Add to the count of column j on chair k."""
    tally[j, k] += amount
    if listed.is_there[j, k] == 0:
        listed.is_there[j, k] = 1
        listed.place[listed.n[k], k] = j
        listed.n[k] += 1


@inlined
def forget(tally, listed, k):
    """Set all counts of chair k to 0."""
    for i in range(listed.n[k]):
        j = listed.place[i, k]
        tally[j, k] = 0.0
        listed.is_there[j, k] = 0
    listed.n[k] = 0


@inlined
def count_row(tally, listed, k, prior, i, sign):
    """Add the cells of row i to the counts of chair k, or subtract them (sign -1)."""
    for cell in range(prior.first[i], prior.first[i + 1]):
        count(tally, listed, k, prior.place[cell], sign * prior.value[cell])


@inlined
def count_chair(tally, listed, k, other_tally, other_listed, j, times):
    """Add the counts of chair j of another bank, so many times."""
    for i in range(other_listed.n[j]):
        d = other_listed.place[i, j]
        count(tally, listed, k, d, times * other_tally[d, j])
