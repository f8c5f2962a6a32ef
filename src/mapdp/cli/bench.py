"""A quick comparison with K-means on this machine; the real ones are in benchmarks/."""

import time

import numpy as np
from rich.console import Console
from rich.table import Table

from mapdp.estimators.map_dp import MAPDP


def bench(n_rows: int) -> None:
    """Time a fit beside K-means, in turn, on rows around twenty centres."""
    from sklearn.cluster import KMeans

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 10))[rng.integers(0, 20, n_rows)] * 5.0 + rng.normal(size=(n_rows, 10))
    MAPDP().fit(X[:500])
    table = Table("", "clusters", "seconds", box=None, pad_edge=False)
    for name, make in {
        "mapdp": MAPDP,
        "K-means, given 20": lambda: KMeans(20, n_init=1, random_state=0),
    }.items():
        began = time.perf_counter()
        model = make().fit(X)
        table.add_row(name, str(len(np.unique(model.labels_))), f"{time.perf_counter() - began:.2f}")
    Console(highlight=False).print(table)
