"""Measure what each way of choosing alpha gives, and what it costs.

    python benchmarks/bench_alpha.py [--draws 20] [--out FILE]

Three tables: draws of the paper's CRP model with known alpha; the seven UCI sets, with the mean log
density of rows left out of five folds; the time of a fit that chooses alpha beside one to which it is
given. `MAPDP_DATA` names the folder of the UCI sets.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score
from sklearn.model_selection import KFold, cross_val_score

from bench_search import CRP_PRIOR, UCI, uci
from blobs import blobs
from common import table, write
from mapdp import MAPDP, DiagonalGaussian, sample_mixture

RULES = {
    "map": {"alpha": "map"},
    "map, Gamma(1, 1)": {"alpha": "map", "alpha_prior": ("gamma", 1.0, 1.0)},
    "nll": {"alpha": "nll"},
    "cv": {"alpha": "cv"},
    "mfm": {"process": "mfm"},
}
TRUTHS = (0.3, 1.0, 3.0, 10.0)
# NMI of MAP-DPM in the paper's Table 2.
PAPER = dict(zip(UCI, (0.86, 0.76, 0.71, 0.40, 0.12, 0.07, 0.15), strict=True))
ROUNDS = 3


def crp_rows(n_draws):
    """Yield, for each true alpha and each rule, the alphas found and what they do to the clusters."""
    for truth in TRUTHS:
        draws = [sample_mixture(600, truth, CRP_PRIOR, np.random.default_rng(i)) for i in range(n_draws)]
        for rule, parameters in {"given": {"alpha": truth}, **RULES}.items():
            models = [MAPDP(family=CRP_PRIOR, **parameters).fit(draw.X) for draw in draws]
            alphas = [model.alpha_ for model in models]
            found = (
                ""
                if rule == "mfm"
                else f"{np.median(alphas):.2f} ({np.min(alphas):.2g} to {np.max(alphas):.2g})"
            )
            gap = np.mean(
                [m.n_clusters_ - draw.labels.max() - 1 for m, draw in zip(models, draws, strict=True)]
            )
            nmi = [
                normalized_mutual_info_score(d.labels, m.labels_)
                for m, d in zip(models, draws, strict=True)
            ]
            fresh = [d.more(600, np.random.default_rng(i))[0] for i, d in enumerate(draws)]
            density = np.mean([m.score(X) for m, X in zip(models, fresh, strict=True)])
            yield [truth, rule, found, f"{gap:+.1f}", f"{np.mean(nmi):.3f}", f"{density:.3f}"]


def uci_rows():
    """Yield, for each data set and rule, alpha, K, NMI and the held-out density."""
    for name in UCI:
        X, y = uci(name)
        for rule, parameters in {"alpha = 1": {"alpha": 1.0}, **RULES}.items():
            model = MAPDP(family=DiagonalGaussian, n_init=5, **parameters).fit(X)
            folds = KFold(5, shuffle=True, random_state=0)
            held_out = cross_val_score(MAPDP(family=DiagonalGaussian, n_init=5, **parameters), X, cv=folds)
            nmi = normalized_mutual_info_score(y, model.labels_)
            alpha = "" if rule == "mfm" else f"{model.alpha_:.2g}"
            yield [
                name,
                rule,
                alpha,
                model.n_clusters_,
                f"{nmi:.2f}",
                f"{PAPER[name]:.2f}",
                f"{held_out.mean():.3f}",
            ]


def cost_rows():
    """Yield the time of each rule beside a fit with alpha given; rules take turns, the median counts."""
    tables = {"600 x 2": sample_mixture(600, 3.0, CRP_PRIOR, np.random.default_rng(0)).X}
    tables["10,000 x 10"] = blobs(10_000, 10, 20, 1.5, 0)[0]
    tables["100,000 x 10"] = blobs(100_000, 10, 20, 1.5, 0)[0]
    for name, X in tables.items():
        rules = {
            "given": {"alpha": 1.0},
            **{rule: p for rule, p in RULES.items() if rule != "cv" or len(X) < 1e5},
        }
        times = {rule: [] for rule in rules}
        for _ in range(ROUNDS + 1):  # the first only compiles
            for rule, parameters in rules.items():
                began = time.perf_counter()
                MAPDP(**parameters).fit(X)
                times[rule].append(time.perf_counter() - began)
        medians = {rule: np.median(seconds[1:]) for rule, seconds in times.items()}
        yield [
            name,
            *[f"{medians[rule] / medians['given']:.2f}" if rule in medians else "" for rule in RULES],
        ]


def main():
    """Print the tables, and write them where --out says."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    first = table(
        ["true alpha", "rule", "alpha found", "K - true K", "NMI", "held-out"], crp_rows(arguments.draws)
    )
    second = table(["table", "rule", "alpha", "K", "NMI", "paper's NMI", "held-out"], uci_rows())
    third = table(["table", *RULES], cost_rows())
    text = f"Draws of the CRP model:\n\n{first}\n\nUCI:\n\n{second}\n\nTimes of a fit with alpha given:\n\n{third}"
    write(text, arguments.out)


if __name__ == "__main__":
    main()
