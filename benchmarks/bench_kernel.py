"""Measure what scoring costs per row x cluster x column, beside what this machine could do at best.

    python benchmarks/bench_kernel.py [--out FILE]

The floors are measured in the same run: a fused multiply and add on registers, and a sum over memory.
"""

import argparse
import time

import numba
import numpy as np

from blobs import blobs
from common import table, write
from mapdp import Bernoulli, Categorical, DiagonalGaussian, Gaussian, Poisson
from mapdp.compiled.lanes import LANES, load, spread, store
from mapdp.engine.build import seated
from mapdp.engine.in_threads import survey
from mapdp.engine.sweep import sweep
from mapdp.partitions.process import DirichletProcess

N = 100_000
HEADER = ["family, D, K", "sweep, ns per cell", "survey on all cores, ns per cell", "sweep, ns per row"]


@numba.njit(fastmath={"contract"}, error_model="numpy", _nrt=False)
def _multiply(numbers, n, out):
    a, b, c, d = load(numbers, 0), load(numbers, 8), load(numbers, 16), load(numbers, 24)
    for _ in range(n):
        a, b, c, d = a * 0.999 + 0.001, b * 0.999 + 0.001, c * 0.999 + 0.001, d * 0.999 + 0.001
    store(out, 0, a + b + c + d)


@numba.njit(fastmath={"contract"}, error_model="numpy", _nrt=False)
def _read(numbers, out):
    a, b = spread(0.0), spread(0.0)
    for i in range(0, numbers.shape[0], 2 * LANES):
        a += load(numbers, i)
        b += load(numbers, i + LANES)
    store(out, 0, a + b)


def best_of(work, repeats=5):
    """Return the shortest time of a few tries, after one that may compile."""
    times = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times[1:])


def floors():
    """Return nanoseconds per fused multiply-add and per float read from memory."""
    numbers, out = np.ones(32), np.empty(LANES)
    steps, large = 1_000_000, np.ones(2**25)
    flop = best_of(lambda: _multiply(numbers, steps, out)) / (steps * 4 * LANES)
    return flop * 1e9, best_of(lambda: _read(large, out)) / len(large) * 1e9


def cases():
    """Yield name, rows, labels and family: rows sit where the truth puts them."""
    for d, k, spread_of in ((10, 20, 1.5), (32, 50, 1.0), (2, 100, 20.0)):
        X, truth, _ = blobs(N, d, k, spread_of, 0)
        yield f"DiagonalGaussian, {d}, {k}", X, truth, DiagonalGaussian.empirical(X)
    X, truth, _ = blobs(N, 10, 20, 1.5, 0)
    yield "Gaussian, 10, 20", X, truth, Gaussian.empirical(X)
    counts = np.random.default_rng(0).poisson(np.exp(0.5 * X.clip(-3, 3)))
    yield "Poisson, 10, 20", counts.astype(float), truth, Poisson.empirical(counts)
    levels = np.digitize(X, (-1.5, 0.0, 1.5)).astype(float)
    yield "Categorical, 10, 20", levels, truth, Categorical.empirical(levels)
    yield "Bernoulli, 10, 20", (X > 0).astype(float), truth, Bernoulli.empirical((X > 0).astype(float))


def rows():
    """Measure a sweep in which few rows move, and a survey, for every case."""
    everyone, threads = np.arange(N, dtype=np.int32), numba.config.NUMBA_NUM_THREADS
    for name, X, truth, family in cases():
        encoded = np.ascontiguousarray(family.encode(X))
        labels = np.unique(truth, return_inverse=True)[1].astype(np.int32)
        state = seated(encoded, labels, family, DirichletProcess(1.0))
        for _ in range(3):
            sweep(encoded, everyone, state, 0)
        cells = N * X.shape[1] * state.n_clusters
        swept = best_of(lambda e=encoded, s=state: sweep(e, everyone, s, 0)) * 1e9
        surveyed = best_of(lambda e=encoded, s=state: survey(e, everyone, s, threads)) * 1e9
        yield [name, f"{swept / cells:.2f}", f"{surveyed / cells:.2f}", f"{swept / N:.0f}"]


def main():
    """Print the table, and write it where --out says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out")
    arguments = parser.parse_args()
    flop, read = floors()
    text = table(HEADER, rows())
    text += f"\n\nFloors of this machine, one core: {flop:.3f} ns per multiply-add, {read:.2f} ns per float read."
    text += (
        "\nA cell of the diagonal Gaussian is four operations, so its floor is about "
        + f"{4 * flop:.2f} ns."
    )
    write(text, arguments.out)


if __name__ == "__main__":
    main()
