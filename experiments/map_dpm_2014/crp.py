"""Tables 1, A.1, A.2 and Figures 2, 3, A.1: draws from a CRP mixture, alpha = 3, N = 600, D = 2."""

import functools
import pathlib
import time
import warnings

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score, normalized_mutual_info_score

from experiments.map_dpm_2014 import store
from experiments.map_dpm_2014.store import winning_steps
from mapdp import MAPDP, DiagonalGaussian, GibbsDPM, sample_mixture

PRIOR = DiagonalGaussian(mean=[1.0, 1.0], strength=0.1, shape=1.0, rate=[10.0, 10.0])
ALPHA, N_ROWS = 3.0, 600
DRAWS, QUICK = 100, 4
KEPT = 25  # samples of a chain that are judged: more only cost time

PAPER = {  # mean, two standard deviations: Tables 1, A.1 and A.2
    "nmi": {"gibbs": (0.67, 0.23), "map": (0.71, 0.23)},
    "nmi_max": {"gibbs": (0.64, 0.24), "map": (0.64, 0.27)},
    "ami": {"gibbs": (0.62, 0.25), "map": (0.62, 0.27)},
    "iterations": {"gibbs": (2020.0, 900.0), "map": (13.3, 13.9)},
    "cpu_seconds": {"gibbs": (7300.0, 4000.0), "map": (28.0, 32.0)},
    "more_clusters": {"gibbs": (-0.91, 7.12), "map": (-6.94, 6.93)},
    "emptied": {"gibbs": (5900.0, 3600.0), "map": (10.33, 22.1)},
    "test_nmi": {"gibbs": (0.72, 0.20), "map": (0.71, 0.23)},
    "test_nll": {"gibbs": (7.17, 1.10), "map": (7.20, 1.11)},
}
METHODS = {  # and whose numbers of the paper stand beside them
    "Gibbs, r = 0.1 (as printed)": "gibbs",
    "Gibbs, r = 0.01": "gibbs",
    "MAP-DPM as printed (single start)": "map",
    "MAP-DPM, sequential start": "map",
    "MAPDP(3.0), prior known": "map",
    "MAPDP(), nothing known": "map",
}
SHOWN = {  # in the figure of sizes, and how they are called there
    "truth": "truth",
    "Gibbs, r = 0.01": "Gibbs",
    "MAP-DPM, sequential start": "MAP-DPM",
    "MAPDP(3.0), prior known": "mapdp",
}


def _gibbs(accuracy):
    return GibbsDPM(
        ALPHA, family=PRIOR, n_sweeps="raftery-lewis", accuracy=(0.025, accuracy, 0.95), random_state=0
    )


def models():
    """Return an unfitted model for each method."""
    icm = functools.partial(MAPDP, ALPHA, family=PRIOR, search="icm")
    made = [_gibbs(0.1), _gibbs(0.01), icm(init="single"), icm(), MAPDP(ALPHA, family=PRIOR), MAPDP()]
    return dict(zip(METHODS, made, strict=True))


def one_draw(piece):
    """Fit every method to one draw; return all measures, and sizes of the clusters."""
    rng = np.random.default_rng(int(piece))
    drawn = sample_mixture(N_ROWS, ALPHA, PRIOR, rng)
    test = drawn.more(N_ROWS, rng)
    out = {"truth": {"sizes": _curve([drawn.labels])}}
    for name, model in models().items():
        clone = type(model)(**model.get_params(deep=False))
        clone.fit(drawn.X[:50])  # compiles, or reads what was compiled, before the clock starts
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(drawn.X)
        seconds = time.process_time() - began
        out[name] = _measures(model, drawn, test) | {"cpu_seconds": seconds}
    return out


def _measures(model, drawn, test):
    """Return what the paper measures; a chain is judged by its samples, on average."""
    is_chain = isinstance(model, GibbsDPM)
    partitions = [model.labels_]
    if is_chain:
        some = np.linspace(0, len(model.samples_) - 1, min(KEPT, len(model.samples_))).astype(int)
        partitions = [model.samples_[i] for i in some]
    truth, n_true = drawn.labels, len(np.unique(drawn.labels))
    joints = [] if is_chain else [step.log_joint for step in winning_steps(model)]
    return {
        "nmi": float(np.mean([normalized_mutual_info_score(truth, z) for z in partitions])),
        "nmi_max": float(
            np.mean([normalized_mutual_info_score(truth, z, average_method="max") for z in partitions])
        ),
        "ami": float(np.mean([adjusted_mutual_info_score(truth, z) for z in partitions])),
        "iterations": int(model.n_sweeps_ if is_chain else winning_steps(model)[-1].sweep),
        "more_clusters": float(np.mean([len(np.unique(z)) for z in partitions])) - n_true,
        "emptied": int(_emptied(model)),
        "test_nmi": float(normalized_mutual_info_score(test[1], model.predict(test[0]))),
        "test_nll": -float(model.score_samples(test[0]).mean()),
        "largest_drop": float(-np.diff(joints).min(initial=0.0)),
        "sizes": _curve(partitions),
    }


def _emptied(model):
    """Return how many clusters lost their last row; a sampler's are those of its first chain."""
    if isinstance(model, GibbsDPM):
        return model.chains_.n_emptied[0].sum()
    return sum(step.n_emptied for step in winning_steps(model))


def _curve(partitions, length=40):
    """Return the mean share of the largest, second largest, ... cluster."""
    curves = np.zeros((len(partitions), length))
    for row, labels in zip(curves, partitions, strict=True):
        sizes = np.sort(np.bincount(labels))[::-1][:length]
        row[: len(sizes)] = sizes / len(labels)
    return curves.mean(axis=0).tolist()


def claims(draws):
    """Return the paper's claims with whether our runs bear them out."""
    gibbs, printed = ("Gibbs, r = 0.01", "MAP-DPM, sequential start")
    mean = {name: {key: np.mean([d[name][key] for d in draws]) for key in PAPER} for name in METHODS}
    spread = PAPER["nmi"]["gibbs"][1] / 2.0
    drops = max(d[name]["largest_drop"] for d in draws for name in METHODS)
    sweeps = mean[gibbs]["iterations"] / mean[printed]["iterations"]
    time_ratio = mean[gibbs]["cpu_seconds"] / mean[printed]["cpu_seconds"]
    return {
        "NMI of MAP-DPM within the paper's spread of Gibbs'": abs(mean[printed]["nmi"] - mean[gibbs]["nmi"])
        < spread,
        f"100 times fewer sweeps than Gibbs until the Raftery-Lewis diagnostic is satisfied (here {sweeps:.0f})": sweeps
        >= 100,
        f"100 times less CPU time (here {time_ratio:.0f})": time_ratio >= 100,
        "the joint never drops": drops < 1e-6,
        "MAP finds too few clusters": mean[printed]["more_clusters"] < -2.0,
        "Gibbs finds about as many as there are": abs(mean[gibbs]["more_clusters"]) < 3.0,
    }


def main(out, quick):
    """Run all draws, and write tables and figures."""
    pieces = [f"{draw:03d}" for draw in range(QUICK if quick else DRAWS)]
    draws = store.results("crp", pieces, one_draw, out / "crp-draws")
    rows = [
        {"draw": piece, "method": name} | {key: draw[name][key] for key in PAPER}
        for piece, draw in zip(pieces, draws, strict=True)
        for name in METHODS
    ]
    store.write_csv(out / "crp.csv", rows)
    (out / "crp.md").write_text(_page(draws))
    _figures(draws, out)
    print(f"Wrote {out / 'crp.md'}")


def _page(draws):
    lines = []
    for key, paper in PAPER.items():
        for name, whose in METHODS.items():
            values = np.array([draw[name][key] for draw in draws])
            mean, spread = paper[whose]
            said = (
                store.verdict(values.mean(), mean, spread / 2.0)
                if key != "cpu_seconds"
                else "other machine"
            )
            ours = f"{values.mean():.4g} ({2 * values.std():.2g})"
            lines.append([key, name, ours, f"{mean:g} ({spread:g})", said])
    checks = [["yes" if held else "no", claim] for claim, held in claims(draws).items()]
    return "\n".join(
        [
            "# CRP draws: our numbers and the paper's",
            "",
            f"Means (two standard deviations) over {len(draws)} draws; seeds 0 to {len(draws) - 1}.",
            "",
            store.markdown(["measure", "method", "ours", "paper", "verdict"], lines),
            "",
            store.markdown(["holds", "claim of the paper"], checks),
            "",
        ]
    )


def _figures(draws, out):
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    _draw_sizes(draws, plt).savefig(out / "crp_sizes.png", dpi=110)
    _draw_example(plt).savefig(out / "crp_example.png", dpi=110)
    plt.close("all")


def _draw_sizes(draws, plt):
    """Draw how large the clusters are, by falling size, at three levels over all draws."""
    fig, axes = plt.subplots(1, 3, figsize=(12, 3.6), sharey=True, layout="constrained")
    for ax, level in zip(axes, (5, 50, 95), strict=True):
        for name, label in SHOWN.items():
            curve = np.percentile([draw[name]["sizes"] for draw in draws], level, axis=0)
            ax.plot(
                np.arange(1, len(curve) + 1), np.where(curve > 0, curve, np.nan), marker=".", label=label
            )
        ax.set(
            yscale="log",
            xlabel="cluster, by falling size",
            title="median" if level == 50 else f"{level}th percentile",
        )
    axes[0].set_ylabel("share of the rows")
    axes[0].legend()
    return fig


def _draw_example(plt):
    """Draw the truth and what is found, side by side."""
    drawn = sample_mixture(N_ROWS, ALPHA, PRIOR, np.random.default_rng(0))
    found = MAPDP(ALPHA, family=PRIOR).fit(drawn.X)
    fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharex=True, sharey=True, layout="constrained")
    for ax, labels, title in zip(axes, (drawn.labels, found.labels_), ("truth", "MAPDP(3.0)"), strict=True):
        ax.scatter(*drawn.X.T, c=labels % 10, cmap="tab10", s=8)
        ax.set(title=f"{title}: {len(np.unique(labels))} clusters")
    return fig


if __name__ == "__main__":
    main(pathlib.Path("docs/experiments"), quick=False)
