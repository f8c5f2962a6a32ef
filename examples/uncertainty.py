"""
How certain is it?
==================

One partition is one answer. Four Markov chains from different starts say how far to
trust it: which clusters they find again, how many there are, and which rows could be
elsewhere. Iris has one clear cluster and two that overlap, and that is what comes
out.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import load_iris

from mapdp import MAPDP, plots

X, species = load_iris(return_X_y=True, as_frame=True)
model = MAPDP().fit(X)
result = model.uncertainty(X, random_state=0)
print(result)
for k, stability in enumerate(result.stability):
    print(f"cluster {k}: {model.cluster_sizes_[k]} rows, stability {stability:.2f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.3), layout="constrained")
petals = X["petal length (cm)"], X["petal width (cm)"]
points = left.scatter(*petals, c=result.entropy, s=25, cmap="viridis_r")
figure.colorbar(points, ax=left, label="entropy of the membership (nats)")
left.set(xlabel=petals[0].name, ylabel=petals[1].name)
plots.coclustering(result, ax=right)
plt.show()
