"""Every command from end to end, on real tables and on broken ones."""

import errno
import gzip
import io
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow.feather as feather
import pytest
from typer.testing import CliRunner

from mapdp import MAPDP, DiagonalGaussian, cli, compare, load
from mapdp.cli import app as commands
from mapdp.cli import job, show
from mapdp.cli.formats import TroubleError
from mapdp.data import writing
from mapdp.outputs import summary

RUN = CliRunner()


def mapdp(*arguments, stdin=None):
    """Run a command in this process; return exit code, standard output and standard error."""
    result = RUN.invoke(commands.app, [str(a) for a in arguments], input=stdin)
    error = result.exception
    if isinstance(error, TroubleError | ValueError | OSError):
        return 1, result.stdout, str(error)
    if error is not None and not isinstance(error, SystemExit):
        raise error
    return result.exit_code, result.stdout, _without_waiting(result.stderr)


def _without_waiting(err):
    """Leave out what is printed where a fit takes long: that it compiles, and a line every ten seconds."""
    lines = err.splitlines(keepends=True)
    return "".join(line for line in lines if "compiling for" not in line and not line.startswith("climb "))


def people(n=80, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n)
    table = pd.DataFrame(
        {
            "height": rng.normal(170 + 25 * group, 4).round(2),
            "city": np.array(["Rome", "Oslo", "Bonn"])[group + rng.integers(0, 2, n)],
            "visits": rng.poisson(1 + 4 * group),
            "truth": group,
        }
    )
    table.loc[3, "height"] = np.nan
    return table


WRITERS = {
    "csv": lambda t, path: t.to_csv(path, index=False),
    "tsv": lambda t, path: t.to_csv(path, index=False, sep="\t"),
    "csv.gz": lambda t, path: path.write_bytes(gzip.compress(t.to_csv(index=False).encode())),
    "parquet": lambda t, path: t.to_parquet(path, index=False),
    "arrow": lambda t, path: feather.write_feather(t, str(path)),
}


@pytest.fixture(autouse=True)
def short_chains(monkeypatch):
    """How sure clusters are takes most of a fit's time; test_cli_options.py has a fit that takes it all."""
    monkeypatch.setattr(job, "_SURE_WORK", 0.0)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "people.csv"
    people().to_csv(path, index=False)
    return path


@pytest.mark.parametrize("ending", WRITERS)
def test_fit_reads_every_format_and_writes_labels_in_it(ending, tmp_path):
    path, out = tmp_path / f"people.{ending}", tmp_path / "out"
    WRITERS[ending](people(), path)
    code, said, err = mapdp("fit", path, "--label", "truth", "--out", out)
    assert (code, err) == (0, "")
    assert "2 clusters" in said
    assert "NMI" in said
    kind = ending.removesuffix(".gz")
    readers = {"csv": pd.read_csv, "parquet": pd.read_parquet, "arrow": pd.read_feather}
    labels = readers.get(kind, lambda p: pd.read_csv(p, sep="\t"))(out / f"labels.{kind}")
    assert list(labels.columns) == ["cluster", "probability", "novelty"]
    assert pd.crosstab(labels["cluster"], people()["truth"]).max(axis=1).sum() >= 78
    assert sorted(p.name for p in out.iterdir()) == [f"labels.{kind}", "model.mapdp", "report.html"]


def test_all_commands_work_together(table, tmp_path):
    out = tmp_path / "out"
    assert mapdp("fit", table, "--ignore", "truth", "--out", out, "--quiet") == (0, "", "")
    model = out / "model.mapdp"
    code, said, _ = mapdp("predict", model, table)
    assert code == 0
    predicted = pd.read_csv(io.StringIO(said))
    fitted = pd.read_csv(out / "labels.csv")
    assert (predicted["cluster"] == fitted["cluster"]).mean() > 0.95
    assert mapdp("predict", model, table, "--out", tmp_path / "new.parquet")[0] == 0
    assert len(pd.read_parquet(tmp_path / "new.parquet")) == 80
    assert "cluster 0" in mapdp("describe", model)[1]
    assert json.loads(mapdp("describe", model, "--json")[1])[0]["number"] == 0
    assert mapdp("report", model, table, "--out", tmp_path / "r.html")[0] == 0
    assert "<svg" not in (tmp_path / "r.html").read_text()  # it is drawn when it is opened
    code, said, _ = mapdp("compare", table, model, model)
    assert code == 0
    assert said.count("model.mapdp") == 2
    rows = pd.read_csv(table)
    again = load(model)
    expected = compare([again, again], rows)
    assert f"{expected[0].held_out:10.4f}" in said  # what mapdp.compare says of the same models


def test_rows_without_a_class_do_not_count_in_the_agreement(tmp_path):
    table = people()
    table["truth"] = table["truth"].astype(object)
    table.loc[:19, "truth"] = None
    agreement = summary.scores(table["truth"].to_numpy(), np.arange(80) % 2)
    rest = summary.scores(table["truth"].to_numpy()[20:], np.arange(20, 80) % 2)
    assert agreement == rest
    assert agreement["classes"] == table["truth"].nunique()


def test_json_is_all_that_is_printed(table, tmp_path):
    code, said, err = mapdp(
        "fit", table, "--label", "truth", "--out", tmp_path / "o", "--json", "--seed", 1
    )
    assert (code, err) == (0, "")
    told = json.loads(said)
    assert told["n_clusters"] == 2
    assert told["scored"]["nmi"] > 0.8
    assert [pathlib.Path(f).name for f in told["files"]] == ["labels.csv", "model.mapdp", "report.html"]


def test_columns_alpha_and_starts_are_passed_on(table, tmp_path):
    arguments = ["--columns", "visits=real", "--alpha", "0.5", "--n-init", "3", "--ignore", "truth"]
    told = json.loads(mapdp("fit", table, "--out", tmp_path / "o", "--json", *arguments)[1])
    assert {c["name"]: c["kind"] for c in told["columns"]}["visits"] == "real"
    assert told["alpha"] == 0.5
    assert len(told["starts"]) == 3


def test_nothing_is_overwritten_without_force(table, tmp_path):
    out = tmp_path / "out"
    assert mapdp("fit", table, "--out", out, "-q")[0] == 0
    before = (out / "labels.csv").stat().st_mtime_ns
    code, _, err = mapdp("fit", table, "--out", out, "-q")
    assert code == 1
    assert "is there already" in err
    assert (out / "labels.csv").stat().st_mtime_ns == before
    assert mapdp("fit", table, "--out", out, "-q", "--force")[0] == 0


def full_after(monkeypatch, n_bytes):
    """Let the disk have room for so many bytes."""
    left = [n_bytes]
    opened = os.fdopen

    def limited(handle, mode):
        file = opened(handle, mode)

        class Limited:
            def __enter__(self):
                return self

            def __exit__(self, *problem):
                file.close()

            def write(self, content):
                file.write(content[: max(left[0], 0)])
                left[0] -= len(content)
                if left[0] < 0:
                    raise OSError(errno.ENOSPC, "No space left on device")

            def flush(self):
                file.flush()

        return Limited()

    monkeypatch.setattr(writing.os, "fdopen", limited)


@pytest.mark.parametrize("room", [100, 5_000, 20_000])
def test_on_a_full_disk_there_are_all_files_of_a_fit_or_none(room, table, tmp_path, monkeypatch):
    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        full_after(patched, room)
        code, _, err = mapdp("fit", table, "--out", out, "-q")
    assert code == 1
    assert "No space left" in err
    assert not list(out.iterdir())


@pytest.mark.parametrize("room", [100, 5_000, 20_000])
def test_on_a_full_disk_force_leaves_the_files_of_the_first_fit(room, table, tmp_path, monkeypatch):
    out = tmp_path / "out"
    assert mapdp("fit", table, "--out", out, "-q")[0] == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with monkeypatch.context() as patched:
        full_after(patched, room)
        assert mapdp("fit", table, "--out", out, "-q", "--force", "--ignore", "city")[0] == 1
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_a_folder_in_the_place_of_a_file_stops_all_files(table, tmp_path):
    out = tmp_path / "out"
    (out / "report.html").mkdir(parents=True)
    code, _, err = mapdp("fit", table, "--out", out, "-q", "--force")
    assert code == 1
    assert "is a folder" in err
    assert [path.name for path in out.iterdir()] == ["report.html"]


def test_files_have_the_rights_that_the_user_asks_for(table, tmp_path):
    before = os.umask(0o027)
    try:
        mapdp("fit", table, "--out", tmp_path / "out", "-q")
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").iterdir()} == {0o640}


BROKEN = {
    "empty": (b"", "is empty"),
    "header only": (b"a,b\n", "holds no rows"),
    "ragged": (b"a,b\n1,2\n3\n4,5\n", "has 2 columns, but a line has 1 field: '3'"),
    "double names": (b"a,a\n1,2\n3,4\n", "two columns called 'a'"),
    "nothing in it": (b"a,b\n,\n,\n,\n", "no column is left"),
    "slip": (
        b"a,b\n" + b"".join(b"%d.5,%d\n" % (i, i * i) for i in range(30)) + b"oops,3\n",
        "got 'oops' in row 30",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_tables_get_one_clear_sentence(name, tmp_path):
    content, says = BROKEN[name]
    path = tmp_path / "broken.csv"
    path.write_bytes(content)
    code, said, err = mapdp("fit", path, "--out", tmp_path / "out", "--quiet")
    assert (code, said) == (1, "")
    assert says in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_odd_tables_are_read(tmp_path):
    """Latin-1, one column, a column without values, semicolons, ten thousand columns."""
    rng = np.random.default_rng(0)
    latin = "name;x\n" + "".join(
        f"{'Köln' if i % 2 else 'Bonn'};{i % 2 * 9 + rng.normal():.3f}\n" for i in range(40)
    )
    wide = pd.DataFrame(rng.normal(size=(6, 10_000))).to_csv(index=False)
    odd = {
        "latin": latin.encode("latin-1"),
        "one": "x\n" + "\n".join(f"{v:.4f}" for v in rng.normal(size=30)),
        "hole": "x,y\n" + "\n".join(f"{v:.4f}," for v in rng.normal(size=30)),
        "wide": wide,
    }
    for name, content in odd.items():
        path = tmp_path / f"{name}.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        code, said, err = mapdp("fit", path, "--out", tmp_path / name, "--json")
        assert (code, err) == (0, ""), name
        told = json.loads(said)
        if name == "latin":
            assert "cp1252" in told["notes"][0]
            assert "Köln" in json.dumps(told["clusters"], ensure_ascii=False)
        if name == "hole":
            assert told["columns"][1]["kind"] == "empty"


def test_standard_input_is_a_table(tmp_path):
    text = people().to_csv(index=False)
    code, _, err = mapdp("fit", "-", "--out", tmp_path / "o", "-q", stdin=text)
    assert (code, err) == (0, "")
    assert len(pd.read_csv(tmp_path / "o" / "labels.csv")) == 80


def test_a_table_that_does_not_fit_the_model_is_refused(table, tmp_path):
    mapdp("fit", table, "--out", tmp_path / "o", "-q")
    other = tmp_path / "other.csv"
    people().rename(columns={"city": "town"}).to_csv(other, index=False)
    code, _, err = mapdp("predict", tmp_path / "o" / "model.mapdp", other)
    assert code == 1
    assert "has no column 'city'" in err
    code, _, err = mapdp("predict", other, table)
    assert "not a mapdp model" in err
    assert "no model" in mapdp("describe", tmp_path / "none")[2]


def test_help_shows_examples_and_wrong_use_is_exit_2():
    assert "mapdp fit penguins.csv" in mapdp("fit", "--help")[1]
    assert mapdp("fit")[0] == 2
    assert mapdp("nonsense")[0] == 2


def test_demo_clusters_the_wines(tmp_path):
    code, said, _ = mapdp("demo", "--out", tmp_path / "d")
    assert code == 0
    assert "clusters" in said
    assert (tmp_path / "d" / "report.html").is_file()


def test_bench_prints_both(tmp_path):
    code, said, _ = mapdp("bench", "--rows", 2000)
    assert code == 0
    assert "K-means, given 20" in said


def test_reproduce_says_where_the_experiments_are(monkeypatch):
    monkeypatch.setitem(sys.modules, "experiments.map_dpm_2014", None)
    code, _, err = mapdp("reproduce", "crp")
    assert code == 1
    assert "checkout" in err


def test_a_missing_extra_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "mapdp.cli.app")
    with pytest.raises(SystemExit, match="typer is missing"):
        cli.main()


def test_trouble_is_exit_1_on_standard_error(tmp_path):
    command = [sys.executable, "-m", "mapdp", "fit", str(tmp_path / "none.csv")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("mapdp: there is no file")


def test_an_interrupt_leaves_the_best_partition_so_far(tmp_path, monkeypatch):
    """Ctrl-C after the first step: files are written, the exit code says so."""
    path = tmp_path / "big.csv"
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.normal(size=(3000, 4)) + 5 * rng.integers(0, 4, (3000, 1))).to_csv(path, index=False)
    step = show.ProgressLine.step

    def interrupted(self, one):
        step(self, one)
        if one.move == "start":
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(show.ProgressLine, "step", interrupted)
    code, said, err = mapdp("fit", path, "--out", tmp_path / "o")
    assert code == 130
    assert "best partition so far" in said + err
    assert len(pd.read_csv(tmp_path / "o" / "labels.csv")) == 3000


PROBE = """
<script>
window.problems = [];
window.onerror = (message) => window.problems.push(message);
console.error = (message) => window.problems.push(message);
window.addEventListener("load", () => {
  const faded = () => document.querySelectorAll(".faded").length;
  const before = faded();
  document.querySelector(".picker button").click();
  const views = ["map", "profiles", "sizes"].map((id) => document.querySelectorAll(`#${id} .faded`).length);
  const wide = document.documentElement.scrollWidth - innerWidth;
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
  const told = { problems: window.problems, before, views, after: faded(), wide,
    requests: performance.getEntriesByType("resource").map((entry) => entry.name) };
  const note = document.createElement("pre");
  note.id = "probe";
  note.textContent = JSON.stringify(told);
  document.body.append(note);
});
</script>
"""


@pytest.mark.parametrize("width", [1280, 400])
def test_the_report_works_in_a_browser(width, table, tmp_path):
    """No error, no request, no sideways scrolling; selecting a cluster changes the other views."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("Debian's chromium is not installed")
    mapdp("fit", table, "--label", "truth", "--out", tmp_path / "o", "-q")
    page = (tmp_path / "o" / "report.html").read_text()
    assert "http://" not in page
    assert "https://" not in page
    probed = tmp_path / "probed.html"
    probed.write_text(page.replace("<head>", "<head>" + PROBE))
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},900", "--dump-dom"]
    folder = f"--user-data-dir={tmp_path / 'profile'}"
    seen = subprocess.run(
        [browser, *flags, folder, probed.as_uri()], capture_output=True, text=True, timeout=120
    )
    start = seen.stdout.index('<pre id="probe">') + len('<pre id="probe">')
    told = json.loads(seen.stdout[start : seen.stdout.index("</pre>", start)].replace("&amp;", "&"))
    assert told["problems"] == []
    assert told["requests"] == []
    assert told["before"] == told["after"] == 0
    assert min(told["views"]) > 0
    assert told["wide"] <= 0


def test_a_report_of_many_rows_and_columns_stays_small(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "wide.csv"
    X = rng.normal(size=(6000, 60)) + 6.0 * rng.integers(0, 2, (6000, 1))
    pd.DataFrame(X.round(3)).to_csv(path, index=False)
    assert mapdp("fit", path, "--out", tmp_path / "o", "-q")[0] == 0
    page = (tmp_path / "o" / "report.html").read_text()
    assert "4,000 of 6,000 rows" in page
    assert len(page) < 600_000


def test_a_row_far_from_everything_still_has_a_nearest_cluster():
    """All chances but that of something new are 0 there: the scores decide."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0.0, 1.0, size=(200, 1)), rng.normal(50.0, 1.0, size=(100, 1))])
    model = MAPDP(1.0, family=DiagonalGaussian([0.0], 0.01, 1.0, [1.0])).fit(X)
    view = summary.view_of(model, np.array([[1e9], [50.0]]))
    assert (view.probabilities[0, :-1] == 0.0).all()
    assert view.labels.tolist() == [1, 1]  # the smaller cluster has the longer tail
