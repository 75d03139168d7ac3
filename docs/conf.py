"""How the documentation is built."""

import inspect
import re
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

project = "toplist"
author = "The toplist developers"
copyright = "2026, The toplist developers"
version = release = metadata.version("toplist")

extensions = ["myst_parser", "sphinx_design", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
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
html_sidebars = {"index": []}
html_static_path = ["_static"]
html_css_files = ["front.css"]
WIDE = ("index", "plots", "report", "leaderboard")  # pages of pictures, without a list of headings beside them
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": {"**": ["page-toc"], **{page: [] for page in WIDE}},
}
html_math_renderer = "mathml"


def write_math(translator: Any, node: nodes.Element) -> None:
    """Formulas as MathML, which browsers show by themselves: the pages load nothing from elsewhere."""
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    translator.body.append(convert(node.astext(), display=display))
    raise nodes.SkipNode


def list_public_names(app: Any, page: str, source: list[str]) -> None:
    """On the pages of `api/`, put the public names of a package in place of `<!-- public PACKAGE -->`."""
    source[0] = api_pages(Path(app.srcdir)).get(page, source[0])


@cache
def api_pages(docs: Path) -> dict[str, str]:
    """The pages of `api/` with their names, in the order of their index.

    `<!-- public toplist: lists, io -->` stands for the names of toplist that are defined in these packages. A name that
    several packages export is described once, on the page that comes first.
    """
    seen: set[int] = set()

    def described(found: re.Match[str]) -> str:
        try:
            package, homes = import_module(found[1]), (found[2] or "").replace(",", " ").split()
        except ModuleNotFoundError as missing:
            return f"Not described here: {missing.name} is not installed."
        lines = [line for name in getattr(package, "__all__", ()) if (line := directive(package, name, homes, seen))]
        return "\n".join(["```{eval-rst}", *lines, "```"])

    marker = re.compile(r"<!-- public ([\w.]+)(?:: ([\w, ]+))? -->")
    order = re.findall(r"^(\w+)$", (docs / "api" / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
    return {
        f"api/{name}": marker.sub(described, (docs / "api" / f"{name}.md").read_text(encoding="utf-8"))
        for name in order
    }


def directive(package: Any, name: str, homes: list[str], seen: set[int]) -> str:
    """How autodoc describes a public name; nothing for packages, tables, and what is described already."""
    value = getattr(package, name)
    parts = getattr(value, "__module__", "").split(".")
    if not callable(value) or id(value) in seen or (homes and parts[1:2] and parts[1] not in homes):
        return ""
    seen.add(id(value))
    if not inspect.isclass(value):
        return f".. autofunction:: {package.__name__}.{name}"
    own = "\n   :no-inherited-members:\n   :exclude-members: set_score_request, set_fit_request, forward"
    derived = {"estimators", "sklearn", "torch"} & set(parts)  # from classes of other libraries
    return f".. autoclass:: {package.__name__}.{name}" + (own if derived else "")


def number_references(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """References of a docstring as plain numbers: on one page, several docstrings have a reference 1."""
    reference = re.compile(r"^\.\. (\[\d+\].*(?:\n   .*)*)", re.MULTILINE)  # with the lines that it goes on in
    text = reference.sub(lambda match: re.sub(r"\s*\n\s*", " ", match[1]) + "\n", "\n".join(lines))
    lines[:] = re.sub(r"\[(\d+)\]_", r"[\1]", text).split("\n")


def setup(app: Any) -> None:
    """Register the writer of formulas and the list of public names."""
    app.connect("source-read", list_public_names)
    app.connect("autodoc-process-docstring", number_references, priority=400)  # before napoleon
    app.add_html_math_renderer("mathml", (write_math, None), (write_math, None))
