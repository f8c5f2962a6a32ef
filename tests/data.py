"""Real tables from the folder that MAPDP_DATA names; tests that need them skip where it is absent."""

import os
import pathlib

import numpy as np
import pytest

UCI = ("wine", "iris", "breast_cancer", "soybean", "parkinsons", "pima", "vehicle")


def uci(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return features without constant columns, and class labels, of one of the paper's data sets."""
    if "MAPDP_DATA" not in os.environ:
        pytest.skip("MAPDP_DATA does not name the folder of real data sets")
    path = pathlib.Path(os.environ["MAPDP_DATA"]) / "uci" / f"{name}.csv"
    cells = np.genfromtxt(path, delimiter=",", skip_header=1, dtype=str)
    X = cells[:, :-1].astype(float)
    return np.ascontiguousarray(X[:, X.std(axis=0) > 0]), np.unique(cells[:, -1], return_inverse=True)[1]
