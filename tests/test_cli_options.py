"""Options of the commands: what they say reaches the model, and what is wrong is said in their language."""

import json
import re

import numpy as np
import pandas as pd
import pyarrow.parquet as parquet
import pytest

from mapdp import MAPDP, compare, load
from mapdp.cli import _in_words, job
from mapdp.cli.wording import for_terminal
from tests.test_cli import mapdp, people


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of people, and what a fit of it wrote."""
    place = tmp_path_factory.mktemp("people")
    table = people()
    table["name"] = [f"p{i:03d}" for i in range(len(table))]
    table["weight"] = 1 + np.arange(len(table)) % 3
    table["family"] = np.arange(len(table)) // 2
    table.to_csv(place / "people.csv", index=False)
    roles = ["--label", "truth", "--id", "name", "--ignore", "weight", "--ignore", "family"]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(job, "_SURE_SECONDS", 1000.0)  # chains must not end earlier on a busy machine
        code, said, err = mapdp("fit", place / "people.csv", "--out", place / "out", "--json", *roles)
    assert (code, err) == (0, "")
    (place / "said.json").write_text(said)
    return place


@pytest.fixture(autouse=True)
def without_chains(folder, monkeypatch):
    """Fits need not say how sure the clusters are: that takes most of their time."""
    monkeypatch.setattr(job, "_SURE_ROWS", 0)


def fitted(folder, tmp_path, *options, table="people.csv"):
    """Return what a fit of heights and visits says."""
    aside = [part for name in ("city", "name", "weight", "family", "truth") for part in ("--ignore", name)]
    result = mapdp("fit", folder / table, "--out", tmp_path / "o", "--json", *aside, *options)
    assert result[0] == 0, result
    return json.loads(result[1])


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--process", "mfm"], "process='mfm'"),
        (["--process", "dirichlet"], "alpha='map'"),
        (["--discount", "0.25", "--alpha", "2"], "alpha=2.0.*discount=0.25"),
        (["--expected-clusters", "3"], "expected_clusters=3.0"),
        (["--covariance", "diagonal", "--n-jobs", "2"], "covariance='diagonal'.*n_jobs=2"),
    ],
)
def test_options_reach_the_model(folder, tmp_path, options, code):
    assert re.search(code, fitted(folder, tmp_path, *options)["made_with"]["code"])


def test_rows_of_a_group_stay_together(folder, tmp_path):
    fitted(folder, tmp_path, "--groups", "family")
    labels = pd.read_csv(tmp_path / "o" / "labels.csv")["cluster"].to_numpy()
    assert (labels[::2] == labels[1::2]).all()


def test_weights_count_rows_more_than_once(folder, tmp_path):
    told = fitted(folder, tmp_path, "--weights", "weight")
    weights = pd.read_csv(folder / "people.csv")["weight"].to_numpy()
    labels = pd.read_csv(tmp_path / "o" / "labels.csv")["cluster"].to_numpy()
    assert [c["size"] for c in told["clusters"]] == np.bincount(labels, weights).tolist()
    assert "weights='repeats'" in told["made_with"]["code"]


def test_the_name_of_a_row_stands_beside_its_label(folder):
    labels, table = pd.read_csv(folder / "out" / "labels.csv"), pd.read_csv(folder / "people.csv")
    assert list(labels.columns) == ["name", "cluster", "probability", "novelty"]
    assert (labels["name"] == table["name"]).all()


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_labels_are_appended_to_the_table(folder, tmp_path, ending):
    out, model = tmp_path / f"new.{ending}", folder / "out" / "model.mapdp"
    assert mapdp("predict", model, folder / "people.csv", "--append", "--out", out)[0] == 0
    readers = {
        "csv": pd.read_csv,
        "parquet": pd.read_parquet,
        "jsonl": lambda path: pd.read_json(path, lines=True),
    }
    table = readers[ending](out)
    before = pd.read_csv(folder / "people.csv")
    assert list(table.columns) == [*before.columns, "cluster", "probability", "novelty"]
    assert (table["cluster"] == load(model).predict(before[load(model).feature_names_in_.tolist()])).all()
    again = tmp_path / f"again.{ending}"
    assert mapdp("predict", model, out, "--append", "--out", again)[0] == 0
    assert list(readers[ending](again).columns[-3:]) == [
        "mapdp_cluster",
        "mapdp_probability",
        "mapdp_novelty",
    ]


@pytest.mark.parametrize("command", ["fit", "predict", "report"])
def test_places_for_files_are_checked_before_any_work(folder, tmp_path, monkeypatch, command):
    def never(*arguments, **options):
        raise AssertionError("work has begun")

    monkeypatch.setattr("mapdp.cli.files.read", never)
    (tmp_path / "file").write_text("x")
    (tmp_path / "file.html").mkdir()
    arguments = (
        [folder / "people.csv"]
        if command == "fit"
        else [folder / "out" / "model.mapdp", folder / "people.csv"]
    )
    code, _, err = mapdp(command, *arguments, "--out", tmp_path / "file" / "below")
    assert code == 1
    assert "is a file, not a folder. Hint: --out" in err
    if command != "fit":
        assert "is a folder. Hint: --out" in mapdp(command, *arguments, "--out", tmp_path / "file.html")[2]


def test_json_holds_numbers(folder):
    told = json.loads((folder / "said.json").read_text())
    by_name = {f["name"]: f for f in told["clusters"][0]["features"]}
    labels, table = pd.read_csv(folder / "out" / "labels.csv"), pd.read_csv(folder / "people.csv")
    own = table[labels["cluster"] == 0]
    assert by_name["height"]["here"]["mean"] == pytest.approx(own["height"].mean())
    assert by_name["height"]["here"]["sd"] == pytest.approx(own["height"].std(ddof=0))
    assert by_name["height"]["overall"]["mean"] == pytest.approx(table["height"].mean())
    share = (own["city"] == own["city"].mode()[0]).mean()
    assert by_name["city"]["here"] == {"value": own["city"].mode()[0], "share": pytest.approx(share)}
    described = json.loads(mapdp("describe", folder / "out" / "model.mapdp", "--json")[1])
    assert {f["name"]: f for f in described[0]["features"]}["height"]["here"] == by_name["height"]["here"]
    merged = json.loads(mapdp("tree", folder / "out" / "model.mapdp", "--json")[1])
    assert "±" not in json.dumps([told["clusters"], described, merged], ensure_ascii=False)


def embedded(path):
    """Return what a report holds, but for the command that wrote it."""
    page = path.read_text()
    start = page.index('type="application/json">') + len('type="application/json">')
    told = json.loads(page[start : page.index("</script>", start)])
    del told["made_with"], told["seconds"]
    return told


def test_report_writes_what_fit_writes(folder, tmp_path, monkeypatch):
    monkeypatch.undo()  # chains, too
    monkeypatch.setattr(job, "_SURE_SECONDS", 1000.0)
    out = tmp_path / "again.html"
    model = folder / "out" / "model.mapdp"
    assert mapdp("report", model, folder / "people.csv", "--label", "truth", "--out", out)[0] == 0
    assert embedded(out) == embedded(folder / "out" / "report.html")


def test_compare_says_what_mapdp_compare_says(folder, tmp_path):
    fitted(folder, tmp_path, "--alpha", "1")
    fitted(folder, tmp_path / "other", "--alpha", "9")
    paths = [tmp_path / "o" / "model.mapdp", tmp_path / "other" / "o" / "model.mapdp"]
    models = [load(path) for path in paths]
    rows = pd.read_csv(folder / "people.csv")[models[0].feature_names_in_.tolist()]
    told = json.loads(mapdp("compare", folder / "people.csv", *paths, "--json", "--folds", 2)[1])
    expected = compare(models, rows, n_folds=2, names=[str(path) for path in paths])
    assert told == [vars(one) for one in expected]
    code, _, err = mapdp("compare", folder / "people.csv", paths[0], folder / "out" / "model.mapdp")
    assert code == 1
    assert "were fitted with different columns" in err


def test_one_row_is_one_row(tmp_path):
    (tmp_path / "one.csv").write_text("x,y\n1.5,2.5\n")
    code, said, _ = mapdp("fit", tmp_path / "one.csv", "--out", tmp_path / "o")
    assert code == 0
    assert "1 cluster of 1 row," in said
    assert "cluster 0: 1 row (" in mapdp("describe", tmp_path / "o" / "model.mapdp")[1]


def test_a_file_is_read_as_users_say(tmp_path):
    """Nothing in it says that 1,234 is not a thousand, that 0 is a gap, or that the first line is data."""
    rng = np.random.default_rng(0)
    rows = "".join(f"{rng.integers(1, 9)},{rng.integers(100, 999)}|0|{'äö'[i % 2]}\n" for i in range(30))
    (tmp_path / "odd.txt").write_bytes(("x|y|z\n" + rows).encode("cp437"))
    options = ["--sep", "|", "--decimal", ",", "--encoding", "cp437", "--no-header", "--missing", "0"]
    options += ["--missing", "x", "--missing", "y", "--out", tmp_path / "o", "--json"]
    told = json.loads(mapdp("fit", tmp_path / "odd.txt", *options)[1])
    assert told["n_rows"] == 31
    assert [(c["kind"], c["missing"]) for c in told["columns"]] == [
        ("real", 1),
        ("empty", 31),
        ("category", 0),
    ]
    assert told["clusters"][0]["features"][0]["overall"].get("mean", 0.0) < 10.0
    assert "ä" in str(told["clusters"]) or "ö" in str(told["clusters"])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--columns", "height=number"], "--columns height=KIND: KIND must be one of real, log"),
        (
            ["--columns", "hight=real"],
            "--columns or --ignore names 'hight', but the table has no such column",
        ),
        (["--columns", "city=real"], "the table must hold numbers, got "),
        (["--columns", "height"], "--columns must be NAME=KIND"),
        (["--alpha", "-1"], "--alpha must be positive"),
        (["--alpha", "2", "--process", "mfm"], "give one of --alpha, --process and --expected-clusters"),
        (["--process", "py"], "--process must be one of auto, dirichlet, mfm"),
        (["--discount", "2"], "--discount must be from 0 to below 1"),
        (["--label", "none"], "there is no column 'none' for --label"),
        (["--weights", "city"], "--weights city must hold numbers"),
        (["--sep", "ab"], "--sep must be one character"),
        (["--decimal", "x"], "--decimal must be"),
        (["--encoding", "klingon"], "there is no encoding 'klingon'"),
        (
            ["--columns", "height=weekday"],
            "must hold dates for its weekday, got numbers. Hint: --columns height=",
        ),
        (["--clusters", "9999"], "--clusters"),
    ],
)
def test_trouble_is_said_in_the_language_of_the_command_line(folder, tmp_path, options, says):
    code, _, err = mapdp("fit", folder / "people.csv", "--out", tmp_path / "o", "-q", *options)
    said = for_terminal(err)
    assert code == 1
    assert says in said
    assert not re.search(r"columns=|=\{|\bX\b|NaN|_clusters|n_init|schema_|None", said)


def test_versions_are_printed():
    assert re.fullmatch(r"mapdp \d+\.\d+\.\d+\S*\n", mapdp("--version")[1])


def test_dates_and_weekdays_are_columns(tmp_path):
    rng = np.random.default_rng(0)
    when = pd.date_range("2021-03-01", periods=120, freq="D")
    busy = np.isin(when.day_of_week, (5, 6))
    frame = pd.DataFrame(
        {"when": when.strftime("%d.%m.%Y"), "guests": rng.normal(20 + 60 * busy, 4).round(1)}
    )
    frame.to_csv(tmp_path / "days.csv", index=False, sep=";", decimal=",")
    options = ["--columns", "when=weekday", "--out", tmp_path / "o", "--json"]
    told = json.loads(mapdp("fit", tmp_path / "days.csv", *options)[1])
    assert told["n_clusters"] == 2
    assert [c["note"] for c in told["columns"]] == ["its weekday", ""]
    labels = pd.read_csv(tmp_path / "o" / "labels.csv")["cluster"].to_numpy()
    assert (labels == busy).all()
    said = mapdp("fit", tmp_path / "days.csv", "--out", tmp_path / "p")[1]
    assert re.search(r"when 2021-\d\d-\d\d ± \d+ days", " ".join(said.split()))


def test_ctrl_c_while_the_report_is_drawn_up_keeps_the_partition(folder, tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(job, "_SURE_ROWS", 1000)
    monkeypatch.setattr(MAPDP, "uncertainty", interrupted)
    code, said, err = mapdp("fit", folder / "people.csv", "--out", tmp_path / "o", "-q")
    assert code == 130
    assert "best partition so far" in said + err
    assert len(list((tmp_path / "o").iterdir())) == 3


@pytest.mark.parametrize(
    "moment", ["mapdp.cli.files.read", "mapdp.outputs.saving.to_bytes", "mapdp.data.writing.os.fsync"]
)
def test_ctrl_c_elsewhere_leaves_nothing_behind(folder, tmp_path, monkeypatch, moment):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(moment, interrupted)
    code, said, err = mapdp("fit", folder / "people.csv", "--out", tmp_path / "o", "-q")
    assert (code, said) == (130, "")
    assert "nothing was written" in err
    assert not (tmp_path / "o").exists() or not list((tmp_path / "o").iterdir())


def test_label_columns_are_parquet_types(folder, tmp_path):
    people().to_parquet(tmp_path / "people.parquet", index=False)
    assert mapdp("fit", tmp_path / "people.parquet", "--out", tmp_path / "o", "-q", "--append")[0] == 0
    names = parquet.read_table(tmp_path / "o" / "labels.parquet").column_names
    assert names == ["height", "city", "visits", "truth", "cluster", "probability", "novelty"]
    assert job.label_table(np.array([0]), np.array([[0.9, 0.1]])).column("probability").to_pylist() == [0.9]


@pytest.mark.parametrize(
    ("shape", "sweeps"), [((344, 7, 4), 1000), ((20_000, 14, 30), 91), ((20_000, 500, 60), 50)]
)
def test_how_long_chains_are_follows_from_the_table_and_not_from_the_clock(shape, sweeps):
    """20,000 rows, 14 columns, 30 clusters: 20 s for 4 chains of sweeps of 20,000 * (1 us + 434 * 4 ns)."""
    assert job._sweeps(*shape) == sweeps


def test_trouble_of_the_operating_system_is_a_sentence_without_its_number():
    error = FileNotFoundError(2, "No such file or directory", "/proc/nope")
    assert _in_words(error) == "/proc/nope: No such file or directory."
    assert _in_words(OSError("the disk is full.")) == "the disk is full."
