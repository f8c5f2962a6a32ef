"""
Penguins: words, numbers and gaps
=================================

344 penguins: four measurements, sex and island, with gaps. Nothing has to be filled,
scaled or encoded first. The species is left out, and comes back: each cluster is one
sex of one species, almost without exception. Gaps are filled with what is typical of
such a bird; to see how well, we hide 100 body masses that are known.
"""

import os

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from mapdp import MAPDP

penguins = pd.read_csv(f"{os.environ['MAPDP_DATA']}/extra/penguins.csv")
table = penguins.drop(columns=["label", "year"])
model = MAPDP().fit(table)
print(model.schema_)
print(
    pd.crosstab(
        model.labels_, penguins["label"], rownames=["cluster"], colnames=["species"]
    )
)

known = table["body_mass_g"].dropna()
hidden = known.sample(100, random_state=0).index
gappy = table.copy()
gappy.loc[hidden, "body_mass_g"] = np.nan
filled = MAPDP().fit(gappy).impute(gappy)["body_mass_g"][hidden]
error, spread = (filled - known[hidden]).std(), known[hidden].std()
print(f"filled to within {error:.0f} g; the mean of all birds is {spread:.0f} g off")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.scatter(
    table["flipper_length_mm"],
    table["bill_length_mm"],
    c=[f"C{k}" for k in model.labels_],
    s=12,
)
left.set(xlabel="flipper (mm)", ylabel="bill (mm)", title="clusters")
right.scatter(known[hidden], filled, s=12)
right.axline((4000, 4000), slope=1, color="0.6")
right.set(
    xlabel="hidden body mass (g)", ylabel="filled in (g)", title="100 hidden cells"
)
plt.show()
