"""Settings of the site: ``python -m sphinx -W docs out/site`` writes pages that need no server."""

import configparser
import sys
from pathlib import Path

DOCS, ROOT = Path(__file__).parent, Path(__file__).parents[1]
sys.path[:0] = [str(DOCS), str(ROOT)]
settings = configparser.ConfigParser()
settings.read(ROOT / "setup.cfg")

project, author, release = "muphy_lb", "muphy_lb developers", settings["metadata"]["version"]
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "generated"]
exclude_patterns = ["scripts"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
# Notebooks are kept without outputs, and executed here.
nb_execution_mode, nb_execution_in_temp, nb_execution_raise_on_error = "force", True, True
nb_execution_timeout = 300
nb_execution_show_tb = True
nb_merge_streams = True
nb_ipywidgets_js = {}
# Files of the repository that are pages here begin as they like; several classes have attributes of the same name.
suppress_warnings = ["myst.header", "ref.python"]
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_google_docstring, napoleon_numpy_docstring = True, False
napoleon_use_ivar = True
html_theme = "furo"


def setup(app):
    """Sections of a case stand below its class: with their defaults its signature would fill a page."""
    app.connect("autodoc-process-signature", _shorten_case)


def _shorten_case(_app, _kind, name, *_signature):
    return ("(**sections)", None) if name == "muphy_lb.Case" else None


html_title = f"muphy_lb {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = html_show_sourcelink = False
html_show_copyright = False
