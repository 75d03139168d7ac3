"""How the documentation is built."""

from importlib import metadata
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

project = "toplist"
author = "The toplist developers"
copyright = "2026, The toplist developers"
version = release = metadata.version("toplist")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "inherited-members": True}
html_theme = "pydata_sphinx_theme"
html_title = "toplist"
html_sidebars = {"**": []}
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}
html_math_renderer = "mathml"


def write_math(translator: Any, node: nodes.Element) -> None:
    """Formulas as MathML, which browsers show by themselves: the pages load nothing from elsewhere."""
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    translator.body.append(convert(node.astext(), display=display))
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Register the writer of formulas."""
    app.add_html_math_renderer("mathml", (write_math, None), (write_math, None))
