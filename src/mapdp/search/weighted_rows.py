"""How weights, groups and known labels turn a problem about rows into one about blocks of rows."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mapdp.data.frames import is_gap
from mapdp.data.known_labels import known_labels
from mapdp.data.matrices import without_mask
from mapdp.data.moments import gaps_filled_by_means
from mapdp.engine.build import seated
from mapdp.engine.problem import Problem
from mapdp.families import Blocks
from mapdp.families.base import Bank
from mapdp.partitions.labels import by_falling_size
from mapdp.partitions.process import Process
from mapdp.search.run import Found

_USUAL_WEIGHT = (0.5, 2.0)  # a mean weight beyond these is probably not meant as a number of repeats
_MANY_TIMES = 100  # rows for one: beyond that a prior is made from each row once, to save memory


class RowBlocks(NamedTuple):
    """Which rows belong together, and what they count for."""

    rows: np.ndarray  # (M,) the rows that count for something
    block_of: np.ndarray  # (M,) block of each of them
    weights: np.ndarray  # (M,)
    known: np.ndarray  # (B,) number of the label that a block must keep for itself, -1 for none
    names: np.ndarray  # (L,) what the labels are called

    def counted(self) -> np.ndarray:
        """Return the rows, each as often as it counts; once, where that is not whole or too often."""
        whole = (self.weights == np.floor(self.weights)).all()
        if not whole or self.weights.sum() > _MANY_TIMES * len(self.rows):
            return self.rows
        return np.repeat(self.rows, self.weights.astype(np.int64))

    def of_blocks(self, values: Any) -> np.ndarray:
        """Return the value of each block's first row."""
        _, first = np.unique(self.block_of, return_index=True)
        return np.asarray(values)[self.rows[first]]

    def named(self, numbers: np.ndarray) -> np.ndarray:
        """Return labels by their names; where there is none, -1 among numbers and "" among words."""
        nothing = np.array([-1 if self.names.dtype.kind == "i" else ""])
        return np.concatenate([self.names, nothing])[numbers]


def row_blocks(
    n_rows: int, sample_weight: Any, groups: Any, y: Any, reading: str | None = None
) -> RowBlocks | None:
    """Return the blocks that the arguments of a fit make of its rows, None where each stands for itself."""
    known = known_labels(y, n_rows)
    if sample_weight is None and groups is None and known is None:
        return None
    weights = _read_as(reading, _weights(sample_weight, n_rows))
    rows = np.flatnonzero(weights > 0.0)
    names = _group_names(groups, n_rows)[rows]
    labels = np.full(len(rows), -1) if known is None else known.numbers[rows]
    called = np.empty(0, dtype=np.int64) if known is None else known.names
    block_of, of_block = _components(names, labels, called)
    return RowBlocks(rows, block_of.astype(np.int64), weights[rows], of_block, called)


def _read_as(reading: str | None, weights: np.ndarray) -> np.ndarray:
    """Return what rows count for: weights as they are, or with a mean of 1 over rows that count at all."""
    mean = float(weights[weights > 0.0].mean())
    if reading == "relative":
        return weights / mean
    some = weights[weights > 0.0]
    are_counts = (some == np.floor(some)).all() and some.min() < some.max()
    if reading is None and not are_counts and not _USUAL_WEIGHT[0] < mean < _USUAL_WEIGHT[1]:
        warnings.warn(
            f"sample_weight has a mean of {mean:.3g}; rows count as that many repeats, which changes the "
            'number of clusters. Hint: weights="relative" scales them to a mean of 1, weights="repeats" '
            "keeps them without this warning.",
            UserWarning,
            stacklevel=4,
        )
    return weights


def _weights(sample_weight: Any, n_rows: int) -> np.ndarray:
    """Return what each row counts for, or say what is wrong with it."""
    if sample_weight is None:
        return np.ones(n_rows)
    weights = np.asarray(without_mask(sample_weight), dtype=np.float64)
    weights = np.full(n_rows, weights) if weights.ndim == 0 else weights
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must hold one number for each of the {n_rows} rows, got shape {weights.shape}."
        )
    if not (np.isfinite(weights).all() and (weights >= 0.0).all()):
        i = int(np.argmin(np.isfinite(weights) & (weights >= 0.0)))
        raise ValueError(
            f"sample_weight must be finite and not negative, got {weights[i]} in row {i}. "
            "Hint: 0 leaves a row out."
        )
    if not weights.any():
        raise ValueError("sample_weight must not be all zero. Hint: None counts each row once.")
    return weights


def _group_names(groups: Any, n_rows: int) -> np.ndarray:
    """Return a number for the group of each row; those in no group (-1 or None) are their own."""
    if groups is None:
        return np.arange(n_rows)
    given = np.empty(len(groups), dtype=object)
    given[:] = list(without_mask(groups))
    if given.shape != (n_rows,):
        raise ValueError(
            f"groups must name a group for each of the {n_rows} rows, got shape {given.shape}. "
            "Hint: -1 is for rows in no group."
        )
    alone = np.array([is_gap(name) or name == -1 for name in given])
    _, numbers = np.unique([str(name) for name in given], return_inverse=True)
    return np.where(alone, numbers.max() + 1 + np.arange(n_rows), numbers)


def _components(names: np.ndarray, labels: np.ndarray, called: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the block of each row and the label of each block: rows tied by group or by label."""
    _, group = np.unique(names, return_inverse=True)
    values, label = np.unique(labels, return_inverse=True)
    n_groups, has_label = group.max() + 1, labels >= 0
    size = n_groups + len(values)
    edges = coo_array(
        (np.ones(has_label.sum()), (group[has_label], n_groups + label[has_label])), shape=(size, size)
    )
    _, component = connected_components(edges, directed=False)
    _, first, block_of = np.unique(component[group], return_index=True, return_inverse=True)
    block_of = np.argsort(np.argsort(first))[block_of]
    of_block = np.full(block_of.max() + 1, -1, dtype=np.int64)
    for value in values[values >= 0]:
        block = block_of[np.argmax(labels == value)]
        if of_block[block] >= 0:
            raise ValueError(
                f"groups tie rows of label {called[of_block[block]]} to rows of label {called[value]}. "
                "Hint: rows of different known labels cannot share a group."
            )
        of_block[block] = value
    return block_of, of_block


def of_blocks(problem: Problem, blocks: RowBlocks) -> Problem:
    """Return the problem whose rows are blocks; a family whose columns are independent must be `Mixed`."""
    X, model = np.ascontiguousarray(problem.X[blocks.rows]), problem.model
    if not (model.family.has_columns or model.family.takes_encoded_gaps(X)):
        raise ValueError(
            f"gaps beside weights, groups or known labels need independent columns, got "
            f"{type(model.family).__name__}. Hint: fill the gaps first, or use DiagonalGaussian."
        )
    _check_weights(blocks, model.process)
    tagged = (blocks.known >= 0).astype(np.float64)
    family = Blocks(model.family, X, blocks.block_of, blocks.weights, tagged, model.process.discount)
    means = np.zeros((len(tagged), X.shape[1]))
    np.add.at(means, blocks.block_of, gaps_filled_by_means(X))
    means /= np.bincount(blocks.block_of)[:, None]
    numbers = np.arange(len(tagged), dtype=np.float64)[:, None]
    process = model.process.counted_as(float(blocks.weights.sum()))
    return Problem(
        X=numbers,
        rows_for_guesses=means,
        model=model._replace(family=family, process=process),
        budget=problem.budget._replace(n_threads=1),
    )


def _check_weights(blocks: RowBlocks, process: Process) -> None:
    mass = np.bincount(blocks.block_of, blocks.weights)
    if mass.min() <= process.discount:
        raise ValueError(
            f"sample_weight must be above the discount of {process.discount}, got {mass.min()}. "
            "Hint: multiply all weights, or set discount=0."
        )


class RowResult(NamedTuple):
    """What was found for blocks, in terms of rows."""

    labels: np.ndarray  # (M,) of the rows that count for something
    known: np.ndarray  # (K,) number of the known label of each cluster, -1 for none
    sizes: np.ndarray  # (K,) what its rows count for, whole where that is
    bank: Bank  # of the rows' own family


def by_rows(found: Found, problem: Problem, rows: np.ndarray, blocks: RowBlocks) -> RowResult:
    """Return what was found for blocks in terms of rows; clusters are numbered by what rows count for."""
    labels = found.state.labels
    of_rows = by_falling_size(labels[blocks.block_of], rows[blocks.rows], blocks.weights)
    rank = np.empty(found.state.n_clusters, dtype=np.int32)
    rank[labels[blocks.block_of]] = of_rows
    state = seated(problem.X, rank[labels], problem.model.family, found.process)
    known = np.full(len(rank), -1, dtype=np.int64)
    has_label = blocks.known >= 0
    known[state.labels[has_label]] = blocks.known[has_label]
    sizes = np.bincount(of_rows, blocks.weights)
    whole = (blocks.weights == np.floor(blocks.weights)).all()
    return RowResult(of_rows, known, sizes.astype(np.int64) if whole else sizes, state.bank.chairs.contents)
