"""How the documentation is built."""

from importlib import metadata

project = "toplist"
author = "The toplist developers"
copyright = "2026, The toplist developers"
version = release = metadata.version("toplist")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "sphinx.ext.mathjax"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "show-inheritance": True}
html_theme = "pydata_sphinx_theme"
html_title = "toplist"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}
nitpicky = False
