"""
Single cells: three lines from their genes
==========================================

274 cells of three cancer lines, sequenced one by one. As usual in this field, counts
become shares of a cell's total on a log scale, and the 200 genes that vary most
become five principal components. Which cell is of which line is known from its
genome, and is used for comparison only.
"""

import os

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from mapdp import MAPDP

cells = pd.read_csv(
    f"{os.environ['MAPDP_DATA']}/extra/sc_celseq2_top1000_counts.csv.gz"
)
counts, line = cells.drop(columns="label"), cells["label"]
levels = np.log1p(counts.mul(10_000 / counts.sum(axis=1), axis=0))
X = PCA(5).fit_transform(levels[levels.var().nlargest(200).index])

model = MAPDP().fit(X)
print(pd.crosstab(model.labels_, line, rownames=["cluster"]))
print("adjusted Rand index", round(adjusted_rand_score(line, model.labels_), 3))

figure, axes = plt.subplots(
    1, 2, figsize=(10, 4), layout="constrained", sharex=True, sharey=True
)
for ax, labels, title in zip(
    axes, (model.labels_, pd.factorize(line)[0]), ("clusters", "lines"), strict=True
):
    ax.scatter(X[:, 0], X[:, 1], c=[f"C{k}" for k in labels], s=12)
    ax.set(title=title, xlabel="first component", ylabel="second component")
plt.show()
