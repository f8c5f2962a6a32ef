# ruff: noqa: E501  (scripts for the browser)
"""The report: its numbers against plain counts, and the page in a browser."""

import html
import json
import os
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from mapdp import MAPDP
from mapdp.data.wording import counted
from mapdp.outputs import report, summary
from tests.test_cli import people


@pytest.fixture(scope="module")
def fitted():
    """A table with gaps, a model of it, and what there is to say about both."""
    table = people(120).assign(when=pd.date_range("2021-03-01", periods=120, freq="D"))
    table.loc[5:20, "city"] = None
    label = np.array(["small", "tall"], dtype=object)[table.pop("truth").to_numpy()]
    label[:4] = None
    model = MAPDP().fit(table)
    view = summary.view_of(model, table, model.labels_)
    return table, label, model, summary.summarise(model, view, title="people.csv", label=label)


def test_bars_count_the_rows_of_each_cluster(fitted):
    table, _, model, found = fitted
    assert {d["name"] for d in found.distributions} == set(table.columns)
    for d in found.distributions:
        counts, cells = np.array(d["counts"]), table[d["name"]]
        assert counts.sum(axis=1).tolist() == [
            cells[model.labels_ == k].notna().sum() for k in range(len(counts))
        ]
        if d["name"] == "city":
            expected = [
                [((cells == city) & (model.labels_ == k)).sum() for city in d["bins"]]
                for k in range(len(counts))
            ]
            assert counts.tolist() == expected
        if d["name"] == "visits":
            assert [int(word) for word in d["bins"]] == sorted(cells.unique())
            assert counts.sum(axis=0).tolist() == cells.value_counts().sort_index().tolist()
        if d["name"] == "height":
            ends = [float(word.split(" to ")[0]) for word in d["bins"]]
            lower = ((cells < ends[10]) & (model.labels_ == 0)).sum()
            assert abs(counts[0, :10].sum() - lower) <= 1  # ends are shown with three digits


def test_dates_are_shown_as_dates(fitted):
    bins = next(d["bins"] for d in fitted[3].distributions if d["name"] == "when")
    assert bins[0].startswith("2021-03-01 ")
    assert "2021-" in next(f["here"] for f in fitted[3].clusters[0]["features"] if f["name"] == "when")


def test_classes_and_gaps_are_counted(fitted):
    table, label, model, found = fitted
    expected = pd.crosstab(model.labels_[4:], label[4:])[found.classes["names"]]
    assert found.classes["counts"] == expected.to_numpy().tolist()
    assert {g["name"]: g["counts"] for g in found.gaps} == {
        name: [int(table[name][model.labels_ == k].isna().sum()) for k in range(model.n_clusters_)]
        for name in ("height", "city")
    }


def test_many_classes_share_a_column(fitted):
    _, _, model, _ = fitted
    label = np.array([f"c{i % 40:02d}" for i in range(120)], dtype=object)
    table = summary.counts.classes(label, model.labels_, model.n_clusters_)
    assert len(table["names"]) == 13
    assert table["names"][-1] == "28 others"
    assert np.sum(table["counts"]) == 120


def test_an_odd_row_is_listed_with_what_is_odd_about_it():
    table = people(120).drop(columns="truth")
    table.loc[7, ["height", "visits"]] = [260.0, 2]
    table.loc[7, "city"] = "Rome"
    model = MAPDP(alpha=0.1).fit(table)
    view = summary.view_of(model, table, model.labels_)
    odd = next(one for one in summary.summarise(model, view).novel if one["row"] == 7)
    assert odd["reasons"][0]["name"] == "height"
    assert odd["reasons"][0]["value"] == "260"
    assert ["city", "Rome"] in odd["values"]
    others = (model.labels_ == model.labels_[7]) & (np.arange(120) != 7)
    if others.sum() > 5:
        seen = table["height"][others].dropna()
        nats = 0.5 * ((260.0 - seen.mean()) / seen.std(ddof=0)) ** 2
        assert odd["reasons"][0]["nats"] == pytest.approx(nats, abs=0.01)


def test_k_means_is_told_our_number_of_clusters():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0.0, 1.0, (60, 2)), rng.normal([9.0, 0.0], 3.0, (40, 2))])
    model = MAPDP(alpha=1.0).fit(X)
    truth = np.repeat(["a", "b"], [60, 40]).astype(object)
    found = summary.summarise(model, summary.view_of(model, X, model.labels_), label=truth)
    theirs = KMeans(model.n_clusters_, n_init=3, random_state=0).fit((X - X.mean(0)) / X.std(0)).labels_
    assert found.baseline["agreement"] == pytest.approx(adjusted_rand_score(theirs, model.labels_))
    assert found.baseline["theirs"] == pytest.approx(adjusted_rand_score(truth, theirs))
    assert found.baseline["ours"] == pytest.approx(adjusted_rand_score(truth, model.labels_))


def test_zeros_are_zero_and_rows_are_counted_to_the_last():
    """A cluster of zeros in a column whose logarithm is used, as capital gains are."""
    rng = np.random.default_rng(0)
    gain = np.where(rng.random(400) < 0.7, 0.0, rng.lognormal(8.0, 1.0, 400).round(2))
    table = pd.DataFrame({"gain": gain, "x": rng.normal(20.0 * (gain > 0), 1.0)})
    model = MAPDP(columns={"gain": "log"}).fit(table)
    here = [f.here for c in model.describe() for f in c.features if f.name == "gain"]
    assert "0" in here
    assert not any("e-" in one for one in here)
    view = summary.view_of(model, table, model.labels_)
    bins = next(d["bins"] for d in summary.summarise(model, view).distributions if d["name"] == "gain")
    assert bins[0].startswith("0 to ")
    assert counted(40808.0, "row") == "40,808 rows"


WRITTEN_DOWN = """
  told.problems = window.problems;
  const note = document.createElement("pre");
  note.id = "probe";
  note.textContent = JSON.stringify(told);
  document.body.append(note);
});
</script>
"""

PROBE = (
    """
<script>
window.problems = [];
window.onerror = (message) => window.problems.push(message);
window.addEventListener("load", () => {
  const told = {}, click = (node) => node.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  const rows = () => [...document.querySelectorAll("#clusters tbody tr")];
  const type = (box, text) => { box.value = text; box.dispatchEvent(new Event("input")); };
  const [, , width, height] = document.querySelector("#map svg").getAttribute("viewBox").split(" ").map(Number);
  const ends = [...document.querySelectorAll("#map .ring")].flatMap((ring) => ring.getAttribute("points").split(/[ ,]/).map(Number));
  told.ringsInside = ends.length > 0 && ends.every((v, i) => v >= 0 && v <= (i % 2 ? height : width));
  told.histograms = document.querySelectorAll("#profiles .histogram").length;
  told.sizes = rows().map((row) => row.cells[2].textContent);
  const heading = (name) => [...document.querySelectorAll("#clusters .sort")].find((one) => one.textContent.startsWith(name));
  click(heading("rows")); click(heading("rows"));
  told.ascending = rows().map((row) => row.cells[2].textContent);
  told.ariaSort = heading("rows").closest("th").getAttribute("aria-sort");
  click(heading("cluster"));
  type(rows()[0].querySelector("input"), 'big, "tall" ones');
  told.picker = document.querySelector(".picker button").textContent;
  told.card = document.querySelector(".profile h3").textContent;
  told.csv = csv().split("\\n").slice(0, 2);
  told.kept = Object.values(localStorage).join();
  offer = (content) => { told.saved = content; };
  savePage();
  told.saved = JSON.parse(/<script id="names"[^>]*>(.*?)<\\/script>/.exec(told.saved)[1]);
  type(document.querySelector("#search"), "tall");
  told.found = rows().length;
  type(document.querySelector("#search"), "");
  told.hidden = ["classes", "gaps", "baseline"].filter((id) => document.getElementById(id + "-section").hidden);
  told.unnamed = [...document.querySelectorAll("button, input, [role=region], svg")].filter((node) => !(node.textContent.trim() || node.getAttribute("aria-label") || (node.labels || []).length)).map((node) => node.outerHTML.slice(0, 100));
  told.brokenHeadings = [...document.querySelectorAll("th")].filter((node) => !node.textContent.includes(" ") && node.offsetHeight > 45).map((node) => node.textContent);
  told.axes = [...document.querySelectorAll("#map svg > text")].map((node) => node.getComputedTextLength());
  told.searched = document.getElementById("trace").textContent.length > 0 && document.getElementById("trace-hint").textContent;
  told.wide = document.documentElement.scrollWidth - innerWidth;
"""
    + WRITTEN_DOWN
)


def in_browser(page, tmp_path, *flags, width=1280):
    """Return what a probe in the page wrote down."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("Debian's chromium is not installed")
    path = tmp_path / "probed.html"
    path.write_text(page)
    fixed = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=30000", "--dump-dom"]
    folder, size = f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={width},900"
    command = [browser, *fixed, folder, size, *flags, path.as_uri()]
    seen = subprocess.run(command, capture_output=True, text=True, timeout=180).stdout
    start = seen.index('<pre id="probe">') + len('<pre id="probe">')
    return json.loads(html.unescape(seen[start : seen.index("</pre>", start)]))


@pytest.mark.parametrize("width", [1300, 390])
def test_clusters_are_named_searched_and_sorted_in_the_page(fitted, tmp_path, width):
    found = fitted[3]
    page = report.to_html(found)
    page = re.sub(r'("sizes": \[)[\d.]+', r"\g<1>40808", page)  # of the largest cluster
    page = re.sub(r'("axes": \[")', r"\g<1>+ " + 40 * "long_", page)
    told = in_browser(page.replace("<head>", "<head>" + PROBE), tmp_path, width=width)
    assert told["problems"] == []
    assert told["unnamed"] == []
    assert told["wide"] <= 0
    assert told["brokenHeadings"] == []
    assert max(told["axes"]) < width
    assert told["searched"].startswith("Log joint after each sweep")
    assert told["ringsInside"]
    assert told["sizes"][0] == "40,808"
    assert told["ascending"] == told["sizes"][::-1]
    assert told["ariaSort"] == "ascending"
    assert 'big, "tall" ones' in told["picker"]
    assert 'big, "tall" ones' in told["card"]
    assert told["csv"][0] == "row,cluster,name"
    assert "tall" in told["kept"]
    assert told["saved"] == {"0": 'big, "tall" ones'}
    assert told["found"] >= 1
    assert told["hidden"] == []
    assert told["histograms"] == 4 * found.n_clusters


def test_an_axis_says_which_of_two_levels_is_where(rng):
    yes = np.repeat(["no", "yes"], 40)
    table = pd.DataFrame({"smokes": yes, "age": np.repeat([30.0, 60.0], 40) + rng.normal(size=80)})
    model = MAPDP().fit(table)
    view = summary.view_of(model, table, model.labels_)
    axis = summary.summarise(model, view).axes[0]
    x = np.array(summary.summarise(model, view).rows["x"])
    higher = {True: "+", False: "-"}[x[yes == "yes"].mean() > x[yes == "no"].mean()]
    assert f"{higher} smokes = yes" in axis


AXE = """
<script>
addEventListener("load", () => axe.run().then((found) => {
  const note = document.createElement("pre");
  note.id = "probe";
  note.textContent = JSON.stringify({ passes: found.passes.length, violations: found.violations.map((v) => [v.id, v.nodes.map((n) => n.html.slice(0, 200))]) });
  document.body.append(note);
}));
</script>
"""


def axe_core():
    """Return axe-core's source from the folder that MAPDP_AXE names, or from where node finds it."""
    places = [pathlib.Path(os.environ["MAPDP_AXE"])] if "MAPDP_AXE" in os.environ else []
    if shutil.which("node"):
        asked = ["node", "-p", "require.resolve('axe-core/axe.min.js')"]
        places += [
            pathlib.Path(subprocess.run(asked, capture_output=True, text=True).stdout.strip() or "none")
        ]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        pytest.skip(
            "axe-core is not there: npm install axe-core, and MAPDP_AXE=node_modules/axe-core/axe.min.js"
        )
    return path.read_text()


@pytest.mark.parametrize("flags", [[], ["--blink-settings=preferredColorScheme=0"]], ids=["light", "dark"])
def test_axe_finds_no_barrier(fitted, tmp_path, flags):
    page, source = report.to_html(fitted[3]), axe_core()
    probed = page.replace("</body>", f"<script>{source}</script>{AXE}</body>")
    told = in_browser(probed, tmp_path, *flags)
    assert told["passes"] > 20
    assert told["violations"] == []


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def test_text_stands_out_from_its_ground():
    """WCAG's contrast of 4.5 for text, in light and in dark."""
    style = (report._FILES / "report.css").read_text()
    themes = [line for line in style.splitlines() if "--card: #ffffff" in line or "--card: #1d2329" in line]
    assert len(themes) == 2
    for theme in themes:
        colours = dict(re.findall(r"(--\w+): (#\w{6});", theme))
        for ground in ("--page", "--card"):
            for text in ("--ink", "--soft", "--mark"):
                light, dark = sorted((luminance(colours[text]), luminance(colours[ground])), reverse=True)
                assert (light + 0.05) / (dark + 0.05) >= 4.5, (text, ground)
