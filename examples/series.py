"""
A series with states: the Nile
==============================

The yearly flow of the Nile at Aswan from 1871 to 1970, in 10\\ :sup:`8` cubic metres.
As a bag of numbers it is one cluster. As a sequence it has two states and one change,
at the year that textbooks name for this series. The number of states is found, not
given.
"""

import numpy as np
from matplotlib import pyplot as plt

from mapdp import MAPDP, MAPHMM, plots

# fmt: off
flow = np.array(
    [
        1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110,
        994, 1020, 960, 1180, 799, 958, 1140, 1100, 1210, 1150, 1250, 1260, 1220,
        1030, 1100, 774, 840, 874, 694, 940, 833, 701, 916, 692, 1020, 1050, 969,
        831, 726, 456, 824, 702, 1120, 1100, 832, 764, 821, 768, 845, 864, 862, 698,
        845, 744, 796, 1040, 759, 781, 865, 845, 944, 984, 897, 822, 1010, 771, 676,
        649, 846, 812, 742, 801, 1040, 860, 874, 848, 890, 744, 749, 838, 1050, 918,
        986, 797, 923, 975, 815, 1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740
    ],
    dtype=float,
)
# fmt: on
years = np.arange(1871, 1971)
model = MAPHMM().fit(flow[:, None])
print("clusters of a bag of numbers:", MAPDP().fit(flow[:, None]).n_clusters_)
changes = years[1:][np.diff(model.states_) != 0]
print("states of the series:", model.n_clusters_, "with a change in", changes)

chances = model.predict_proba(flow[:, None])
figure, (upper, lower) = plt.subplots(
    2, 1, figsize=(9, 5), layout="constrained", sharex=True
)
plots.states(model, flow, years, ax=upper).set(ylabel="flow")
lower.stackplot(years, chances.T[:2], labels=["state 0", "state 1"], alpha=0.7)
lower.set(ylabel="probability of each state", xlabel="year")
lower.legend(loc="center left")
plt.show()
