"""Groups and sequences of a table: which columns say where rows belong, and what a model is told of it."""

import pathlib
from typing import Any

import numpy as np
import pyarrow as pa

from mapdp.cli.files import TroubleError
from mapdp.cli.inputs import Given, taken
from mapdp.estimators.hidden_markov import MAPHMM
from mapdp.estimators.map_dp import MAPDP
from mapdp.estimators.structured import StructuredMixture


def places(model: Any, groups: np.ndarray | None, sequences: np.ndarray | None) -> dict[str, Any]:
    """Return the groups of rows, or the lengths of sequences, for a model that needs them."""
    if isinstance(model, MAPHMM):
        return {"lengths": None if sequences is None else lengths_of_runs(sequences)}
    if isinstance(model, StructuredMixture):
        return {"groups": None if groups is None else _as_words(groups)}
    return {}


def for_fit(model: Any, given: Given) -> dict[str, Any]:
    """Return what a fit takes beside rows."""
    if isinstance(model, MAPDP):
        return {"sample_weight": given.weights, "groups": given.groups}
    return places(model, given.groups, given.sequences)


def places_in(
    model: Any, path: pathlib.Path, rows: pa.Table, groups: str | None, sequence_id: str | None
) -> dict[str, Any]:
    """Return the groups or sequences of a new table, or say what does not go with a model."""
    is_sequence, is_structured = isinstance(model, MAPHMM), isinstance(model, StructuredMixture)
    is_grouped = is_structured and not is_sequence
    for option, column, is_right in (
        ("--groups", groups, is_grouped),
        ("--sequence-id", sequence_id, is_sequence),
    ):
        if column is not None and not is_right:
            raise TroubleError(f"{option} does not go with {path}, which holds a {type(model).__name__}.")
    if is_grouped and groups is None and model._is_grouped:
        raise TroubleError(f"{path} was fitted to groups. Hint: --groups names the column they are in.")
    named = {"groups": groups, "sequence_id": sequence_id}
    cells = [None if name is None else taken(rows, name, role) for role, name in named.items()]
    return places(model, *cells)


def _as_words(names: np.ndarray) -> np.ndarray:
    """Return names as words, whatever a file holds them as; missing ones stay missing."""
    return np.array([None if name is None else str(name) for name in names], dtype=object)


def lengths_of_runs(names: np.ndarray) -> np.ndarray:
    """Return the lengths of the runs of one name, or say which name is missing or comes back later."""
    begins, seen = np.flatnonzero(np.append(True, names[1:] != names[:-1])), set()
    for begin in begins.tolist():
        name = names[begin]
        if name is None or name in seen:
            trouble = "is missing" if name is None else f"is {str(name)!r} again, after other sequences"
            raise TroubleError(
                f"--sequence-id: the name of row {begin} {trouble}. "
                "Hint: rows of a sequence must follow each other, so sort the table."
            )
        seen.add(name)
    return np.diff(np.append(begins, len(names)))
