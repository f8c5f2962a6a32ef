"""The gallery: examples/*.py, run when the site is built.

An example that reads a table from the folder that MAPDP_DATA names is shown, and not run, where there is
no such folder.
"""

import os
import pathlib

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
ORDER = [
    *("kmeans_fails", "wine", "penguins", "credit", "digits", "single_cells", "http_anomalies"),
    *("dask_table", "stream", "groups", "series", "uncertainty"),
]
NOT_RUN = """
.. note::

   This example was not run: its table is in the folder that the environment variable MAPDP_DATA names,
   and this site was built without it.
"""


def can_run(text):
    """Say whether an example has its table."""
    return "MAPDP_DATA" not in text or "MAPDP_DATA" in os.environ


def pattern_of_runnable():
    """Return the pattern of paths by which Sphinx-Gallery chooses what to run."""
    names = [path.name for path in sorted(EXAMPLES.glob("*.py")) if can_run(path.read_text())]
    return "|".join(rf"[/\\]{name}" for name in names)


def place_in_gallery(name):
    """Return where an example stands; it must be in the list above."""
    return ORDER.index(pathlib.Path(name).stem)


def say_what_was_not_run(app, name, content):
    """Put a note below the title of an example that could not be run."""
    path = EXAMPLES / f"{name.removeprefix('gallery/')}.py"
    if name.startswith("gallery/") and path.exists() and not can_run(path.read_text()):
        title, line, rest = content[0].partition("\n====")
        below, rest = rest.split("\n", 1)
        content[0] = f"{title}{line}{below}\n{NOT_RUN}\n{rest}"


def setup(app):
    """Join the build."""
    app.connect("source-read", say_what_was_not_run)
    return {"parallel_read_safe": True}
