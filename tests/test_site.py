"""The documentation site: what can be checked without building it. `scripts/docs` builds it, in CI, too."""

import inspect
import re

import pytest

import mapdp
from benchmarks import common, measured
from docs.extensions import gallery, navigation, reference
from tests.test_docs import ROOT

DOCS = ROOT / "docs"
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def test_every_public_name_is_in_the_reference_once():
    listed = [name for names in reference.names_by_kind().values() for name in names]
    public = [f"mapdp.{name}" for name in mapdp.__all__]
    modules = [name for name in mapdp.__all__ if inspect.ismodule(getattr(mapdp, name))]
    members = [f"mapdp.{name}.{member}" for name in modules for member in getattr(mapdp, name).__all__]
    assert sorted(listed) == sorted(public + members)
    assert all(f"   {name}\n" in reference.page() for name in listed)


def test_every_public_class_and_function_is_described():
    things = [getattr(mapdp, name) for name in mapdp.__all__]
    assert not [thing for thing in things if not inspect.getdoc(thing)]


def test_every_page_has_a_place_in_the_site():
    placed = {page for pages in navigation.SECTIONS.values() for page in pages}
    pages = {str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md")}
    generated = {"gallery/index", "api/index", "changelog"}
    assert placed - generated == pages - {"index"}


def test_the_front_page_gets_the_sidebar_and_other_pages_do_not():
    content, other = ["# mapdp\n"], ["# Groups\n"]
    navigation.add_navigation(None, "index", content)
    navigation.add_navigation(None, "groups", other)
    assert content[0].count("{toctree}") == len(navigation.SECTIONS)
    assert other == ["# Groups\n"]


def test_the_gallery_has_every_example():
    assert sorted(gallery.ORDER) == [path.stem for path in EXAMPLES]
    assert len(EXAMPLES) >= 10


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_have_a_title_pictures_and_one_screen_of_code(path):
    text = path.read_text()
    _, title, line, _ = text.split("\n", 3)
    assert line == "=" * len(title)
    assert "plt.show()" in text
    code = text.split('"""', 2)[2].strip().splitlines()
    assert len(code) <= 55


def test_examples_without_their_table_are_shown_and_not_run(monkeypatch):
    monkeypatch.delenv("MAPDP_DATA", raising=False)
    pattern = gallery.pattern_of_runnable()
    assert re.search(pattern, "/examples/wine.py")
    assert not re.search(pattern, "/examples/penguins.py")
    content, other = ["Penguins\n========\n\nText\n"], ["Wine\n====\n\nText\n"]
    gallery.say_what_was_not_run(None, "gallery/penguins", content)
    gallery.say_what_was_not_run(None, "gallery/wine", other)
    assert re.fullmatch(r"Penguins\n========\n\n.. note::\n.*not run.*\nText\n", content[0], re.DOTALL)
    assert other == ["Wine\n====\n\nText\n"]


def test_with_its_table_every_example_runs(monkeypatch):
    monkeypatch.setenv("MAPDP_DATA", "somewhere")
    assert all(re.search(gallery.pattern_of_runnable(), f"/examples/{path.name}") for path in EXAMPLES)


@pytest.mark.parametrize("page", measured.BLOCKS)
def test_measured_tables_are_those_of_the_result_files(page):
    """Where this fails: python -m benchmarks.measured."""
    text = (ROOT / page).read_text()
    assert measured.with_blocks(text, measured.BLOCKS[page]) == text


def test_a_typed_number_is_noticed():
    text = (ROOT / "README.md").read_text()
    typed = re.sub(r"NMI \*\*0\.\d+", "NMI **0.99", text)
    assert typed != text
    assert measured.with_blocks(typed, measured.BLOCKS["README.md"]) == text


def test_wins_and_losses_count_every_table_once():
    tables = measured.real_tables()
    for line in measured.wins_and_losses().splitlines()[3:]:
        name, _, _, ahead, equal, behind, where = measured.cells_of(line)
        assert int(ahead) + int(equal) + int(behind) == sum(bool(row[name]) for row in tables)
        assert int(behind) == len([one for one in where.split(",") if one])


def test_means_leave_out_what_a_table_cannot_have():
    cells = [{"full": "0.50 / 0.25 (3)"}, {"full": ""}, {"full": "-0.10 / 0.05 (2)"}]
    assert measured.mean_cell(cells, "full") == "0.20 / 0.15"


def test_every_table_has_its_methods_in_the_order_of_the_heading():
    first, *others = measured.real_tables()
    assert all(list(row) == list(first) for row in others)


def test_new_results_replace_those_of_the_same_table(tmp_path):
    path = tmp_path / "found.csv"
    first = [{"table": "iris", "method": "a", "rand": 1}, {"table": "iris", "method": "b", "rand": 2}]
    common.record(first, path, "table", "method")
    common.record([{"table": "iris", "method": "b", "rand": 3}], path, "table", "method")
    assert [row["rand"] for row in common.recorded(path)] == ["1", "3"]


def named_in(text):
    """Return pairs of a file and a name in it, as docs/paper.md writes them."""
    return [(file, name) for name, file in re.findall(r"`(\w+)` in `([\w/]+\.py)`", text)]


def is_defined(file, name):
    places = [path for path in (ROOT / file, ROOT / "src" / "mapdp" / file) if path.exists()]
    return bool(places) and bool(
        re.search(rf"^ *(def|class) {name}\b", places[0].read_text(), re.MULTILINE)
    )


def test_what_the_page_of_the_paper_names_exists():
    named = named_in((DOCS / "paper.md").read_text())
    assert len(named) > 40
    assert not [pair for pair in named if not is_defined(*pair)]
    assert not is_defined("engine/sweep.py", "swoop")
    assert not is_defined("engine/sweeps.py", "sweep")


def test_the_readme_takes_half_a_minute():
    text = (ROOT / "README.md").read_text()
    prose = re.sub(r"```.*?```|<!--.*?-->", "", text, flags=re.DOTALL)
    assert len(prose.split()) < 330
    assert len(re.findall(r"!\[", text)) == 1
