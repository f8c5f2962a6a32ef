"""Measure a first fit in a fresh process: imports, with the machine code at hand, and without.

python benchmarks/bench_start.py [--out FILE]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

from common import table, write

FIT = """
import numpy as np
import mapdp
X = np.random.default_rng(0).normal(size=(300, 3))
X[:100] += 5.0
mapdp.MAPDP().fit(X)
"""
ALONE = (
    "import sys; sys.modules['pandas'] = None; "  # as where it is not installed: scikit-learn imports it
)
STEPS = {
    "import numpy": "import numpy",
    "import scikit-learn's base classes": "import sklearn.base",
    "import scikit-learn's base classes, without pandas": ALONE + "import sklearn.base",
    "import them and Numba: what every first fit must wait for": "import sklearn.base, numba",
    "import mapdp (and with it scikit-learn)": "import mapdp",
    "import mapdp, without pandas": ALONE + "import mapdp",
}


def seconds_of(code, cache):
    """Return how long a fresh interpreter takes."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "NUMBA_CACHE_DIR": cache}, check=True)
    return time.perf_counter() - began


def main():
    """Print the table, and write it where --out says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        cold = seconds_of(FIT, cache)
        warm, alone = (min(seconds_of(code + FIT, cache) for _ in range(5)) for code in ("", ALONE))
        imports = {name: min(seconds_of(code, cache) for _ in range(5)) for name, code in STEPS.items()}
    rows = [[name, f"{seconds:.2f}"] for name, seconds in imports.items()]
    rows += [
        ["first fit, machine code at hand", f"{warm:.2f}"],
        ["first fit, machine code at hand, without pandas", f"{alone:.2f}"],
        ["first fit ever: compiles", f"{cold:.1f}"],
    ]
    write(table(["a fresh process", "seconds"], rows), arguments.out)


if __name__ == "__main__":
    main()
