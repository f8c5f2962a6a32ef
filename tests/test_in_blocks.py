"""Tables in blocks: the same labels wherever the rows are, an exact joint, and searches that go on."""

import os
import signal
import subprocess
import sys
import textwrap

import dask
import dask.array
import dask.dataframe
import numpy as np
import pandas
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

import mapdp
from mapdp import MAPDP
from mapdp.data.blocks import ArrayBlocks
from mapdp.data.first_look import look_at
from mapdp.estimators import block_fit

ROWS = 700


def blobs(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 5.0, 0.0], [3.0, 3.0, 6.0]])
    return centres[rng.choice(4, n, p=[0.5, 0.3, 0.15, 0.05])] + rng.normal(size=(n, 3))


def mixed(n=3000, seed=0):
    """A table of numbers, words and gaps, whose last row has a level that no other row has."""
    rng = np.random.default_rng(seed)
    z = rng.choice(3, n)
    frame = pandas.DataFrame(
        {
            "length": rng.normal(5.0 * z, 1.0).round(3),
            "colour": np.array(["red", "green", "blue"])[(z + (rng.random(n) < 0.1)) % 3],
            "count": rng.poisson(3.0 + 10.0 * (z == 2)),
        }
    )
    frame.loc[rng.choice(n, n // 20, replace=False), "length"] = np.nan
    frame.loc[n - 1, "colour"] = "ultraviolet"
    return frame


def dataset_of(frame, folder, rows=ROWS):
    pa.parquet.write_table(pa.Table.from_pandas(frame), folder / "rows.parquet", row_group_size=rows)
    return pa.dataset.dataset(folder, format="parquet")


def partitions_of(frame, rows=ROWS):
    begins = range(0, len(frame), rows)
    parts = [dask.delayed(frame.iloc[begin : begin + rows]) for begin in begins]
    return dask.dataframe.from_delayed(parts, meta=frame)


@pytest.fixture(scope="module")
def in_array():
    return MAPDP().fit(mapdp.in_blocks(blobs(), rows=ROWS))


def test_arrays_files_and_dask_have_the_same_labels(in_array, tmp_path):
    X = blobs()
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    of_files = MAPDP().fit(mapdp.in_blocks(dataset_of(frame, tmp_path), rows=ROWS))
    of_arrays = MAPDP().fit(dask.array.from_array(X, chunks=(ROWS, 2)))
    of_frames = MAPDP().fit(partitions_of(frame))
    assert isinstance(of_arrays.labels_, dask.array.Array)
    assert of_arrays.labels_.chunks == ((700, 700, 700, 700, 200),)
    for one in (of_files, of_arrays, of_frames):
        np.testing.assert_array_equal(np.asarray(one.labels_), in_array.labels_)
        assert one.log_joint_ == in_array.log_joint_


def test_mixed_tables_have_the_same_labels_in_files_and_in_dask(tmp_path):
    frame = mixed()
    of_files = MAPDP().fit(mapdp.in_blocks(dataset_of(frame, tmp_path), rows=ROWS))
    of_frames = MAPDP().fit(partitions_of(frame))
    np.testing.assert_array_equal(np.asarray(of_frames.labels_), of_files.labels_)
    assert of_files.log_joint_ == of_frames.log_joint_
    assert of_files.log_joint_ == pytest.approx(of_files.log_joint_of(frame, of_files.labels_), rel=1e-12)
    assert of_files.schema_.columns[1].values[-1] == "ultraviolet"
    assert [column.n_missing for column in of_files.schema_.columns] == [150, 0, 0]


def test_threads_change_nothing(in_array):
    again = MAPDP(n_jobs=2).fit(mapdp.in_blocks(blobs(), rows=ROWS))
    alone = MAPDP(n_jobs=1).fit(mapdp.in_blocks(blobs(), rows=ROWS))
    np.testing.assert_array_equal(again.labels_, in_array.labels_)
    np.testing.assert_array_equal(alone.labels_, in_array.labels_)


def test_the_joint_is_exact_and_never_drops(in_array):
    X = blobs()
    assert in_array.log_joint_ == pytest.approx(in_array.log_joint_of(X, in_array.labels_), rel=1e-12)
    joints = [step.log_joint for step in in_array.trace_ if step.climb == in_array.winning_climb_]
    assert np.diff(joints).min() >= -1e-6
    assert in_array.cluster_sizes_.tolist() == np.bincount(in_array.labels_).tolist()


@pytest.mark.parametrize("covariance", ["diagonal", "full", "shared"])
def test_at_the_end_nobody_wants_to_move(covariance):
    X = blobs(1500, seed=3)
    model = MAPDP(covariance=covariance, tol=0.0).fit(mapdp.in_blocks(X, rows=400))
    family, process = model.family_, model.mixture_.process
    again = MAPDP(family=family, process=process, init=model.labels_, search="icm", n_init=1).fit(X)
    assert model.converged_
    np.testing.assert_array_equal(again.labels_, model.labels_)


def test_the_joint_is_that_of_the_search_in_memory():
    X = blobs(4000, seed=5)
    here, there = MAPDP().fit(X), MAPDP(tol=0.0).fit(mapdp.in_blocks(X, rows=500))
    assert there.log_joint_ > here.log_joint_ - 1e-4 * abs(here.log_joint_)


def test_clusters_that_the_sample_did_not_show_are_found(monkeypatch):
    monkeypatch.setattr(block_fit, "sample_size", lambda n_columns: 300)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20_000, 2))
    X[19_970:] = rng.normal([12.0, -9.0], 0.3, size=(30, 2))
    X[:6000] += [0.0, 2.2]
    X[0], X[1] = [20.0, 5.0], [-5.0, -20.0]  # the extremes, which the sample has, are others
    model = MAPDP().fit(mapdp.in_blocks(X, rows=4000))
    assert len(set(model.labels_[19_970:].tolist())) == 1
    assert np.count_nonzero(model.labels_ == model.labels_[19_999]) < 60


def test_few_columns_have_a_larger_sample():
    assert [block_fit.sample_size(n) for n in (1, 4, 10, 40, 41, 500)] == [
        1_000_000,
        1_000_000,
        400_000,
        100_000,
        100_000,
        100_000,
    ]


def test_rows_that_are_shown_hold_every_level_gap_and_extreme():
    X = np.zeros((50, 3))
    X[:, 0] = np.arange(50) % 3
    X[41, 0] = 7.0
    X[:, 1] = np.linspace(1.0, 2.0, 50)
    X[33, 1], X[12, 2] = -4.0, np.nan
    rows, n_missing = look_at(ArrayBlocks(X, 9))
    assert n_missing == (0, 0, 1)
    assert {41, 33, 12} <= set(rows.tolist())
    assert set(X[rows, 0]) == {0.0, 1.0, 2.0, 7.0}


def test_a_search_goes_on_from_its_checkpoint_to_the_same_labels(tmp_path):
    X = blobs(2000, seed=2)
    X[:, 1] *= 0.3
    whole = MAPDP(tol=0.0).fit(mapdp.in_blocks(X, rows=300))
    path = tmp_path / "kept"
    steps = []

    def stop_after(n):
        return lambda step: steps.append(step) or len(steps) >= n

    broken = MAPDP(tol=0.0, callback=stop_after(2)).fit(mapdp.in_blocks(X, rows=300), checkpoint=path)
    assert path.exists()
    assert not broken.converged_
    on = MAPDP(tol=0.0).fit(mapdp.in_blocks(X, rows=300), checkpoint=path)
    np.testing.assert_array_equal(on.labels_, whole.labels_)
    assert on.log_joint_ == whole.log_joint_


def test_the_checkpoint_of_another_table_is_refused(tmp_path):
    path = tmp_path / "kept"
    MAPDP().fit(mapdp.in_blocks(blobs(600), rows=300), checkpoint=path)
    with pytest.raises(ValueError, match="checkpoint of another fit"):
        MAPDP().fit(mapdp.in_blocks(blobs(600, seed=1), rows=300), checkpoint=path)
    path.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="not a checkpoint"):
        MAPDP().fit(mapdp.in_blocks(blobs(600), rows=300), checkpoint=path)


def test_a_killed_search_goes_on_to_the_same_labels(tmp_path):
    np.save(tmp_path / "rows.npy", blobs(2500, seed=4))
    code = textwrap.dedent("""
        import sys
        import numpy as np
        import mapdp
        X = np.load("rows.npy", mmap_mode="r")
        model = mapdp.MAPDP(tol=0.0, verbose=1).fit(mapdp.in_blocks(X, rows=300), checkpoint=sys.argv[1])
        np.save(sys.argv[2], model.labels_)
    """)
    command = [sys.executable, "-c", code, "kept", "labels.npy"]
    running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    with running.stdout:
        for line in running.stdout:
            if line.startswith("pass") and (tmp_path / "kept").exists():
                break
        running.send_signal(signal.SIGKILL)
        running.wait()
    subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    expected = MAPDP(tol=0.0).fit(mapdp.in_blocks(np.load(tmp_path / "rows.npy"), rows=300))
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy"), expected.labels_)
    left = {path.name for path in tmp_path.iterdir() if not path.name.startswith(".mapdp-")}
    assert left == {"rows.npy", "labels.npy", "kept"}


def test_csv_files_are_read_block_by_block(tmp_path):
    frame = mixed(1500)
    frame[:800].to_csv(tmp_path / "a.csv", index=False)
    frame[800:].to_csv(tmp_path / "b.csv", index=False)
    model = MAPDP().fit(mapdp.in_blocks(pa.dataset.dataset(tmp_path, format="csv"), rows=ROWS))
    assert model.labels_.shape == (1500,)
    assert model.log_joint_ == pytest.approx(model.log_joint_of(frame, model.labels_), rel=1e-9)


def test_a_worker_that_dies_loses_nothing_but_time():
    distributed = pytest.importorskip("distributed")
    X = blobs(2000, seed=6)
    expected = MAPDP().fit(mapdp.in_blocks(X, rows=500)).labels_
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        killed = []

        def kill_one(step):
            if step.move in ("start", "pass") and not killed:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        model = MAPDP(callback=kill_one).fit(dask.array.from_array(X, chunks=(500, 3)))
        assert killed
        np.testing.assert_array_equal(np.asarray(model.labels_), expected)


def test_new_rows_in_blocks_have_the_labels_of_rows_in_memory(in_array, tmp_path):
    new = blobs(1000, seed=9)
    frame = pandas.DataFrame(new, columns=["a", "b", "c"])
    expected = in_array.predict(new)
    np.testing.assert_array_equal(in_array.predict(mapdp.in_blocks(new, rows=300)), expected)
    lazy = in_array.predict(dask.array.from_array(new, chunks=(300, 3)))
    assert isinstance(lazy, dask.array.Array)
    np.testing.assert_array_equal(lazy.compute(), expected)
    np.testing.assert_array_equal(
        in_array.score_samples(mapdp.in_blocks(new, rows=300)), in_array.score_samples(new)
    )
    named = MAPDP().fit(frame)
    of_files = named.predict_proba(dataset_of(frame, tmp_path, 300))
    np.testing.assert_array_equal(of_files, named.predict_proba(frame))


def test_a_model_of_blocks_can_be_saved_and_looked_at(tmp_path):
    model = MAPDP().fit(dask.array.from_array(blobs(1500), chunks=(500, 3)))
    mapdp.save(model, tmp_path / "kept.mapdp")
    again = mapdp.load(tmp_path / "kept.mapdp")
    np.testing.assert_array_equal(again.labels_, np.asarray(model.labels_))
    assert again.log_joint_ == model.log_joint_
    np.testing.assert_array_equal(model.cut(n_clusters=2).labels_, again.cut(n_clusters=2).labels_)
    assert len(model.describe()) == model.n_clusters_


def test_gaps_are_filled_in_blocks_as_in_memory(tmp_path):
    frame = mixed(900)
    model = MAPDP().fit(frame)
    expected = model.impute(frame)
    lazy = model.impute(partitions_of(frame, 300))
    assert isinstance(lazy, dask.dataframe.DataFrame)
    pandas.testing.assert_frame_equal(lazy.compute().reset_index(drop=True), expected, check_dtype=False)
    filled = model.impute(dataset_of(frame, tmp_path, 300))
    np.testing.assert_allclose(filled["length"].to_numpy(), expected["length"])


class TestBadInput:
    def test_labels_and_weights_need_a_table_in_memory(self):
        with pytest.raises(ValueError, match="without y, sample_weight and groups"):
            MAPDP().fit(mapdp.in_blocks(blobs(100), rows=50), sample_weight=np.ones(100))

    def test_a_file_that_changes_between_passes(self, tmp_path):
        frame = pandas.DataFrame(blobs(900), columns=["a", "b", "c"])
        blocks = mapdp.in_blocks(dataset_of(frame, tmp_path, 300), rows=300)

        def write_again(step):
            os.utime(tmp_path / "rows.parquet", ns=(1, 1))

        with pytest.raises(ValueError, match=r"rows\.parquet has changed since the fit began"):
            MAPDP(callback=write_again).fit(blocks)

    def test_a_file_that_is_broken(self, tmp_path):
        frame = pandas.DataFrame(blobs(900), columns=["a", "b", "c"])
        dataset = dataset_of(frame, tmp_path, 300)
        content = bytearray((tmp_path / "rows.parquet").read_bytes())
        content[200:4000] = bytes(3800)
        (tmp_path / "rows.parquet").write_bytes(content)
        with pytest.raises(ValueError, match=r"block 0 of .*rows\.parquet cannot be read"):
            MAPDP().fit(mapdp.in_blocks(dataset, rows=300))

    def test_an_empty_folder(self, tmp_path):
        with pytest.raises(ValueError, match="no rows"):
            MAPDP().fit(
                pa.dataset.dataset(tmp_path, format="parquet", schema=pa.schema([("a", pa.float64())]))
            )

    def test_blocks_with_other_columns(self):
        parts = [dask.delayed(pandas.DataFrame({"a": np.arange(9.0), "b": np.ones(9)})) for _ in range(2)]
        parts.append(dask.delayed(pandas.DataFrame({"a": np.arange(9.0)})))
        table = dask.dataframe.from_delayed(
            parts, meta=pandas.DataFrame({"a": [0.0], "b": [0.0]}), verify_meta=False
        )
        with pytest.raises(ValueError, match="block 2 has 1 column"):
            MAPDP().fit(table)

    def test_what_is_no_table_in_blocks(self):
        with pytest.raises(TypeError, match="a matrix with rows, a Dataset or a Dask collection, got list"):
            mapdp.in_blocks([[1.0]])
        with pytest.raises(ValueError, match="rows"):
            mapdp.in_blocks(np.zeros((3, 2)), rows=0)


def test_gaps_that_the_sample_does_not_show(tmp_path, monkeypatch):
    """Where rows of the sample lack all measurements or none, others may lack some of them."""
    rng = np.random.default_rng(2)
    z = np.arange(4000) % 2
    a = rng.normal(8.0 * z)
    words = np.array(["x", "y"])[z]
    frame = pandas.DataFrame({"a": a, "b": a + rng.normal(0.0, 0.3, 4000), "word": words})
    frame.loc[::7, ["a", "b"]] = np.nan
    frame.loc[[3001, 3105, 3503], "a"] = np.nan
    monkeypatch.setattr(block_fit, "sample_size", lambda n_columns: 1000)
    model = MAPDP().fit(dataset_of(frame, tmp_path))
    assert model.log_joint_ == pytest.approx(model.log_joint_of(frame, model.labels_), rel=1e-9)
