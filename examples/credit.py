"""
Credit applications: why is this row here?
==========================================

690 applications for a credit card: six numbers, nine columns of letters (the bank
made them anonymous), some gaps. Mixed columns are clustered as they are. For each
cluster we see how many applications were approved, which nobody told the model; for a
row, which columns speak for its cluster, in nats.
"""

import os

import pandas as pd
from matplotlib import pyplot as plt

from mapdp import MAPDP, plots

credit = pd.read_csv(f"{os.environ['MAPDP_DATA']}/extra/credit_approval.csv")
table, approved = credit.drop(columns="label"), credit["label"] == "+"
model = MAPDP().fit(table)
print(model.schema_)

share = approved.groupby(model.labels_).agg(["size", "mean"])
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
left.bar(share.index, share["size"], color="0.8", label="applications")
left.bar(share.index, share["size"] * share["mean"], color="C2", label="approved")
left.set(xlabel="cluster", ylabel="applications")
left.legend()
best = int(share["mean"][share["size"] > 20].idxmax())
plots.profile(model, best, ax=right)
right.set_title(f"cluster {best}: {share['mean'][best]:.0%} approved")
plt.show()

# %%
# Why is the first row of that cluster there, and not in its second choice?

row = int((model.labels_ == best).argmax())
for column, nats in model.explain(table).reasons(row):
    print(f"{column}: {nats:+.1f} nats")
