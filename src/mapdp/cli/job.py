"""One fit from the command line: progress, Ctrl-C, and the labels that are written."""

import functools
import signal
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from mapdp.cli.inputs import Given
from mapdp.cli.places import for_fit
from mapdp.cli.show import ProgressLine
from mapdp.data.wording import counted
from mapdp.engine.trace import Step
from mapdp.estimators.map_dp import MAPDP
from mapdp.estimators.nested import NestedMAPDP

_SURE_ROWS = 20_000  # rows up to which a report says how sure the clusters are
_SURE_WORK = 20.0  # seconds of a core, about: what is said must not depend on how busy a machine is
_SURE_SECONDS = 120.0  # at most, where cells take far longer than usual
_ROW, _CELL = 1e-6, 4e-9  # seconds that a visit takes, for a row and for a cell and a chair
_CHAINS = 4
_LABELS = ("cluster", "probability", "novelty", "group_cluster")


class Interrupt:
    """Turns the first Ctrl-C into a request to stop; the second one ends the program."""

    requested = False

    def __enter__(self) -> "Interrupt":
        self._before = signal.signal(signal.SIGINT, self._ask)
        return self

    def _ask(self, *_: object) -> None:
        self.requested = True
        signal.signal(signal.SIGINT, self._before)

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)


class FitOutcome(NamedTuple):
    """What a fit came to, besides the model."""

    sure: Any  # how sure the clusters are; None where that takes long
    seconds: float  # of the fit
    is_interrupted: bool  # by Ctrl-C


def watched(
    model: Any, progress: ProgressLine, fit: Callable[[], Any], *, begin: str, end: str
) -> FitOutcome:
    """Run a fit and show its progress; Ctrl-C ends the search with the best partition so far."""
    began = time.perf_counter()
    with Interrupt() as interrupt, progress:

        def on_step(step: Step) -> bool:
            progress.step(step)
            return interrupt.requested

        progress.say(begin)
        model.set_params(callback=on_step)
        fit()
        model.set_params(callback=None)
        progress.say(end)
        return FitOutcome(None, time.perf_counter() - began, interrupt.requested)


def fitted(model: Any, given: Given, progress: ProgressLine) -> FitOutcome:
    """Fit, and say how sure the clusters are; Ctrl-C ends either of them."""
    features = given.features
    size = f"{counted(features.num_rows, 'row')}, {counted(features.num_columns, 'column')}"
    search = functools.partial(model.fit, features, **for_fit(model, given))
    outcome = watched(model, progress, search, begin=size, end="drawing up the report")
    if outcome.is_interrupted:
        return outcome
    try:
        return outcome._replace(sure=uncertainty(model, features))
    except KeyboardInterrupt:  # the partition is there: it is worth more than how sure it is
        return outcome._replace(is_interrupted=True)


def uncertainty(model: Any, features: pa.Table) -> Any:
    """Return how sure the clusters of a flat model are, where that takes a few seconds at most."""
    if features.num_rows > _SURE_ROWS or not isinstance(model, MAPDP):
        return None
    n_sweeps = _sweeps(features.num_rows, features.num_columns, model.n_clusters_)
    return model.uncertainty(
        features, n_sweeps=n_sweeps, n_chains=_CHAINS, seconds=_SURE_SECONDS, random_state=0
    )


def _sweeps(n_rows: int, n_columns: int, n_clusters: int) -> int:
    """Return how many sweeps of chains are a few seconds of work."""
    sweep = n_rows * (_ROW + _CELL * n_columns * (n_clusters + 1))
    return int(np.clip(_SURE_WORK / (_CHAINS * sweep), 50, 1000))


def label_table(
    labels: np.ndarray,
    chances: np.ndarray,
    beside: pa.Table | None = None,
    of_groups: np.ndarray | None = None,
) -> pa.Table:
    """Return cluster, its probability and that of something new, beside the columns of a table.

    `of_groups` is the cluster of each row's group, where groups are clustered.
    """
    own = np.where(labels < 0, chances[:, -1], chances[np.arange(len(labels)), labels])
    found = [labels.astype(np.int32), own.round(6), chances[:, -1].round(6)]
    columns = {} if beside is None else dict(zip(beside.column_names, beside.columns, strict=True))
    found += [] if of_groups is None else [of_groups]
    names = (name if name not in columns else f"mapdp_{name}" for name in _LABELS[: len(found)])
    return pa.table(columns | dict(zip(names, found, strict=True)))


def group_clusters(model: Any, features: pa.Table, where: dict[str, Any]) -> np.ndarray | None:
    """Return the cluster of each row's group; None where the model has none."""
    return model.predict_groups(features, **where) if isinstance(model, NestedMAPDP) else None


def columns_beside(rows: pa.Table, append: bool, id_column: str | None) -> pa.Table | None:
    """Return the columns that are written beside the labels: all, the one that names rows, or none."""
    return rows if append else None if id_column is None else rows.select([id_column])
