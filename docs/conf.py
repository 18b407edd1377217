"""Sphinx configuration. Every example on these pages runs when they are built; a warning is an error."""

import os
from importlib.metadata import version as installed

project = "meantime"
author = "the meantime developers"
copyright = author
version = release = installed("meantime")

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
default_role = "py:obj"
highlight_language = "none"  # literal blocks in docstrings are formulas

html_theme = "furo"
html_title = f"meantime {release}"
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["meantime.css"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True
os.environ["PYTHONWARNINGS"] = "ignore:IProgress not found"  # of a progress bar, in the kernels: it names paths

# The reference lists what each sub-package names in __all__, re-exported names included.
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = False
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88
numpydoc_show_class_members = False
numpydoc_validation_checks = {"GL07", "GL08", "PR02"}  # order, presence, no stale parameter
