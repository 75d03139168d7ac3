"""From what was found to the text of a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from typing import Any

from toplist.report.optional import load
from toplist.report.page import (
    boards,
    deciding,
    disagreement,
    evidence,
    faults,
    flatness,
    gaps,
    oddities,
    opening,
    paths,
    reproduction,
    setting,
    sureness,
)
from toplist.report.page.contents import Page
from toplist.report.page.figures import STYLE, Figures, figures
from toplist.report.page.pairs import pairs
from toplist.report.page.policy import policy
from toplist.report.page.renaming import renamed
from toplist.report.page.wording import Name, kind, names
from toplist.words.names import plain
from toplist.words.paths import assumed

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
    shown = names([row.name for row in page.results.overall.standings])
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
        "lede": opening.lede(results, shown),
        "warnings": opening.warnings(results, shown),
        "facts": setting.facts(results, shown),
        "predictors": setting.predictors(results, exhibits, shown),
        "full_names": setting.full_names(shown),
        "reading": setting.reading(results),
        "leaderboard": boards.leaderboard(results, shown),
        "known": boards.known(results, shown),
        "reasons": [*gaps.sentences(results, shown), *flatness.sentences(results, shown)],
        "against_ranks": disagreement.against_ranks(results, shown),
        "infinities": sureness.infinities(results, shown),
        "best": sureness.best(results, shown),
        "chosen": results.confidence_set is not None and bool(results.confidence_set.members),
        "tally": sureness.tally(results, first),
        "sure": sureness.sure(results, shown, first),
        "unsure": sureness.unsure(results, shown, first),
        "untested": sureness.untested(results, shown, first),
        "against_accuracy": disagreement.against_accuracy(results, shown),
        "deciding": deciding.deciding(page.decided, shown),
        "between_rules": disagreement.between_rules(results, shown),
        "pairs": pairs(results, shown) if results.pairs else None,
        "rule": kind(first, 30),
        "curve": evidence.curve(exhibits, shown),
        "shapes": evidence.shapes(exhibits, shown),
        "confidence": evidence.confidence(page.judged, shown),
        "reliability": evidence.reliability(exhibits, page.judged, shown),
        "groups": boards.groups(results, shown) if results.groups else None,
        "unprinted": len(results.groups) if len(results.groups) > _GROUPS else 0,
        "paths": [(paths.told(path, shown), paths.method(path)) for path in results.paths],
        "assumed": assumed(results.paths),
        "faults": faults.faults(results, shown),
        "fault_sentences": faults.sentences(results, exhibits, shown),
        "oddities": oddities.oddities(exhibits, shown),
        "losses": evidence.losses(exhibits, shown),
        "command": reproduction.command(provenance),
        "versions": reproduction.versions(provenance, results),
        "files": reproduction.files(provenance),
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
    return files("toplist.report.page").joinpath(name).read_text(encoding="utf-8").replace("\r\n", "\n")
