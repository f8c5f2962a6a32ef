"""
Five ways in which K-means fails
================================

K-means cuts space into cells of equal width. Where clusters differ in size or width,
where columns are correlated, where a few rows are far away, or where cells are words,
it divides what belongs together, even though it is told the right number of clusters
here. ``BayesianGaussianMixture`` is told twice that number as its upper limit.
HDBSCAN and mapdp are told nothing, except that mapdp expects outliers in the fourth
table; rows that they call noise or outliers are grey. The number in a corner is the
adjusted Rand index: 1 is the truth, 0 is chance.
"""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture

from mapdp import MAPDP

rng = np.random.default_rng(0)


def blob(n, x, y, shape=1.0):  # a round cluster, or one of another shape
    return rng.normal(size=(n, 2)) @ (shape * np.eye(2)) + (x, y)


def words(n, usual):  # eight columns; one word is usual in this cluster
    other = rng.choice(["red", "green", "blue", "black"], (n, 8))
    return np.where(rng.random((n, 8)) < 0.5, usual, other)


lines = [blob(200, 0, 0) @ [[4, 3.9], [0, 0.4]] + (0, y) for y in (0, 3, 6)]
tables = {
    "sizes": [blob(900, 0, 0), blob(30, 5, 0), blob(30, 0, 5)],
    "widths": [blob(300, 0, 0, 3.0), blob(300, 6, 3, 0.3)],
    "correlation": lines,
    "outliers": [blob(200, 0, 0), blob(200, 6, 0), rng.uniform(-60, 60, (12, 2))],
    "words": [words(400, "red"), words(60, "green"), words(40, "blue")],
}
figure, axes = plt.subplots(4, 5, figsize=(11, 8), layout="constrained")
for column, (name, parts) in zip(axes.T, tables.items(), strict=True):
    K, table = len(parts), pd.DataFrame(np.vstack(parts))
    truth = np.repeat(np.arange(K), [len(part) for part in parts])
    X = pd.get_dummies(table).to_numpy(float)  # words as 0 and 1, for the others
    variational = BayesianGaussianMixture(
        n_components=2 * K, max_iter=1000, random_state=0
    )
    found = {
        "K-means, told K": KMeans(K, n_init=10, random_state=0).fit_predict(X),
        "HDBSCAN": HDBSCAN(min_cluster_size=10, copy=True).fit_predict(X),
        "Bayesian mixture, told 2K": variational.fit_predict(X),
        "mapdp": MAPDP(background=name == "outliers").fit(table).labels_,
    }
    axis = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2]
    for ax, (method, labels) in zip(column, found.items(), strict=True):
        colours = ["0.6" if k < 0 else f"C{k % 10}" for k in labels]
        ax.scatter(*(X @ axis[:2].T).T, s=4, c=colours)
        score = adjusted_rand_score(truth, labels)
        ax.text(0.97, 0.04, f"{score:.2f}", transform=ax.transAxes, ha="right")
        ax.set(xticks=[], yticks=[], ylabel=method if name == "sizes" else "")
    column[0].set_title(name)
plt.show()
