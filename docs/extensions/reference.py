"""A page for every public name. They are taken from `mapdp.__all__`, so that none can be forgotten."""

import inspect
import pathlib
import re

import mapdp
from mapdp.families.base import Family
from mapdp.partitions.process import Process

ASKED_BY_USERS = (
    "empirical",
    "clumped",
    "log_predictive",
    "log_marginal",
    "sample_parameters",
    "sample_rows",
)
FOLDER = pathlib.Path(__file__).parents[1] / "api"


KINDS = {  # the first that holds
    "Estimators": lambda thing: inspect.isclass(thing) and hasattr(thing, "fit"),
    "Likelihoods": lambda thing: inspect.isclass(thing) and issubclass(thing, Family),
    "Priors over partitions": lambda thing: inspect.isclass(thing) and issubclass(thing, Process),
    "Functions": inspect.isfunction,
    "Other classes": inspect.isclass,
    "Modules": inspect.ismodule,
}


def names_by_kind():
    """Return public names by kind; members of public modules are listed with their module."""
    found = {kind: [] for kind in KINDS}
    for name in mapdp.__all__:
        thing = getattr(mapdp, name)
        found[next(kind for kind, holds in KINDS.items() if holds(thing))].append(f"mapdp.{name}")
        if inspect.ismodule(thing):
            found["Modules"] += [f"mapdp.{name}.{member}" for member in thing.__all__]
    return found


def page():
    """Return the page that lists them all; Sphinx writes the others from it."""
    parts = ["Public names\n============\n\nEvery name that you can rely on; anything else is private.\n"]
    for kind, names in names_by_kind().items():
        lines = "\n".join(f"   {name}" for name in names)
        parts.append(
            f"{kind}\n{'-' * len(kind)}\n\n.. autosummary::\n   :toctree:\n   :nosignatures:\n\n{lines}\n"
        )
    return "\n".join(parts)


def write_page(app, config):
    """Write the page, before Sphinx looks for pages."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "index.rst").write_text(page())


def leave_out(app, what, name, thing, skip, options):
    """Leave out what every estimator has from scikit-learn, and what the search asks of a likelihood."""
    module = getattr(getattr(thing, "fget", thing), "__module__", None) or ""
    of_scikit_learn = module.startswith("sklearn") or re.fullmatch(r"set_\w+_request", name)
    of_the_search = module.startswith("mapdp.families") and what == "class" and name not in ASKED_BY_USERS
    return True if of_scikit_learn or of_the_search else None


def setup(app):
    """Join the build."""
    app.connect("autodoc-skip-member", leave_out)
    app.connect("config-inited", write_page)
    return {"parallel_read_safe": True}
