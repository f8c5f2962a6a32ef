"""Real tables by blocks beside the same tables in memory: the joint, CPU seconds and peak memory of each fit.

    python benchmarks/bench_blocks.py [--tables adult nycflights13 ...] [--rows 100000] [--seconds 300] [--out FILE]

Tables are those of the folder that MAPDP_DATA names, without their classes, written anew in row groups of 32,768 rows.
Each fit runs in a process of its own, after one to a few rows that has everything compiled. --rows takes the
first rows only; --seconds gives every fit the same budget, for tables on which one of them does not end.
"""

import argparse
import os
import pathlib
import tempfile

import pandas
import pyarrow as pa
import pyarrow.parquet as pq

from bench_scale import run
from common import table, write

BLOCK = 2**15
NAMES = ("adult", "nycflights13", "kddcup99_10pct")
FIT = """
import json, resource, sys, time
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import mapdp
path, how, n_rows, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]) or None
rows = pq.read_table(path) if how == "memory" else mapdp.in_blocks(ds.dataset(path), n_rows)
cpu = time.process_time()
model = mapdp.MAPDP(seconds=seconds).fit(rows)
cpu = time.process_time() - cpu
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps([cpu, peak, model.n_clusters_, model.log_joint_, model.converged_]))
"""


def features(name, n_rows):
    """Return the first rows of a real table, without their classes."""
    (path,) = pathlib.Path(os.environ["MAPDP_DATA"], "extra").glob(f"{name}.*")
    rows = pq.read_table(path) if path.suffix == ".parquet" else pa.Table.from_pandas(pandas.read_csv(path))
    return rows.drop_columns(["label"]).slice(0, n_rows)


def compared(name, n_rows, seconds):
    """Return a line of the table."""
    rows = features(name, n_rows)
    with tempfile.TemporaryDirectory() as folder:
        path, few = (str(pathlib.Path(folder) / file) for file in ("rows.parquet", "few.parquet"))
        pq.write_table(rows, path, row_group_size=BLOCK)
        pq.write_table(rows.slice(0, 25_000), few, row_group_size=BLOCK // 4)
        found = {}
        for how in ("memory", "blocks"):
            run(FIT, few, how, str(BLOCK // 4), "20")  # compile
            found[how] = run(FIT, path, how, str(BLOCK), str(seconds or 0.0))
            print(name, rows.num_rows, how, found[how], flush=True)
    here, there = found["memory"], found["blocks"]
    lower = (here[3] - there[3]) / abs(here[3])
    return (
        name,
        f"{rows.num_rows:,}",
        f"{there[0]:.0f} / {here[0]:.0f}",
        f"{there[1]:.2f} / {here[1]:.2f}",
        f"{there[2]} / {here[2]}",
        f"{there[3]:,.0f} / {here[3]:,.0f}",
        f"{lower:+.1e}",
        " / ".join("yes" if one[4] else "no" for one in (there, here)),
    )


def main():
    """Print a table: by blocks / in memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", default=NAMES)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--out")
    given = parser.parse_args()
    names = ("table", "rows", "CPU s", "peak GB", "K", "log joint", "lower by", "ended")
    write(table(names, [compared(name, given.rows, given.seconds) for name in given.tables]), given.out)


if __name__ == "__main__":
    main()
