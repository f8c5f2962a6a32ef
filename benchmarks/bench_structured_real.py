"""Groups and sequences of real tables: how probable rows are that were left out, beside flat models and hmmlearn.

python -m benchmarks.bench_structured_real sequences | groups      (MAPDP_DATA names the folder of the tables)
"""

import io
import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd

from benchmarks.bench_structured import over
from benchmarks.common import table
from mapdp import MAPDP, MAPHMM, HierarchicalMAPDP


def geyser():
    """Return 272 eruptions of Old Faithful in their order: how long they took, and the wait for the next."""
    told = subprocess.run(
        ["R", "--slave", "-e", "write.csv(faithful, row.names = FALSE)"], capture_output=True
    )
    return pd.read_csv(io.BytesIO(told.stdout)).to_numpy(), None


def economy():
    """Return quarters of the United States, 1959 to 2009: growth of the real product, and inflation."""
    import statsmodels.api as sm

    quarters = sm.datasets.macrodata.load_pandas().data
    growth = 100.0 * np.diff(np.log(quarters["realgdp"]))
    return np.column_stack([growth, quarters["infl"].to_numpy()[1:]]), None


def nile():
    import statsmodels.api as sm

    return sm.datasets.nile.load_pandas().data[["volume"]].to_numpy(), None


def flights():
    """Return hours of New York, January to March 2013: flights, and their mean delay; a day is a sequence."""
    rows = pd.read_parquet(f"{os.environ['MAPDP_DATA']}/extra/nycflights13.parquet").query("month < 4")
    rows = rows.dropna(subset="dep_delay")
    hours = rows.assign(hour=rows["sched_dep_time"] // 100).groupby(["month", "day", "hour"])["dep_delay"]
    found = hours.agg(["size", "mean"])
    lengths = found.groupby(["month", "day"]).size().to_numpy()
    return np.column_stack([np.sqrt(found["size"]), found["mean"]]), lengths


SEQUENCES = {"geyser": geyser, "economy": economy, "Nile": nile, "flights by hour": flights}


def split(X, lengths):
    """Return rows and lengths of the first two thirds, and of the rest; None for one sequence."""
    if lengths is None:
        return X[: 2 * len(X) // 3], None, X, None
    n = 2 * len(lengths) // 3
    rows = int(lengths[:n].sum())
    return X[:rows], lengths[:n], X[rows:], lengths[n:]


def sequences(names):
    """Compare densities of the last third, given all rows before where it is one sequence."""
    for name in names:
        X, lengths = SEQUENCES[name]()
        first, first_lengths, rest, rest_lengths = split(X, lengths)
        n_new = len(X) - len(first)
        began = time.process_time()
        ours = MAPHMM().fit(first, lengths=first_lengths)
        seconds = time.process_time() - began
        flat = MAPDP().fit(first)
        n_starts = 10 if ours.n_clusters_ < 20 else 1
        theirs, their_seconds = told(first, first_lengths, ours.n_clusters_, n_starts)
        line = [
            name,
            len(X),
            f"{ours.score_samples(rest, rest_lengths)[-n_new:].mean():.3f}",
            f"{flat.score_samples(rest[-n_new:]).mean():.3f}",
            f"{new_density(theirs, first, rest, first_lengths, rest_lengths) / n_new:.3f}",
            ours.n_clusters_,
            flat.n_clusters_,
            f"{seconds:.1f}",
            f"{their_seconds:.1f}",
        ]
        print("| " + " | ".join(map(str, line)) + " |", flush=True)


def told(X, lengths, n_states, n_starts):
    """Return hmmlearn's best start, with full covariances and told the number of states, and CPU seconds."""
    import logging

    from hmmlearn.hmm import GaussianHMM

    logging.getLogger("hmmlearn").setLevel(logging.ERROR)
    began = time.process_time()
    starts = [
        GaussianHMM(n_states, "full", n_iter=100, random_state=s).fit(X, lengths) for s in range(n_starts)
    ]
    best = max(starts, key=lambda one: one.score(X, lengths))
    return best, time.process_time() - began


def new_density(model, first, rest, first_lengths, rest_lengths):
    """Return the log density of the rows that were left out."""
    whole = model.score(rest, rest_lengths)
    return whole if rest_lengths is not None else whole - model.score(first, first_lengths)


def penguins():
    rows = pd.read_csv(f"{os.environ['MAPDP_DATA']}/extra/penguins.csv").dropna(subset="bill_length_mm")
    return rows[["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]], rows["island"]


def adult():
    rows = pd.read_csv(f"{os.environ['MAPDP_DATA']}/extra/adult.csv.gz").dropna(subset="workclass")
    rows = rows.drop(columns=["label", "fnlwgt", "education"]).sample(3000, random_state=0)
    return rows.drop(columns="workclass"), rows["workclass"]


def groups(name, n_splits):
    """Compare densities of a third of the rows, in their groups and without."""
    X, names = {"penguins": penguins, "adult": adult}[name]()
    found = []
    for seed in range(n_splits):
        is_new = np.random.default_rng(seed).random(len(X)) < 1.0 / 3.0
        began = time.process_time()
        shared = HierarchicalMAPDP().fit(X[~is_new], groups=names[~is_new])
        seconds, began = time.process_time() - began, time.process_time()
        flat = MAPDP().fit(X[~is_new])
        found.append(
            (
                shared.score(X[is_new], groups=names[is_new]),
                flat.score(X[is_new]),
                shared.n_clusters_,
                flat.n_clusters_,
                seconds,
                time.process_time() - began,
            )
        )
        print(seed, found[-1], flush=True)
    found = np.array(found)
    header = [
        "table",
        "splits",
        "hierarchical",
        "flat",
        "difference",
        "clusters",
        "flat clusters",
        "CPU s",
        "flat CPU s",
    ]
    means = [f"{value:.1f}" for value in found[:, 2:].mean(axis=0)]
    line = [name, n_splits, over(found[:, 0]), over(found[:, 1]), over(found[:, 0] - found[:, 1]), *means]
    print(table(header, [line]))


if __name__ == "__main__":
    if sys.argv[1] == "sequences":
        sequences(sys.argv[2:] or SEQUENCES)
    else:
        groups("penguins", 20)
        groups("adult", 3)
