"""The habits of the house: what is public, what import costs, what is compiled when."""

import ast
import collections
import json
import os
import pathlib
import subprocess
import sys
import textwrap
import tomllib

import numpy as np
import pytest

import mapdp
from mapdp.compiled import pipeline

ROOT = pathlib.Path(__file__).parent.parent

FIT = """
    import json, sys
    import numpy as np
    import mapdp
    from mapdp.compiled import jit
    assert not jit.compilations() and not any(k.signatures for k in jit.KERNELS), "compiled at import"
    X = np.random.default_rng(0).normal(size=(40, 2))
    models = [mapdp.MAPDP(a, discount=d, prior="paper").fit(X) for a in (0.5, 5.0) for d in (0.0, 0.3)]
    models[0].predict(X), models[0].sample(3)
    versions = {k.__name__: len(k.signatures) for k in jit.KERNELS}
    print(json.dumps([jit.compilations(), versions, [m.labels_.tolist() for m in models]]))
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
    visible = {name for name in vars(mapdp) if not name.startswith("_")} - {"Any", "importlib"}
    modules = {p.stem for p in pathlib.Path(mapdp.__file__).parent.iterdir()}
    assert visible - (modules - set(mapdp.__all__)) | {"plots"} == set(mapdp.__all__)


def test_plots_are_an_attribute_that_is_loaded_when_used():
    code = """
        import sys, mapdp
        assert "mapdp.plots" not in sys.modules
        assert callable(mapdp.plots.clusters)
        assert not hasattr(mapdp, "plot")
        import mapdp.datasets, mapdp.diagnostics, mapdp.selection
        from mapdp.plots import clusters
    """
    run(code)


SOURCES = sorted(pathlib.Path(mapdp.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(SOURCES[0].parent)))
def test_files_are_short_and_only_the_compiled_folder_imports_numba(path):
    assert len(path.read_text().splitlines()) <= 300
    tree = ast.parse(path.read_text())
    imported = [
        alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    ]
    imported += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    numba = [name for name in imported if name.split(".")[0] in ("numba", "llvmlite")]
    assert not numba or path.parent.name == "compiled"
    assert not ast.get_docstring(tree).startswith("Knows")


def body_lengths():
    """Return for every function the number of lines below its head and docstring."""
    lengths = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                has_docstring = ast.get_docstring(node) is not None
                body = node.body[1:] if has_docstring else node.body
                lengths.append(body[-1].end_lineno - body[0].lineno + 1 if body else 0)
    return np.array(lengths)


def test_functions_are_short():
    lengths = body_lengths()
    assert np.median(lengths) <= 5
    assert np.quantile(lengths, 0.9) <= 12
    assert lengths.max() <= 26


def test_no_two_classes_have_one_name():
    names = [
        node.name
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    ]
    assert not [name for name, n in collections.Counter(names).items() if n > 1]


def test_there_are_eight_storeys():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    assert contract["exhaustive"]
    assert len(contract["layers"]) == 1 + 8  # the front door, and the storeys
    assert len([path for path in SOURCES if path.parent == SOURCES[0].parent]) <= 2 + 4


EVERY_FAMILY = """
    import sys
    import numpy as np
    sys.path.insert(0, {root!r})
    from mapdp import MAPDP
    from mapdp.compiled import jit
    from tests.contract.cases import FAMILIES
    for case in FAMILIES:
        X = case.rows(np.random.default_rng(0), 30)
        MAPDP(1.0, family=case.family).fit(X)
        MAPDP(2.0, discount=0.3, family=case.family, init="singletons", n_init=2).fit(X[:25])
        MAPDP(process="mfm", family=case.family, init="single", search="icm").fit(X)
    versions = {{k.__name__: len(k.signatures) for k in jit.KERNELS}}
    many = {{name: n for name, n in versions.items() if n > 1}}
    assert versions["sweep"] == 1 and not many, many
"""


def test_one_version_of_a_kernel_serves_every_family_whatever_the_options():
    """Another family, discount, start, size or number of clusters compiles no pass over rows again."""
    run(EVERY_FAMILY.format(root=str(ROOT)))


def test_the_private_parts_of_numba_are_still_there():
    """Where this fails a new Numba has changed them: the fall-back works, and compiles for longer."""
    assert all("pipeline_class" in options for options in pipeline.options_for_small_functions())
    assert pipeline.options_without_counting() == {"_nrt": False}


def test_without_private_parts_numba_serves_as_it_is(tmp_path):
    code = """
        import sys
        import numpy as np
        from numba.core.registry import cpu_target
        sys.modules["mapdp.compiled.private_numba"] = None
        for owner in cpu_target.options.__mro__:
            if "_nrt" in vars(owner):
                delattr(owner, "_nrt")
        from mapdp.compiled import jit, pipeline
        plain = {"forceinline": True}
        assert pipeline.options_for_small_functions() == (plain, plain)
        assert pipeline.options_without_counting() == {}
        import mapdp
        X = np.random.default_rng(0).normal(size=(40, 2)) + 9.0 * (np.arange(40) % 2)[:, None]
        print(mapdp.log_joint(X, np.arange(40) % 2, alpha=1.0, family=mapdp.DiagonalGaussian.empirical(X)))
    """
    X = np.random.default_rng(0).normal(size=(40, 2)) + 9.0 * (np.arange(40) % 2)[:, None]
    family = mapdp.DiagonalGaussian.empirical(X)
    expected = mapdp.log_joint(X, np.arange(40) % 2, alpha=1.0, family=family)
    assert float(run(code, NUMBA_CACHE_DIR=str(tmp_path))) == pytest.approx(expected, rel=1e-12)


@pytest.fixture(scope="module")
def fresh_fit(tmp_path_factory):
    """Fit with an empty cache; return the folder of the cache and what was printed."""
    folder = str(tmp_path_factory.mktemp("cache"))
    return folder, json.loads(run(FIT, NUMBA_CACHE_DIR=folder))


def test_a_second_process_compiles_nothing(fresh_fit):
    folder, first = fresh_fit
    second = json.loads(run(FIT, NUMBA_CACHE_DIR=folder))
    assert first[0]["sweep"] >= 1
    assert second[0] == {}
    assert second[2] == first[2]


def test_one_version_of_a_kernel_serves_every_process_prior(fresh_fit):
    _, (_, versions, _) = fresh_fit  # from an empty cache: a full one hides versions
    assert versions["sweep"] == 1
    assert max(versions.values()) == 1


def test_the_interpreter_gives_the_same_labels(fresh_fit):
    compiled = fresh_fit[1]
    code = FIT.replace("assert not", "0 and").replace("len(k.signatures)", "0")
    interpreted = json.loads(run(code.replace('"compiled at import"', ""), NUMBA_DISABLE_JIT="1"))
    assert interpreted[2] == compiled[2]


def test_an_edit_anywhere_gives_a_new_cache(tmp_path):
    code = "from mapdp.compiled import jit; print(jit.CACHE_FOLDER)"
    before = run(code, NUMBA_CACHE_DIR=str(tmp_path)).strip()
    assert before.startswith(str(tmp_path))
    changed = """
        import pathlib
        read = pathlib.Path.read_bytes
        pathlib.Path.read_bytes = lambda self: read(self) + (b"#" if self.name == "special.py" else b"")
        from mapdp.compiled import jit
        print(jit.CACHE_FOLDER)
    """
    assert run(changed, NUMBA_CACHE_DIR=str(tmp_path)).strip() != before


def test_a_cache_folder_that_cannot_be_written_is_passed_over(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    where = run(
        "from mapdp.compiled import jit; print(jit.CACHE_FOLDER)", NUMBA_CACHE_DIR=str(blocked)
    ).strip()
    assert where != "None"
    assert not where.startswith(str(blocked))


def test_nowhere_to_write_means_no_cache_and_no_error(tmp_path):
    code = """
        import pathlib
        def refuse(*args, **kwargs):
            raise PermissionError("read-only")
        pathlib.Path.mkdir = refuse
        pathlib.Path.exists = lambda self: False
        from mapdp.compiled import jit
        import mapdp
        assert jit.CACHE_FOLDER is None
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


@pytest.fixture(scope="module")
def loaded():
    """Return the names of the modules that `import mapdp` loads."""
    return set(run("import sys, mapdp; print(*sys.modules)").split())


@pytest.mark.parametrize("heavy", ["dask", "matplotlib", "altair", "typer", "rich", "arviz"])
def test_import_loads_no_extra(heavy, loaded):
    assert "mapdp" in loaded
    assert heavy not in loaded
