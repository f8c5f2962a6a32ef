"""An independent look for anything that the search has missed, by `model.log_joint_of` alone.

python benchmarks/audit.py [--rows N] [--tables NAME ...] [--seconds S]: fits every table of the folder that
MAPDP_DATA names, or N rows of it, and tries to raise the joint by moving single rows, by merging pairs of
clusters, and by splitting a cluster by one of its columns. It prints the largest gain of each kind: none
should be above zero, but for tables of more than 20,000 rows, which end with a millionth left to gain.
"""

import argparse
import os
import pathlib
import time
import warnings

import numpy as np
import pandas as pd

import common
from mapdp import MAPDP

TRIES = 60  # of each kind of change: each is a joint of the whole table


def read(path):
    frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    return frame.drop(columns=["label"])


def single_moves(labels, n_clusters, rng):
    """Move single rows, most of them of small clusters, where moves are frequent."""
    sizes = np.bincount(labels)
    order = np.argsort(sizes[labels] * rng.random(len(labels)))
    for i in order[:TRIES]:
        moved = labels.copy()
        moved[i] = rng.integers(n_clusters + 1)
        if moved[i] != labels[i]:
            yield moved


def merges(labels, n_clusters, rng):
    for _ in range(TRIES if n_clusters > 1 else 0):
        a, b = rng.choice(n_clusters, 2, replace=False)
        yield np.where(labels == b, a, labels)


def column_splits(frame, labels, n_clusters, rng):
    """Split a cluster by a column: one level against the others, or at a quantile."""
    for _ in range(TRIES):
        k, name = rng.integers(min(n_clusters, 10)), rng.choice(frame.columns)
        cells, inside = frame[name], labels == k
        if pd.api.types.is_numeric_dtype(cells):
            aside = inside & (cells <= cells[inside].quantile(rng.uniform(0.1, 0.9))).to_numpy()
        else:
            levels = cells[inside].dropna().unique()
            if not len(levels):
                continue
            aside = inside & (cells == rng.choice(levels)).to_numpy()
        if 0 < aside.sum() < inside.sum():
            yield np.where(aside, n_clusters, labels)


def compacted(labels):
    return np.unique(labels, return_inverse=True)[1]


def best_gain(model, frame, changed):
    gains = [model.log_joint_of(frame, compacted(labels)) - model.log_joint_ for labels in changed]
    return max(gains, default=-np.inf)


def audited(frame, seconds):
    rng, began = np.random.default_rng(0), time.perf_counter()
    model = MAPDP(seconds=seconds).fit(frame)
    spent = time.perf_counter() - began
    again = model.log_joint_of(frame, model.labels_) - model.log_joint_
    labels, n = model.labels_, model.n_clusters_
    gains = [
        best_gain(model, frame, single_moves(labels, n, rng)),
        best_gain(model, frame, merges(labels, n, rng)),
        best_gain(model, frame, column_splits(frame, labels, n, rng)),
    ]
    shape = f"{len(frame):,} x {frame.shape[1]}"
    numbers = [f"{model.log_joint_:.1f}", f"{again:.1e}", *[f"{gain:.2f}" for gain in gains]]
    return [shape, n, "yes" if model.converged_ else "no", f"{spent:.1f}", *numbers]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--tables", nargs="*")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for path in sorted(pathlib.Path(os.environ["MAPDP_DATA"]).glob("*/*")):
        name = path.name.split(".")[0]
        if arguments.tables and name not in arguments.tables:
            continue
        frame = read(path)
        if len(frame) > arguments.rows:
            frame = frame.sample(arguments.rows, random_state=0).reset_index(drop=True)
        if frame.shape[1] <= 1000:
            rows.append([name, *audited(frame, arguments.seconds)])
            print(rows[-1], flush=True)
    header = ["table", "size", "clusters", "settled", "seconds", "log joint", "worked out again"]
    header += ["single rows", "merges", "splits by a column"]
    common.write(common.table(header, rows), arguments.out)


if __name__ == "__main__":
    main()
