"""From what was found to the text of a page.

The content security policy: nothing is loaded, and only this style and this script count.

What was found under the names that the page shows, so that figures and sentences speak of the same models.

A page to a file: whole, or not at all.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any

from toplist._files import require_place, write_bytes
from toplist._optional import load
from toplist.inference.results import Comparison, ConfidenceSet, Group, ModelDetails
from toplist.report.html import findings, grid, leaderboard, model_details, setting
from toplist.report.html.figures import Figures, figures
from toplist.report.html.leaderboard import pairs
from toplist.report.html.safe_text import Name, kind, names
from toplist.report.html.setting import Page
from toplist.report.plot.colours import STYLE
from toplist.report.statements import assumed
from toplist.report.text import plain


def policy(style: str, script: str) -> str:
    """What a browser may use of the page, with the digests of its style and its script.

    >>> policy("", "").split("; ")[0]
    "default-src 'none'"
    """
    return (
        f"default-src 'none'; style-src '{digest(style)}'; script-src '{digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def digest(text: str) -> str:
    """SHA-256 as policies write it.

    >>> digest("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def renamed(
    results: Comparison, exhibits: Sequence[ModelDetails], shown: Mapping[str, Name]
) -> tuple[Comparison, tuple[ModelDetails, ...]]:
    """Models and groups as they are called on the page: shortened, and numbered where they look alike."""

    def called(name: str) -> str:
        return shown[name].text if name in shown else name

    def section(found: Group, group: str | None) -> Group:
        rows = tuple(replace(row, name=called(row.name)) for row in found.rows)
        return replace(found, group=group, rows=rows)

    def chosen(found: ConfidenceSet) -> ConfidenceSet:
        p = {called(name): value for name, value in found.p.items()}
        return replace(found, members=tuple(map(called, found.members)), p=p)

    groups = names(one.group or "" for one in results.groups)
    found = replace(
        results,
        overall=section(results.overall, results.overall.group),
        groups=tuple(section(one, groups[one.group or ""].text) for one in results.groups),
        pairs=tuple(replace(pair, a=called(pair.a), b=called(pair.b)) for pair in results.pairs),
        confidence_set=None if results.confidence_set is None else chosen(results.confidence_set),
        paths=tuple(
            replace(path, candidate=called(path.candidate), baseline=called(path.baseline)) for path in results.paths
        ),
    )
    return found, tuple(replace(exhibit, name=called(exhibit.name)) for exhibit in exhibits)


_REMEDY = "reports need jinja2: pip install 'toplist[report]'"
_TITLE = 120  # characters
_GROUPS = 12  # beyond it their table stays folded on paper


def render(page: Page) -> str:
    """The page as one HTML document. The same page makes the same text, byte for byte."""
    jinja = load("jinja2", _REMEDY)
    trusted = load("markupsafe", _REMEDY).Markup  # for what this package made itself: style, script and drawings
    environment = jinja.Environment(
        autoescape=True,
        undefined=jinja.StrictUndefined,
        loader=jinja.FunctionLoader(_text),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    style, script = _text("page.css") + STYLE, _text("page.js")
    shown = names([row.name for row in page.results.overall.rows])
    page = replace(page, exhibits=tuple(exhibit for exhibit in page.exhibits if exhibit.name in shown))
    context = _context(page, shown, figures(*renamed(page.results, page.exhibits, shown)))
    found: str = environment.get_template("template.html").render(
        **context, trusted=trusted, style=trusted(style), script=trusted(script), policy=policy(style, script)
    )
    return found


def _context(page: Page, shown: Mapping[str, Name], drawn: Figures) -> Mapping[str, Any]:
    """Everything that the template shows, ready to be escaped."""
    results, exhibits, provenance = page.results, page.exhibits, page.provenance
    first = results.rules[0]
    return {
        "title": plain(page.title, _TITLE),
        "written": plain(provenance.written, 40) if provenance.written else "",
        "sections": _sections(page),
        "figures": drawn,
        "lede": setting.lede(results, shown),
        "warnings": setting.warnings(results, shown),
        "facts": setting.facts(results, shown),
        "models": setting.models(results, exhibits, shown),
        "full_names": setting.full_names(shown),
        "reading": setting.reading(results),
        "leaderboard": leaderboard.leaderboard(results, shown),
        "known": leaderboard.known(results, shown),
        "reasons": [*findings.sentences(results, shown), *grid.sentences(results, shown)],
        "against_ranks": findings.against_ranks(results, shown),
        "infinities": findings.infinities(results, shown),
        "best": findings.best(results, shown),
        "chosen": results.confidence_set is not None and bool(results.confidence_set.members),
        "tally": findings.tally(results, first),
        "sure": findings.sure(results, shown, first),
        "unsure": findings.unsure(results, shown, first),
        "untested": findings.untested(results, shown, first),
        "against_accuracy": findings.against_accuracy(results, shown),
        "deciding": findings.deciding(page.decided, shown),
        "between_rules": findings.between_rules(results, shown),
        "pairs": pairs(results, shown) if results.pairs else None,
        "rule": kind(first, 30),
        "curve": model_details.curve(exhibits, shown),
        "shapes": model_details.shapes(exhibits, shown),
        "confidence": model_details.confidence(page.judged, shown),
        "reliability": model_details.reliability(exhibits, page.judged, shown),
        "groups": leaderboard.groups(results, shown) if results.groups else None,
        "unprinted": len(results.groups) if len(results.groups) > _GROUPS else 0,
        "paths": [(findings.told(path, shown), findings.method(path)) for path in results.paths],
        "assumed": assumed(results.paths),
        "faults": setting.faults(results, shown),
        "fault_sentences": setting.sentences(results, exhibits, shown),
        "oddities": setting.oddities(exhibits, shown),
        "losses": model_details.losses(exhibits, shown),
        "command": setting.command(provenance),
        "versions": setting.versions(provenance, results),
        "files": setting.files(provenance),
    }


def _sections(page: Page) -> Mapping[str, str]:
    """The sections that the page has, in order, by their ids."""
    every = {
        "board": ("Leaderboard", True),
        "sure": ("What is sure, and what is not", True),
        "setting": ("What was compared, and how", True),
        "length": ("Score against list length", bool(page.exhibits)),
        "shape": ("Hard labels, lists and distributions", bool(page.exhibits)),
        "reliability": ("Do the confidences keep their promise?", bool(page.exhibits)),
        "groups": ("Groups of cases", bool(page.results.groups)),
        "anytime": ("Looked at after every case", bool(page.results.paths)),
        "faults": ("What was wrong in each file", True),
        "losses": ("The cases that cost most", any(e.costly for e in page.exhibits)),
        "reproduce": ("How to reproduce this", True),
    }
    return {key: title for key, (title, there) in every.items() if there}


def _text(name: str) -> str:
    return files("toplist.report.html").joinpath(name).read_text(encoding="utf-8").replace("\r\n", "\n")


def write(page: Page, path: Any) -> None:
    """Write the page to a file: nobody sees half a page."""
    require_place(path)
    write_bytes(path, render(page).encode("utf-8"))
