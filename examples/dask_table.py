"""
A table that need not fit in memory
===================================

The same web traffic as in the example before, all 567,498 rows of it, as a Dask data
frame of eight partitions. Only a few partitions are in memory at a time, and on a
cluster they stay with their workers. The partition is searched on all rows, and
``log_joint_`` is exact. Labels come back as a Dask array.
"""

import os

import dask.dataframe as dd
import numpy as np
from matplotlib import pyplot as plt

from mapdp import MAPDP

path = f"{os.environ['MAPDP_DATA']}/extra/kddcup99_http.parquet"
traffic = dd.read_parquet(path).repartition(npartitions=8)
model = MAPDP().fit(traffic.drop(columns="label"))
print(model.n_clusters_, "clusters; labels are", model.labels_)

attack = (traffic["label"] == "attack").compute().to_numpy()
labels = model.labels_.compute()
attacks = np.bincount(labels[attack], minlength=model.n_clusters_)
share = attacks / model.cluster_sizes_
together = attacks[share > 0.9].sum()
print(f"{together} of {attack.sum()} attacks are in clusters of their own")

figure, ax = plt.subplots(figsize=(9, 3.8), layout="constrained")
k = np.arange(model.n_clusters_)
points = ax.scatter(k, model.cluster_sizes_, c=share, cmap="coolwarm")
figure.colorbar(points, ax=ax, label="share of attacks")
ax.set(yscale="log", xlabel="cluster", ylabel="requests")
plt.show()
