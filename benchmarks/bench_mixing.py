"""Compare how fast chains with split-merge moves and plain Gibbs mix, and check their posterior of K.

    python benchmarks/bench_mixing.py [--seconds 5] [--draws 200] [--out FILE]

Mixing: two chains, one from a single cluster and one from singletons, run for so many CPU seconds each. The
model of real tables is the one that `MAPDP()` learns. Calibration: tables are drawn from a model together
with their clusters; the shortest range of K with at least 50% (90%) posterior probability should hold the
true K as often as it says.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import load_iris, load_wine

from bench_search import CRP_PRIOR
from common import table, write
from mapdp import MAPDP, DiagonalGaussian, sample_mixture
from mapdp.engine.problem import Model, Problem
from mapdp.partitions.process import PitmanYor
from mapdp.sampling.agreement import effective_sample_size, shortest_range, split_r_hat
from mapdp.sampling.chain import Chain
from mapdp.sampling.chains import gathered, second_half

TIGHT = DiagonalGaussian(mean=[0.0, 0.0], strength=0.05, shape=3.0, rate=[2.0, 2.0])


def close_clusters():
    """Return 300 rows of three round clusters, two of them three standard deviations apart."""
    rng = np.random.default_rng(1)
    centres = np.repeat([[0.0, 0.0], [3.0, 0.0], [0.0, 9.0]], 100, axis=0)
    return centres + rng.normal(size=(300, 2))


def problems():
    """Yield the problems that chains are to mix in."""
    for name, X in (
        ("Wine", load_wine().data),
        ("iris", load_iris().data),
        ("three clusters, two close", close_clusters()),
    ):
        model = MAPDP().fit(X)
        rows = model.mixture_.encoded(model.numbers_of(X))
        yield name, Problem(rows, rows, Model(model.family_, model.mixture_.process))
    X = sample_mixture(600, 3.0, CRP_PRIOR, np.random.default_rng(0)).X
    yield "CRP draw, 600 x 2", Problem(X, X, Model(CRP_PRIOR, PitmanYor(3.0)))


def run(problem, moves, seconds):
    """Return the two chains, equally long, and the CPU seconds that they took."""
    chains = [
        Chain(problem, init, np.random.default_rng(seed), moves=moves)
        for seed, init in enumerate(("single", "singletons"))
    ]
    began = time.process_time()
    while time.process_time() - began < 2.0 * seconds:
        for chain in chains:
            chain.sweep()
    return chains, time.process_time() - began


def mixing_rows(seconds):
    """Yield what each way of moving gives on each problem."""
    for name, problem in problems():
        run(problem, "split-merge", 0.05)  # compiles
        rates = []
        for moves in ("gibbs", "split-merge"):
            chains, took = run(problem, moves, seconds)
            n_clusters = second_half(chains).n_clusters
            rates.append(effective_sample_size(n_clusters) / (0.5 * took))
            yield [
                name,
                moves,
                gathered(chains).alpha.shape[1],
                " / ".join(f"{k:.2f}" for k in n_clusters.mean(axis=1)),
                f"{split_r_hat(n_clusters):.3f}",
                f"{split_r_hat(second_half(chains).log_joint):.3f}",
                f"{rates[-1]:.1f}",
                f"{rates[-1] / rates[0]:.1f}",
            ]


def posterior_of_k(X, process, seed):
    """Return the posterior of the number of clusters, from 600 sweeps."""
    chain = Chain(Problem(X, X, Model(TIGHT, process)), "single", np.random.default_rng(seed))
    numbers = [chain.sweep().n_clusters for _ in range(600)][100:]
    return np.bincount(numbers) / len(numbers)


def calibration_rows(n_draws):
    """Yield how often ranges of K hold the true one, beside how often they say they do."""
    process, found = PitmanYor(1.0), {0.5: [], 0.9: []}
    for draw in range(n_draws):
        X, truth = sample_mixture(60, 1.0, TIGHT, np.random.default_rng(draw))
        posterior = posterior_of_k(X, process, draw)
        for least, pairs in found.items():
            (few, many), stated = shortest_range(posterior, least)
            pairs.append((stated, few <= truth.max() + 1 <= many))
    for least, pairs in found.items():
        stated, held = np.mean(pairs, axis=0)
        error = np.sqrt(stated * (1.0 - stated) / n_draws)
        yield [f"at least {least:.0%}", f"{stated:.1%}", f"{held:.1%}", f"{error:.1%}"]


def main():
    """Print the tables, and write them where --out says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    head = ["table", "moves", "sweeps", "mean K", "R-hat of K", "R-hat of joint", "effective / s", "ratio"]
    first = table(head, mixing_rows(arguments.seconds))
    second = table(["range of K", "says", "holds", "standard error"], calibration_rows(arguments.draws))
    write(f"{first}\n\n{second}", arguments.out)


if __name__ == "__main__":
    main()
