"""How probable new rows are under the learned model, beside the paper's prior.

python benchmarks/bench_held_out.py [--out FILE] [--tables NAME ...]: the 14 development tables of bench_real.py,
5 folds. "density" is `score`: the mean log density of the rows left out, in which the learned model averages log
densities over all values that are rounded to a cell. "probability" is the log probability of what is rounded to
the cells, divided by the steps: the same number where nothing is rounded, and the only one that two models of a
rounded table can be compared by. (A density has no upper bound at a value that many rows share.)
"""

import argparse
import dataclasses
import sys
import warnings

import numpy as np
from scipy.special import logsumexp
from scipy.stats import qmc, t
from sklearn.model_selection import KFold

import bench_real
import common
from mapdp import MAPDP, DiagonalGaussian
from mapdp.data.column_kinds import step_of

MODELS = {"learned": {}, "paper's prior": {"prior": "paper", "covariance": "diagonal"}}
POINTS = 2048  # of a cell, where columns are not independent
FINE = 1e-3  # a step that is so small beside the width of a cluster is none


def steps_of(X):
    """Return the step that each column is rounded to, 0 where hardly any number is there twice."""
    repeats = [len(np.unique(column)) < 0.8 * len(column) for column in X.T]
    return np.array([step_of(column) if again else 0.0 for column, again in zip(X.T, repeats, strict=True)])


def log_probability(model, X, steps):
    """Return the log probability of rounded rows, divided by the steps."""
    mixture = model.mixture_
    clusters = [mixture.family.posterior(mixture.bank, k) for k in range(mixture.n_clusters + 1)]
    exact = [dataclasses.replace(one, resolution=np.zeros(X.shape[1])) for one in clusters]
    of_cells = of_columns if isinstance(mixture.family, DiagonalGaussian) else of_points
    return logsumexp(np.array([of_cells(one, X, steps) for one in exact]).T + mixture.log_weights, axis=1)


def of_columns(family, X, steps):
    """Return log probabilities under independent Student t columns, from their distribution functions."""
    width = np.sqrt(family.rate / family.shape * (family.strength + 1.0) / family.strength)
    one = t(2.0 * family.shape, family.mean, width)
    fine = steps < FINE * width
    with np.errstate(divide="ignore", invalid="ignore"):
        near = np.abs(
            X - family.mean
        )  # by symmetry, so that small probabilities in a tail keep their digits
        centred = t(2.0 * family.shape, 0.0, width)
        mass = centred.sf(near - 0.5 * steps) - centred.sf(near + 0.5 * steps)
        rounded = np.log(mass) - np.log(steps)
    return np.where(fine, one.logpdf(X), rounded).sum(axis=1)


def of_points(family, X, steps):
    """Return log probabilities from points that fill the cells evenly."""
    all_columns = np.arange(X.shape[1])
    if not steps.any():
        return family.log_densities(all_columns, X)
    points = (qmc.Sobol(X.shape[1], seed=0).random(POINTS) - 0.5) * steps
    logs = [logsumexp(family.log_densities(all_columns, row + points)) for row in X]
    return np.array(logs) - np.log(POINTS)


def held_out(X, steps, settings):
    """Return the mean log density and log probability of rows left out."""
    found = []
    for seen, left_out in KFold(5, shuffle=True, random_state=0).split(X):
        model = MAPDP(random_state=0, **settings).fit(X[seen])
        density = model.score_samples(X[left_out])
        found.append(np.column_stack([density, log_probability(model, X[left_out], steps)]))
    return np.concatenate(found).mean(axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out")
    parser.add_argument("--tables", nargs="*", default=list(bench_real.DEVELOPMENT))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name, X, _ in [*bench_real.real_tables(), *bench_real.synthetic_tables()]:
        if name not in given.tables:
            continue
        X = bench_real.standardised(X)
        X = X[:, MAPDP().fit(X).schema_.used]  # copies of columns are left out, for both
        learned, paper = [held_out(X, steps_of(X), settings) for settings in MODELS.values()]
        gains = learned - paper
        print(name, *learned, *paper, file=sys.stderr, flush=True)
        rows.append({"table": name, "density": f"{gains[0]:.3f}", "probability": f"{gains[1]:.3f}"})
    common.write(common.table(rows[0], [row.values() for row in rows]))
    if given.out:
        common.record(rows, given.out, "table")


if __name__ == "__main__":
    main()
