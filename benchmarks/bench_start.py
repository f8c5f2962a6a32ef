"""Measure first fits in fresh processes: imports, with the machine code at hand, and without.

    python benchmarks/bench_start.py [--beside FOLDER] [--only WORD] [--out FILE]

CPU seconds, compilers included. --beside names the `src` folder of another checkout, which is measured in
turn with this one; the last column is the ratio.
"""

import argparse
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

from common import table, write

HERE = str(pathlib.Path(__file__).parent.parent / "src")
ROWS = """
import numpy as np
import mapdp
from mapdp import *
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
X[:100] += 5.0
counts = rng.poisson(3.0, size=(300, 3))
mixed = np.column_stack([X, counts[:, 0], counts[:, 1] > 2])
mixed[::20, 1] = np.nan
"""
TABLE = """
import tempfile
from mapdp.cli import main
folder = tempfile.mkdtemp()
with open(folder + "/t.csv", "w") as file:
    file.write("a,b,kind\\n")
    for x, c in zip(X, counts):
        file.write(f"{x[0]:.2f},{x[1]:.2f},{'xyz'[c[0] % 3]}\\n")
import sys
sys.argv = ["mapdp", "fit", folder + "/t.csv", "--out", folder + "/out"]
main()
"""
FITS = {
    "MAPDP()": "MAPDP().fit(X)",
    "DiagonalGaussian": "MAPDP(family=DiagonalGaussian).fit(X)",
    "Gaussian": "MAPDP(family=Gaussian).fit(X)",
    "SphericalGaussian": "MAPDP(family=SphericalGaussian).fit(X)",
    "Poisson": "MAPDP(family=Poisson).fit(counts)",
    "Categorical": "MAPDP(family=Categorical).fit(counts)",
    "a mixed table with gaps": "MAPDP().fit(mixed)",
    "weights": "MAPDP(family=DiagonalGaussian).fit(X, sample_weight=1 + np.arange(300) % 2)",
    "GibbsDPM": "GibbsDPM(n_sweeps=10).fit(X)",
    "mapdp fit table.csv, with the report": TABLE,
}
IMPORTS = {
    "import scikit-learn's base classes and Numba": "import sklearn.base, numba",
    "import mapdp": "import mapdp",
}


def cpu_seconds(code, source, cache):
    """Return the CPU time of a fresh interpreter."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONPATH": source}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def first_and_second(code, source):
    """Return the CPU time of a first fit ever, and of one in a second process."""
    with tempfile.TemporaryDirectory() as cache:
        return [cpu_seconds(ROWS + code, source, cache) for _ in range(2)]


def rows(only, beside):
    """Measure every case, in this checkout and the other in turn."""
    sources = [HERE] if beside is None else [beside, HERE]
    for name, code in IMPORTS.items():
        with tempfile.TemporaryDirectory() as cache:
            times = [min(cpu_seconds(code, source, cache) for _ in range(3)) for source in sources]
        yield _row(name, times)
    for name, code in FITS.items():
        if only in name:
            both = [first_and_second(code, source) for source in sources]
            yield _row(f"{name}: first fit ever", [first for first, _ in both])
            yield _row(f"{name}: in a second process", [second for _, second in both])


def _row(name, times):
    ratio = [f"{times[1] / times[0]:.2f}"] if len(times) == 2 else []
    return [name, *[f"{seconds:.1f}" for seconds in times], *ratio]


def main():
    """Print the table, and write it where --out says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out")
    parser.add_argument("--only", default="")
    parser.add_argument("--beside")
    arguments = parser.parse_args()
    columns = ["CPU seconds"] if arguments.beside is None else ["before", "after", "ratio"]
    lines = table(["a fresh process", *columns], rows(arguments.only, arguments.beside))
    write(lines, arguments.out)


if __name__ == "__main__":
    main()
