"""Real tables from the folder that MAPDP_DATA names; tests that need them skip where it is absent."""

import os
import pathlib

import numpy as np
import pandas as pd
import pytest

from mapdp.data.datasets import NAMES, load_uci

UCI = NAMES


def uci(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return features without constant columns, and class labels, of one of the paper's data sets."""
    _folder()
    X, y = load_uci(name)
    return np.ascontiguousarray(X[:, X.std(axis=0) > 0]), np.unique(y, return_inverse=True)[1]


def extra(name: str) -> pd.DataFrame:
    """Return a real table, its classes in the column `label`."""
    return pd.read_csv(_folder() / "extra" / name)


def _folder() -> pathlib.Path:
    if "MAPDP_DATA" not in os.environ:
        pytest.skip("MAPDP_DATA does not name the folder of real data sets")
    return pathlib.Path(os.environ["MAPDP_DATA"])
