"""Agreement with known classes on real and synthetic tables, beside what people would use instead.

python benchmarks/bench_real.py [--out docs/experiments/real_tables.csv] [--tables NAME ...] [--methods NAME ...]: what
FILE has of other tables and methods stays, and `python -m benchmarks.measured` makes tables from it. Tables are looked
for in the folder that MAPDP_DATA names; scikit-learn's and six synthetic ones are always there. R's mclust joins where
R has it. All columns are standardised, all seeds are 0, and of a large table 5,000 rows are drawn with the seed 0.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score, silhouette_score
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

import common
from mapdp import MAPDP

DEVELOPMENT = (
    *("iris", "wine", "penguins", "breast_cancer", "breast_cancer_wdbc", "parkinsons", "pima", "vehicle"),
    *("full", "shared", "heavy_tails", "noise_columns", "skewed", "rounded"),
)
SAME = ("breast_cancer_original_699", "iris_fisher", "soybean_large_307")  # as others, but for a few rows
MOST_COMPONENTS = 12
MOST_ROWS = 5000  # of a large table


def stacked(draw, n_classes, n):
    return np.vstack([draw() for _ in range(n_classes)]), np.repeat(np.arange(n_classes), n)


def full(rng):
    """Six clusters in six columns, each with a covariance of its own."""

    def draw():
        mix = rng.normal(size=(6, 6)) * 0.5 + np.eye(6) * 0.5
        return rng.normal(size=(100, 6)) @ mix.T * 0.6 + rng.normal(size=6) * 2.0

    return stacked(draw, 6, 100)


def shared(rng):
    """Five clusters of one shape and different sizes."""
    mix = rng.normal(size=(5, 5))
    factor = np.linalg.cholesky(mix @ mix.T)
    return stacked(
        lambda: (
            (rng.normal(size=(60, 5)) * np.exp(rng.normal() * 0.4) + rng.normal(size=5) * 2.2) @ factor.T
        ),
        5,
        60,
    )


def heavy_tails(rng):
    """Five clusters of Student t rows with three degrees of freedom."""
    return stacked(lambda: rng.standard_t(3, size=(120, 4)) * 0.7 + rng.normal(size=4) * 3.5, 5, 120)


def noise_columns(rng):
    """Four clusters that differ in 4 of 20 columns."""

    def draw():
        mean = np.zeros(20)
        mean[:4] = rng.normal(size=4) * 2.2
        return rng.normal(size=(80, 20)) + mean

    return stacked(draw, 4, 80)


def skewed(rng):
    """Three clusters of log-normal rows."""
    return stacked(lambda: np.exp(rng.normal(size=(150, 4)) * 0.6) + rng.normal(size=4) * 3, 3, 150)


def rounded(rng):
    """Four Gaussian clusters, rounded to whole numbers."""
    return stacked(lambda: np.round(rng.normal(size=(100, 4)) * 1.2 + rng.normal(size=4) * 3), 4, 100)


SYNTHETIC = (full, shared, heavy_tails, noise_columns, skewed, rounded)


def real_tables():
    """Yield name, rows and classes of the tables that are there; columns of numbers, without gaps."""
    folder = os.environ.get("MAPDP_DATA")
    if folder is None:
        print("MAPDP_DATA is not set: only scikit-learn's and the synthetic tables", file=sys.stderr)
        for load in (datasets.load_iris, datasets.load_wine, datasets.load_breast_cancer):
            X, y = load(return_X_y=True)
            yield load.__name__.removeprefix("load_"), X, y
        return
    for path in sorted(pathlib.Path(folder, "uci").glob("*.csv")):
        if path.stem in SAME:
            continue
        table = pd.read_csv(path).dropna()
        yield path.stem, table.iloc[:, :-1].to_numpy(float), pd.factorize(table.iloc[:, -1])[0]
    table = pd.read_csv(pathlib.Path(folder, "extra", "penguins.csv"))
    measured = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    table = table.dropna(subset=measured)
    yield "penguins", table[measured].to_numpy(float), pd.factorize(table.label)[0]
    X, y = datasets.load_digits(return_X_y=True)
    yield "digits", X, y
    for name in ("shuttle", "skin_segmentation"):
        table = pd.read_csv(pathlib.Path(folder, "extra", f"{name}.csv.gz"))
        table = table.sample(MOST_ROWS, random_state=0)
        yield name, table.iloc[:, :-1].to_numpy(float), pd.factorize(table.iloc[:, -1])[0]


def synthetic_tables():
    for draw in SYNTHETIC:
        X, y = draw(np.random.default_rng(1))
        order = np.random.default_rng(2).permutation(len(X))
        yield draw.__name__, X[order], y[order]


def standardised(X):
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)


def by_bic(X):
    kinds = ("diag", "full", "tied", "spherical")
    most = min(MOST_COMPONENTS, len(X) - 1)
    fits = [
        GaussianMixture(k, covariance_type=kind, random_state=0, reg_covar=1e-5).fit(X)
        for kind in kinds
        for k in range(1, most + 1)
    ]
    return min(fits, key=lambda one: one.bic(X)).predict(X)


def by_silhouette(X):
    fits = [KMeans(k, n_init=5, random_state=0).fit(X).labels_ for k in range(2, MOST_COMPONENTS + 1)]
    return max(fits, key=lambda labels: silhouette_score(X, labels))


def by_mclust(X):
    """Return the clusters of R's mclust, None where it cannot be had or fails."""
    if shutil.which("Rscript") is None:
        return None
    code = (
        "suppressMessages(library(mclust)); X <- read.csv('X.csv', header=FALSE); "
        "m <- Mclust(X, G=1:12, verbose=FALSE); write.table(m$classification, 'z.csv', row.names=FALSE, "
        "col.names=FALSE)"
    )
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(pathlib.Path(folder, "X.csv"), X, delimiter=",")
        done = subprocess.run(["Rscript", "-e", code], cwd=folder, capture_output=True, timeout=600)
        found = pathlib.Path(folder, "z.csv")
        return np.loadtxt(found, dtype=int) if done.returncode == 0 and found.exists() else None


METHODS = {
    "MAPDP()": lambda X: MAPDP().fit(X).labels_,
    "paper's prior": lambda X: MAPDP(prior="paper", covariance="diagonal").fit(X).labels_,
    "diagonal": lambda X: MAPDP(covariance="diagonal").fit(X).labels_,
    "full": lambda X: MAPDP(covariance="full").fit(X).labels_,
    "shared": lambda X: MAPDP(covariance="shared").fit(X).labels_,
    "GaussianMixture by BIC": by_bic,
    "BayesianGaussianMixture": lambda X: (
        BayesianGaussianMixture(n_components=min(30, len(X)), max_iter=500, random_state=0)
        .fit(X)
        .predict(X)
    ),
    "HDBSCAN": lambda X: HDBSCAN(min_cluster_size=10, copy=True).fit(X).labels_,
    "K-means by silhouette": by_silhouette,
    "mclust": by_mclust,
}


MEASURES = ("rand", "mutual", "clusters")  # adjusted Rand index, adjusted mutual information


def judged(labels, y):
    if labels is None:
        return None
    rand, mutual = adjusted_rand_score(y, labels), adjusted_mutual_info_score(y, labels)
    return f"{rand:.4f}", f"{mutual:.4f}", len(np.unique(labels))


def tried(method, X):
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return METHODS[method](X), time.perf_counter() - began
        except (ValueError, np.linalg.LinAlgError) as error:  # a covariance that a table cannot have
            print(f"{method}: {error}", file=sys.stderr)
            return None, time.perf_counter() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out")
    parser.add_argument("--tables", nargs="*")
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    given = parser.parse_args()
    rows = []
    for name, X, y in [*real_tables(), *synthetic_tables()]:
        if not given.tables or name in given.tables:
            rows += compared(name, standardised(X), y, given.methods)
    common.write(common.table(rows[0], [row.values() for row in rows]))
    if given.out:
        common.record(rows, given.out, "table", "method")


def compared(name, X, y, methods):
    """Yield a line for each method that this table can have."""
    for method in methods:
        labels, seconds = tried(method, X)
        found = judged(labels, y)
        print(f"{name:28s} {method:24s} {found} {seconds:.1f} s", file=sys.stderr, flush=True)
        if found is not None:
            size = {"table": name, "size": f"{X.shape[0]} x {X.shape[1]}", "classes": len(np.unique(y))}
            yield {**size, "method": method, **dict(zip(MEASURES, found, strict=True))}


if __name__ == "__main__":
    main()
