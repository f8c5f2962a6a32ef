"""Does any small table break a default fit? Random tables with accidents, under every covariance.

python benchmarks/bench_accidents.py [--tables N] [--first SEED]: ties, constants, collinear columns, fewer rows
than columns, numbers of 1e12, zeros with long tails, copies, equal rows, counts, words, gaps. After each fit the
joint must be finite and that of `log_joint_of`, no climb may ever drop, and all rows must be predicted. It prints
what broke, with the seed of the table, and the largest number of clusters beside the square root of the rows.
"""

import argparse
import time
import traceback
import warnings

import numpy as np
import pandas as pd

from mapdp import MAPDP

COVARIANCES = ("auto", "auto", "auto", "diagonal", "full", "shared", "spherical")
REFUSED = ("needs measurements", "no cell that is not a gap", "no column is left")
SLACK = 1e-8  # of a joint, that rounding may cost


def measured(rng, n):
    """Return rows of a few clusters after up to three accidents."""
    d, n_clusters = rng.choice([1, 2, 3, 5, 8]), rng.integers(1, 5)
    X = rng.normal(size=(n, d)) + 3.0 * rng.normal(size=(n_clusters, d))[rng.integers(0, n_clusters, n)]
    for accident in rng.integers(10, size=rng.integers(0, 4)):
        i, j = rng.integers(d, size=2)
        X = after(accident, X, i, j, rng)
    return X


def after(accident, X, i, j, rng):
    """Return rows to which something has happened, in most cases to column j."""
    if accident == 0:
        return np.where(rng.random(X.shape) < 0.7, 0.0, 10.0 * np.abs(rng.normal(size=X.shape)) ** 5)
    if accident == 1:
        X[: len(X) // 2] = X[0]
    if accident == 2:
        X *= 10.0 ** rng.integers(-9, 9)
    if accident == 3:
        X[rng.integers(len(X)), j] = rng.choice([1e12, -1e12, 1e6])
    n = len(X)
    columns = {
        4: np.round(X[:, j]),
        5: np.full(n, 3.7),
        6: X[:, i] - 2.0 * X[:, 0],
        7: X[:, i] + 1e-3 * rng.normal(size=n),
        8: rng.poisson(rng.choice([0.3, 2.0, 40.0]), size=n),
        9: rng.integers(0, 5, size=n),
    }
    if accident in columns:
        X[:, j] = columns[accident]
    return X


def table(rng):
    """Return an array or a frame, perhaps with words and gaps."""
    n = int(rng.choice([2, 3, 5, 12, 40, 90]))
    frame = pd.DataFrame(measured(rng, n)).add_prefix("x")
    if rng.random() < 0.5:
        for number in range(rng.integers(1, 4)):
            frame[f"word{number}"] = rng.choice(list("abcde"), size=n)
    if rng.random() < 0.4:
        frame = frame.mask(rng.random(frame.shape) < 0.15)
    if rng.random() < 0.2:
        frame.loc[rng.random(n) < 0.2, [name for name in frame if name[0] == "x"]] = np.nan
    is_plain = not any(name.startswith("word") for name in frame)
    return frame.to_numpy() if is_plain and rng.random() < 0.5 else frame


def trouble_with(X, covariance):
    """Return what is wrong with a fit, None where nothing is, and how many clusters it has."""
    model = MAPDP(covariance=covariance).fit(X)
    model.predict(X)
    if not np.isfinite(model.log_joint_):
        return "the joint is not finite", model.n_clusters_
    again = model.log_joint_of(X, model.labels_)
    if not np.isclose(again, model.log_joint_, rtol=1e-7, atol=1e-6):
        return f"joint {model.log_joint_} is {again} when worked out again", model.n_clusters_
    for climb in range(model.trace_[-1].climb + 1):
        joints = np.array([step.log_joint for step in model.trace_ if step.climb == climb])
        if (np.diff(joints) < -SLACK * np.abs(joints[:-1])).any():
            return "the joint dropped", model.n_clusters_
    return None, model.n_clusters_


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    began, n_refused, n_broken, ratios = time.process_time(), 0, 0, []
    for seed in range(options.first, options.first + options.tables):
        rng = np.random.default_rng(seed)
        X, covariance = table(rng), str(rng.choice(COVARIANCES))
        try:
            trouble, n_clusters = trouble_with(X, covariance)
            ratios.append((n_clusters / np.sqrt(len(X)), n_clusters, len(X), seed))
        except Exception as error:
            is_refused = isinstance(error, ValueError) and any(word in str(error) for word in REFUSED)
            n_refused += is_refused
            trouble = None if is_refused else "".join(traceback.format_exception(error)[-3:])
        if trouble is not None:
            n_broken += 1
            print(f"seed {seed}, {np.shape(X)}, covariance={covariance!r}: {trouble}", flush=True)
    ratio, n_clusters, n_rows, seed = max(ratios)
    seconds = time.process_time() - began
    print(
        f"{options.tables} tables in {seconds:.0f} CPU seconds: {n_broken} broke, {n_refused} were refused"
    )
    print(f"most clusters: {n_clusters} of {n_rows} rows ({ratio:.2f} times the root), seed {seed}")


if __name__ == "__main__":
    main()
