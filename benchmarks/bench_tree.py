"""Time the tree of many clusters.

    python benchmarks/bench_tree.py [--clusters 1000] [--out FILE]

CPU seconds of the merges from K clusters to one, by family and number of columns.
"""

import argparse
import time

import numpy as np

from common import table, write
from mapdp import DiagonalGaussian, DirichletProcess, Gaussian, Poisson
from mapdp.engine.build import seated
from mapdp.engine.merge import merge_path


def seconds(kind, n_columns, n_clusters):
    """Return the time to merge clusters of five rows each down to one, compilation left out."""
    rng = np.random.default_rng(0)
    centres = 20.0 + 10.0 * rng.random((n_clusters, n_columns))
    X, labels = (
        rng.poisson(np.repeat(centres, 5, axis=0)).astype(float),
        np.repeat(np.arange(n_clusters), 5),
    )
    family, process = kind.empirical(X), DirichletProcess(1.0)
    state, nobody = seated(family.encode(X), labels, family, process), np.zeros(n_clusters, dtype=bool)
    merge_path(state.bank, state.sizes[:3], nobody[:3], family, process)
    began = time.process_time()
    merge_path(state.bank, state.sizes[:n_clusters], nobody, family, process)
    return time.process_time() - began


def rows(n_clusters):
    """Measure every family and number of columns."""
    for kind in (DiagonalGaussian, Poisson, Gaussian):
        times = [f"{seconds(kind, n_columns, n_clusters):.2f}" for n_columns in (4, 10, 20)]
        yield [kind.__name__, *times]


def main():
    """Print the table, and write it where --out says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clusters", type=int, default=1000)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    names = [f"tree of {arguments.clusters} clusters, CPU seconds", "4 columns", "10", "20"]
    write(table(names, rows(arguments.clusters)), arguments.out)


if __name__ == "__main__":
    main()
