"""How much it costs to be told nothing: draws of the paper's CRP model, beside who knows its prior and alpha.

python benchmarks/bench_crp.py [--draws 100] [--out FILE]: mean NMI with the truth, its distance from the fit that
knows both, with the standard error of that, and how many clusters are missing.
"""

import argparse
import pathlib
import sys
import warnings

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from common import table, write
from mapdp import MAPDP, sample_mixture

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from experiments.map_dpm_2014.crp import ALPHA, N_ROWS, PRIOR

METHODS = {
    "prior and alpha known": lambda: MAPDP(ALPHA, family=PRIOR),
    "alpha and independent columns known": lambda: MAPDP(ALPHA, covariance="diagonal"),
    'independent columns known, `alpha="map"`': lambda: MAPDP("map", covariance="diagonal"),
    "independent columns known": lambda: MAPDP(covariance="diagonal"),
    "nothing known": MAPDP,
}


def measured(draw):
    """Return NMI and missing clusters of each method for a draw, (2, methods)."""
    drawn = sample_mixture(N_ROWS, ALPHA, PRIOR, np.random.default_rng(draw))
    fits = [make().fit(drawn.X) for make in METHODS.values()]
    nmi = [normalized_mutual_info_score(drawn.labels, fit.labels_) for fit in fits]
    return nmi, [len(np.unique(drawn.labels)) - fit.n_clusters_ for fit in fits]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--out")
    given = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nmi, missing = np.moveaxis([measured(draw) for draw in range(given.draws)], 1, 0)
    behind = nmi[:, :1] - nmi
    error = behind.std(axis=0) / np.sqrt(given.draws)
    numbers = zip(METHODS, nmi.mean(axis=0), behind.mean(axis=0), error, missing.mean(axis=0), strict=True)
    rows = [[name, f"{a:.3f}", f"{b:.3f} ± {e:.3f}", f"{m:.1f}"] for name, a, b, e, m in numbers]
    write(table(["`MAPDP`", "NMI", "behind", "clusters missing"], rows), given.out)


if __name__ == "__main__":
    main()
