"""Run all benchmarks of speed and write their tables to one page.

python benchmarks/run.py [--out docs/speed_results.md]
"""

import argparse
import datetime
import pathlib
import platform
import subprocess
import sys
import tempfile

from joblib import cpu_count

import mapdp

SECTIONS = {
    "bench_kmeans.py": "Compared with K-means with K given",
    "bench_growth.py": "Growth",
    "bench_kernel.py": "Scoring",
    "bench_gibbs.py": "Beside Gibbs",
    "bench_tree.py": "The tree of 1,000 clusters",
    "bench_memory.py": "Memory",
    "bench_csv.py": "A large file",
    "bench_start.py": "The first fit",
}


def section(script, title):
    """Run one benchmark in a process of its own; return its heading and table."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "table.md"
        path = pathlib.Path(__file__).with_name(script)
        subprocess.run([sys.executable, path, "--out", out], check=True)
        return f"## {title}\n\n`benchmarks/{script}`\n\n{out.read_text()}"


def main():
    """Write the page whole, once all has run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("docs/speed_results.md"))
    arguments = parser.parse_args()
    machine = f"{cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}"
    head = f"mapdp {mapdp.__version__}, {datetime.date.today()}, {machine}. Seconds depend on the machine; compare the ratios."
    page = ["# Measured speed", head, *[section(*pair) for pair in SECTIONS.items()]]
    arguments.out.write_text("\n\n".join(part.strip() for part in page) + "\n")


if __name__ == "__main__":
    main()
