"""The order of pages in the site. It stands here, so that docs/index.md is plain Markdown."""

SECTIONS = {
    "Begin": ["gallery/index", "recipes", "which_method"],
    "Guide": [
        *("tables", "tool", "choosing", "likelihoods", "groups", "sequences"),
        *("tree", "sampling", "scale", "embedded"),
    ],
    "Reference": ["api/index", "notation"],
    "Background": [
        *("how_it_works", "searching", "speed", "speed_results", "reliability"),
        *("paper", "experiments", "experiments/crp", "experiments/uci"),
    ],
    "Project": ["contributing", "changelog"],
}


def toctree(caption, pages):
    """Return a list of pages as the site's sidebar shows it."""
    return f":::{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(pages) + "\n:::\n"


def add_navigation(app, name, content):
    """Put the sidebar below the text of the front page."""
    if name == "index":
        content[0] += "\n" + "\n".join(toctree(*section) for section in SECTIONS.items())


def setup(app):
    """Join the build."""
    app.connect("source-read", add_navigation)
    return {"parallel_read_safe": True}
