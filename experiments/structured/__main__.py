"""Draw the pictures of docs/groups.md and docs/sequences.md, and print the numbers beside them."""

import os
import pathlib

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.metrics import normalized_mutual_info_score

from mapdp import MAPDP, MAPHMM, HierarchicalMAPDP, plots

FOLDER = pathlib.Path(__file__).parents[2] / "docs" / "experiments"


def penguins() -> None:
    """Bills of penguins by island: proportions, and what the flat model makes of them."""
    table = pd.read_csv(pathlib.Path(os.environ["MAPDP_DATA"]) / "extra" / "penguins.csv")
    columns = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    table = table.dropna(subset=columns)
    model = HierarchicalMAPDP().fit(table[columns], groups=table.island)
    flat = MAPDP().fit(table[columns])
    for name, one in (("by island", model), ("flat", flat)):
        print(name, one.n_clusters_, round(normalized_mutual_info_score(table.label, one.labels_), 3))
        print(pd.crosstab(one.labels_, table.label))
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.0), layout="constrained")
    different = model.labels_ != flat.labels_
    left.scatter(table.bill_length_mm, table.bill_depth_mm, c=[f"C{k}" for k in model.labels_], s=6)
    left.scatter(
        table.bill_length_mm[different],
        table.bill_depth_mm[different],
        s=50,
        facecolors="none",
        edgecolors="k",
    )
    left.set(xlabel="bill length (mm)", ylabel="bill depth (mm)")
    plots.proportions(model, ax=right)
    figure.savefig(FOLDER / "groups_penguins.png", dpi=80)


def nile() -> None:
    """The yearly flow of the Nile at Aswan, 1871 to 1970."""
    import statsmodels.api as sm

    data = sm.datasets.nile.load_pandas().data
    model, flat = MAPHMM().fit(data[["volume"]]), MAPDP().fit(data[["volume"]])
    changes = data.year[1:][np.diff(model.states_) != 0].astype(int).tolist()
    print(
        "nile: states",
        model.n_clusters_,
        "first years of new states",
        changes,
        "flat clusters",
        flat.n_clusters_,
    )
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(8.5, 2.8), width_ratios=(3, 1), layout="constrained"
    )
    plots.states(model, data.volume, data.year, ax=left).set(ylabel="flow (10$^8$ m$^3$)", xlabel="year")
    plots.transitions(model, ax=right)
    figure.savefig(FOLDER / "sequences_nile.png", dpi=80)


if __name__ == "__main__":
    mpl.use("agg")
    penguins()
    nile()
