"""The habits of the house: what is public, what import costs, what is compiled when."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

import mapdp

FIT = """
    import json, sys
    import numpy as np
    import mapdp
    from mapdp import _jit
    assert not _jit.compilations() and not any(k.signatures for k in _jit.KERNELS), "compiled at import"
    X = np.random.default_rng(0).normal(size=(40, 2))
    models = [mapdp.MAPDP(a, discount=d).fit(X) for a in (0.5, 5.0) for d in (0.0, 0.3)]
    models[0].predict(X), models[0].sample(3)
    versions = {k.__name__: len(k.signatures) for k in _jit.KERNELS}
    print(json.dumps([_jit.compilations(), versions, [m.labels_.tolist() for m in models]]))
"""


def run(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_public_names_are_all_and_only_those_listed():
    visible = {name for name in vars(mapdp) if not name.startswith("_")}
    modules = {p.stem for p in pathlib.Path(mapdp.__file__).parent.iterdir()}
    assert visible - (modules - set(mapdp.__all__)) == set(mapdp.__all__)


def test_a_second_process_compiles_nothing(tmp_path):
    first = json.loads(run(FIT, NUMBA_CACHE_DIR=str(tmp_path)))
    second = json.loads(run(FIT, NUMBA_CACHE_DIR=str(tmp_path)))
    assert first[0]["sweep"] >= 1
    assert second[0] == {}
    assert second[2] == first[2]


def test_one_version_of_a_kernel_serves_every_process_prior(tmp_path):
    _, versions, _ = json.loads(run(FIT, NUMBA_CACHE_DIR=str(tmp_path)))  # fresh: a cache hides versions
    assert versions["sweep"] == 1
    assert max(versions.values()) == 1


def test_the_interpreter_gives_the_same_labels():
    compiled = json.loads(run(FIT))
    code = FIT.replace("assert not", "0 and").replace("len(k.signatures)", "0")
    interpreted = json.loads(run(code.replace('"compiled at import"', ""), NUMBA_DISABLE_JIT="1"))
    assert interpreted[2] == compiled[2]


def test_an_edit_anywhere_gives_a_new_cache(tmp_path):
    code = "from mapdp import _jit; print(_jit._CACHE_DIR)"
    before = run(code, NUMBA_CACHE_DIR=str(tmp_path)).strip()
    assert before.startswith(str(tmp_path))
    changed = """
        import pathlib
        read = pathlib.Path.read_bytes
        pathlib.Path.read_bytes = lambda self: read(self) + (b"#" if self.name == "special.py" else b"")
        from mapdp import _jit
        print(_jit._CACHE_DIR)
    """
    assert run(changed, NUMBA_CACHE_DIR=str(tmp_path)).strip() != before


def test_a_cache_folder_that_cannot_be_written_is_passed_over(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    where = run("from mapdp import _jit; print(_jit._CACHE_DIR)", NUMBA_CACHE_DIR=str(blocked)).strip()
    assert where != "None"
    assert not where.startswith(str(blocked))


def test_nowhere_to_write_means_no_cache_and_no_error(tmp_path):
    code = """
        import pathlib
        def refuse(*args, **kwargs):
            raise PermissionError("read-only")
        pathlib.Path.mkdir = refuse
        pathlib.Path.exists = lambda self: False
        from mapdp import _jit
        import mapdp
        assert _jit._CACHE_DIR is None
        print(mapdp.log_joint([[0.0], [1.0]], [0, 1], alpha=1.0, family=mapdp.Poisson(1.0, 1.0)) < 0)
    """
    assert run(code, NUMBA_CACHE_DIR=str(tmp_path)).strip() == "True"


def test_old_caches_are_swept_away(tmp_path):
    for number in range(6):
        (tmp_path / f"mapdp-{number:016x}").mkdir()
    (tmp_path / "mapdp-demo").mkdir()
    run("import mapdp", NUMBA_CACHE_DIR=str(tmp_path))
    assert len(list(tmp_path.glob("mapdp-*"))) == 4
    assert (tmp_path / "mapdp-demo").exists()


@pytest.mark.parametrize("heavy", ["dask", "matplotlib", "altair", "typer", "rich", "arviz"])
def test_import_loads_no_extra(heavy):
    assert run(f"import sys, mapdp; print('{heavy}' in sys.modules)").strip() == "False"
