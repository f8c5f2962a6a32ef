"""Compare the Gibbs samplers with MAP's sweep, and their way to convergence with a fit.

    python benchmarks/bench_gibbs.py [--draws 20] [--out FILE]

A sweep: nanoseconds per row, cluster and column, of all sweeps from the same partition. A run: draws of
the paper's CRP experiment; the paper stops Gibbs by the Raftery-Lewis diagnostic and reports 2,020 sweeps
and 7,300 s beside 28 s. Our Gibbs sweep runs on the same compiled verbs as our fit, so the ratio compares
algorithms, not languages.
"""

import argparse
import functools
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bench_search import CRP_PRIOR
from blobs import blobs
from common import table, write
from mapdp import MAPDP, DiagonalGaussian, Gaussian, GibbsDPM, sample_mixture
from mapdp.engine.problem import Model, Problem
from mapdp.engine.sweep import sweep
from mapdp.partitions.process import PitmanYor
from mapdp.sampling.chain import Chain

FITS = {"MAPDP(3.0)": {}, 'MAPDP(3.0, search="icm")': {"search": "icm"}}
ROUNDS = 7
PRINTED, LIKELY = 0.1, 0.01  # the paper's r, and the one that its 939 sweeps on two data sets point to


def seconds_of(work):
    """Return how long a call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def sweep_tables():
    """Yield the data of the first table: rows, and a family for them."""
    X = sample_mixture(600, 3.0, CRP_PRIOR, np.random.default_rng(0)).X
    yield "CRP draw, 600 x 2", X, CRP_PRIOR
    for d, spread in ((2, 20.0), (10, 1.5), (32, 1.0)):
        X = blobs(20_000, d, 20, spread, 0)[0]
        yield f"blobs, 20,000 x {d}", X, DiagonalGaussian.empirical(X)
    X = blobs(20_000, 10, 20, 1.5, 0)[0]
    yield "blobs, 20,000 x 10, full covariance", X, Gaussian.empirical(X)


def sweep_rows():
    """Yield the cost of a sweep of each kind; they take turns, the median counts.

    MAP's sweep is one from its own partition, in which nobody moves; Gibbs' has the record of the joint
    in it.
    """
    for name, X, family in sweep_tables():
        labels = MAPDP(3.0, family=family).fit(X).labels_
        chains = [
            Chain(
                Problem(X, X, Model(family, PitmanYor(3.0))),
                labels,
                np.random.default_rng(0),
                collapsed=collapsed,
            )
            for collapsed in (True, True, False)
        ]
        everyone = np.arange(len(X), dtype=np.int32)
        by_map = functools.partial(sweep, X, everyone, chains[0].state, 0)
        works = [by_map, chains[1].sweep, chains[2].sweep]
        times, clusters = [], []
        for _ in range(ROUNDS + 1):
            times.append([seconds_of(work) for work in works])
            clusters.append([chain.state.n_clusters for chain in chains])
        k = np.mean(clusters[1:], axis=0)
        cost = 1e9 * np.median(times[1:], axis=0) / (X.size * k)
        moved = np.mean([step.n_moved for step in chains[1].trace]) / len(X)
        yield [
            name,
            " / ".join(f"{number:.0f}" for number in k),
            f"{moved:.1%}",
            *[f"{c:.2f}" for c in cost],
            *[f"{c / cost[0]:.2f}" for c in cost[1:]],
        ]


def models():
    """Return what is fitted to the CRP draws."""
    until = {"family": CRP_PRIOR, "n_sweeps": "raftery-lewis"}
    chains = {
        f"GibbsDPM until Raftery-Lewis is satisfied, r = {r}": GibbsDPM(
            3.0, accuracy=(0.025, r, 0.95), **until
        )
        for r in (PRINTED, LIKELY)
    }
    return chains | {name: MAPDP(3.0, family=CRP_PRIOR, **more) for name, more in FITS.items()}


def run_rows(n_draws):
    """Yield the mean time of each fit, and how many times longer Gibbs takes; all take turns on each draw."""
    runs = models()
    times, sweeps, cut_short = ({name: [] for name in runs} for _ in range(3))
    for draw in range(-1, n_draws):  # the first only compiles
        X = sample_mixture(600, 3.0, CRP_PRIOR, np.random.default_rng(max(draw, 0))).X
        for name, model in runs.items():
            began = time.perf_counter()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ConvergenceWarning)
                model.fit(X)
            if draw >= 0:
                times[name].append(time.perf_counter() - began)
                cut_short[name].append(len(caught) > 0)
                sweeps[name].append(getattr(model, "n_sweeps_", None) or model.n_iter_)
    fit = np.mean(times["MAPDP(3.0)"])
    for name in runs:
        yield [
            name,
            f"{np.mean(sweeps[name]):.0f}",
            f"{np.mean(times[name]) * 1e3:.1f}",
            f"{np.mean(times[name]) / fit:.2f}",
            sum(cut_short[name]),
        ]


def main():
    """Print the tables, and write them where --out says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    head = ["table", "clusters", "moved", "MAP", "Gibbs", "uncollapsed", "Gibbs / MAP", "uncollapsed / MAP"]
    first = table(head, sweep_rows())
    second = table(
        ["run", "sweeps", "milliseconds", "times MAPDP(3.0)", "cut short"], run_rows(arguments.draws)
    )
    write(
        f"A sweep, in nanoseconds per row, cluster and column:\n\n{first}\n\nA run:\n\n{second}",
        arguments.out,
    )


if __name__ == "__main__":
    main()
