"""A Summary as one HTML file that works offline, on a phone and on paper.

The file holds its numbers as JSON, and a script of its own draws them; whatever is selected in one view
is selected in all. It links to nothing outside itself.
"""

import dataclasses
import html
import importlib.resources
import json

from mapdp.outputs.summary import Summary

_FILES = importlib.resources.files(__name__)
_SCRIPTS = (
    "report.js",
    "names.js",
    "profiles.js",
    "tables.js",
    "structure.js",
    "tree.js",
)  # the last one starts all


def to_html(summary: Summary) -> str:
    """Return the report."""
    text = (_FILES / "report.html").read_text(encoding="utf-8")
    parts = {
        "title": html.escape(f"mapdp report: {summary.title}"),
        "style": (_FILES / "report.css").read_text(encoding="utf-8"),
        "script": "".join((_FILES / name).read_text(encoding="utf-8") for name in _SCRIPTS),
        "data": _embedded(summary),
    }
    for name, part in parts.items():
        text = text.replace(f"<!--{name}-->", part)
    return text


def _embedded(summary: Summary) -> str:
    """Return the numbers as JSON that cannot end the script they are in."""
    content = json.dumps(dataclasses.asdict(summary), allow_nan=False, default=str)
    return content.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
