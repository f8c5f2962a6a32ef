"""Fits in blocks that are killed, fill the disk or lose their client: what was written is whole."""

import contextlib
import errno
import os
import signal
import subprocess
import sys
import textwrap
import time

import dask.array
import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from safetensors import safe_open

import mapdp
from mapdp import MAPDP
from tests.test_cli_blocks import labels_in, refused, rows, run

FILES = {"labels.parquet", "model.mapdp", "report.html"}
FIT = textwrap.dedent("""
    import sys
    import mapdp.cli, mapdp.cli.app
    print("ready", flush=True)
    mapdp.cli.main()
""")


@pytest.fixture(scope="module")
def trips(tmp_path_factory):
    """A folder of nine files, which are nine blocks, and what a fit makes of them that is left in peace."""
    folder = tmp_path_factory.mktemp("broken")
    (folder / "trips").mkdir()
    table = rows(9000)
    for i in range(9):
        pq.write_table(table.slice(1000 * i, 1000), folder / "trips" / f"{i}.parquet")
    assert run("fit", folder / "trips", "--out", folder / "whole").exit_code == 0
    return folder


def names_in(folder):
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def check_is_whole(path):
    """Read a file, which fails where only a part of it is there."""
    if path.name == "labels.parquet":
        assert len(labels_in(path)) == 9000
    elif path.name == "model.mapdp":
        assert mapdp.load(path).n_clusters_ == 3
    elif path.name == "report.html":
        assert path.read_text().rstrip().endswith("</html>")
    else:
        with safe_open(path, framework="numpy") as kept:
            assert kept.get_slice("labels").get_shape() == [9000]


def killed_after(seconds, trips, out):
    """Begin a fit and kill it after so many seconds of work, or let it end; return how long it worked."""
    command = [sys.executable, "-c", FIT, "fit", str(trips / "trips"), "--out", str(out), "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "ready\n"
        began = time.perf_counter()
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(seconds)
        running.send_signal(signal.SIGKILL)
    return time.perf_counter() - began


def test_a_fit_that_is_killed_at_any_moment_goes_on_to_the_same_labels(trips):
    """The moments are drawn from the time that a whole fit takes."""
    lasting = killed_after(None, trips, trips / "timed")
    for i, share in enumerate(np.random.default_rng(23).random(5)):
        out = trips / f"killed{i}"
        killed_after(share * lasting, trips, out)
        there = {name for name in names_in(out) if not name.startswith(".mapdp-")}
        assert there <= FILES | {"checkpoint"}
        for name in there:
            check_is_whole(out / name)
        if there != FILES:
            done = run("fit", trips / "trips", "--out", out, "--resume")
            assert done.exit_code == 0, done.output
        assert names_in(out) == FILES
        np.testing.assert_array_equal(
            labels_in(out / "labels.parquet"), labels_in(trips / "whole" / "labels.parquet")
        )


@pytest.mark.parametrize("n_renamed", [1, 3])
def test_a_fit_that_is_killed_between_two_renamings_goes_on(n_renamed, trips, monkeypatch):
    """Some of the three files have got their names, and the checkpoint is still there."""
    out, renamed, replace = trips / f"between{n_renamed}", [], os.replace

    def killed(source, target):
        if os.path.basename(target) in FILES:
            if len(renamed) == n_renamed:
                raise SystemExit
            renamed.append(target)
        replace(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", killed)
        if n_renamed == 3:  # all are there, but for taking the checkpoint away
            patched.setattr("pathlib.Path.unlink", lambda *_, **__: (_ for _ in ()).throw(SystemExit))
        run("fit", trips / "trips", "--out", out)
    assert len(names_in(out) & FILES) == n_renamed
    assert "checkpoint" in names_in(out)
    assert "--resume goes on" in refused("fit", trips / "trips", "--out", out)
    assert run("fit", trips / "trips", "--out", out, "--resume").exit_code == 0
    assert names_in(out) == FILES
    np.testing.assert_array_equal(
        labels_in(out / "labels.parquet"), labels_in(trips / "whole" / "labels.parquet")
    )


def no_room(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def room_for(n_files):
    """Return a way to write files of which only so many find room."""
    write, written = mapdp.data.writing.write_new, []

    def limited(path, content):
        written.append(path)
        return write(path, content) if len(written) <= n_files else no_room()

    return limited


def test_a_disk_that_is_full_after_some_passes_keeps_the_last_checkpoint(tmp_path, monkeypatch):
    X = np.random.default_rng(0).normal(size=(900, 2)) + 3.0 * (np.arange(900) % 3)[:, None]
    blocks, path = mapdp.in_blocks(X, rows=300), tmp_path / "kept"
    whole = MAPDP().fit(blocks)
    with monkeypatch.context() as patched:
        patched.setattr("mapdp.data.writing.write_new", room_for(2))
        with pytest.raises(OSError, match=r"No space left on device\. Hint: make room, or give another"):
            MAPDP().fit(blocks, checkpoint=path)
    assert names_in(tmp_path) == {"kept"}
    on = MAPDP().fit(blocks, checkpoint=path)
    assert on.trace_[-1].sweep > 1
    np.testing.assert_array_equal(on.labels_, whole.labels_)


@pytest.mark.parametrize(
    "moment", ["mapdp.cli.in_blocks.write_new", "pyarrow.parquet.ParquetWriter.write_table"]
)
def test_a_disk_without_room_for_labels_or_model_leaves_the_checkpoint(
    moment, trips, tmp_path, monkeypatch
):
    with monkeypatch.context() as patched:
        patched.setattr(moment, no_room)
        said = refused("fit", trips / "trips", "--out", tmp_path / "out")
    assert said.endswith("Hint: make room, or give another path. Then --resume goes on where the fit was.")
    assert str(tmp_path / "out") in said
    assert names_in(tmp_path / "out") == {"checkpoint"}
    assert run("fit", trips / "trips", "--out", tmp_path / "out", "--resume").exit_code == 0
    assert names_in(tmp_path / "out") == FILES


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 kB, which only root can make."""
    folder = tmp_path / "small"
    folder.mkdir()
    size = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        subprocess.run(size, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a small file system cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_really_full(trips, small_disk):
    """Checkpoints of 9,000 rows find room there, a report does not."""
    said = refused("fit", trips / "trips", "--out", small_disk / "out")
    assert "No space left on device. Hint: make room" in said
    assert said.endswith("Then --resume goes on where the fit was.")
    assert names_in(small_disk / "out") == {"checkpoint"}
    check_is_whole(small_disk / "out" / "checkpoint")


def test_no_room_for_a_temporary_copy_or_for_labels(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("a,b\n" + "1,2\n3,4\n" * 20)
    table = pa.dataset.dataset(tmp_path, format="csv")
    with monkeypatch.context() as patched:
        patched.setattr("pyarrow.parquet.ParquetWriter.write_batch", no_room)
        with pytest.raises(OSError, match="Hint: make room, or let TMPDIR name another folder"):
            MAPDP().fit(table)
    monkeypatch.setattr("mapdp.search.in_blocks._IN_MEMORY", 10)
    monkeypatch.setattr("mapdp.data.writing.os.posix_fallocate", no_room)
    with pytest.raises(OSError, match="Hint: make room, or let TMPDIR name another folder"):
        MAPDP().fit(table)


def test_labels_in_a_file_are_those_in_memory(monkeypatch):
    X = np.random.default_rng(0).normal(size=(600, 2)) + 4.0 * (np.arange(600) % 2)[:, None]
    here = MAPDP().fit(mapdp.in_blocks(X, rows=200))
    monkeypatch.setattr("mapdp.search.in_blocks._IN_MEMORY", 10)
    there = MAPDP().fit(mapdp.in_blocks(X, rows=200))
    assert isinstance(there.labels_, np.memmap)
    np.testing.assert_array_equal(there.labels_, here.labels_)


def test_a_checkpoint_must_have_a_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="checkpoint must be in a folder that is there"):
        MAPDP().fit(mapdp.in_blocks(np.zeros((5, 2)), rows=3), checkpoint=tmp_path / "none" / "kept")


def test_a_closed_dask_client_is_one_sentence_and_the_checkpoint_goes_on(tmp_path):
    """Rows that only its workers had are gone; what can be worked out anew is, without the client."""
    distributed = pytest.importorskip("distributed")
    X = np.random.default_rng(1).normal(size=(900, 2)) + 5.0 * (np.arange(900) % 3)[:, None]
    table, path = dask.array.from_array(X, chunks=(300, 2)), tmp_path / "kept"
    settings = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**settings) as cluster:
        client = distributed.Client(cluster)
        held = table.persist()

        def close(step):
            if step.move == "pass":
                client.close()

        with pytest.raises(RuntimeError, match="the Dask client was closed while its rows were needed"):
            MAPDP(callback=close).fit(held, checkpoint=path)
    with pytest.raises(RuntimeError, match="the Dask client was closed"):
        MAPDP().fit(held)
    expected = MAPDP().fit(mapdp.in_blocks(X, rows=300)).labels_
    np.testing.assert_array_equal(np.asarray(MAPDP().fit(table, checkpoint=path).labels_), expected)
