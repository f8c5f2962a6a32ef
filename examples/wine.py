"""
Wine: how many kinds are there?
===============================

178 wines from three growers, 13 chemical measurements. The model is not told how many
kinds to expect, nor how measurements vary within a kind. It finds more kinds than
growers. The tree shows which clusters are close: cut into three, they are nearly the
growers.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score

from mapdp import MAPDP, plots

X, grower = load_wine(return_X_y=True, as_frame=True)
model = MAPDP().fit(X)
print(model.models_)  # the models that were tried, the best one first
print(model.n_clusters_, "clusters of", model.cluster_sizes_, "wines")

coarse = model.cut(n_clusters=3)
for one in (model, coarse):
    agreement = adjusted_rand_score(grower, one.labels_)
    print(one.n_clusters_, "clusters: agreement with growers", round(agreement, 2))

# %%
# On the left each wine is drawn where its cluster is most different from the others;
# on the right is the tree of clusters: how many nats of evidence each merge costs,
# and which measurements tell the branches apart.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
plots.clusters(model, X, ax=left)
plots.tree(model, ax=right)
plt.show()
