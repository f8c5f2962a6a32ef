"""
Groups: penguins of three islands
=================================

Clusters that all islands share, and proportions of each island. A bird that could be
of two species is judged by where it lives, too: circles mark the birds on which this
model and the one that knows nothing of islands disagree.
"""

import os

import pandas as pd
from matplotlib import pyplot as plt
from sklearn.metrics import adjusted_rand_score

from mapdp import MAPDP, HierarchicalMAPDP, plots

measured = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
penguins = pd.read_csv(f"{os.environ['MAPDP_DATA']}/extra/penguins.csv").dropna(
    subset=measured
)
flat = MAPDP().fit(penguins[measured])
model = HierarchicalMAPDP().fit(penguins[measured], groups=penguins["island"])
for name, one in (("one model for all", flat), ("shared clusters", model)):
    agreement = adjusted_rand_score(penguins["label"], one.labels_)
    print(f"{name}: agreement with species {agreement:.3f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
bills = penguins["bill_length_mm"], penguins["bill_depth_mm"]
left.scatter(*bills, c=[f"C{k}" for k in model.labels_], s=12)
differ = model.labels_ != flat.labels_
left.scatter(
    bills[0][differ], bills[1][differ], s=90, facecolors="none", edgecolors="C3"
)
left.set(xlabel="bill length (mm)", ylabel="bill depth (mm)")
plots.proportions(model, ax=right)
plt.show()
