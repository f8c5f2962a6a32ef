"""A mixture of regressions beside flexmix, an R package that is told how many there are, on its own data.

NPreg has 200 rows of two classes: a line and a parabola. Needs Rscript and flexmix (Debian: r-base-core,
r-cran-flexmix); without them it says so. Agreement is with the classes that the data were drawn from.
"""

import io
import shutil
import subprocess
import sys
import time

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from mapdp import MAPDP, LinearRegression

N_SEEDS = 10  # of flexmix: its EM begins at random
IN_R = f"""
suppressPackageStartupMessages(library(flexmix))
data("NPreg")
for (seed in 1:{N_SEEDS}) {{
    set.seed(seed)
    began <- proc.time()[[1]]
    model <- flexmix(yn ~ x + I(x^2), data = NPreg, k = 2)
    NPreg[[paste0("found", seed)]] <- clusters(model)
    NPreg[[paste0("seconds", seed)]] <- proc.time()[[1]] - began
}}
write.csv(NPreg, row.names = FALSE)
"""


def from_r():
    """Return the data with what flexmix finds, None where it is not there."""
    if shutil.which("Rscript") is None:
        return None
    done = subprocess.run(["Rscript", "-e", IN_R], capture_output=True, text=True, check=False)
    return pd.read_csv(io.StringIO(done.stdout)) if done.returncode == 0 else None


def truth_known(data):
    """Return the more probable class of each row, for who knows both curves and their noise."""
    gaps = [data["yn"] - 5.0 * data["x"], data["yn"] - (15.0 + 10.0 * data["x"] - data["x"] ** 2)]
    return np.argmin(np.abs(gaps), axis=0)  # both have the same noise, and as many rows


def shown(name, y, labels, seconds):
    n_clusters = len(np.unique(labels))
    print(f"{name:32s} K {n_clusters}  ARI {adjusted_rand_score(y, labels):.3f}  {seconds:.2f} s")


def main():
    data = from_r()
    if data is None:
        sys.exit("skipped: Rscript with flexmix is not here (Debian: r-base-core, r-cran-flexmix)")
    X = np.column_stack([data["x"], data["x"] ** 2, data["yn"]])
    began = time.process_time()
    model = MAPDP(family=LinearRegression, prior="learned", random_state=0).fit(X)
    shown("LinearRegression", data["class"], model.labels_, time.process_time() - began)
    for seed in range(1, N_SEEDS + 1):
        seconds = data[f"seconds{seed}"][0]
        shown(f"flexmix told 2, seed {seed}", data["class"], data[f"found{seed}"], seconds)
    shown("who knows both curves", data["class"], truth_known(data), 0.0)
    for cluster in model.describe():
        print(cluster)


if __name__ == "__main__":
    main()
