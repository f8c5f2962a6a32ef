"""Groups and sequences: draws from the models, beside flat models and beside hmmlearn told the number of states.

python -m benchmarks.bench_structured groups 50 | sequences 10 1000x3 1000x8 | long | gibbs 5
"""

import sys
import time
import warnings

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from benchmarks.common import table
from mapdp import MAPDP, MAPHMM, DiagonalGaussian, HierarchicalMAPDP
from tests.references.franchise_gibbs import FranchiseGibbs, GaussianDishes


def franchise_draw(rng, n_groups=20, alpha=2.0, gamma=3.0, n_new=20):
    """Draw groups of 5 to 500 rows from a hierarchical mixture; return rows and new rows of each group."""
    n_atoms = 200  # sticks; what is left beyond them is nothing
    sticks = rng.beta(1.0, gamma, n_atoms)
    shares = sticks * np.cumprod(np.append(1.0, 1.0 - sticks[:-1]))
    shares /= shares.sum()
    centres, scales = (
        rng.normal(scale=4.0, size=(n_atoms, 2)),
        np.exp(rng.normal(scale=0.3, size=(n_atoms, 2))),
    )
    parts = []
    for g in range(n_groups):
        n = int(np.exp(rng.uniform(np.log(5), np.log(500)))) + n_new
        weights = rng.dirichlet(alpha * shares + 1e-12)
        z = rng.choice(n_atoms, size=n, p=weights)
        parts.append(
            (centres[z] + scales[z] * rng.normal(size=(n, 2)), z, np.full(n, g), np.arange(n) < n_new)
        )
    X, z, groups, is_new = (np.concatenate(part) for part in zip(*parts, strict=True))
    return X, z, groups, is_new


def groups_draw(seed):
    """Return NMI, held-out log density per row and CPU seconds of three models of one draw."""
    X, z, groups, is_new = franchise_draw(np.random.default_rng(seed))
    seen, new, found = ~is_new, is_new, []
    began = time.process_time()
    shared = HierarchicalMAPDP().fit(X[seen], groups=groups[seen])
    found.append(
        (shared.labels_, shared.score_samples(X[new], groups[new]).mean(), time.process_time() - began)
    )
    began = time.process_time()
    one = MAPDP().fit(X[seen])
    found.append((one.labels_, one.score_samples(X[new]).mean(), time.process_time() - began))
    labels, densities, began = np.zeros(seen.sum(), dtype=int), np.zeros(new.sum()), time.process_time()
    for g in np.unique(groups):
        own = MAPDP().fit(X[seen & (groups == g)])
        labels[groups[seen] == g] = 1000 * g + own.labels_
        densities[groups[new] == g] = own.score_samples(X[new & (groups == g)])
    found.append((labels, densities.mean(), time.process_time() - began))
    inside = [
        np.mean(
            [
                normalized_mutual_info_score(z[seen][groups[seen] == g], labels[groups[seen] == g])
                for g in range(20)
            ]
        )
        for labels, _, _ in found
    ]
    return [
        (normalized_mutual_info_score(z[seen], labels), within, density, seconds)
        for (labels, density, seconds), within in zip(found, inside, strict=True)
    ]


def over(values):
    """Return a mean with its standard error."""
    values = np.asarray(values)
    return f"{values.mean():.3f} ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}"


def groups(n_draws):
    """Compare the hierarchical model with one flat model for all, and one for each group."""
    results = []
    for seed in range(n_draws):
        results.append(groups_draw(seed))
        if seed % 5 == 4:
            show_groups(np.array(results))


def show_groups(results):
    names = ("HierarchicalMAPDP", "one MAPDP for all", "one MAPDP per group")
    rows = [
        [name, *[over(results[:, m, j]) for j in range(3)], f"{results[:, m, 3].mean():.1f}"]
        for m, name in enumerate(names)
    ]
    print(len(results), "draws")
    print(table(["model", "NMI, all rows", "NMI within groups", "held-out nats per row", "CPU s"], rows))
    for m in (1, 2):
        print(
            "better than",
            names[m],
            [over(results[:, 0, j] - results[:, m, j]) for j in range(3)],
            flush=True,
        )


def sequence_draw(rng, n, n_states, n_columns=2):
    """Draw a sequence: states stay for 20 rows or so, and centres overlap a little."""
    return sequence_with_truth(rng, n, n_states, n_columns)[:2]


def sequence_with_truth(rng, n, n_states, n_columns=2, stay=0.95, spread=3.0):
    """Draw a sequence; return its rows and states, and the transitions and centres that it was drawn from."""
    step = rng.dirichlet(np.ones(n_states), size=n_states) * (1.0 - stay) + stay * np.eye(n_states)
    cumulative, u, z = np.cumsum(step, axis=1), rng.random(n), np.zeros(n, dtype=np.int64)
    for i in range(1, n):
        z[i] = min(np.searchsorted(cumulative[z[i - 1]], u[i]), n_states - 1)
    centres = rng.normal(scale=spread, size=(n_states, n_columns))
    return centres[z] + rng.normal(size=(n, n_columns)), z, step, centres


def told(X, n_states, n_starts, seed=0, n_iter=100):
    """Return the labels of hmmlearn's best start, and the CPU seconds of all."""
    from hmmlearn.hmm import GaussianHMM

    began, best, highest = time.process_time(), None, -np.inf
    for start in range(n_starts):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = GaussianHMM(
                n_states, covariance_type="diag", n_iter=n_iter, random_state=seed + start
            ).fit(X)
            value = model.score(X)
        if value > highest:
            best, highest = model, value
    return best.predict(X), time.process_time() - began


def sequences(n_draws, cases):
    """Compare MAPHMM with hmmlearn told the number of states: best of ten starts, of fewer for long sequences."""
    MAPHMM(covariance="diagonal").fit(sequence_draw(np.random.default_rng(0), 300, 3)[0])  # compiles
    rows = []
    for n, n_states in cases:
        found = []
        for seed in range(n_draws):
            X, z = sequence_draw(np.random.default_rng(seed), n, n_states)
            n_starts = 10 if n <= 1000 else 3 if n <= 10_000 else 1
            theirs, their_seconds = told(X, n_states, n_starts)
            began = time.process_time()
            ours = MAPHMM(covariance="diagonal").fit(X)
            seconds = time.process_time() - began
            flat = (
                adjusted_rand_score(z, MAPDP(covariance="diagonal").fit(X).labels_) if n <= 1000 else np.nan
            )
            found.append(
                (
                    adjusted_rand_score(z, ours.labels_),
                    adjusted_rand_score(z, theirs),
                    flat,
                    ours.n_clusters_,
                    seconds,
                    their_seconds,
                )
            )
        mean = np.mean(found, axis=0)
        rows.append(
            [
                f"{n:,} rows, {n_states} states",
                len(found),
                n_starts,
                *[f"{value:.3f}" for value in mean[:3]],
                f"{mean[3]:.1f}",
                f"{mean[4]:.1f}",
                f"{mean[5]:.1f}",
            ]
        )
        print(rows[-1], flush=True)
    print(
        table(
            [
                "draws",
                "number",
                "starts",
                "MAPHMM ARI",
                "hmmlearn ARI",
                "flat MAPDP ARI",
                "states found",
                "CPU s",
                "hmmlearn CPU s",
            ],
            rows,
        ),
        flush=True,
    )


def long_sequence():
    """Compare one fit of a million rows with one start of hmmlearn told the number of states."""
    X, z = sequence_draw(np.random.default_rng(0), 1_000_000, 8, n_columns=5)
    MAPHMM(covariance="diagonal").fit(X[:25_000])  # compiles
    for name, fit in (
        ("MAPHMM", lambda: MAPHMM(covariance="diagonal").fit(X).labels_),
        ("hmmlearn told 8", lambda: told(X, 8, 1)[0]),
    ):
        began, wall = time.process_time(), time.perf_counter()
        labels = fit()
        print(
            f"{name}: ARI {adjusted_rand_score(z, labels):.4f}, {time.process_time() - began:.1f} CPU s, {time.perf_counter() - wall:.1f} s",
            flush=True,
        )


MARKS = (1.0, 3.0, 10.0, 30.0)  # CPU seconds at which the sampler is looked at


def gibbs_draw(seed):
    """Return the joint and seconds of one search, and the best joints of a sampler after so many seconds.

    Concentrations and family are given to both; a joint is that of the clusters, at the best tables for them.
    """
    X, _, groups, is_new = franchise_draw(np.random.default_rng(seed), n_groups=10)
    X, groups = X[~is_new], groups[~is_new]
    family = DiagonalGaussian.empirical(X, scale=0.1)
    began = time.process_time()
    model = HierarchicalMAPDP(2.0, 3.0, family=family).fit(X, groups=groups)
    seconds = time.process_time() - began
    dishes = GaussianDishes(X, family.mean, family.strength, family.shape, family.rate)
    sampler, rng = FranchiseGibbs(groups.tolist(), dishes, 2.0, 3.0), np.random.default_rng(seed)
    spent, best, reached, n_sweeps = 0.0, -np.inf, [], 0
    for mark in MARKS:
        while spent < mark:
            began = time.process_time()
            sampler.sweep(rng)
            spent, n_sweeps = spent + time.process_time() - began, n_sweeps + 1
            labels = np.unique(sampler.labels, return_inverse=True)[1]
            best = max(best, model.log_joint_of(X, labels, groups))
        reached.append(best - model.log_joint_)
    return len(X), seconds, n_sweeps, reached


def gibbs(n_draws):
    """Compare a search with the Gibbs sampler of tests/references, which is written in Python."""
    gibbs_draw(0)  # compiles
    rows = []
    for seed in range(n_draws):
        n_rows, seconds, n_sweeps, reached = gibbs_draw(seed)
        rows.append([n_rows, f"{seconds:.2f}", n_sweeps, *[f"{behind:+.1f}" for behind in reached]])
        print(rows[-1], flush=True)
    marks = [f"sampler after {mark:g} s" for mark in MARKS]
    print(table(["rows", "search, CPU s", "sweeps of the sampler", *marks], rows))


if __name__ == "__main__":
    what, n_draws = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10
    {
        "groups": lambda: groups(n_draws),
        "sequences": lambda: sequences(n_draws, [map(int, case.split("x")) for case in sys.argv[3:]]),
        "long": long_sequence,
        "gibbs": lambda: gibbs(n_draws),
    }[what]()
