"""Measure fits in blocks: time for each row, peak memory and agreement, beside a fit in memory.

    python benchmarks/bench_scale.py [--rows 1e6 1e7 ...] [--dask] [--out FILE]

Rows are drawn from 20 overlapping clusters in 10 columns (as in bench_kmeans.py, seed 8) and written as float32 to a
Parquet file in a temporary folder. Each fit runs in a process of its own; the reference is the partition that
the true parameters give. --dask compares one worker process with two instead.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from common import table, write

K, D, BLOCK, CHECKED = 20, 10, 2**18, 1_000_000
FIT = """
import json, resource, sys, time
import numpy as np
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from mapdp import MAPDP
path, how = sys.argv[1:]
MAPDP().fit(pq.ParquetFile(path).read_row_group(0).slice(0, 30_000))  # compile
began, cpu = time.perf_counter(), time.process_time()
model = MAPDP().fit(pq.read_table(path) if how == "memory" else ds.dataset(path))
seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
np.save(path + ".labels.npy", np.asarray(model.labels_[:1_000_000]))
print(json.dumps([seconds, cpu, peak, model.n_clusters_, model.log_joint_, model.n_iter_]))
"""
DASK = """
import json, sys, time
import dask.dataframe
from distributed import Client, LocalCluster
from mapdp import MAPDP
if __name__ == "__main__":
    path, n = sys.argv[1:]
    with LocalCluster(n_workers=int(n), threads_per_worker=1, dashboard_address=None) as cluster:
        with Client(cluster):
            X = dask.dataframe.read_parquet(path, split_row_groups=4)
            MAPDP().fit(X.partitions[:2])  # compile
            began = time.perf_counter()
            model = MAPDP().fit(X)
            print(json.dumps([time.perf_counter() - began, model.n_clusters_, model.log_joint_]))
"""


def mixture(rng):
    """Return weights, centres and widths of the clusters."""
    weights = 1.0 / np.arange(1, K + 1)
    return weights / weights.sum(), rng.normal(0.0, 1.5, (K, D)), np.exp(rng.normal(0.0, 0.3, (K, D)))


def write_rows(path, n_rows):
    """Write rows block by block; return the first of them, and the clusters that the truth gives these."""
    rng = np.random.default_rng(8)
    weights, centres, widths = mixture(rng)
    schema = pa.schema([(f"x{j}", pa.float32()) for j in range(D)])
    first = []
    with pq.ParquetWriter(path, schema) as file:
        for begin in range(0, n_rows, BLOCK):
            n = min(BLOCK, n_rows - begin)
            z = rng.choice(K, n, p=weights)
            X = (centres[z] + widths[z] * rng.normal(size=(n, D))).astype(np.float32)
            file.write_table(pa.table(list(X.T), schema=schema), row_group_size=BLOCK)
            if begin < CHECKED:
                first.append((X, z))
    X, z = (np.concatenate(parts)[:CHECKED] for parts in zip(*first, strict=True))
    return z, best_by_truth(X, weights, centres, widths)


def best_by_truth(X, weights, centres, widths):
    """Return the most probable cluster of each row under the true parameters."""
    scores = np.empty((len(X), K))
    for k in range(K):
        scores[:, k] = np.log(weights[k]) - np.log(widths[k]).sum()
        scores[:, k] -= 0.5 * (((X - centres[k]) / widths[k]) ** 2).sum(axis=1)
    return scores.argmax(axis=1)


def run(code, *arguments):
    """Run a program in a process of its own; return what it prints."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(code)
        file.flush()
        done = subprocess.run(
            [sys.executable, file.name, *arguments], capture_output=True, text=True, check=True
        )
    return json.loads(done.stdout.splitlines()[-1])


def fits(sizes, most_in_memory=10_000_000):
    """Yield a row of the table for each size, in memory and in blocks."""
    from sklearn.metrics import normalized_mutual_info_score as nmi

    for n_rows in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = str(pathlib.Path(folder) / "rows.parquet")
            z, truth = write_rows(path, n_rows)
            for how in ("memory", "blocks") if n_rows <= most_in_memory else ("blocks",):
                seconds, cpu, peak, n_clusters, log_joint, n_passes = run(FIT, path, how)
                labels = np.load(path + ".labels.npy")
                yield (
                    f"{n_rows:.0e}",
                    how,
                    f"{1e6 * seconds / n_rows:.2f}",
                    f"{1e6 * cpu / n_rows:.2f}",
                    f"{peak:.2f}",
                    str(n_clusters),
                    f"{log_joint:,.0f}",
                    f"{nmi(z[: len(labels)], labels):.4f}",
                    f"{nmi(z[: len(labels)], truth[: len(labels)]):.4f}",
                    str(n_passes),
                )


def workers(n_rows):
    """Yield the seconds of one worker and of two."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "rows.parquet")
        write_rows(path, n_rows)
        one, two = run(DASK, path, "1"), run(DASK, path, "2")
        yield (
            f"{n_rows:.0e}",
            f"{one[0]:.1f}",
            f"{two[0]:.1f}",
            f"{one[0] / two[0]:.2f}",
            str(one[1:] == two[1:]),
        )


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6, 1e7])
    parser.add_argument("--dask", action="store_true")
    parser.add_argument("--out")
    given = parser.parse_args()
    if given.dask:
        names = ("rows", "1 worker, s", "2 workers, s", "ratio", "same")
        lines = table(names, list(workers(int(given.rows[0]))))
    else:
        names = (
            "rows",
            "how",
            "us a row",
            "CPU us a row",
            "peak GB",
            "K",
            "log joint",
            "NMI",
            "NMI of the truth",
            "passes",
        )
        lines = table(names, list(fits([int(n) for n in given.rows])))
    write(lines, given.out)


if __name__ == "__main__":
    main()
