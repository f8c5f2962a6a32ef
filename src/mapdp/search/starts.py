"""Knows where a search begins: who sits with whom before the first full sweep."""

import numpy as np

from mapdp import checks
from mapdp.family import Family
from mapdp.model import seated
from mapdp.process import Process
from mapdp.state import State, new_state

NAMES = ("sequential", "single", "singletons")


def starting_state(X: np.ndarray, init: object, family: Family, process: Process) -> State:
    """Return the state that `init` names; in a sequential start all rows still stand."""
    n_rows = len(X)
    if not isinstance(init, str):
        return seated(X, checks.partition(init, n_rows), family, process)
    checks.one_of("init", init, NAMES)
    if init == "single":
        return seated(X, np.zeros(n_rows, dtype=np.int32), family, process)
    if init == "singletons":
        return seated(X, np.arange(n_rows, dtype=np.int32), family, process)
    return new_state(n_rows, family, process)
