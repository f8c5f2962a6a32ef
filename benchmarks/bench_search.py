"""Measure how well, and how fast, each search finds the most probable partition.

    python benchmarks/bench_search.py [--draws 100] [--out docs/search_results.md]

Writes one Markdown table: data set, method, joint, clusters, NMI with the classes, seconds. The joint is a
negative log joint (NLL), as the paper prints it: lower is better. Seconds of different methods are of one
run, so their ratios can be read. A fit to a CRP draw takes a few milliseconds: there the methods take turns
at all draws, and the least of several times of a fit counts.
"""

import argparse
import os
import pathlib
import time

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from mapdp import MAPDP, DiagonalGaussian, GibbsDPM, sample_mixture
from mapdp.data.datasets import load_uci

CRP_PRIOR = DiagonalGaussian(mean=[1, 1], strength=0.1, shape=1.0, rate=[10, 10])
UCI = ("wine", "iris", "breast_cancer", "soybean", "parkinsons", "pima", "vehicle")
# The best joint that an independent slow search found, and the alpha it found it at.
GOALS = {
    "wine": (0.3, 3534),
    "iris": (0.3, 470),
    "breast_cancer": (3.0, 9226),
    "soybean": (3.0, -241),
    "parkinsons": (1.0, -6839),
    "pima": (1.0, 21481),
    "vehicle": (1.0, 48639),
}
METHODS = {
    "icm single": {"search": "icm", "init": "single"},
    "icm sequential": {"search": "icm"},
    "icm sequential x 10": {"search": "icm", "n_init": 10},
    "split-merge": {"n_init": 1},
    "split-merge x 10": {"n_init": 10},
}
GIBBS_SWEEPS = 1000
TURNS = 5


def fitted(X, alpha, family, parameters):
    """Return joint, labels and seconds of one fit."""
    began = time.perf_counter()
    model = MAPDP(alpha, family=family, **parameters).fit(X)
    return model.log_joint_, model.labels_, time.perf_counter() - began


def best_of_gibbs(X, alpha, family, n_sweeps=GIBBS_SWEEPS):
    """Return joint, labels and seconds of the best sample of a long collapsed Gibbs run."""
    began = time.perf_counter()
    model = GibbsDPM(alpha, family=family, n_sweeps=n_sweeps, burn_in=0).fit(X)
    return model.log_joint_, model.labels_, time.perf_counter() - began


def crp_row(truth, run):
    """Return what one run of a method gives on one draw."""
    joint, labels, seconds = run
    return -joint, len(np.unique(labels)), normalized_mutual_info_score(truth, labels), seconds


def crp_table(n_draws):
    """Average every method over draws of the paper's experiment."""
    draws = [sample_mixture(600, 3.0, CRP_PRIOR, np.random.default_rng(draw)) for draw in range(n_draws)]
    turns = {name: [] for name in METHODS}
    for _ in range(TURNS):
        for name, parameters in METHODS.items():
            turns[name].append(
                [crp_row(draw.labels, fitted(draw.X, 3.0, CRP_PRIOR, parameters)) for draw in draws]
            )
    rows = {name: np.min(turn, axis=0) for name, turn in turns.items()}  # only the seconds differ
    rows["gibbs, best sample"] = [
        crp_row(draw.labels, best_of_gibbs(draw.X, 3.0, CRP_PRIOR)) for draw in draws
    ]
    reference = np.mean(rows["icm sequential x 10"], axis=0)[3]
    for name, values in rows.items():
        joint, clusters, nmi, seconds = np.mean(values, axis=0)
        yield f"| CRP, {n_draws} draws | 3 | {name} | {joint:.2f} | {clusters:.1f} | {nmi:.3f} | {seconds:.4f} | {seconds / reference:.2f} |"


def uci(name):
    """Return features without constant columns, and classes."""
    X, y = load_uci(name)
    return np.ascontiguousarray(X[:, X.std(axis=0) > 0]), y


def uci_table():
    """Every method on every set at the alpha of the goal; the goal stands in a row of its own."""
    for name in UCI:
        X, truth = uci(name)
        alpha, goal = GOALS[name]
        yield f"| {name} | {alpha:g} | *slow search, for orientation* | {goal} | | | | |"
        runs = {
            method: fitted(X, alpha, DiagonalGaussian, parameters) for method, parameters in METHODS.items()
        }
        runs["gibbs, best sample"] = best_of_gibbs(X, alpha, DiagonalGaussian)
        reference = runs["icm sequential x 10"][2]
        for method, (joint, labels, seconds) in runs.items():
            nmi, clusters = normalized_mutual_info_score(truth, labels), len(np.unique(labels))
            yield f"| {name} | {alpha:g} | {method} | {-joint:.1f} | {clusters} | {nmi:.3f} | {seconds:.4f} | {seconds / reference:.2f} |"


def alpha_table():
    """The joint that ten starts reach on every set for a grid of alphas."""
    alphas = (0.1, 0.3, 1.0, 3.0, 10.0)
    yield "| data set | " + " | ".join(f"alpha {alpha:g}" for alpha in alphas) + " |"
    yield "|---|" + "---|" * len(alphas)
    for name in UCI:
        X, _ = uci(name)
        found = [MAPDP(alpha, n_init=10, family=DiagonalGaussian).fit(X) for alpha in alphas]
        cells = [f"{-model.log_joint_:.1f} ({model.n_clusters_})" for model in found]
        yield f"| {name} | " + " | ".join(cells) + " |"


def main():
    """Print the tables, and write them where --out says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    X, _ = sample_mixture(600, 3.0, CRP_PRIOR, np.random.default_rng(0))
    MAPDP(3.0, n_init=3).fit(X)  # compile before the clock starts
    best_of_gibbs(X, 3.0, None, n_sweeps=2)
    lines = [
        "| data | alpha | method | NLL of the joint | K | NMI | seconds | time / icm sequential x 10 |",
        "|---|---|---|---|---|---|---|---|",
        *crp_table(arguments.draws),
    ]
    if "MAPDP_DATA" in os.environ:
        lines += [*uci_table(), "", "NLL of the joint (and K), ten starts, over a grid of alphas:", ""]
        lines += alpha_table()
    print("\n".join(lines))
    if arguments.out:
        arguments.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
