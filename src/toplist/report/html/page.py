"""From what was found to the text of a page: its sections in order, its figures, its content policy, its file."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from toplist._files import load, require_place, write_bytes
from toplist.inference.results import (
    Action,
    Breakdown,
    Comparison,
    ConfidenceSet,
    FileRecord,
    GateResult,
    Group,
    ModelDetails,
    Pair,
    PairCases,
)
from toplist.report import plot, statements
from toplist.report.html import leaderboard, sections
from toplist.report.html.grid import Figure, Section
from toplist.report.plot import STYLE, Plot
from toplist.report.text import Shown, kind, names, plain, stripped, visible

if TYPE_CHECKING:
    from toplist.calibration.decomposition import Decomposition, Reliability
    from toplist.calibration.miscalibration import CalibrationVerdict
    from toplist.inference.score_difference import Decided

_REMEDY = "reports need jinja2: pip install 'toplist[report]'"
_TITLE = 120  # characters
_ACCURACY = "Accuracy looks at the first guess alone, a score at every confidence. So they need not agree."


@dataclass(frozen=True, slots=True)
class Provenance:
    """How the numbers came about, so that somebody else can make them again.

    Nothing is looked up here: the same provenance makes the same page, byte for byte.

    Parameters
    ----------
    command : str, default ""
        What was typed.
    versions : mapping of str to str, default {}
        What was installed.
    files : tuple of FileRecord, default ()
        Which bytes were read.
    written : str, default ""
        A date, or nothing.

    """

    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    files: tuple[FileRecord, ...] = ()
    written: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """All that a report shows.

    Parameters
    ----------
    results : Comparison
        What was compared and found.
    exhibits : tuple of ModelDetails, default ()
        What the lists of each model show.
    provenance : Provenance, default Provenance()
        How the numbers came about.
    title : str, default "Comparison of predictions"
        The heading of the page.
    decided : tuple of Decided, default ()
        Pairs where accuracy says otherwise, with the cases that decide.
    judged : mapping of str to CalibrationVerdict, default {}
        The test of calibration, by model.
    curves : mapping of str to Reliability, default {}
        Isotonic curves with a band, of the models whose panels are drawn.
    decompositions : mapping of str to Decomposition, default {}
        What the score of each model is made of.
    breakdowns : tuple of Breakdown, default ()
        Mean scores by true class, then by the groups that were asked for.
    against : tuple of PairCases, default ()
        The leader, or the baseline, against other models, case by case.
    actions : tuple of Action, default ()
        What to do next.
    gates : tuple of GateResult, default ()
        What the gates found.

    """

    results: Comparison
    exhibits: tuple[ModelDetails, ...] = ()
    provenance: Provenance = field(default_factory=Provenance)
    title: str = "Comparison of predictions"
    decided: tuple[Decided, ...] = ()
    judged: Mapping[str, CalibrationVerdict] = field(default_factory=dict)
    curves: Mapping[str, Reliability] = field(default_factory=dict)
    decompositions: Mapping[str, Decomposition] = field(default_factory=dict)
    breakdowns: tuple[Breakdown, ...] = ()
    against: tuple[PairCases, ...] = ()
    actions: tuple[Action, ...] = ()
    gates: tuple[GateResult, ...] = ()


def render(page: Page) -> str:
    """The page as one HTML document.

    Parameters
    ----------
    page : Page
        All that it shows.

    Returns
    -------
    str
        The document; the same page makes the same text, byte for byte.

    """
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
    environment.globals["trusted"] = trusted
    style, script = _text("page.css") + _text("sections.css") + STYLE, _text("page.js")
    shown = names([row.name for row in page.results.overall.rows])
    page = replace(page, exhibits=tuple(one for one in page.exhibits if one.name in shown))
    written = page.provenance.written
    found: str = environment.get_template("template.html").render(
        title=plain(page.title, _TITLE),
        written=plain(written, 40) if written else "",
        lede=statements.lede(page.results, shown),
        warnings=statements.doubts(page.results, shown),
        sections=_sections(page, shown, figures(*renamed(page.results, page.exhibits, shown))),
        style=trusted(style),
        script=trusted(script),
        policy=policy(style, script),
    )
    return found


def write(page: Page, path: Any) -> None:
    """Write the page to a file, whole or not at all.

    Parameters
    ----------
    page : Page
        All that it shows.
    path : str or os.PathLike
        Where; its folder exists.

    Raises
    ------
    TopListError
        Where there is no such folder, or jinja2 is not installed.

    """
    require_place(path)
    write_bytes(path, render(page).encode("utf-8"))


def _text(file: str) -> str:
    return files("toplist.report.html").joinpath(file).read_text(encoding="utf-8").replace("\r\n", "\n")


def policy(style: str, script: str) -> str:
    """The content security policy: nothing is loaded, and only this style and this script count.

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
    results: Comparison, details: Sequence[ModelDetails], shown: Shown
) -> tuple[Comparison, tuple[ModelDetails, ...]]:
    """Models and groups as they are called on the page, so that figures and sentences have the same names."""

    def called(name: str) -> str:
        return shown[name].text if name in shown else name

    def section(found: Group, group: str | None) -> Group:
        rows = tuple(replace(row, name=called(row.name)) for row in found.rows)
        return replace(found, group=group, rows=rows, pairs=tuple(map(paired, found.pairs)))

    def paired(pair: Pair) -> Pair:
        return replace(pair, a=called(pair.a), b=called(pair.b))

    def chosen(found: ConfidenceSet) -> ConfidenceSet:
        p = {called(name): value for name, value in found.p.items()}
        return replace(found, members=tuple(map(called, found.members)), p=p)

    groups = names(one.group or "" for one in results.groups)
    found = replace(
        results,
        overall=section(results.overall, results.overall.group),
        groups=tuple(section(one, groups[one.group or ""].text) for one in results.groups),
        pairs=tuple(map(paired, results.pairs)),
        confidence_set=None if results.confidence_set is None else chosen(results.confidence_set),
        paths=tuple(replace(p, candidate=called(p.candidate), baseline=called(p.baseline)) for p in results.paths),
    )
    return found, tuple(replace(one, name=called(one.name)) for one in details)


def figures(results: Comparison, details: Sequence[ModelDetails]) -> dict[str, Figure]:
    """Everything that can be drawn, by name; paths are numbered."""
    which = "Relative" if results.missing == "pairwise" else "Mean"
    cases = {row.name: row.cases for row in results.overall.rows}
    apart = len(set(cases.values())) > 1 or any(one.cases != cases.get(one.name, one.cases) for one in details)
    own = f"{', each on all its own cases' if apart else ''}{', without weights' if results.weighted else ''}"
    wanted: list[tuple[Callable[[Any], Plot[Any]], Any, str, int]] = [
        (plot.intervals, results, f"{which} scores and their intervals", 1),
        (plot.pairs, results if results.pairs else None, "Pairwise differences and their significance", 1),
    ]
    found = {}
    for draw, of, caption, i in wanted:
        called = f"{draw.__name__}-{i}"
        if of:
            svg = draw(of).svg(inline=True, prefix=f"drawn-{called}")
            found[called] = Figure(f"figure-{called}", svg, caption)
    return found


Block = tuple[Any, ...]  # a macro of `parts.html`, and what it shows
Drawn = Mapping[str, Figure]


def _section(key: str, title: str, *blocks: Block) -> Section:
    return Section(key, title, blocks)


def _figure(drawn: Drawn, name: str, i: int = 1) -> Block:
    return "figure", drawn.get(f"{name}-{i}")


_AFTER = (
    sections.calibration,
    sections.by_class,
    sections.groups,
    sections.cases,
    sections.lists,
    sections.over_time,
    sections.quality,
    sections.method,
    sections.reproduce,
)


def _sections(page: Page, shown: Shown, drawn: Drawn) -> list[Section]:
    """The sections that the page has, in order."""
    after = (make(page, shown) for make in _AFTER)
    return [
        _section("board", "Leaderboard", *_board(page.results, shown, drawn)),
        _section("significant", "Significant differences", *_differences(page, shown, drawn)),
        *(one for one in after if one is not None),
    ]


def _board(results: Comparison, shown: Shown, drawn: Drawn) -> Iterator[Block]:
    yield "grid", leaderboard.leaderboard(results, shown)
    yield "sentences", statements.against_ranks(results, shown), "warning"
    yield _figure(drawn, "intervals")
    yield "grid", leaderboard.known(results, shown)
    missing = statements.missing_intervals(results.overall, shown)
    yield "sentences", [*statements.selected(results, shown), *missing], "small"


def _differences(page: Page, shown: Shown, drawn: Drawn) -> Iterator[Block]:
    results, first = page.results, page.results.rules[0]
    chosen = results.confidence_set is not None and results.confidence_set.members
    yield "sentences", statements.infinities(results, shown), "warning"
    yield "paragraph", statements.best(results, shown), "best" if chosen else ""
    yield "text", statements.tally(results, first)
    yield "sentences", statements.wins(results, shown, first), "significant", "Significant"
    yield "sentences", statements.undecided(results, shown, first), "undecided", "Not significant"
    yield "sentences", statements.untested(results, shown, first), "untested", "Not tested"
    decided = [one for one in page.decided if one.worse in shown and one.better in shown]
    otherwise = statements.against_accuracy(results, shown)
    if otherwise or decided:
        yield "subheading", "Where accuracy says otherwise"
        yield "text", _ACCURACY
        yield "sentences", otherwise, "otherwise"
    for one in decided:
        yield "sentences", statements.deciding(one, shown), "otherwise"
    yield "sentences", statements.between_rules(results, shown), "otherwise", "Under other rules"
    if results.pairs:
        yield "subheading", "Every pair"
        yield _figure(drawn, "pairs")
        yield "grid", leaderboard.pairs(results, shown)
