"""Angles and times of day as "circular" and as plain numbers: clusters, and how well they predict rows left out.

Directions come from the R package circular (Debian: r-base-core, r-cran-circular), times of day from the
flights in the folder that MAPDP_DATA names; what is not there is skipped. Both ways give densities per radian.
"""

import io
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold

from mapdp import MAPDP

IN_R = """
suppressPackageStartupMessages(library(circular))
show <- function(name, angles) cat(paste(name, angles, sep = ","), sep = "\\n")
show("wind at a mountain pass", as.numeric(wind))
show("arrivals at intensive care", as.numeric(fisherB1) * pi / 12)
show("turtles", as.numeric(fisherB3) * pi / 180)
show("palaeocurrents", unlist(fisherB6) * pi / 180)
show("ants", as.numeric(fisherB7) * pi / 180)
"""


def directions():
    """Yield names of sets of directions from R, and the angles; none where R is not there."""
    command = ["Rscript", "-e", IN_R]
    done = (
        subprocess.run(command, capture_output=True, text=True, check=False)
        if shutil.which("Rscript")
        else None
    )
    if done is None or done.returncode:
        print(
            "skipped directions: Rscript with circular is not here (Debian: r-base-core, r-cran-circular)"
        )
        return
    table = pd.read_csv(io.StringIO(done.stdout), names=["name", "angle"])
    for name, part in table.groupby("name", sort=False):
        yield name, part[["angle"]]


def flights():
    """Yield times of day of 1,000 flights, as angles: when they leave, and when they arrive."""
    if "MAPDP_DATA" not in os.environ:
        print("skipped flights: MAPDP_DATA is not set")
        return
    table = pd.read_parquet(pathlib.Path(os.environ["MAPDP_DATA"]) / "extra" / "nycflights13.parquet")
    some = table.dropna(subset=["dep_delay", "arr_delay"]).sample(1000, random_state=0)
    minutes = {}
    for end in ("dep", "arr"):
        clock = some[f"sched_{end}_time"]
        minutes[end] = (clock // 100 * 60 + clock % 100 + some[f"{end}_delay"]) % 1440
    yield "flights, departure and arrival", pd.DataFrame(minutes) * 2.0 * np.pi / 1440.0


def judged(angles, kind):
    """Return how many clusters there are, and the mean log density of rows left out of ten fits."""
    columns = dict.fromkeys(angles.columns, kind)
    n_clusters = MAPDP(columns=columns, random_state=0).fit(angles).n_clusters_
    scores = [
        MAPDP(columns=columns, random_state=0).fit(angles.iloc[kept]).score_samples(angles.iloc[left])
        for kept, left in KFold(10, shuffle=True, random_state=0).split(angles)
    ]
    return n_clusters, np.concatenate(scores)


if __name__ == "__main__":
    for make in (directions, flights):
        for name, angles in make():
            (k, circular), (k_plain, plain) = (judged(angles, kind) for kind in ("circular", "real"))
            gap = circular - plain
            error = gap.std() / np.sqrt(len(gap))
            print(
                f"{name:32s} {len(angles):4d} rows  circular K {k} {circular.mean():.3f}  "
                f"plain K {k_plain} {plain.mean():.3f}  gain {gap.mean():.3f} +- {error:.3f}",
                flush=True,
            )
