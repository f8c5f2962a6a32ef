"""One fit from the command line: progress, Ctrl-C, and the labels that are written."""

import signal
from typing import Any

import numpy as np
import pyarrow as pa

from mapdp.cli.show import ProgressLine
from mapdp.engine.trace import Step
from mapdp.estimators.map_dp import MAPDP

_SURE_ROWS = 20_000  # rows up to which a report says how sure the clusters are
_SURE_SECONDS = 10.0


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


def fitted(model: MAPDP, features: pa.Table, progress: ProgressLine) -> tuple[Any, bool]:
    """Fit, and say how sure the clusters are (None where that takes long), and whether Ctrl-C ended it."""
    with Interrupt() as interrupt, progress:

        def on_step(step: Step) -> bool:
            progress.step(step)
            return interrupt.requested

        progress.say(f"{features.num_rows:,} rows, {features.num_columns} columns")
        model.set_params(callback=on_step).fit(features)
        model.set_params(callback=None)
        progress.say("drawing up the report")
        sure = None if interrupt.requested else _uncertainty(model, features)
    return sure, interrupt.requested


def _uncertainty(model: MAPDP, features: pa.Table) -> Any:
    """Return how sure the clusters are, where that takes a few seconds at most."""
    if features.num_rows > _SURE_ROWS:
        return None
    return model.uncertainty(features, n_sweeps=1000, seconds=_SURE_SECONDS, random_state=0)


def label_table(labels: np.ndarray, chances: np.ndarray) -> pa.Table:
    """Return cluster, its probability and that of something new, given the chances of all clusters."""
    own = np.where(labels < 0, chances[:, -1], chances[np.arange(len(labels)), labels])
    return pa.table(
        {
            "cluster": labels.astype(np.int32),
            "probability": own.round(6),
            "novelty": chances[:, -1].round(6),
        }
    )
