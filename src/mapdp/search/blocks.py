"""Knows how weights, groups and known labels turn a problem about rows into one about blocks of rows."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mapdp.families import Blocks
from mapdp.family import Bank
from mapdp.model import seated
from mapdp.moments import has_gaps, outlined
from mapdp.process import Process
from mapdp.search.run import Found, Problem
from mapdp.tables import is_gap

_MANY_TIMES = 100  # rows for one: beyond that a prior is made from each row once, to save memory


class Ties(NamedTuple):
    """Which rows belong together, and what they count for."""

    rows: np.ndarray  # (M,) the rows that count for something
    block_of: np.ndarray  # (M,) block of each of them
    weights: np.ndarray  # (M,)
    known: np.ndarray  # (B,) label that a block must keep for itself, -1 for none

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


def tie(n_rows: int, sample_weight: Any, groups: Any, y: Any) -> Ties | None:
    """Return the blocks that the arguments of a fit make of its rows, None where each stands for itself."""
    known = _known_labels(y, n_rows)
    if sample_weight is None and groups is None and known is None:
        return None
    weights = _weights(sample_weight, n_rows)
    rows = np.flatnonzero(weights > 0.0)
    names = _group_names(groups, n_rows)[rows]
    labels = np.full(len(rows), -1) if known is None else known[rows]
    block_of, of_block = _components(names, labels)
    return Ties(rows, block_of.astype(np.int64), weights[rows], of_block)


def _weights(sample_weight: Any, n_rows: int) -> np.ndarray:
    """Return what each row counts for, or say what is wrong with it."""
    if sample_weight is None:
        return np.ones(n_rows)
    weights = np.asarray(sample_weight, dtype=np.float64)
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
    given[:] = list(groups)
    if given.shape != (n_rows,):
        raise ValueError(
            f"groups must name a group for each of the {n_rows} rows, got shape {given.shape}. "
            "Hint: -1 is for rows in no group."
        )
    alone = np.array([is_gap(name) or name == -1 for name in given])
    _, numbers = np.unique([str(name) for name in given], return_inverse=True)
    return np.where(alone, numbers.max() + 1 + np.arange(n_rows), numbers)


def _known_labels(y: Any, n_rows: int) -> np.ndarray | None:
    """Return labels of which some are known; None where y does not say that others are not.

    Labels that are all known leave nothing to find: scikit-learn hands them to every estimator.
    """
    try:
        labels = np.asarray([] if y is None else y, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if not ((labels == -1).any() and (labels >= 0).any()) or (labels != np.floor(labels)).any():
        return None
    if labels.shape != (n_rows,):
        raise ValueError(f"y must hold a label for each of the {n_rows} rows, got shape {labels.shape}.")
    return labels.astype(np.int64)


def _components(names: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the block of each row and the label of each block: rows tied by group or by label."""
    _, group = np.unique(names, return_inverse=True)
    values, label = np.unique(labels, return_inverse=True)
    n_groups, told = group.max() + 1, labels >= 0
    size = n_groups + len(values)
    edges = coo_array((np.ones(told.sum()), (group[told], n_groups + label[told])), shape=(size, size))
    _, component = connected_components(edges, directed=False)
    _, first, block_of = np.unique(component[group], return_index=True, return_inverse=True)
    block_of = np.argsort(np.argsort(first))[block_of]
    of_block = np.full(block_of.max() + 1, -1, dtype=np.int64)
    for value in values[values >= 0]:
        block = block_of[np.argmax(labels == value)]
        if of_block[block] >= 0:
            raise ValueError(
                f"groups tie rows of label {of_block[block]} to rows of label {value}. "
                "Hint: rows of different known labels cannot share a group."
            )
        of_block[block] = value
    return block_of, of_block


def of_blocks(problem: Problem, ties: Ties) -> Problem:
    """Return the problem whose rows are blocks; a family whose columns are independent must be `Mixed`."""
    X = np.ascontiguousarray(problem.X[ties.rows])
    if not problem.family.has_columns and has_gaps(X):
        raise ValueError(
            f"gaps beside weights, groups or known labels need independent columns, got "
            f"{type(problem.family).__name__}. Hint: fill the gaps first, or use DiagonalGaussian."
        )
    _check_weights(ties, problem.process)
    tagged = (ties.known >= 0).astype(np.float64)
    blocks = Blocks(problem.family, X, ties.block_of, ties.weights, tagged, problem.process.discount)
    outline = np.zeros((len(tagged), X.shape[1]))
    np.add.at(outline, ties.block_of, outlined(X))
    outline /= np.bincount(ties.block_of)[:, None]
    numbers = np.arange(len(tagged), dtype=np.float64)[:, None]
    process = problem.process.counted_as(float(ties.weights.sum()))
    return problem._replace(X=numbers, outline=outline, family=blocks, process=process, n_threads=1)


def _check_weights(ties: Ties, process: Process) -> None:
    mass = np.bincount(ties.block_of, ties.weights)
    if mass.min() <= process.discount:
        raise ValueError(
            f"sample_weight must be above the discount of {process.discount}, got {mass.min()}. "
            "Hint: multiply all weights, or set discount=0."
        )


class Untied(NamedTuple):
    """What was found for blocks, in terms of rows."""

    labels: np.ndarray  # (M,) of the rows that count for something
    known: np.ndarray  # (K,) label that each cluster was told, -1 for none
    sizes: np.ndarray  # (K,) what its rows count for, whole where that is
    bank: Bank  # of the rows' own family


def untied(found: Found, problem: Problem, ties: Ties) -> Untied:
    """Number the clusters by what their rows count for."""
    labels = found.state.labels
    sizes = np.bincount(labels[ties.block_of], ties.weights)
    rank = np.empty(len(sizes), dtype=np.int32)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    state = seated(problem.X, rank[labels], problem.family, found.process)
    known = np.full(len(sizes), -1, dtype=np.int64)
    told = ties.known >= 0
    known[state.labels[told]] = ties.known[told]
    sizes = np.sort(sizes)[::-1]
    whole = (ties.weights == np.floor(ties.weights)).all()
    counts = sizes.astype(np.int64) if whole else sizes
    return Untied(state.labels[ties.block_of], known, counts, state.bank.chairs)
