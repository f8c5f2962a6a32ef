"""Ctrl-C while the command starts: one sentence, whatever is being loaded."""

import signal
import subprocess
import sys

import pytest


@pytest.fixture(autouse=True)
def _signals_reach_children():
    """A shell that starts the tests in the background lets them, and so all they start, ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("module", ["numpy", "numba", "mapdp.cli.app"])
def test_ctrl_c_while_modules_are_loaded_is_one_sentence(module, tmp_path):
    """Python names each module on standard error once it is loaded: there the signal is sent."""
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{i}.5,{i * i}\n" for i in range(50)))
    command = [sys.executable, "-X", "importtime", "-m", "mapdp", "fit", "t.csv", "-q"]
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        for line in run.stderr:
            if line.split("|")[-1].strip() == module:
                run.send_signal(signal.SIGINT)
                break
        said = [line for line in run.stderr if not line.startswith("import time:")]
        assert run.wait() == 130
    assert [line for line in said if "compiling for" not in line] == [
        "mapdp: interrupted; nothing was written.\n"
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
