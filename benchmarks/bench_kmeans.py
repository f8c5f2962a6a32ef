"""Compare a fit that finds K with K-means with K given, and with what else users would pick.

    python benchmarks/bench_kmeans.py [--seeds 3] [--quick] [--out FILE]

All methods of a row see the same data in the same run, in turn; read the ratios.
"""

import argparse
import importlib.util
import time
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.cluster import HDBSCAN, KMeans, MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score
from sklearn.mixture import BayesianGaussianMixture

from blobs import CASES, blobs
from common import table, write
from mapdp import MAPDP, log_joint

SMALL = {"20k x 10, K = 20, one table": (20_000, 10, 20, 1.5)}
ONE = {**SMALL, "100k x 10, K = 20, one table": (100_000, 10, 20, 1.5)}  # for slow methods, too
HEADER = ["data", "method", "K", "NMI", "seconds", "time / K-means"]


def methods(k, seed, n, with_slow):
    """Return the methods to compare on n rows; slow ones only where they are asked for, and end."""
    chosen = {
        "mapdp": MAPDP(alpha=1.0, prior="paper"),
        "KMeans, K given": KMeans(k, n_init=1, algorithm="lloyd", random_state=seed),
        "MiniBatchKMeans, K given": MiniBatchKMeans(k, n_init=1, random_state=seed),
    }
    if with_slow:
        mixture = BayesianGaussianMixture(n_components=2 * k, covariance_type="diag", random_state=seed)
        chosen["BayesianGaussianMixture(2K), 100 iterations"] = mixture
        chosen["BayesianGaussianMixture(2K), 1,000 iterations"] = clone(mixture).set_params(max_iter=1000)
    if with_slow and n <= 20_000:
        chosen["HDBSCAN"] = HDBSCAN(min_cluster_size=20, copy=True)
    if importlib.util.find_spec("pdc_dp_means") and n <= 100_000:
        from pdc_dp_means import DPMeans

        chosen["pdc-dp-means"] = DPMeans(n_clusters=1, n_init=1, delta=10.0, random_state=seed)
    return chosen


def measured(X, truth, k, seed, with_slow):
    """Return for each method K, NMI and seconds; and the model of ours."""
    outcome, ours = {}, None
    for name, method in methods(k, seed, len(X), with_slow).items():
        began = time.perf_counter()
        labels = method.fit_predict(X)
        seconds = time.perf_counter() - began
        found = len(np.unique(labels[labels >= 0]))
        outcome[name] = (found, normalized_mutual_info_score(truth, labels), seconds)
        ours = method if name == "mapdp" else ours
    return outcome, ours


def rows_of(name, case, n_seeds):
    """Yield the table's rows for one case: means over seeds."""
    n, d, k, spread = case
    outcomes, quality, with_slow = [], [], name in ONE
    for seed in range(n_seeds):
        X, truth, best = blobs(n, d, k, spread, seed)
        outcome, ours = measured(X, truth, k, seed, with_slow)
        outcomes.append(outcome)
        gain = ours.log_joint_ - log_joint(X, truth, alpha=1.0, family=ours.family_)
        quality.append((normalized_mutual_info_score(truth, best), gain))
    baseline = np.mean([outcome["KMeans, K given"][2] for outcome in outcomes])
    for method in outcomes[0]:
        values = [outcome[method] for outcome in outcomes if method in outcome]
        found, nmi, seconds = np.mean(values, axis=0)
        yield [name, method, f"{found:.0f}", f"{nmi:.4f}", f"{seconds:.2f}", f"{seconds / baseline:.2f}"]
    nmi, gain = np.mean(quality, axis=0)
    yield [
        name,
        "*the true parameters*",
        f"{k}",
        f"{nmi:.4f}",
        "",
        f"our joint minus that of the true parameters: {gain:.0f}",
    ]


def main():
    """Print the table, and write it where --out says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3, help="tables of a kind to average over")
    parser.add_argument("--quick", action="store_true", help="only 20,000 rows")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # the table says how many iterations there were
    for n in (100, 30_000):  # compile before the clock starts
        MAPDP().fit(blobs(n, 3, 8, 5.0, 0)[0])
    rows = [
        row for name, case in (SMALL if arguments.quick else ONE).items() for row in rows_of(name, case, 1)
    ]
    if not arguments.quick:
        rows += [row for name, case in CASES.items() for row in rows_of(name, case, arguments.seeds)]
    write(table(HEADER, rows), arguments.out)


if __name__ == "__main__":
    main()
