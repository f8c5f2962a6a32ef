"""How the documentation site is built; `scripts/docs` runs it. Pages are docs/*.md, as they are."""

import pathlib
import sys

import mapdp

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))

import gallery  # noqa: E402

project = "mapdp"
version = release = mapdp.__version__
project_copyright = "the authors of mapdp, BSD-3-Clause"
extensions = [
    "myst_parser",  # pages are Markdown, which GitHub shows, too
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "gallery",
    "formulas",
    "navigation",
    "reference",
]
exclude_patterns = ["extensions", "README.md"]
templates_path = ["templates"]
default_role = "code"  # what stands between backticks in a docstring

myst_enable_extensions = ["dollarmath", "attrs_inline", "colon_fence"]
myst_heading_anchors = 4  # links to headings are written as on GitHub

autodoc_typehints = "none"  # docstrings say it in words
autosummary_generate = True
numpydoc_show_class_members = False  # the template of classes lists them

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": gallery.pattern_of_runnable(),
    "within_subsection_order": "gallery.place_in_gallery",
    "notebook_extensions": set(),
    "backreferences_dir": "api/examples",
    "doc_module": ("mapdp",),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "write_computation_times": False,  # they depend on the machine
}

html_math_renderer = "mathml"
html_theme = "furo"
html_title = "mapdp"
html_static_path = ["static"]
html_css_files = ["style.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
pygments_style, pygments_dark_style = "friendly", "monokai"
html_theme_options = {"navigation_with_keys": True}
