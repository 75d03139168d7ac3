"""How the documentation is built."""

import inspect
import re
from importlib import import_module, metadata
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

project = "toplist"
author = "The toplist developers"
copyright = "2026, The toplist developers"
version = release = metadata.version("toplist")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
suppress_warnings = ["ref.python"]  # types of parameters are words such as "array of classes", not references
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


def list_public_names(app: Any, page: str, source: list[str]) -> None:
    """On the page `api`, put the public names of a package in place of `<!-- public PACKAGE -->`.

    `<!-- public toplist: lists, io -->` stands for the names of toplist that are defined in these packages. A name that
    several packages export is described once, where it comes first.
    """
    if page != "api":
        return
    seen: set[int] = set()

    def described(found: re.Match[str]) -> str:
        package, homes = import_module(found[1]), (found[2] or "").replace(",", " ").split()
        lines = [line for name in getattr(package, "__all__", ()) if (line := directive(package, name, homes, seen))]
        return "\n".join(["```{eval-rst}", *lines, "```"])

    source[0] = re.sub(r"<!-- public ([\w.]+)(?:: ([\w, ]+))? -->", described, source[0])


def directive(package: Any, name: str, homes: list[str], seen: set[int]) -> str:
    """How autodoc describes a public name; nothing for packages, tables, and what is described already."""
    value = getattr(package, name)
    parts = getattr(value, "__module__", "").split(".")
    if not callable(value) or id(value) in seen or (homes and parts[1:2] and parts[1] not in homes):
        return ""
    seen.add(id(value))
    if not inspect.isclass(value):
        return f".. autofunction:: {package.__name__}.{name}"
    sklearn = "\n   :no-inherited-members:\n   :exclude-members: set_score_request, set_fit_request"
    return f".. autoclass:: {package.__name__}.{name}" + (sklearn if "estimators" in parts else "")


def number_references(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """References of a docstring as plain numbers: on one page, several docstrings have a reference 1."""
    lines[:] = [re.sub(r"\[(\d+)\]_", r"[\1]", re.sub(r"^\.\. \[(\d+)\]", r"[\1]", line)) for line in lines]


def setup(app: Any) -> None:
    """Register the writer of formulas and the list of public names."""
    app.connect("source-read", list_public_names)
    app.connect("autodoc-process-docstring", number_references, priority=400)  # before napoleon
    app.add_html_math_renderer("mathml", (write_math, None), (write_math, None))
