"""Tables in blocks that cannot be fitted: one sentence, the same from Python and from the command line."""

import gzip
import json
import os

import dask
import dask.array
import dask.dataframe
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import safetensors
import safetensors.numpy

import mapdp
from mapdp import MAPDP
from mapdp.cli import show
from tests.test_cli_blocks import refused, run

OTHER = "Hint: all files of a table have the same columns; leave this one out, or write it anew."
ANEW = "Hint: write the file anew, or leave it out."
WRITERS = {
    "parquet": lambda table, path: pq.write_table(table, path, row_group_size=100),
    "csv": pa.csv.write_csv,
    "arrow": pa.feather.write_feather,
}


def rows(**others):
    """300 rows of two columns, or others."""
    rng = np.random.default_rng(0)
    columns = {"x": rng.normal(6.0 * (np.arange(300) % 2)), "y": rng.normal(size=300)} | others
    return pa.table({name: column for name, column in columns.items() if column is not None})


def folder_of(tmp_path, kind, *tables):
    for i, table in enumerate(tables):
        path = tmp_path / f"{i}.{kind}"
        path.write_bytes(table) if isinstance(table, bytes) else WRITERS[kind](table, path)
    return tmp_path


def said_by_both(folder, kind):
    """Return what the command line says, and check that Python says the same."""
    said = refused("fit", folder, "--out", folder / "out")
    assert not (folder / "out").exists() or not list((folder / "out").iterdir())
    with pytest.raises(ValueError) as error:  # noqa: PT011  # its words are compared
        MAPDP().fit(pa.dataset.dataset([str(one) for one in sorted(folder.glob(f"*.{kind}"))], format=kind))
    assert str(error.value) == said
    return said


WORDS = pa.array(["a", "b", "c"] * 100)
MOMENTS = pa.array(np.arange(300), pa.timestamp("s"))


@pytest.mark.parametrize(
    ("kind", "other", "says"),
    [
        ("parquet", {"y": None}, "1.parquet has no column 'y', unlike {}/0.parquet. " + OTHER),
        ("parquet", {"w": np.ones(300)}, "1.parquet has a column 'w', unlike {}/0.parquet. " + OTHER),
        ("parquet", {"y": WORDS}, "has words in column 'y' where {}/0.parquet has numbers. " + OTHER),
        ("parquet", {"y": MOMENTS}, "has times in column 'y' where {}/0.parquet has numbers. " + OTHER),
        ("csv", {"y": None}, "1.csv has no column 'y', unlike {}/0.csv. " + OTHER),
        ("csv", {"y": WORDS}, "invalid value 'a'. Hint: a column holds numbers in all rows, or words"),
    ],
)  # fmt: skip
def test_a_file_with_other_columns_or_types(kind, other, says, tmp_path):
    said = said_by_both(folder_of(tmp_path, kind, rows(), rows(**other)), kind)
    assert says.format(tmp_path) in said


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        ("parquet", {"y": np.arange(300)}, {}),
        ("parquet", {"y": pa.nulls(300)}, {}),
        ("parquet", {}, {"y": pa.nulls(300)}),
        ("csv", {"y": np.arange(300)}, {}),
        ("csv", {"y": pa.nulls(300)}, {}),
    ],
)
def test_types_that_hold_the_cells_of_both_files(kind, first, second, tmp_path):
    folder = folder_of(tmp_path, kind, rows(**first), rows(**second))
    blocks = mapdp.in_blocks(pa.dataset.dataset(folder, format=kind))
    read = pa.concat_tables([blocks.read(number) for number in range(len(blocks.sizes))])
    assert read.schema.field("y").type == pa.float64()
    both = [rows(**one)["y"].cast(pa.float64()).to_numpy() for one in (first, second)]
    np.testing.assert_array_equal(read["y"].to_numpy(), np.concatenate(both))


def test_a_corrupt_row_group_and_half_a_file(tmp_path):
    folder = folder_of(tmp_path, "parquet", rows(), rows())
    content = (folder / "1.parquet").read_bytes()
    (folder / "1.parquet").write_bytes(content[:200] + bytes(1300) + content[1500:])
    said = said_by_both(folder, "parquet")
    assert said.startswith(f"block 1 of {folder}/1.parquet cannot be read: ")
    assert said.endswith(ANEW)
    (folder / "1.parquet").write_bytes(content[: len(content) // 2])
    said = said_by_both(folder, "parquet")
    assert said.startswith(f"{folder}/1.parquet cannot be read: Parquet magic bytes not found")


def test_half_an_arrow_file_and_lines_that_are_too_short(tmp_path):
    (tmp_path / "a").mkdir()
    folder = folder_of(tmp_path / "a", "arrow", rows(), rows())
    content = (folder / "1.arrow").read_bytes()
    (folder / "1.arrow").write_bytes(content[: len(content) // 2])
    assert said_by_both(folder, "arrow").startswith(f"{folder}/1.arrow cannot be read: Not an Arrow file")
    (tmp_path / "b").mkdir()
    folder = folder_of(tmp_path / "b", "csv", rows(), b"x,y\n1,2\n3\n4,5\n")
    assert f"{folder}/1.csv cannot be read: CSV parse error: Row #3: Expected 2" in said_by_both(
        folder, "csv"
    )


def test_files_without_rows(tmp_path):
    assert said_by_both(folder_of(tmp_path, "parquet", rows().slice(0, 0)), "parquet") == (
        "the dataset has no rows. Hint: check the folder, and that its files are not empty."
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "0.csv is empty"),
        (b"# a comment\nx,y\n" + b"1,2\n3,4\n" * 9, "0.csv has comments, which need a table in memory"),
        (b"x y\n" + b"1 2\n3 4\n" * 9, "0.csv is separated by blanks, which need a table in memory"),
        (gzip.compress(b"x,y\n1,2\n3,4\n", mtime=0), "0.csv is compressed. Hint: unpack it."),
    ],
)
def test_text_that_is_not_read_in_blocks(content, says, tmp_path):
    assert says in refused("fit", folder_of(tmp_path, "csv", content), "--out", tmp_path / "out")


def test_text_in_blocks_is_read_as_it_is_in_memory(tmp_path):
    """Semicolons, decimal commas, Latin-1 and words for missing cells, which mean the same either way."""
    lines = ["höhe;word", *[f"{i % 2 * 9 + i / 500:.3f};{'ja' if i % 2 else 'nein'}" for i in range(500)]]
    text = "\n".join([*lines, "none;ja", "N/A;nein", "-999;nein"]).replace(".", ",")
    folder_of(tmp_path, "csv", text.encode("latin-1"))
    models = []
    for more in ([], ["--memory", "1GB"]):
        out = tmp_path / f"out{len(models)}"
        done = run("fit", tmp_path / "0.csv", "--out", out, "--missing", "-999", "-q", *more)
        assert done.exit_code == 0, done.output
        models.append(mapdp.load(out / "model.mapdp"))
    here, there = models
    assert [(one.name, one.kind, one.n_missing) for one in there.schema_.columns] == [
        (one.name, one.kind, one.n_missing) for one in here.schema_.columns
    ]
    assert there.schema_.columns[0].n_missing == 3
    assert there.log_joint_ == pytest.approx(here.log_joint_, rel=1e-6)


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_file_that_changes_during_a_fit_from_the_command_line(is_gone, tmp_path, monkeypatch):
    folder, step = folder_of(tmp_path, "parquet", rows(), rows()), show.ProgressLine.step

    def changed(self, one):
        step(self, one)
        path = folder / "1.parquet"
        path.unlink(missing_ok=True) if is_gone else os.utime(path, ns=(1, 1))

    monkeypatch.setattr(show.ProgressLine, "step", changed)
    said = refused("fit", folder, "--out", folder / "out")
    assert said == (
        f"{folder}/1.parquet has changed since the fit began. Hint: fit again when nobody writes to it."
    )
    assert [path.name for path in (folder / "out").iterdir()] == ["checkpoint"]


def test_dask_collections_that_are_no_tables():
    frame = rows().to_pandas()
    for no_table in (dask.array.ones(9), dask.dataframe.from_pandas(frame, 2)["x"], dask.delayed(frame)):
        with pytest.raises(
            TypeError, match="must be a Dask data frame or a Dask array of rows and columns"
        ):
            MAPDP().fit(no_table)
    with pytest.raises(ValueError, match="the Dask collection has no rows"):
        MAPDP().fit(dask.dataframe.from_pandas(frame.iloc[:0], npartitions=1))


def test_a_block_of_words_among_blocks_of_numbers():
    parts = [dask.delayed(rows().to_pandas()), dask.delayed(rows(y=WORDS).to_pandas())]
    table = dask.dataframe.from_delayed(parts, meta=rows().to_pandas(), verify_meta=False)
    with pytest.raises(ValueError, match="block 1 has words in column 'y' where block 0 has numbers"):
        MAPDP().fit(table)


def test_a_table_without_rows_and_columns_of_one_name():
    with pytest.raises(TypeError, match=r"a matrix with rows, .* got ndarray of shape \(0, 2\)"):
        mapdp.in_blocks(np.zeros((0, 2)))
    twice = pa.dataset.dataset(pa.table([pa.array([1.0]), pa.array([2.0])], names=["a", "a"]))
    with pytest.raises(ValueError, match="columns must have different names, got 'a' twice"):
        MAPDP().fit(twice)


def without(name):
    return lambda tensors, known: (tensors.pop(name, None), known.pop(name, None))


@pytest.mark.parametrize(
    "change",
    [
        *map(without, ("labels", "sizes", "log_joint", "slots.0", "progress", "refused", "log_units")),
        lambda _, known: known["progress"].append(1),
        lambda tensors, _: tensors.update(labels=tensors["labels"][:-1]),
        lambda tensors, _: tensors.update(labels=tensors["labels"] + 7),
        lambda tensors, _: tensors.update(labels=tensors["labels"].astype(float)),
        lambda tensors, _: tensors.update({"slots.1": tensors["slots.1"][..., :-1]}),
    ],
)
def test_a_checkpoint_that_is_not_all_there(change, tmp_path):
    X, path = np.arange(40.0).reshape(20, 2), tmp_path / "kept"
    MAPDP().fit(mapdp.in_blocks(X, rows=8), checkpoint=path)
    with safetensors.safe_open(path, framework="numpy") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        known = json.loads(file.metadata()["mapdp"])
    change(tensors, known)
    tensors = {name: np.ascontiguousarray(one) for name, one in tensors.items()}
    safetensors.numpy.save_file(tensors, path, {"mapdp": json.dumps(known)})
    with pytest.raises(ValueError, match=r"is not a checkpoint that can be read: .* Hint: delete it"):
        MAPDP().fit(mapdp.in_blocks(X, rows=8), checkpoint=path)


def test_the_checkpoint_of_another_version(tmp_path, monkeypatch):
    X, path = np.arange(40.0).reshape(20, 2), tmp_path / "kept"
    MAPDP().fit(mapdp.in_blocks(X, rows=8), checkpoint=path)
    monkeypatch.setattr("mapdp.estimators.checkpoint.version", lambda _: "0.1")
    with pytest.raises(ValueError, match="parameters or version were others"):
        MAPDP().fit(mapdp.in_blocks(X, rows=8), checkpoint=path)


def test_a_checkpoint_that_is_a_folder(tmp_path):
    with pytest.raises(IsADirectoryError, match="checkpoint must be a file, got the folder"):
        MAPDP().fit(mapdp.in_blocks(np.zeros((5, 2)), rows=3), checkpoint=tmp_path)
