"""Measure the C code of models on Cortex-M processors in QEMU: flash, RAM, and instructions for each row.

    python benchmarks/bench_embedded.py [--out FILE]

Floats, gcc -Os, DiagonalGaussian with D columns and K clusters; M0+, M3 and M4F. Needs the Debian packages
gcc-arm-none-eabi, libnewlib-arm-none-eabi and qemu-system-arm. emlearn's Gaussian mixture (pip install emlearn),
with as many components, is measured the same way where it is installed: it assigns and does not learn.
"""

import argparse
import pathlib
import sys
import tempfile

import numpy as np

from common import table, write
from mapdp import MAPDP, DiagonalGaussian, export_c

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from tests.embedded.boards import BOARDS, build, bytes_of, run_on

N_ROWS = 256
HEADER = [
    "",
    "columns",
    "clusters",
    "code",
    "constants",
    "RAM",
    *[f"instructions {b.processor}" for b in BOARDS],
]


def blobs(n_columns, n_clusters, n_rows, seed=0):
    centres = np.random.default_rng(7).uniform(-100.0, 100.0, (n_clusters, n_columns))
    rng = np.random.default_rng(seed)
    labels = np.arange(n_rows) % n_clusters
    return centres[labels] + rng.normal(size=(n_rows, n_columns)), labels


def fitted(n_columns, n_clusters):
    """Return a model with so many clusters."""
    X, labels = blobs(n_columns, n_clusters, 40 * n_clusters)
    family = DiagonalGaussian.empirical(X, scale=0.02)
    model = MAPDP(1.0, family=family, init=labels, search="icm").fit(X)
    assert model.n_clusters_ == n_clusters
    return model


def measured(folder, n_columns, n_clusters, *flags):
    """Return bytes on the M4F, and instructions for each row on all boards, "-" where a model does not fit."""
    rows = blobs(n_columns, n_clusters, N_ROWS, seed=1)[0].astype(np.float32)
    instructions = []
    for board in BOARDS:
        try:
            build(folder, board, *flags, "-DBATCH=8")
        except Exception:  # the linker: no room
            instructions.append("-")
            continue
        instructions.append(f"{run_on(folder, board, rows)[1]:,.0f}")
    taken = bytes_of(folder, BOARDS[-1], *flags, "-DBATCH=8")
    return [*[f"{n:,}" for n in taken], *instructions]


EMLEARN_HEADER = """
#include <stddef.h>
#include <stdint.h>
typedef float mapdp_real;
enum {{ MAPDP_COLUMNS = {d}, MAPDP_FEATURES = {d} }};
typedef struct {{ int n_chairs; }} mapdp_state;
void mapdp_init(mapdp_state *s);
void mapdp_encode(const mapdp_real *raw, mapdp_real *x);
int mapdp_assign(const mapdp_state *s, const mapdp_real *x);
"""
EMLEARN_SOURCE = """
#include "mapdp_model.h"
#include "gmm.h"
void mapdp_init(mapdp_state *s) {{ s->n_chairs = {k}; }}
void mapdp_encode(const mapdp_real *raw, mapdp_real *x) {{ for (int j = 0; j < {d}; j++) x[j] = raw[j]; }}
int mapdp_assign(const mapdp_state *s, const mapdp_real *x)
{{
    float scores[{k}];
    int best = 0;
    gmm_predict_log_proba(x, {d}, scores);
    for (int k = 1; k < s->n_chairs; k++)
        best = scores[k] > scores[best] ? k : best;
    return best;
}}
"""


def of_emlearn(folder, n_columns, n_clusters):
    """Write emlearn's mixture with the interface of ours; return the flags it needs."""
    import emlearn
    from sklearn.mixture import GaussianMixture

    X, _ = blobs(n_columns, n_clusters, 40 * n_clusters)
    start = blobs(n_columns, n_clusters, n_clusters, seed=2)[0]
    mixture = GaussianMixture(n_clusters, covariance_type="diag", means_init=start, random_state=0)
    with np.errstate(all="ignore"):  # emlearn makes NumPy raise
        mixture.fit(X)
    emlearn.convert(mixture).save(name="gmm", file=str(folder / "gmm.h"))
    parts = {"d": n_columns, "k": n_clusters}
    (folder / "mapdp_model.h").write_text(EMLEARN_HEADER.format(**parts))
    (folder / "mapdp_model.c").write_text(EMLEARN_SOURCE.format(**parts))
    return ["-I", str(pathlib.Path(emlearn.__file__).parent), "-w"]


def lines():
    """Measure everything."""
    for n_columns in (3, 8, 32):
        for n_clusters in (4, 16, 64):
            model, shape = fitted(n_columns, n_clusters), (n_columns, n_clusters)
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                export_c(model, folder, precision="float")
                yield ["assign", *shape, *measured(folder, *shape)]
                export_c(model, folder, precision="float", learn=True, capacity=n_clusters)
                yield ["learn", *shape, *measured(folder, *shape, "-DLEARN")]
            try:
                with tempfile.TemporaryDirectory() as name:
                    flags = of_emlearn(pathlib.Path(name), *shape)
                    yield ["emlearn assigns", *shape, *measured(pathlib.Path(name), *shape, *flags)]
            except ImportError:
                continue


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out")
    write(table(HEADER, lines()), parser.parse_args().out)
