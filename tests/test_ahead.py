"""Two processes that compile: neither does what the other has done, and nobody waits for the dead."""

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest

from mapdp import MAPDP
from mapdp.compiled import turns
from mapdp.compiled.announce import Announcer
from mapdp.estimators import ahead, map_fit

KERNEL = """
    import numpy as np
    from mapdp.compiled.jit import compilations, kernel

    @kernel
    def add_up(numbers):
        total = 0.0
        for number in numbers:
            total += number
        return total

    print(add_up(np.ones(3)), compilations().get("add_up", 0))
"""
LAST_MOVES = """
    from mapdp.compiled.jit import ENTRIES, KERNELS
    from mapdp.estimators import ahead
    ahead.compile_from_the_end(("SphericalGaussian",))
    print(*[k.__name__ for k in KERNELS if k.signatures], *[k.__name__ for k in ENTRIES])
"""
needs_turns = pytest.mark.skipif(turns.fcntl is None, reason="this system cannot lock files")


def process(code, folder, **environment):
    """Start a fresh interpreter with a program in a file."""
    path = folder / "program.py"
    path.write_text(textwrap.dedent(code))
    return subprocess.Popen(
        [sys.executable, path],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


@needs_turns
def test_of_three_processes_one_compiles(tmp_path):
    three = [process(KERNEL, tmp_path, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(3)]
    said = sorted(one.communicate()[0].split() for one in three)
    assert said == [["3.0", "0"], ["3.0", "0"], ["3.0", "1"]]


@needs_turns
def test_nobody_waits_for_a_process_that_was_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "_LONGEST", 0.1)
    with turns.in_turn(str(tmp_path), "one"), turns.in_turn(str(tmp_path), "one"):
        assert [path.name for path in tmp_path.iterdir()] == ["one.lock"]


def test_a_folder_that_cannot_be_locked_is_no_trouble(tmp_path):
    with turns.in_turn(str(tmp_path / "missing"), "one"):
        assert not (tmp_path / "missing").exists()


FORK = """
    import os, threading, time
    from numba.core.compiler_lock import global_compiler_lock
    from mapdp.compiled import turns

    compiles = threading.Event()

    def compile_for_a_while():
        with global_compiler_lock:
            compiles.set()
            time.sleep(1.0)

    threading.Thread(target=compile_for_a_while).start()
    compiles.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if global_compiler_lock._lock.acquire(timeout=5.0) else 1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), global_compiler_lock.is_locked())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_that_is_forked_while_a_thread_compiles_can_compile():
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(FORK)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == ["0", "False"]


def test_the_end_of_a_search_and_chains_are_compiled_ahead(tmp_path):
    names = process(LAST_MOVES, tmp_path).communicate()[0].split()
    assert {"dissolve_one", "regroup", "merge_chairs", "gibbs_sweep", "_refresh"} <= set(names)


@pytest.mark.parametrize(("cores", "is_first", "times"), [(1, True, 0), (2, False, 0), (2, True, 1)])
def test_a_second_process_is_started_once_where_that_helps(cores, is_first, times, monkeypatch):
    begun = []
    monkeypatch.setattr(ahead, "_cores", lambda: cores)
    monkeypatch.setattr(ahead, "_is_first_fit", lambda: is_first)
    monkeypatch.setattr(ahead, "_end", lambda _: None)
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: begun.append(command[-1]))
    ahead.compile_ahead.cache_clear()
    for _ in range(2):
        ahead.compile_ahead(("Gaussian",))
    assert len(begun) == times
    assert all("('Gaussian',)" in program for program in begun)


def test_a_fit_names_the_families_that_it_tries_late(monkeypatch, rng):
    named = []
    monkeypatch.setattr(map_fit, "compile_ahead", named.append)
    MAPDP().fit(rng.normal(size=(20, 2)))
    MAPDP(prior="paper").fit(rng.normal(size=(20, 2)))
    words = np.array(["a", "b"])[rng.integers(2, size=20)]
    MAPDP().fit(pd.DataFrame({"x": rng.normal(size=20), "y": rng.normal(size=20), "word": words}))
    assert named == [("Gaussian", "SharedGaussian")] * 2


COMPILING = """
    import numpy as np
    from mapdp.compiled.jit import kernel

    @kernel
    def add_up(numbers):
        return numbers[0] + numbers[1]

    add_up(np.ones(2, dtype={dtype!r}))
    add_up(np.ones(2, dtype=complex))
"""


def announced(folder, dtype):
    """Return what a program that compiles for numbers of a type prints on standard error."""
    path = folder / "compiling.py"
    path.write_text(textwrap.dedent(COMPILING.format(dtype=dtype)))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    return subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True).stderr


def test_one_line_says_what_is_compiled_for_and_how_long_that_took(tmp_path):
    assert announced(tmp_path, "float64").splitlines() == [
        "mapdp: compiling for this machine, once (later runs start at once) ..."
    ]
    assert announced(tmp_path, "float64") == ""
    assert announced(tmp_path, "int64").count("compiling for this kind of table, once (later runs") == 1
    seconds = json.loads((tmp_path / "mapdp-seconds.json").read_text())
    assert set(seconds) == {"this machine", "this kind of table"}
    assert all(value > 0.0 for value in seconds.values())
    assert "; it took " in announced(tmp_path, "int32")


@pytest.mark.parametrize("content", ["", "[1]", '{"this machine": "long"}', "\x00"])
def test_a_spoilt_file_of_seconds_is_no_trouble(content, tmp_path, capsys):
    (tmp_path / "mapdp-seconds.json").write_text(content)
    announcer = Announcer(str(tmp_path / "cache"))
    with announcer.ours():
        announcer.on_start(None)
    assert capsys.readouterr().err.count("once (later runs start at once) ...") == 1
