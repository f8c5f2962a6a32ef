"""What learning the dispersion of counts gives, in tables of counts and in tables that have some.

Real tables are looked for in the folder that MAPDP_DATA names. Fixed dispersions are those that explain a
column as a whole.
"""

import contextlib
import os
import pathlib
import sys
import time
import warnings
from unittest import mock

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import KFold

from mapdp import MAPDP, NegativeBinomial

COUNTS = ("sc_celseq2_top1000_counts.csv.gz", "digits_counts.csv.gz")
MIXED = ("uci/pima.csv", "uci/soybean.csv", "extra/credit_approval.csv")


def both_ways():
    yield "fixed", contextlib.nullcontext()
    yield "learned", mock.patch.object(NegativeBinomial, "learns_in_tables", True)


def shown(name, how, table, y, **parameters):
    began = time.process_time()
    model = MAPDP(random_state=0, **parameters).fit(table)
    print(
        f"{name:34s} {how:8s} K {model.n_clusters_:3d}  ARI {adjusted_rand_score(y, model.labels_):.3f}  "
        f"log joint {model.log_joint_:.0f}  {time.process_time() - began:.1f} s",
        flush=True,
    )


def left_out(table):
    """Return nats per row that is left out, of five parts."""
    scores = []
    for kept, left in KFold(5, shuffle=True, random_state=0).split(table):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # levels that no other row has are taken as missing
            model = MAPDP(random_state=0).fit(table.iloc[kept])
            scores.append(model.score_samples(table.iloc[left]).mean())
    return np.mean(scores)


def main(folder):
    for name in MIXED:
        table = pd.read_csv(folder / name)
        y = table.pop("label")
        for how, way in both_ways():
            with way:
                shown(name, how, table, y)
                print(f"    {left_out(table):.2f} nats per row left out", flush=True)
    for name in COUNTS:
        table = pd.read_csv(folder / "extra" / name)
        y = table.pop("label")
        for how, way in both_ways():
            with way:
                shown(name, how, table.to_numpy(float), y, family=NegativeBinomial, prior="learned")


if __name__ == "__main__":
    if "MAPDP_DATA" not in os.environ:
        sys.exit("skipped: MAPDP_DATA does not name the folder of real tables")
    main(pathlib.Path(os.environ["MAPDP_DATA"]))
