"""The command line on folders and within a budget of memory: the labels of Python, nothing half written."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import mapdp
from mapdp.cli.app import app
from mapdp.cli.block_files import bytes_of, rows_of_block
from mapdp.cli.files import TroubleError


def rows(n=9000, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.integers(3, size=n)
    return pa.table(
        {
            "x": rng.normal(7.0 * z).round(3),
            "y": rng.normal(size=n).round(3),
            "name": list("abc" * (n // 3)),
        }
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "trips").mkdir()
    table = rows()
    pq.write_table(table.slice(0, 6000), tmp_path / "trips" / "a.parquet", row_group_size=3000)
    pq.write_table(table.slice(6000), tmp_path / "trips" / "b.parquet", row_group_size=3000)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)


def refused(*arguments):
    """Return the sentence that a command ends with."""
    with pytest.raises((TroubleError, ValueError)) as error:
        run(*arguments)
    return str(error.value)


def labels_in(path):
    return pq.read_table(path)["cluster"].to_numpy()


def test_a_folder_of_files_has_the_labels_of_python(folder):
    done = run("fit", folder / "trips", "--out", folder / "out")
    assert done.exit_code == 0, done.output
    model = mapdp.MAPDP().fit(pa.dataset.dataset(folder / "trips"))
    np.testing.assert_array_equal(labels_in(folder / "out" / "labels.parquet"), model.labels_)
    assert mapdp.load(folder / "out" / "model.mapdp").log_joint_ == model.log_joint_
    assert {path.name for path in (folder / "out").iterdir()} == {
        "labels.parquet",
        "model.mapdp",
        "report.html",
    }


def test_a_csv_file_is_read_in_blocks_where_a_budget_is_named(tmp_path):
    pa.csv.write_csv(rows(3000), tmp_path / "rows.csv")
    done = run(
        "fit", tmp_path / "rows.csv", "--out", tmp_path / "out", "--memory", "1GB", "--ignore", "name"
    )
    assert done.exit_code == 0, done.output
    assert len(labels_in(tmp_path / "out" / "labels.parquet")) == 3000
    assert mapdp.load(tmp_path / "out" / "model.mapdp").n_clusters_ == 3


def test_a_report_of_many_rows_is_drawn_from_some_and_says_so(folder, monkeypatch):
    monkeypatch.setattr("mapdp.cli.in_blocks._DRAWN", 500)
    done = run("fit", folder / "trips", "--out", folder / "out")
    assert "drawn from 500 of 9,000 rows" in done.output.replace("\n", " ")
    assert "of 9,000 rows" in done.output


def test_a_killed_fit_goes_on_with_resume_to_the_same_labels(folder):
    command = [sys.executable, "-m", "mapdp", "fit", str(folder / "trips"), "--out", str(folder / "out")]
    whole = run("fit", folder / "trips", "--out", folder / "whole")
    assert whole.exit_code == 0
    running = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while running.poll() is None and not (folder / "out" / "checkpoint").exists():
        time.sleep(0.005)
    running.send_signal(signal.SIGKILL)
    running.wait()
    there = {path.name for path in (folder / "out").iterdir() if not path.name.startswith(".")}
    assert there in ({"checkpoint"}, {"labels.parquet", "model.mapdp", "report.html"})
    if "checkpoint" in there:
        assert "--resume goes on" in refused("fit", folder / "trips", "--out", folder / "out")
        done = run("fit", folder / "trips", "--out", folder / "out", "--resume")
        assert done.exit_code == 0, done.output
    np.testing.assert_array_equal(
        labels_in(folder / "out" / "labels.parquet"), labels_in(folder / "whole" / "labels.parquet")
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--label", "name"], "--label needs a table in memory"),
        (["--clusters", "2"], "--clusters needs a table in memory"),
        (["--memory", "much"], "--memory must be a size"),
    ],
)
def test_what_cannot_be_done_in_blocks_is_said(folder, options, words):
    assert words in refused("fit", folder / "trips", "--out", folder / "out", *options)
    assert not (folder / "out").exists()


def test_folders_that_cannot_be_read(tmp_path):
    (tmp_path / "none").mkdir()
    assert "holds no file of" in refused("fit", tmp_path / "none", "--out", tmp_path / "out")
    (tmp_path / "both").mkdir()
    pa.csv.write_csv(rows(30), tmp_path / "both" / "a.csv")
    pq.write_table(rows(30), tmp_path / "both" / "b.parquet")
    assert "are of two formats" in refused("fit", tmp_path / "both", "--out", tmp_path / "out")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "a.parquet").write_bytes(os.urandom(100))
    assert "a.parquet" in refused("fit", tmp_path / "broken", "--out", tmp_path / "out")


def test_budgets_are_sizes():
    assert [bytes_of(text) for text in ("2GB", "1.5 g", "300M", "4096")] == [
        2 * 10**9,
        1.5 * 10**9,
        3 * 10**8,
        4096,
    ]
    assert rows_of_block(10, "2GB") > rows_of_block(100, "2GB") >= rows_of_block(100, "100MB")
