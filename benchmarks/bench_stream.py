"""Measure a stream whose clusters drift: partial_fit beside refitting each batch, MiniBatchKMeans and river.

    python benchmarks/bench_stream.py [--batches 100] [--river 3] [--out FILE]

20 clusters in 5 columns move by 0.15 standard deviations in each column and batch of 10,000 rows, each in its
direction. After each batch its labels are compared with the truth. river's clusterers see one row at a time
and get the first batches only (--river). CPU seconds, one run.
"""

import argparse
import time

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import normalized_mutual_info_score as nmi

from common import table, write
from mapdp import MAPDP

K, D, BATCH = 20, 5, 10_000


def stream(n_batches):
    """Yield rows and their true clusters."""
    rng = np.random.default_rng(3)
    centres, drift = rng.normal(0.0, 4.0, (K, D)), rng.normal(0.0, 0.15, (K, D))
    for _ in range(n_batches):
        centres = centres + drift
        z = rng.choice(K, BATCH)
        yield centres[z] + rng.normal(size=(BATCH, D)), z


class OneByOne:
    """A clusterer of river, which is given rows as dicts."""

    def __init__(self, model):
        self.model = model

    def labels(self, X):
        """Learn from each row, then ask for all labels."""
        rows = [dict(enumerate(x)) for x in X.tolist()]
        for row in rows:
            self.model.learn_one(row)
        return [self.model.predict_one(row) for row in rows]


def contestants(with_river):
    """Return what is compared: a name, and a function from a batch to its labels."""
    model, means = MAPDP(), MiniBatchKMeans(K, random_state=0)
    found = {
        "MAPDP().partial_fit, half_life 10,000": lambda X: model.partial_fit(X, half_life=BATCH).labels_,
        "MAPDP().fit to each batch": lambda X: MAPDP().fit(X).labels_,
        "MiniBatchKMeans.partial_fit, told K": lambda X: means.partial_fit(X).predict(X),
    }
    if with_river:
        from river import cluster

        found |= {
            "river DBSTREAM": OneByOne(
                cluster.DBSTREAM(clustering_threshold=2.0, intersection_factor=0.3)
            ).labels,
            "river DenStream": OneByOne(cluster.DenStream(epsilon=2.0, n_samples_init=500)).labels,
            "river CluStream, told K": OneByOne(cluster.CluStream(n_macro_clusters=K, seed=0)).labels,
        }
    return found


def compared(n_batches, with_river):
    """Return mean agreement and CPU seconds of each contestant."""
    running = contestants(with_river)
    scores, seconds = {name: [] for name in running}, dict.fromkeys(running, 0.0)
    for X, z in stream(n_batches):
        for name, labels in running.items():
            began = time.process_time()
            found = labels(X)
            seconds[name] += time.process_time() - began
            scores[name].append(nmi(z, found))
    reference = seconds["MAPDP().fit to each batch"]
    return [
        [
            name,
            n_batches,
            f"{np.mean(scores[name]):.4f}",
            f"{scores[name][-1]:.4f}",
            f"{spent:.2f}",
            f"{spent / reference:.3f}",
        ]
        for name, spent in seconds.items()
    ]


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument("--river", type=int, default=3)
    parser.add_argument("--out")
    given = parser.parse_args()
    list(
        map(contestants(False)["MAPDP().partial_fit, half_life 10,000"], [X for X, _ in stream(2)])
    )  # compile
    rows = compared(given.batches, with_river=False)
    rows += compared(given.river, with_river=True)[3:] if given.river else []
    header = ["", "batches", "mean NMI of a batch", "NMI of the last", "CPU s", "/ refit"]
    write(table(header, rows), given.out)


if __name__ == "__main__":
    main()
