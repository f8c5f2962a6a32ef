"""How much memory does `mapdp fit` take for a large CSV file? Peak memory of the process beside the size of the file."""

import argparse
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

from common import table, write


def make(path, megabytes):
    """Write a table of ten numbers and a word per row, until the file is large enough."""
    rng = np.random.default_rng(0)
    with open(path, "w") as file:
        file.write(",".join(f"x{j}" for j in range(10)) + ",kind\n")
        while file.tell() < megabytes * 1e6:
            group = rng.integers(0, 5, 20_000)
            rows = rng.normal(size=(20_000, 10)) + 4.0 * group[:, None]
            file.writelines(
                ",".join(f"{v:.6f}" for v in row) + f",k{g}\n"
                for row, g in zip(rows.tolist(), group, strict=True)
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--memory", help="passed to mapdp fit: read the file in blocks that keep to it")
    parser.add_argument("--out")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "large.csv"
        make(path, args.megabytes)
        began = time.perf_counter()
        command = [sys.executable, "-m", "mapdp", "fit", str(path), "--out", f"{folder}/out", "--quiet"]
        command += [] if args.memory is None else ["--memory", args.memory]
        subprocess.run(command, check=True)
        seconds = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6
        size = path.stat().st_size / 1e6
    row = [f"{size:.0f} MB", f"{peak:.0f} MB", f"{peak / size:.1f}", f"{seconds:.0f} s"]
    write(table(["file", "peak memory", "ratio", "time"], [row]), args.out)


if __name__ == "__main__":
    main()
