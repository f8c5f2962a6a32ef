"""Compare a fit of the paper's CRP experiment with a collapsed Gibbs run as long as the paper's.

    python benchmarks/bench_gibbs.py [--draws 20] [--out FILE]

The paper stops Gibbs by the Raftery-Lewis diagnostic, after 2,020 sweeps on average. Our Gibbs sweep runs on the
same compiled verbs as our fit, so the ratio compares algorithms, not languages.
"""

import argparse
import time

import numpy as np

from bench_search import CRP_PRIOR, best_of_gibbs
from common import table, write
from mapdp import MAPDP, sample_mixture

SWEEPS = 2020
FITS = {"MAPDP()": {}, 'MAPDP(search="icm")': {"search": "icm"}}


def seconds_of(work):
    """Return how long a call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def rows(n_draws):
    """Yield the mean time of each fit, and how many times longer Gibbs takes."""
    draws = [sample_mixture(600, 3.0, CRP_PRIOR, np.random.default_rng(i))[0] for i in range(n_draws)]
    best_of_gibbs(draws[0], 3.0, CRP_PRIOR, n_sweeps=2)  # compile before the clock starts
    for parameters in FITS.values():
        MAPDP(3.0, family=CRP_PRIOR, **parameters).fit(draws[0])
    gibbs = np.mean([seconds_of(lambda X=X: best_of_gibbs(X, 3.0, CRP_PRIOR, SWEEPS)) for X in draws])
    yield [f"collapsed Gibbs, {SWEEPS:,} sweeps", f"{gibbs * 1e3:.1f}", "1"]
    for name, parameters in FITS.items():
        fit = np.mean(
            [seconds_of(lambda X=X, p=parameters: MAPDP(3.0, family=CRP_PRIOR, **p).fit(X)) for X in draws]
        )
        yield [name, f"{fit * 1e3:.1f}", f"{gibbs / fit:.0f}"]


def main():
    """Print the table, and write it where --out says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    write(table(["method", "milliseconds", "times faster"], rows(arguments.draws)), arguments.out)


if __name__ == "__main__":
    main()
