# ruff: noqa: E501  (sentences as they are said)
"""Groups and sequences from the command line: files, models, reports, and what is refused."""

import io
import itertools
import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mapdp import MAPHMM, Gaussian, load
from mapdp.cli.wording import for_terminal
from tests.test_cli import mapdp
from tests.test_cli_options import embedded

SHARES = {"north": 0.9, "south": 0.2, "west": 0.5}


def islands(n=40, seed=0):
    """Return rows of two clusters, in proportions that differ between islands."""
    rng = np.random.default_rng(seed)
    island = np.repeat(list(SHARES), n)
    second = rng.random(3 * n) < np.repeat(list(SHARES.values()), n)
    X = (rng.normal(size=(3 * n, 2)) + 8.0 * second[:, None]).round(3)
    table = pd.DataFrame({"island": island, "x": X[:, 0], "y": X[:, 1], "truth": second.astype(int)})
    table.loc[3, "y"] = np.nan
    return table


def readings(seed=0):
    """Return two machines whose readings jump between two levels."""
    rng = np.random.default_rng(seed)
    states = np.repeat([0, 1, 0, 1, 0], [30, 20, 40, 30, 40])
    level = (6.0 * states + rng.normal(size=160)).round(3)
    return pd.DataFrame({"machine": np.repeat([7, 11], [90, 70]), "level": level, "truth": states})


OPTIONS = {
    "hierarchical": ("--groups", "island", "--label", "truth"),
    "nested": ("--groups", "island", "--ignore", "truth"),
    "sequence": ("--sequence-id", "machine", "--label", "truth"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with two tables, and what `mapdp fit` makes of them with each model."""
    folder = tmp_path_factory.mktemp("structured")
    islands().to_csv(folder / "islands.csv", index=False)
    readings().to_csv(folder / "readings.csv", index=False)
    for model, options in OPTIONS.items():
        out = folder / model
        code, said, err = mapdp("fit", table_of(folder, model), "--model", model, *options, "--out", out)
        assert (code, err) == (0, "")
        (out / "said.txt").write_text(said)
    return folder


def table_of(folder, model):
    return folder / ("readings.csv" if model == "sequence" else "islands.csv")


over_models = pytest.mark.parametrize("model", OPTIONS)


@over_models
def test_fit_writes_labels_a_model_and_a_report(folder, model):
    out, rows = folder / model, pd.read_csv(table_of(folder, model))
    labels, fitted = pd.read_csv(out / "labels.csv"), load(out / "model.mapdp")
    np.testing.assert_array_equal(labels["cluster"], fitted.labels_)
    where = {"lengths": [90, 70]} if model == "sequence" else {"groups": rows["island"]}
    features = rows[list(fitted.feature_names_in_)]
    chances = fitted.predict_proba(features, **where)
    assert_allclose(labels["novelty"], chances[:, -1], atol=1e-6)
    assert_allclose(labels["probability"], chances[np.arange(len(rows)), fitted.labels_], atol=1e-6)
    if model == "nested":
        groups = dict(zip(fitted.groups_, fitted.group_labels_, strict=True))
        assert labels["group_cluster"].tolist() == [groups[name] for name in rows["island"]]
    else:
        assert pd.crosstab(labels["cluster"], rows["truth"]).max(axis=1).sum() == len(rows)
        assert "NMI 1.00" in (out / "said.txt").read_text()


def test_the_terminal_shows_groups_clusters_of_groups_and_states(folder):
    said = {model: (folder / model / "said.txt").read_text() for model in OPTIONS}
    shares = load(folder / "hierarchical" / "model.mapdp").proportions_
    line = next(line for line in said["hierarchical"].splitlines() if line.startswith("south"))
    assert f"cluster {shares[1].argmax()} {shares[1].max():.0%}" in line
    assert "cluster of groups" in said["nested"]
    durations = load(folder / "sequence" / "model.mapdp").durations_
    assert f"{durations[1]:.3g} rows" in said["sequence"]


@over_models
def test_predict_takes_the_same_columns_as_fit(folder, model):
    path, fitted = folder / model / "model.mapdp", load(folder / model / "model.mapdp")
    rows = pd.read_csv(table_of(folder, model))
    code, said, _ = mapdp("predict", path, table_of(folder, model), *OPTIONS[model][:2])
    assert code == 0
    where = {"lengths": [90, 70]} if model == "sequence" else {"groups": rows["island"]}
    expected = fitted.predict(rows[list(fitted.feature_names_in_)], **where)
    np.testing.assert_array_equal(pd.read_csv(io.StringIO(said))["cluster"], expected)


def test_groups_are_known_again_in_a_file_of_another_format(folder, tmp_path):
    """Years are words in a text file, and numbers in Parquet."""
    table = islands().assign(island=np.repeat([2007, 2008, 2009], 40))
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet", index=False)
    options = ("--model", "hierarchical", "--groups", "island", "--ignore", "truth", "--quiet")
    assert mapdp("fit", tmp_path / "t.csv", *options, "--out", tmp_path / "o") == (0, "", "")
    path = tmp_path / "o" / "model.mapdp"
    asked = [
        mapdp("predict", path, tmp_path / f"t.{kind}", "--groups", "island")[1]
        for kind in ("csv", "parquet")
    ]
    assert asked[0] == asked[1]
    assert load(path).groups_.tolist() == ["2007", "2008", "2009"]


@over_models
def test_report_writes_what_fit_writes(folder, model, tmp_path):
    column, name = OPTIONS[model][:2]
    label = ("--label", "truth") if model != "nested" else ()
    again = tmp_path / "again.html"
    path = folder / model / "model.mapdp"
    assert mapdp("report", path, table_of(folder, model), column, name, *label, "--out", again)[0] == 0
    assert embedded(again) == embedded(folder / model / "report.html")


def test_a_report_of_another_table_counts_its_rows(folder, tmp_path):
    other, out = tmp_path / "other.csv", tmp_path / "r.html"
    pd.concat([islands(10, seed=1), islands(5, seed=2).assign(island="east")]).to_csv(other, index=False)
    assert (
        mapdp("report", folder / "hierarchical" / "model.mapdp", other, "--groups", "island", "--out", out)[
            0
        ]
        == 0
    )
    groups = embedded(out)["structure"]["groups"]
    assert [(one["name"], one["rows"]) for one in groups] == [("north", 10), ("south", 10), ("west", 10)]


def test_json_has_groups_transitions_and_series(folder, tmp_path):
    out = tmp_path / "o"
    said = mapdp(
        "fit",
        folder / "readings.csv",
        "--model",
        "sequence",
        "--ignore",
        "truth",
        "--sequence-id",
        "machine",
        "--json",
        "--out",
        out,
    )[1]
    found, model = json.loads(said)["structure"], load(out / "model.mapdp")
    assert found["kind"] == "sequence"
    assert found["begins"] == [90]
    assert found["states"] == model.labels_.tolist()
    assert_allclose(found["transition"], model.transition_, atol=1e-5)
    assert_allclose(found["start"], model.start_, atol=1e-5)
    runs = [
        list(run) for part in (model.labels_[:90], model.labels_[90:]) for _, run in itertools.groupby(part)
    ]
    assert_allclose(found["durations"][0], np.mean([len(run) for run in runs if run[0] == 0]), atol=1e-3)
    assert_allclose(found["series"][0]["values"], readings()["level"], rtol=1e-4)


BACK = np.flatnonzero(np.diff(islands()["truth"]))[1] + 1  # the row where the first name is there again

REFUSED = [
    (("--model", "deep"), "--model must be one of flat, hierarchical, nested, sequence, got 'deep'."),
    (("--model", "nested"), "--model nested needs groups. Hint: --groups names the column they are in."),
    (("--sequence-id", "island"), "--sequence-id does not go with --model flat. Hint: --model sequence has sequences."),
    (("--model", "sequence", "--groups", "island"), "--groups does not go with --model sequence. Hint: --sequence-id names the column that tells sequences apart."),
    (("--model", "sequence", "--alpha", "2"), "--alpha does not go with --model sequence. Hint: alpha, gamma and stickiness are learned together."),
    (("--model", "nested", "--groups", "island", "--weights", "x"), "--weights does not go with --model nested. Hint: --model flat has it."),
    (("--model", "hierarchical", "--groups", "island", "--clusters", "2"), "--clusters does not go with --model hierarchical. Hint: --model flat has it."),
    (("--model", "hierarchical", "--groups", "island", "--memory", "1GB"), "--memory does not go with --model hierarchical. Hint: --model flat has it."),
    (("--model", "hierarchical", "--groups", "archipelago"), "there is no column 'archipelago' for --groups. Hint: island, x, y, truth."),
    (("--model", "sequence", "--sequence-id", "truth"), f"--sequence-id: the name of row {BACK} is '1' again, after other sequences. Hint: rows of a sequence must follow each other, so sort the table."),
    (("--model", "sequence", "--sequence-id", "y"), "--sequence-id: the name of row 3 is missing. Hint: rows of a sequence must follow each other, so sort the table."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "sentence"), REFUSED, ids=lambda one: " ".join(one) if isinstance(one, tuple) else ""
)
def test_options_that_do_not_go_together_are_refused(folder, options, sentence, tmp_path):
    assert mapdp("fit", folder / "islands.csv", *options, "--out", tmp_path / "o") == (1, "", sentence)
    assert not (tmp_path / "o").exists()


def test_a_folder_is_refused_for_groups(folder):
    code, _, err = mapdp("fit", folder, "--model", "nested", "--groups", "island")
    assert (code, err) == (1, "--model nested needs a table in memory, got a folder. Hint: name one file.")


def test_models_say_what_they_need_and_what_they_have_no_use_for(folder):
    grouped, sequence = folder / "nested" / "model.mapdp", folder / "sequence" / "model.mapdp"
    said = [
        mapdp("predict", grouped, folder / "islands.csv"),
        mapdp("predict", sequence, folder / "readings.csv", "--groups", "machine"),
        mapdp("report", grouped, folder / "islands.csv", "--sequence-id", "island"),
        mapdp("compare", folder / "readings.csv", sequence, sequence),
        mapdp("tree", sequence),
    ]
    assert all(code == 1 for code, _, _ in said)
    sentences = [err.replace(str(folder) + "/", "") for _, _, err in said]
    assert sentences[:3] == [
        "nested/model.mapdp was fitted to groups. Hint: --groups names the column they are in.",
        "--groups does not go with sequence/model.mapdp, which holds a MAPHMM.",
        "--sequence-id does not go with nested/model.mapdp, which holds a NestedMAPDP.",
    ]
    assert all("MAPHMM" in sentence and sentence.count("Hint") <= 1 for sentence in sentences[3:])
    with pytest.raises(TypeError, match=r"must be a fitted MAPDP, got MAPHMM"):
        mapdp("export", sequence, "--c", folder / "c")


def test_missing_groups_and_wrong_numbers_are_said_in_the_language_of_the_terminal(folder, tmp_path):
    table = islands()
    table.loc[5, "island"] = None
    table.to_csv(tmp_path / "gap.csv", index=False)
    for options, words in (
        (("--groups", "island"), "--groups must not be missing, got None in row 5."),
        (("--groups", "x", "--alpha", "-1"), "--alpha must be positive and finite, got -1.0."),
        (("--groups", "x", "--alpha", "nll"), "--alpha must be a positive number or"),
    ):
        code, _, err = mapdp("fit", tmp_path / "gap.csv", "--model", "nested", *options)
        assert code == 1
        assert for_terminal(err).startswith(words)


def test_hints_name_options(rng):
    """Sentences of the structured models that name parameters which the command line does not have."""
    X = np.where(rng.random((60, 2)) < 0.5, np.nan, rng.normal(size=(60, 2)))
    with pytest.raises(ValueError, match="must have no gaps") as refused:
        MAPHMM(family=Gaussian.empirical(np.zeros((2, 2)) + np.eye(2))).fit(X)
    assert for_terminal(str(refused.value)).endswith("correlated. Hint: leave out --covariance.")
    warned = for_terminal("rows still moved after max_iter=9 sweeps. Hint: raise max_iter.")
    assert warned == "rows still moved after 9 sweeps. Hint: --n-init 1 is faster."
