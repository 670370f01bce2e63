"""How is the documentation built? `make docs` makes a site in docs/_build/html that asks nobody else for anything."""

import sys
from pathlib import Path

from jupyter_client.manager import KernelManager

import astonish

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "astonish"
author = "The astonish developers"
copyright = f"2026, {author}"
release = version = astonish.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.viewcode"]
# ours, in extensions/
extensions += ["catalogue", "commands", "docstrings", "links", "mathml", "notebooks", "rooms", "sources"]
extensions += ["sphinx.ext.napoleon"]  # after ours, which leaves it the sections
templates_path = ["_templates"]
exclude_patterns = ["_build", "extensions"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"  # an example that no longer runs stops the build
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
KernelManager.transport_encryption.default_value = "auto"  # or else every kernel warns that it is not
suppress_warnings = ["mystnb.unknown_mime_type"]

default_role = "literal"  # `so` is code in docstrings
autodoc_typehints = "none"  # the signature of a family or learner says it
autodoc_member_order = "bysource"
html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "astonish"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["copy.js"]
html_theme_options = {
    "article_header_end": ["notebook"],
    "header_links_before_dropdown": 7,
    "navigation_with_keys": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_show_sourcelink = False
html_sidebars = {"others": []}  # a section of one page
html_context = {"default_mode": "auto"}  # light or dark as the reader's machine is
