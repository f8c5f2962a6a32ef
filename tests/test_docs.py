"""The pages of the documentation: code runs and gives what it shows, commands parse, names and links exist.

A page's Python blocks run in order and share their names. A result is shown as a doctest (`>>>`) or behind
an expression as `# -> value`. A block that cannot run has `<!-- not run: reason -->` on the line before it.
"""

import ast
import doctest
import inspect
import io
import pathlib
import re
import shlex
import textwrap
import tokenize
from typing import NamedTuple

import matplotlib as mpl
import pytest
import typer
from matplotlib import pyplot as plt

import mapdp
from mapdp.cli.app import app

mpl.use("agg")

ROOT = pathlib.Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CHECKED, UNCHECKED = {"python", "sh"}, {"", "text"}  # languages of fenced blocks
SHOWN = "# -> "
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
OURS = {**vars(mapdp), "mapdp": mapdp, "model": mapdp.MAPDP()}  # what code in the prose may name

over_pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    text: str
    line: int  # of its first line of text, from 1
    before: str  # the line before the fence


def blocks_of(text):
    lines = ["", *text.splitlines()]
    fences = [number for number, line in enumerate(lines) if line.lstrip().startswith("```")]
    assert len(fences) % 2 == 0, "a block is never closed"
    return [
        Block(
            language=lines[first].strip().removeprefix("```"),
            text=textwrap.dedent("\n".join(lines[first + 1 : last])) + "\n",
            line=first + 1,
            before=lines[first - 1].strip(),
        )
        for first, last in zip(fences[::2], fences[1::2], strict=True)
    ]


def prose_of(text):
    """Return a page without its fenced blocks."""
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)


def code_in(text):
    """Return what stands between single backticks in the prose of a page."""
    return re.findall(r"`([^`\n]+)`", prose_of(text))


def runs(block):
    """Say whether a block is to be run; one that is not must give a reason."""
    if "not run" not in block.before:
        return True
    reason = re.fullmatch(r"<!-- not run: *(\S.*) -->", block.before)
    assert reason, f"line {block.line}: {block.before!r} gives no reason"
    return False


def run_page(text, name):
    """Run the Python blocks of a page in order; return how many ran."""
    names = {"__name__": "__main__"}
    blocks = [block for block in blocks_of(text) if block.language == "python" and runs(block)]
    for block in blocks:
        run = run_doctest if re.search(r"^>>> ", block.text, re.MULTILINE) else run_plain
        run(block, names, name)
    return len(blocks)


def run_doctest(block, names, page):
    """Run a block with prompts, and compare what it prints."""
    test = doctest.DocTestParser().get_doctest(block.text, names, page, page, block.line - 1)
    report = io.StringIO()
    runner = doctest.DocTestRunner(verbose=False, optionflags=FLAGS)
    failed = runner.run(test, out=report.write, clear_globs=False).failed
    names.update(test.globs)
    assert not failed, report.getvalue()


def run_plain(block, names, page):
    """Run a block statement by statement, and compare values with those behind `# ->`."""
    source = "\n" * (block.line - 1) + block.text  # so that errors name the line of the page
    shown = values_shown(source)
    for statement in ast.parse(source).body:
        value = run_statement(statement, names, page)
        if statement.end_lineno in shown and isinstance(statement, ast.Expr):
            expected = shown.pop(statement.end_lineno)
            same = doctest.OutputChecker().check_output(f"{expected}\n", f"{value!r}\n", FLAGS)
            assert same, f"{page}:{statement.lineno} shows {expected}, got {value!r}"
    assert not shown, f"{page}: {SHOWN}must stand behind an expression, got {shown}"


def run_statement(statement, names, page):
    """Run a statement; return its value, where it is an expression."""
    if isinstance(statement, ast.Expr):
        return eval(compile(ast.Expression(statement.value), page, "eval"), names)
    return exec(compile(ast.Module([statement], []), page, "exec"), names)


def values_shown(source):
    """Return what stands behind `# ->`, by line."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    found = [token for token in tokens if token.string.startswith(SHOWN)]
    return {token.start[0]: token.string.removeprefix(SHOWN) for token in found}


@over_pages
@pytest.mark.filterwarnings("ignore:.*ArviZ is undergoing a major refactor:FutureWarning")
def test_python_blocks_run_and_give_what_they_show(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    run_page(page.read_text(), page.name)
    plt.close("all")


@over_pages
def test_no_code_escapes_by_the_language_of_its_block(page):
    for block in blocks_of(page.read_text()):
        assert block.language in CHECKED | UNCHECKED, f"line {block.line}: {block.language!r}"
        if block.language in UNCHECKED:
            assert not re.search(r"^(>>> |import |from |mapdp |\$ )", block.text, re.MULTILINE)


def fenced(code, before=""):
    return f"{before}\n```python\n{code}\n```\n"


@pytest.mark.parametrize(
    "text",
    [
        fenced("1 + 1  # -> 3"),
        fenced("x = 2  # -> 2"),
        fenced("# -> 2"),
        fenced(">>> 1 + 1\n3"),
        fenced("x = 1") + fenced(">>> x\n2"),
        fenced("1 / 0"),
        fenced("1 / 0", before="<!-- not run: -->"),
        fenced("1 / 0", before="<!-- not run -->"),
        "```python\n1 + 1\n",
    ],
)
def test_a_wrong_block_is_noticed(text):
    with pytest.raises((AssertionError, ZeroDivisionError)):
        run_page(text, "page.md")


def test_blocks_share_names_and_may_be_left_out_for_a_reason():
    text = (
        fenced("x = [1,\n     2]") + fenced(">>> y = x + [3]\n>>> y\n[1, 2, 3]") + fenced("y[-1]  # -> 3")
    )
    assert run_page(text + fenced("?", before="<!-- not run: pseudo-code -->"), "page.md") == 3


def commands_in(text):
    """Return the commands of a shell block as lists of words."""
    commands = []
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split = True
        commands.append([])
        for word in words:
            if word in {"|", "||", "&&", ";"}:
                commands.append([])
            else:
                commands[-1].append(word)
    return [command for command in commands if command]


def check_commands(text):
    """Parse commands without running them; a wrong one raises what the command line would print."""
    known = typer.main.get_command(app).commands
    for words in commands_in(text):
        if words[0].startswith("scripts/"):
            assert (ROOT / words[0]).is_file(), f"there is no {words[0]}"
        if words[:3] == ["python", "-m", "mapdp"]:
            words = words[2:]
        if words[0] == "mapdp":
            assert words[1] in known, f"there is no command {words[1]}"
            known[words[1]].make_context(words[1], words[2:])


@over_pages
def test_commands_parse(page):
    for block in blocks_of(page.read_text()):
        if block.language == "sh":
            check_commands(block.text)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("mapdp fitt table.csv", "no command fitt"),
        ("mapdp fit", "Missing"),
        ("mapdp fit table.csv --speed 3", "No such option"),
        ("zcat big.csv.gz | mapdp fit - --n-init many", "valid integer"),
        ("scripts/nothing", "no scripts/nothing"),
    ],
)
def test_a_wrong_command_is_noticed(line, words):
    with pytest.raises(Exception, match=words):
        check_commands(line)


def check_links(text, page):
    """Check that relative links and images lead to files and headings that exist."""
    for link in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", prose_of(text)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, heading = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), f"{page.name} links to {link}, which does not exist"
        assert not heading or heading in headings_of(target), f"{page.name}: there is no {link}"


def headings_of(page):
    """Return the names by which the headings of a page can be linked to."""
    titles = re.findall(r"^#+ +(.*)$", prose_of(page.read_text()), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def check_path(code):
    """Check that a path in the prose is one of the repository, or of the package."""
    if re.fullmatch(r"(?:[\w.-]+/)+[\w.-]+\.(?:py|md|js|csv|png)|scripts/\w+", code):
        places = [ROOT / code, ROOT / "src" / "mapdp" / code]
        assert any(place.exists() for place in places), f"there is no {code}"


def check_names(code):
    """Check names and arguments of what is ours in the prose; `model` is a MAPDP that is not fitted."""
    is_file = re.search(r"\.(py|mapdp)$", code)
    for node in [] if is_file else nodes_of(code):
        called = thing(node.func) if isinstance(node, ast.Call) else thing(node)
        if isinstance(node, ast.Call) and called is not None:
            keywords = {keyword.arg: None for keyword in node.keywords}
            inspect.signature(called).bind_partial(*node.args, **keywords)


def nodes_of(code):
    """Return the parts of an expression, none where it is no expression."""
    try:
        return list(ast.walk(ast.parse(code, mode="eval")))
    except SyntaxError:
        return []


def thing(node):
    """Return what a dotted name of ours stands for, None where it is not ours or set by a fit."""
    if isinstance(node, ast.Name):
        return OURS.get(node.id)
    if not isinstance(node, ast.Attribute) or node.attr.endswith("_"):
        return None
    owner = thing(node.value)
    return None if owner is None else getattr(owner, node.attr)


@over_pages
def test_links_files_and_names_exist(page):
    text = page.read_text()
    check_links(text, page)
    for code in code_in(text):
        check_names(code)
        if page.name != "contributing.md":  # which names files that are yet to be written
            check_path(code)


@pytest.mark.parametrize(
    ("check", "code"),
    [
        (check_names, "MAPDP(alpa=1.0)"),
        (check_names, "mapdp.sav(model, path)"),
        (check_names, "model.uncertain(X)"),
        (check_path, "kernels/sweep.py"),
        (lambda text: check_links(text, PAGES[0]), "[there](nothing.md)"),
        (lambda text: check_links(text, PAGES[0]), "![there](docs/searching.md#nothing)"),
        (lambda text: check_links(text, PAGES[0]), "[there](#nothing)"),
    ],
)
def test_a_wrong_name_path_or_link_is_noticed(check, code):
    with pytest.raises((AssertionError, AttributeError, TypeError)):
        check(code)
