"""
Attacks in web traffic
======================

567,498 requests to web servers (KDD Cup 1999): their duration, and the bytes sent and
received, on a log scale. 2,211 are attacks. First we learn from 10,000 requests that
are known to be harmless. A new row then gets the probability that it belongs to none
of the clusters that were seen: its novelty.
"""

import os

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score

from mapdp import MAPDP

traffic = pd.read_parquet(f"{os.environ['MAPDP_DATA']}/extra/kddcup99_http.parquet")
X, attack = traffic.drop(columns="label"), (traffic["label"] == "attack").to_numpy()
harmless = X[~attack].sample(10_000, random_state=0)
model = MAPDP().fit(harmless)

novelty = model.predict_proba(X)[:, -1]
flagged = novelty > 0.5
print(f"{flagged[attack].mean():.1%} of the attacks are flagged,")
print(f"and {flagged[~attack].sum()} of {(~attack).sum():,} other requests")
forest = -IsolationForest(random_state=0).fit(harmless).score_samples(X)
for name, score in (
    ("mapdp, log density", -model.score_samples(X)),
    ("isolation forest", forest),
):
    print(f"{name}: average precision {average_precision_score(attack, score):.3f}")

# %%
# Where nobody knows what is harmless, a low density is no sign of an attack: the
# attacks repeat each other, so they are not rare points but a small, tight cluster.
# It is found as one.

seen = X.sample(10_000, random_state=0)
blind = MAPDP().fit(seen)
table = pd.crosstab(blind.predict(X), traffic["label"], rownames=["cluster (-1: new)"])
print(table)

figure, axes = plt.subplots(
    1, 2, figsize=(11, 4.5), layout="constrained", sharex=True, sharey=True
)
some = np.r_[np.flatnonzero(attack), np.flatnonzero(~attack)[::300]]
sent, received = X["log_src_bytes"].iloc[some], X["log_dst_bytes"].iloc[some]
points = axes[0].scatter(
    sent, received, c=novelty[some], s=8, cmap="viridis", vmin=0, vmax=1
)
figure.colorbar(points, ax=axes[0], label="novelty")
axes[1].scatter(sent, received, c=np.where(attack[some], "C3", "C0"), s=8)
axes[0].set(
    title="learned from harmless traffic",
    xlabel="bytes sent (log)",
    ylabel="bytes received (log)",
)
axes[1].set(title="attacks in red", xlabel="bytes sent (log)")
plt.show()
