"""Tables 2 and 3: seven UCI data sets, alpha by the lowest NLL over a grid."""

import pathlib
import warnings

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from experiments.map_dpm_2014 import store
from experiments.map_dpm_2014.store import winning_steps
from mapdp import MAPDP, DiagonalGaussian, DPMeans, GibbsDPM
from mapdp.data.datasets import NAMES, load_uci

QUICK = ("wine", "iris")
MOST = 10_000  # sweeps after which a chain is cut short, as in the paper
KEPT = 25

PAPER = {  # NMI and iterations of DP-means, Gibbs, MAP-DPM; two standard deviations of Gibbs' NMI
    "wine": ((0.42, 0.72, 0.86), ("19", "2,365", "11"), 0.06),
    "iris": ((0.76, 0.75, 0.76), ("8", "1,543", "5"), 0.06),
    "breast_cancer": ((0.75, 0.70, 0.71), ("8", "939", "8"), 0.01),
    "soybean": ((0.36, 0.49, 0.40), ("14", "10,000+", "9"), 0.0),
    "parkinsons": ((0.02, 0.13, 0.12), ("1,000+", "1,307", "13"), 0.02),
    "pima": ((0.03, 0.07, 0.07), ("20", "1,189", "17"), 0.01),
    "vehicle": ((0.21, 0.15, 0.15), ("12", "939", "9"), 0.02),
}
METHODS = {  # and the column of the paper that stands beside them
    "DP-means, true K": 0,
    "Gibbs, r = 0.1 (as printed)": 1,
    "Gibbs, r = 0.01": 1,
    "MAP-DPM as printed (single start)": 2,
    "MAP-DPM, sequential start": 2,
    "MAPDP(family=DiagonalGaussian)": 2,
    "MAPDP()": 2,
}


def _iterations(model):
    """Return sweeps of a chain, of the climb that won, or passes of DP-means."""
    if hasattr(model, "winning_climb_"):
        return winning_steps(model)[-1].sweep
    return int(getattr(model, "n_sweeps_", 0) or model.n_iter_)


def one_set(name):
    """Fit every method to one data set."""
    X, y = load_uci(name)
    X = np.ascontiguousarray(X[:, X.std(axis=0) > 0])
    icm = {"family": DiagonalGaussian, "search": "icm", "alpha": "nll"}
    alpha = MAPDP(**icm).fit(X).alpha_
    made = [
        DPMeans(n_clusters=len(np.unique(y))),
        *[_gibbs(alpha, r) for r in (0.1, 0.01)],
        MAPDP(**icm, init="single"),
        MAPDP(**icm),
        MAPDP(family=DiagonalGaussian),
        MAPDP(),
    ]
    out = {}
    for method, model in zip(METHODS, made, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X)
        out[method] = _measures(model, y)
    return out


def _gibbs(alpha, accuracy):
    return GibbsDPM(
        alpha,
        family=DiagonalGaussian,
        n_sweeps="raftery-lewis",
        accuracy=(0.025, accuracy, 0.95),
        max_sweeps=MOST,
        random_state=0,
    )


def _measures(model, y):
    partitions = [model.labels_]
    if isinstance(model, GibbsDPM):
        some = np.linspace(0, len(model.samples_) - 1, min(KEPT, len(model.samples_))).astype(int)
        partitions = [model.samples_[i] for i in some]
    scores = [normalized_mutual_info_score(y, labels) for labels in partitions]
    return {
        "nmi": float(np.mean(scores)),
        "spread": float(2.0 * np.std(scores)),
        "clusters": float(np.mean([len(np.unique(labels)) for labels in partitions])),
        "iterations": _iterations(model),
        "alpha": float(getattr(model, "alpha_", float("nan")) or 0.0)
        if not isinstance(model, DPMeans)
        else None,
    }


def main(out, quick):
    """Run all data sets, and write tables."""
    names = QUICK if quick else NAMES
    found = store.results("uci", names, one_set, out / "uci-sets")
    rows = [
        {"data": name, "method": method} | one[method]
        for name, one in zip(names, found, strict=True)
        for method in METHODS
    ]
    store.write_csv(out / "uci.csv", rows)
    (out / "uci.md").write_text(_page(names, found))
    print(f"Wrote {out / 'uci.md'}")


def _page(names, found):
    lines = []
    for name, one in zip(names, found, strict=True):
        nmi, iterations, spread = PAPER[name]
        for method, column in METHODS.items():
            ours = one[method]
            said = store.verdict(ours["nmi"], nmi[column], max(spread / 2.0, 0.01))
            near = f"{ours['nmi']:.2f}" + (f" ({ours['spread']:.2f})" if ours["spread"] > 0 else "")
            lines.append(
                [
                    name,
                    method,
                    near,
                    nmi[column],
                    said,
                    f"{ours['clusters']:.1f}",
                    f"{ours['iterations']:,}",
                    iterations[column],
                ]
            )
    header = ["data", "method", "NMI", "paper", "verdict", "clusters", "iterations", "paper"]
    note = "Verdicts in standard deviations of the paper's Gibbs runs (at least 0.01, to which it rounds)."
    return f"# UCI tables: our numbers and the paper's\n\n{note}\n\n{store.markdown(header, lines)}\n"


if __name__ == "__main__":
    main(pathlib.Path("docs/experiments"), quick=False)
