"""Fitted models of every family that is exported, rows for them, and C code that is compiled and run."""

import dataclasses
import functools
import pathlib
import shutil
import subprocess
import tempfile
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import mapdp

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
SANITIZED = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
DRIVER = pathlib.Path(__file__).with_name("driver.c")


def needs(*tools):
    """Skip a test where a tool is absent."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}, a Debian package")


@functools.cache
def _sanitizes(compiler):
    """Say whether a compiler has the libraries of its sanitizers."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "program.c"
        program.write_text("int main(void) { return 0; }")
        command = [compiler, *SANITIZED, str(program), "-o", f"{folder}/program"]
        return subprocess.run(command, check=False, capture_output=True).returncode == 0


def skip_unless_sanitizing(compiler):
    if not _sanitizes(compiler):
        pytest.skip(f"{compiler} has no libraries for its sanitizers")


class Case(NamedTuple):
    name: str
    model: object
    rows: object  # (rng, n) -> array of raw rows, as C takes them


def _blobs(rng, n, d, k=5):
    centres = np.random.default_rng(7).normal(scale=6.0, size=(k, d))
    return centres[rng.integers(0, k, n)] + rng.normal(size=(n, d)) * np.linspace(0.5, 2.0, d)


def _with_gaps(rows, rng, share=0.1):
    rows = rows.copy()
    rows[rng.random(rows.shape) < share] = np.nan
    return rows


def _numbers(rng, n, d=4, gaps=0.0, offset=0.0):
    """Rows around centres, some from all over the place."""
    wild = rng.random(n) < (0.2 if n > 1000 else 0.0)
    rows = np.where(wild[:, None], rng.uniform(-60.0, 60.0, (n, d)), _blobs(rng, n, d)) + offset
    return _with_gaps(rows, rng, gaps) if gaps else rows


def _gaps_in_many(rng, n):
    """The model is fitted to whole rows; some of those that it is asked about have gaps."""
    rows = _numbers(rng, n)
    some = rng.random(n) < (0.1 if n > 1000 else 0.0)
    rows[some] = _with_gaps(rows[some], rng, 0.3)
    return rows


def _levels(rng, n, d=6, n_levels=2, gaps=0.0):
    chances = np.random.default_rng(8).dirichlet(np.full(n_levels, 0.4), size=(4, d))
    group = rng.integers(0, 4, n)
    cumulative = np.cumsum(chances[group], axis=2)
    rows = (rng.random((n, d, 1)) > cumulative).sum(axis=2).clip(0, n_levels - 1).astype(float)
    return _with_gaps(rows, rng, gaps) if gaps else rows


def _counts(rng, n, d=4, largest=False, gaps=0.0):
    means = np.random.default_rng(9).gamma(1.0, 12.0, size=(4, d)) + 0.5
    rows = rng.poisson(means[rng.integers(0, 4, n)]).astype(float)
    if largest:
        some = rng.random(n) < 0.02
        rows[some, 0] = np.floor(10.0 ** rng.uniform(2.0, 7.0, some.sum()))
    return _with_gaps(rows, rng, gaps) if gaps else rows


def _mixed(rng, n):
    """A measurement, one with a long tail, a count, two levels, three words, a constant; gaps."""
    group = rng.integers(0, 3, n)
    rows = np.column_stack(
        [
            rng.normal(group * 4.0, 1.0).round(2) + 100.0,
            np.exp(rng.normal(group, 0.7)),
            rng.poisson(1.0 + 6.0 * group),
            rng.random(n) < 0.2 + 0.3 * group,
            (group + (rng.random(n) < 0.2)) % 3,
            np.full(n, 7.0),
        ]
    )
    gaps = rng.random(rows.shape) < 0.1
    gaps[:, 5] = False
    rows[gaps] = np.nan
    return rows


WORDS = np.array(["red", 'green */ "', "blue\\"], dtype=object)


def mixed_table(rows):
    """The rows as a data frame with words."""
    words = pd.Series([None if np.isnan(v) else WORDS[int(v)] for v in rows[:, 4]], dtype=object)
    names = ["size", "cost", "visits", "member", "shade", "unit"]
    frame = pd.DataFrame({name: rows[:, j] for j, name in enumerate(names)})
    return frame.assign(shade=words)


def as_table(case, rows):
    """Return rows as Python takes them."""
    if case.name != "mixed":
        return rows
    values = list(case.model.schema_.columns[4].values)
    words = pd.Series([None if np.isnan(v) else values[int(v)] for v in rows[:, 4]], dtype=object)
    return mixed_table(np.where(np.arange(6) == 4, np.nan, rows)).assign(shade=words)


def _codes(model, rows):
    """Words as C takes them: by their places among the levels that the fit saw."""
    values = list(model.schema_.columns[4].values)
    place = {float(np.flatnonzero(word == WORDS)[0]): i for i, word in enumerate(values)}
    out = rows.copy()
    out[:, 4] = [v if np.isnan(v) else place[v] for v in rows[:, 4]]
    return out


def _fit(X, family=None, scale=1.0, resolution=0.0, **how):
    how = {"alpha": 1.0, "n_init": 1, "prior": "paper", "random_state": 0} | how
    if isinstance(family, type):
        gaps = np.isnan(X).any()
        family = (
            mapdp.Mixed.empirical(X, [family] * X.shape[1], scale) if gaps else family.empirical(X, scale)
        )
        if resolution:
            family = dataclasses.replace(family, resolution=np.full(X.shape[1], resolution))
    return mapdp.MAPDP(family=family, **how).fit(X)


KINDS = {"size": "real", "cost": "log", "visits": "count", "member": "binary", "shade": "category"}


@functools.cache
def case_named(name):
    """Fit the model of a case, once."""
    rng = np.random.default_rng(3)
    if name == "mixed":
        model = _fit(mixed_table(_mixed(rng, 400)), columns=KINDS, alpha=30.0)
        return Case(name, model, lambda rng, n: _codes(model, _mixed(rng, n)))
    family, rows, options = {
        "diagonal": (mapdp.DiagonalGaussian, _numbers, {"scale": 0.2}),
        "diagonal_gaps": (mapdp.DiagonalGaussian, lambda r, n: _numbers(r, n, gaps=0.15), {"scale": 0.2}),
        "spherical": (mapdp.SphericalGaussian, _gaps_in_many, {"scale": 0.2, "resolution": 0.3}),
        "full": (mapdp.Gaussian, _gaps_in_many, {"scale": 0.2, "resolution": 0.3}),
        "shared": (mapdp.SharedGaussian, _numbers, {"scale": 0.2}),
        "learned": (
            None,
            lambda r, n: _numbers(r, n, d=3).round(1) * 2.0**600,
            {"prior": None, "alpha": "auto"},
        ),
        "bernoulli": (mapdp.Bernoulli, _levels, {"alpha": 2.0}),
        "categorical": (mapdp.Categorical, lambda r, n: _levels(r, n, n_levels=4), {"alpha": 3.0}),
        "poisson": (mapdp.Poisson, lambda r, n: _counts(r, n, largest=n > 1000), {}),
        "waiting": (
            mapdp.NegativeBinomial,
            lambda r, n: _counts(r, n, largest=n > 1000),
            {"scale": 0.2, "alpha": 5.0},
        ),
        "pitman_yor": (mapdp.DiagonalGaussian, _numbers, {"discount": 0.3, "scale": 0.2}),
    }[name]
    return Case(name, _fit(rows(rng, 400), family, **options), rows)


NAMES = [
    "diagonal", "diagonal_gaps", "spherical", "full", "shared", "learned", "bernoulli", "categorical",
    "poisson", "waiting", "mixed", "pitman_yor",
]  # fmt: skip


def exported(model, folder, **how):
    mapdp.export_c(model, folder, **how)
    return folder


def compiled(folder, *flags, compiler="gcc", optimised="-O2"):
    """Compile an exported model with the driver."""
    command = [
        compiler,
        *STRICT,
        optimised,
        *flags,
        "-I",
        ".",
        str(DRIVER),
        "mapdp_model.c",
        "-o",
        "driver",
    ]
    done = subprocess.run([*command, "-lm"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def run(folder, rows, precision="double", command=("./driver",)):
    """Run the driver on rows; return three numbers for each."""
    kind = np.float32 if precision == "float" else np.float64
    np.ascontiguousarray(rows, dtype=kind).tofile(folder / "rows.bin")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return np.fromfile(folder / "out.bin").reshape(-1, 3)
