"""Measure how the time of a fit grows with rows, columns and clusters.

    python benchmarks/bench_growth.py [--largest 10000000] [--out FILE]

An exponent is the slope of log time against log size, by least squares: 1 is linear growth.
"""

import argparse
import time

import numpy as np

from blobs import blobs
from common import table, write
from mapdp import MAPDP

HEADER = ["grows", "from", "to", "seconds", "exponent"]


def best_of(X, repeats):
    """Return the best time of a few fits, so that a busy machine does not count."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        MAPDP(alpha=1.0, prior="paper").fit(X)
        times.append(time.perf_counter() - began)
    return min(times)


def seconds_of(n, d, k, spread):
    """Return the mean time over a few tables; one table where it is large."""
    seeds, repeats = (range(3), 2) if n <= 10**5 else (range(1), 1)
    return np.mean([best_of(blobs(n, d, k, spread, seed)[0], repeats) for seed in seeds])


def row(name, sizes, times):
    """Return a row of the table: the range and the exponent."""
    slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    seconds = ", ".join(f"{t:.2f}" for t in times)
    return [name, f"{sizes[0]:,}", f"{sizes[-1]:,}", seconds, f"{slope:.2f}"]


def rows(largest):
    """Measure the three ways to grow."""
    ns = [n for n in (10_000, 100_000, 1_000_000, 10_000_000) if n <= largest]
    yield row("N (D = 10, K = 20)", ns, [seconds_of(n, 10, 20, 1.5) for n in ns])
    ds = [8, 16, 32, 64]
    yield row("D (N = 100,000, K = 20)", ds, [seconds_of(100_000, d, 20, 1.5) for d in ds])
    ks = [10, 20, 40, 80]
    yield row("K (N = 100,000, D = 16)", ks, [seconds_of(100_000, 16, k, 1.5) for k in ks])


def main():
    """Print the table, and write it where --out says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=10_000_000)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    for n in (100, 30_000):  # compile before the clock starts
        MAPDP().fit(blobs(n, 3, 8, 5.0, 0)[0])
    write(table(HEADER, rows(arguments.largest)), arguments.out)


if __name__ == "__main__":
    main()
