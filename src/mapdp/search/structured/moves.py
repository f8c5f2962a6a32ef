"""Merges and splits of clusters, judged by the exact joint of the whole seating.

A split is guessed from the shape of the rows alone, as in the flat search (`engine/propose.py`), then the
rows settle under the structured prior before it is judged.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from mapdp.engine.propose import GuessBuffers, guess_buffers, guess_by_axis, guess_by_seeds
from mapdp.engine.score import beats
from mapdp.partitions.labels import compact

_MOST_PAIRS = 40  # of clusters whose merging is worked out
_HOPELESS = -200.0  # nats of log density that no prior makes good
_PASSES = 5  # over the rows of a split before it is judged
_SEEDS = (2, 2, 3, 5)  # of guesses beside the main axis
_FEW_PAIRS = 5  # of clusters that are parted anew, or merge again
_WITHIN_REACH = 100.0  # nats below, from where a split may come back by merges


def merge(run: Any, rng: np.random.Generator) -> bool:
    """Merge the two clusters that gain most by it."""
    merged = [_merged(run.labels, a, b) for a, b in _likely_pairs(run, _MOST_PAIRS)]
    if not merged:
        return False
    return run.adopt(run.with_labels(max(merged, key=run.log_joint_with)), "merge")


def _likely_pairs(run: Any, n: int) -> list[tuple[int, int]]:
    """Return the pairs of chairs whose rows are most alike."""
    gains = run.merge_gains()
    order = np.argsort(-gains, axis=None, kind="stable")[:n]
    pairs = [np.unravel_index(place, gains.shape) for place in order]
    return [(int(a), int(b)) for a, b in pairs if gains[a, b] > _HOPELESS]


def _merged(labels: np.ndarray, a: int, b: int) -> np.ndarray:
    return compact(np.where(labels == b, a, labels))


def split(run: Any, rng: np.random.Generator) -> bool:
    """Split a cluster, or part two anew; the first that gains is taken."""
    for rows in _rows_to_part(run):
        key = np.packbits(np.isin(np.arange(len(run.labels)), rows)).tobytes()
        if key in run.failed:
            continue
        guesses = (_guesses(numbers, rng) for numbers in run.tables_to_guess_by(rows))
        for parts in itertools.chain.from_iterable(guesses):
            if run.adopt(_settled(run, rows, parts), "split"):
                return True
        run.failed.add(key)
    return False


def _rows_to_part(run: Any) -> Iterator[np.ndarray]:
    """Yield the rows of each cluster, largest first, then those of two that are alike."""
    labels = run.labels.copy()
    sizes = np.bincount(labels)
    for k in np.argsort(-sizes, kind="stable"):
        if sizes[k] > 1:
            yield np.flatnonzero(labels == k).astype(np.int32)
    for a, b in _likely_pairs(run, _FEW_PAIRS):
        yield np.flatnonzero((labels == a) | (labels == b)).astype(np.int32)


def _guesses(numbers: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield parts of rows: along their main axis, and around seeds."""
    rows = np.arange(len(numbers), dtype=np.int32)
    buffers: GuessBuffers = guess_buffers(len(rows), numbers.shape[1])
    guess_by_axis(numbers, rows, np.ones(numbers.shape[1]), buffers)
    yield buffers.guess.copy()
    for n_seeds in _SEEDS:
        if n_seeds <= len(rows):
            guess_by_seeds(numbers, rows, rng.random(n_seeds), buffers)
            yield buffers.guess.copy()


def _settled(run: Any, rows: np.ndarray, parts: np.ndarray) -> Any:
    """Return a run in which rows are parted and have settled; parts that are too many have merged."""
    labels = run.labels.copy()
    labels[rows] = labels.max() + 1 + parts
    trial = run.with_labels(compact(labels))
    trial.prepare_split()
    for _ in range(_PASSES):
        if trial.visit(rows) == 0:
            break
    log_joint, least = trial.log_joint(), run.log_joint() - _WITHIN_REACH
    while log_joint > least and (raised := _merge_quietly(trial, log_joint)) is not None:
        log_joint = raised
    return trial


def _merge_quietly(trial: Any, log_joint: float) -> float | None:
    """Merge the two clusters of a trial that gain most by it; return the joint, None where none gain."""
    merged = [_merged(trial.labels, a, b) for a, b in _likely_pairs(trial, _FEW_PAIRS)]
    joints = [trial.log_joint_with(labels) for labels in merged]
    if not joints or not beats(max(joints), log_joint):
        return None
    trial.take(trial.with_labels(merged[int(np.argmax(joints))]))
    return max(joints)
