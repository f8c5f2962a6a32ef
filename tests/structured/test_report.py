# ruff: noqa: E501  (scripts for the browser)
"""The report of groups and sequences: its numbers against plain counts, and the page in a browser."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mapdp import MAPHMM, HierarchicalMAPDP, NestedMAPDP
from mapdp.outputs import report, structure_summary, summary
from tests.structured.test_cli import islands, readings
from tests.test_report import AXE, WRITTEN_DOWN, axe_core, in_browser


def summarised(model, table, **where):
    model.fit(table, **where)
    return model, summary.summarise(model, summary.view_of(model, table, model.labels_, **where))


@pytest.fixture(scope="module")
def found():
    """Models of each kind, with what there is to say about them."""
    table, series = islands(), readings()
    rows, island = table[["x", "y"]], table["island"]
    return {
        "hierarchical": summarised(HierarchicalMAPDP(), rows, groups=island),
        "nested": summarised(NestedMAPDP(), rows, groups=island),
        "sequence": summarised(MAPHMM(), series[["level"]], lengths=[90, 70]),
    }


def test_groups_are_counted_and_have_the_proportions_of_the_model(found):
    model, said = found["hierarchical"]
    counts = pd.crosstab(islands()["island"], model.labels_).to_numpy()
    groups = said.structure["groups"]
    assert [group["name"] for group in groups] == ["north", "south", "west"]
    assert [group["counts"] for group in groups] == counts.tolist()
    assert_allclose([group["proportions"] for group in groups], model.proportions_, atol=1e-5)
    assert f"gamma {model.gamma_:.3g}" in said.model
    assert said.alpha == model.alpha_
    assert said.made_with["code"] == "HierarchicalMAPDP().fit(table, groups=groups)"


def test_clusters_of_groups_are_those_of_the_model(found):
    model, said = found["nested"]
    assert [group["group_cluster"] for group in said.structure["groups"]] == model.group_labels_.tolist()


def test_the_largest_of_many_groups_are_shown(rng, monkeypatch):
    monkeypatch.setattr(structure_summary, "_GROUPS", 3)
    groups = np.repeat(["a", "b", "c", "d", "e"], [5, 9, 3, 8, 7])
    model, said = summarised(HierarchicalMAPDP(), rng.normal(size=(32, 1)), groups=groups)
    assert [group["name"] for group in said.structure["groups"]] == ["b", "d", "e"]
    assert said.structure["n_groups"] == 5
    assert len(model.groups_) == 5


def test_points_of_a_long_sequence_are_means_of_rows_and_their_most_frequent_state(found, monkeypatch):
    monkeypatch.setattr(structure_summary, "_POINTS", 16)
    model, table = found["sequence"][0], readings()[["level"]].copy()
    table.loc[10:19, "level"] = np.nan
    view = summary.view_of(model, table, model.labels_, lengths=[90, 70])
    said = summary.summarise(model, view).structure
    assert said["points"] == list(range(0, 160, 10))
    means = table["level"].to_numpy().reshape(16, 10).mean(axis=1)
    assert said["series"][0]["values"][1] is None
    assert_allclose(np.delete(said["series"][0]["values"], 1).astype(float), np.delete(means, 1), rtol=1e-4)
    states = [np.bincount(part).argmax() for part in model.labels_.reshape(16, 10)]
    assert said["states"] == states


PROBE = (
    """
<script>
window.problems = [];
window.onerror = (message) => window.problems.push(message);
window.addEventListener("load", () => {
  const all = (query) => [...document.querySelectorAll(query)], seen = (id) => !document.getElementById(id).hidden;
  const told = { sections: ["groups", "series", "transitions"].filter((id) => seen(id + "-section")) };
  const boxes = (query) => all(query).map((bar) => ["x", "y", "width"].map((name) => Number(bar.getAttribute(name))));
  told.bars = boxes("#groups rect");
  told.strip = boxes("#series rect");
  told.lines = all("#series polyline").map((line) => line.getAttribute("points").split(" ").length);
  told.begins = all("#series line").length;
  told.arrows = all("#transitions .arrow").length;
  told.cells = all("#transition-table tbody tr").map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
  told.unnamed = all("[role=region], svg").filter((node) => !(node.textContent.trim() || node.getAttribute("aria-label"))).length;
  document.querySelector(".picker button").click();
  told.faded = all("#groups rect.faded, #series rect.faded").length;
  told.kept = all("#groups rect[data-cluster='0']:not(.faded), #series rect[data-cluster='0']:not(.faded)").length;
  const box = document.querySelector("#clusters input");
  box.value = "calm"; box.dispatchEvent(new Event("input"));
  told.named = all("#transition-table th").map((cell) => cell.textContent);
  told.wide = document.documentElement.scrollWidth - innerWidth;
"""
    + WRITTEN_DOWN
)


def probed(said, tmp_path, width):
    """Return what a probe saw in the page of a summary, after checks that hold for every page."""
    told = in_browser(report.to_html(said).replace("<head>", "<head>" + PROBE), tmp_path, width=width)
    assert told["problems"] == []
    assert told["wide"] <= 0
    assert told["unnamed"] == 0
    assert told["kept"] > 0
    assert told["faded"] > 0
    return told


@pytest.mark.parametrize(("kind", "width"), [("hierarchical", 390), ("nested", 1300)])
def test_bars_of_groups_are_drawn_to_scale(found, tmp_path, kind, width):
    said = found[kind][1]
    told = probed(said, tmp_path, width)
    assert told["sections"] == ["groups"]
    groups = said.structure["groups"]
    if kind == "nested":
        groups = sorted(groups, key=lambda group: group["group_cluster"])
        shares = [np.array(group["counts"]) / group["rows"] for group in groups]
    else:
        shares = [np.array(group["proportions"]) for group in groups]
    widths = np.array([width for _, _, width in told["bars"]]).reshape(len(groups), -1)
    assert_allclose(widths / widths.sum(axis=1, keepdims=True), shares, atol=1e-4)
    assert len({y for _, y, _ in told["bars"]}) == len(groups)


@pytest.mark.parametrize("width", [1300, 390])
def test_a_sequence_has_its_states_and_transitions(found, tmp_path, width):
    model, said = found["sequence"]
    told = probed(said, tmp_path, width)
    assert told["sections"] == ["series", "transitions"]
    runs = np.diff(np.flatnonzero(np.concatenate([[True], np.diff(model.labels_) != 0, [True]])))
    widths = np.array([width for _, _, width in told["strip"]])
    assert_allclose(widths / widths.sum(), runs / 160, atol=1e-3)
    assert told["lines"] == [160]
    assert told["begins"] == 1
    assert told["arrows"] == 2
    stay = 100 * model.transition_[0, 0]
    assert told["cells"][0][1] == f"{stay:.0f}%"
    assert told["cells"][0][-1] == f"{model.durations_[0]:.3g}"
    assert [row[0] for row in told["cells"]] == ["0", "1", "first row"]
    assert any(name.endswith("calm") for name in told["named"])


@pytest.mark.parametrize("kind", ["nested", "sequence"])
def test_axe_finds_no_barrier(found, tmp_path, kind):
    source = axe_core()
    page = report.to_html(found[kind][1]).replace("</body>", f"<script>{source}</script>{AXE}</body>")
    assert in_browser(page, tmp_path)["violations"] == []
