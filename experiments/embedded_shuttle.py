"""Stream real sensor data through an emulated microcontroller, and draw the clusters that it opens.

    python experiments/embedded_shuttle.py [--rows 58000] [--out docs/embedded]

The 58,000 rows of nine sensors of the space shuttle (`shuttle.csv.gz` in the folder that MAPDP_DATA names). A
model of the first 300 rows of the usual state, Rad.Flow, is fitted in Python and exported; it goes on learning,
row by row, on a Cortex-M4F that QEMU emulates. Labels, and the state in the end, come from the board.
"""

import argparse
import os
import pathlib
import sys
import tempfile

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

import mapdp

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from tests.embedded.boards import BOARDS, build, bytes_of, run_on

N_FITTED, CAPACITY = 300, 32


def streamed(model, rows):
    """Export a model, let the board learn the rows; return labels, instructions, bytes and the state."""
    with tempfile.TemporaryDirectory() as name:
        folder, board = pathlib.Path(name), BOARDS[-1]
        mapdp.export_c(model, folder, precision="float", learn=True, capacity=CAPACITY)
        taken = bytes_of(folder, board, "-DLEARN")
        build(folder, board, "-DLEARN")
        labels, instructions = run_on(folder, board, rows.astype(np.float32))
        return labels, instructions, taken, (folder / "state.bin").read_bytes()


def drawn(labels, n_clusters, path):
    """Draw which cluster each row joined, and where clusters opened."""
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(8, 5), sharex=True, height_ratios=[1, 2], layout="constrained"
    )
    first = np.sort([np.flatnonzero(labels == k)[0] for k in np.unique(labels) if k >= n_clusters])
    above.step([0, *first, len(labels)], n_clusters + np.array([0, *np.arange(1, len(first) + 1), len(first)]),
               where="post")  # fmt: skip
    above.set_ylabel("clusters")
    below.plot(np.arange(len(labels)), labels, ",", rasterized=True)
    below.plot(first, labels[first], "v", color="C3", markersize=5, label="a cluster opens")
    below.set(xlabel="row of the stream", ylabel="cluster")
    below.legend(loc="lower right")
    figure.savefig(path, dpi=110)


def main():
    """Run the example."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=58_000)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("docs/embedded"))
    chosen = parser.parse_args()
    mpl.use("agg")
    table = pd.read_csv(pathlib.Path(os.environ["MAPDP_DATA"]) / "extra" / "shuttle.csv.gz")[: chosen.rows]
    X, truth = table.drop(columns="label"), table["label"]
    usual = np.flatnonzero(truth == "Rad.Flow")[:N_FITTED]
    model = mapdp.MAPDP(covariance="diagonal", random_state=0).fit(X.iloc[usual])
    print(f"fitted {model.n_clusters_} clusters, {type(model.family_).__name__}")
    rows = X.drop(index=usual).to_numpy()
    labels, instructions, taken, state = streamed(model, rows)
    learned = mapdp.import_state(model, state)
    print(f"{len(labels)} rows, {instructions:,.0f} instructions each, {taken}")
    print(
        f"refused {np.mean(labels == -3):.2%}; clusters at the end {learned.n_clusters_}: {learned.cluster_sizes_}"
    )
    share = pd.crosstab(labels, truth.drop(index=usual).to_numpy())
    print(share.to_string())
    chosen.out.mkdir(parents=True, exist_ok=True)
    drawn(labels, model.n_clusters_, chosen.out / "shuttle.png")


if __name__ == "__main__":
    main()
