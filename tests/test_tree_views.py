"""The cluster tree on the command line, in plots and in the report."""

import html
import json
import re
import shutil
import subprocess

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine

from mapdp import MAPDP, DPMeans, load, plots, save
from mapdp.outputs import summary
from tests.test_cli import mapdp as command

mpl.use("agg")


@pytest.fixture(scope="module")
def wine():
    table = load_wine(as_frame=True).data
    return MAPDP(prior="paper", covariance="diagonal", alpha=20.0).fit(table), table


@pytest.fixture(scope="module")
def written(wine, tmp_path_factory):
    """Return a folder with a table, its model in many clusters, and its report."""
    folder = tmp_path_factory.mktemp("wine")
    wine[1].to_csv(folder / "wine.csv", index=False)
    save(wine[0], folder / "model.mapdp")
    assert (
        command("report", folder / "model.mapdp", folder / "wine.csv", "--out", folder / "r.html")[0] == 0
    )
    return folder


def test_the_tree_is_drawn_in_the_terminal(wine, written):
    code, said, _ = command("tree", written / "model.mapdp", "--clusters", 4)
    assert code == 0
    assert said.rstrip() == wine[0].describe_tree().drawn(4)
    plain = json.loads(command("tree", written / "model.mapdp", "--json")[1])
    np.testing.assert_allclose(plain["losses"], wine[0].tree_.losses, rtol=1e-9)
    assert plain["suggested"] == wine[0].tree_.suggested
    assert len(plain["nodes"]) == 2 * wine[0].n_clusters_ - 1


def test_models_without_a_tree_are_named(tmp_path):
    save(DPMeans(n_clusters=2).fit(load_iris().data), tmp_path / "m.mapdp")
    code, _, err = command("tree", tmp_path / "m.mapdp")
    assert code == 1
    assert "holds a DPMeans, which has no tree" in err


def test_fit_cuts_where_it_is_asked_to(written, tmp_path):
    options = ["--alpha", 5, "--covariance", "diagonal", "--json"]
    code, said, _ = command("fit", written / "wine.csv", "--clusters", 2, "--out", tmp_path, *options)
    told = json.loads(said)
    assert code == 0
    assert told["n_clusters"] == 2
    assert any("Merged from" in note for note in told["notes"])
    assert load(tmp_path / "model.mapdp").n_clusters_ == 2
    labels = pd.read_csv(tmp_path / "labels.csv")["cluster"]
    np.testing.assert_array_equal(labels, load(tmp_path / "model.mapdp").labels_)
    page = data_of(tmp_path / "report.html")  # it has all levels, and opens at this one
    assert page["tree"]["level"] == 2 < page["n_clusters"]
    asked = ["--clusters", 99, "--out", tmp_path / "x", *options]
    code, _, err = command("fit", written / "wine.csv", *asked)
    assert code == 1
    assert "n_clusters must be at most" in err
    assert not (tmp_path / "x").exists()


def data_of(page):
    """Return the numbers that a report holds."""
    return json.loads(re.search(r'type="application/json">(.*?)</script>', page.read_text(), re.DOTALL)[1])


CUT = """<script>
  const opened = level.k, seen = {}, slider = document.getElementById("level");
  for (let k = 1; k <= Number(slider.max); k++) {
    slider.value = k;
    slider.dispatchEvent(new Event("input"));
    const count = (what) => document.querySelectorAll(what).length;
    seen[k] = [csv(), location.hash, count(".profile"), count("#sizes rect"), count(".picker button")];
  }
  const out = document.createElement("pre");
  out.id = "seen";
  out.textContent = JSON.stringify([opened, slider.type, seen]);
  document.body.replaceChildren(out);
</script>"""


def test_the_slider_of_a_report_cuts_as_the_model_does(wine, written, tmp_path):
    """Cards, sizes, labels and the page's address follow; an address opens the page at its level."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("Debian's chromium is not installed")
    page = (written / "r.html").read_text().replace("</body>", f"{CUT}</body>")
    (tmp_path / "probed.html").write_text(page)
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    address = (tmp_path / "probed.html").as_uri() + "#clusters=3"
    options = [*flags, f"--user-data-dir={tmp_path / 'profile'}", address]
    dom = subprocess.run([browser, *options], capture_output=True, text=True, timeout=120).stdout
    told = re.search(r'<pre id="seen">(.*?)</pre>', dom, re.DOTALL)[1]
    opened, kind, seen = json.loads(html.unescape(told))
    assert (opened, kind) == (3, "range")  # a range has the keys of the keyboard
    labels = np.array(data_of(written / "r.html")["labels"])
    for k in range(1, wine[0].n_clusters_ + 1):
        rows, address, *counts = seen[str(k)]
        assert rows.splitlines()[0] == "row,cluster"
        found = [int(row.split(",")[1]) for row in rows.splitlines()[1:]]
        np.testing.assert_array_equal(found, wine[0].tree_.numbers(k)[labels])
        assert address == f"#clusters={k}"
        assert counts == [k, k, k]


def test_reports_of_one_cluster_have_no_tree(tmp_path):
    model = MAPDP(alpha=1.0, prior="paper").fit(load_wine().data).cut(n_clusters=1)
    found = summary.summarise(model, summary.view_of(model, load_wine().data, model.labels_))
    assert found.tree is None
    assert found.labels == [0] * 178


def test_the_plot_of_a_tree_names_branches_and_columns(wine):
    model, table = wine
    ax = plots.tree(model, n_clusters=4)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert len(names) == 4
    assert sum(int(name.split(": ")[1].split()[0]) for name in names) == 178
    splits = [text.get_text().split(", ") for text in ax.texts]
    assert len(splits) == 3
    assert {name for split in splits for name in split} <= set(table.columns)
    assert len(plots.tree(model.cut(n_clusters=1)).get_yticklabels()) == 1
