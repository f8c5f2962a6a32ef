"""One fit from the command line: progress, Ctrl-C, and the labels that are written."""

import signal
import time
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from mapdp.cli.inputs import Given
from mapdp.cli.show import ProgressLine
from mapdp.data.wording import counted
from mapdp.engine.trace import Step
from mapdp.estimators.map_dp import MAPDP

_SURE_ROWS = 20_000  # rows up to which a report says how sure the clusters are
_SURE_WORK = 20.0  # seconds of a core, about: what is said must not depend on how busy a machine is
_SURE_SECONDS = 120.0  # at most, where cells take far longer than usual
_ROW, _CELL = 1e-6, 4e-9  # seconds that a visit takes, for a row and for a cell and a chair
_CHAINS = 4
_LABELS = ("cluster", "probability", "novelty")


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


def fitted(model: MAPDP, given: Given, progress: ProgressLine) -> FitOutcome:
    """Fit, and say how sure the clusters are; Ctrl-C ends either of them."""
    features, began = given.features, time.perf_counter()
    with Interrupt() as interrupt, progress:

        def on_step(step: Step) -> bool:
            progress.step(step)
            return interrupt.requested

        progress.say(f"{counted(features.num_rows, 'row')}, {counted(features.num_columns, 'column')}")
        model.set_params(callback=on_step)
        model.fit(features, sample_weight=given.weights, groups=given.groups)
        model.set_params(callback=None)
        seconds = time.perf_counter() - began
        progress.say("drawing up the report")
        if interrupt.requested:
            return FitOutcome(None, seconds, True)
    try:
        return FitOutcome(uncertainty(model, features), seconds, False)
    except KeyboardInterrupt:  # the partition is there: it is worth more than how sure it is
        return FitOutcome(None, seconds, True)


def uncertainty(model: MAPDP, features: pa.Table) -> Any:
    """Return how sure the clusters are, where that takes a few seconds at most."""
    if features.num_rows > _SURE_ROWS:
        return None
    n_sweeps = _sweeps(features.num_rows, features.num_columns, model.n_clusters_)
    return model.uncertainty(
        features, n_sweeps=n_sweeps, n_chains=_CHAINS, seconds=_SURE_SECONDS, random_state=0
    )


def _sweeps(n_rows: int, n_columns: int, n_clusters: int) -> int:
    """Return how many sweeps of chains are a few seconds of work."""
    sweep = n_rows * (_ROW + _CELL * n_columns * (n_clusters + 1))
    return int(np.clip(_SURE_WORK / (_CHAINS * sweep), 50, 1000))


def label_table(labels: np.ndarray, chances: np.ndarray, beside: pa.Table | None = None) -> pa.Table:
    """Return cluster, its probability and that of something new, beside the columns of a table."""
    own = np.where(labels < 0, chances[:, -1], chances[np.arange(len(labels)), labels])
    found = (labels.astype(np.int32), own.round(6), chances[:, -1].round(6))
    columns = {} if beside is None else dict(zip(beside.column_names, beside.columns, strict=True))
    names = (name if name not in columns else f"mapdp_{name}" for name in _LABELS)
    return pa.table(columns | dict(zip(names, found, strict=True)))


def columns_beside(rows: pa.Table, append: bool, id_column: str | None) -> pa.Table | None:
    """Return the columns that are written beside the labels: all, the one that names rows, or none."""
    return rows if append else None if id_column is None else rows.select([id_column])
