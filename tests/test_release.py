"""What says which version this is, says the same."""

import pathlib
import re

import mapdp

ROOT = pathlib.Path(__file__).parent.parent


def first(pattern, name):
    return re.search(pattern, (ROOT / name).read_text(), flags=re.MULTILINE)[1]


def test_changelog_and_citation_have_the_version_of_the_package():
    newest = first(r"^## (?!Unreleased)([\d.]+)", "CHANGELOG.md")
    assert newest == first(r"^version: ([\d.]+)$", "CITATION.cff") == mapdp.__version__
