"""Measure the memory of a fit beside the size of its table.

    python benchmarks/bench_memory.py [--rows 10000000] [--out FILE]

Each fit runs in a process of its own; its peak is what the operating system reports, less what the process
held when the table was ready.
"""

import argparse
import json
import subprocess
import sys

from common import table, write

FIT = """
import json, resource, sys
import numpy as np
from mapdp import MAPDP
n, kind = int(sys.argv[1]), sys.argv[2]
rng = np.random.default_rng(0)
MAPDP().fit(rng.normal(size=(30_000, 10)))  # compile
centres = rng.normal(scale=1.5, size=(20, 10))
X = np.empty((n, 10), dtype=kind)
for i in range(0, n, 100_000):
    rows = X[i : i + 100_000]
    rows[:] = centres[rng.integers(0, 20, len(rows))] + rng.normal(size=rows.shape)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model = MAPDP(alpha=1.0, prior="paper").fit(X)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([X.nbytes, before * 1024, after * 1024, model.n_clusters_]))
"""
HEADER = ["rows x 10", "kind", "table, MB", "fit beyond the table, MB", "table and fit / table", "K"]


def row(n, kind):
    """Fit once in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", FIT, str(n), kind], capture_output=True, text=True, check=True
    )
    size, before, after, k = json.loads(done.stdout)
    extra = after - before
    return [f"{n:,}", kind, f"{size / 1e6:.0f}", f"{extra / 1e6:.0f}", f"{1 + extra / size:.2f}", k]


def main():
    """Print the table, and write it where --out says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    rows = [row(n, kind) for n in (arguments.rows // 10, arguments.rows) for kind in ("float64", "float32")]
    write(table(HEADER, rows), arguments.out)


if __name__ == "__main__":
    main()
