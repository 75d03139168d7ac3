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
from toplist.report.html import leaderboard, tables
from toplist.report.plot import STYLE, Plot
from toplist.report.text import Shown, kind, names, plain, stripped, visible

if TYPE_CHECKING:
    from toplist.calibration.decomposition import Decomposition, Reliability
    from toplist.calibration.miscalibration import CalibrationVerdict
    from toplist.inference.score_difference import Decided

_REMEDY = "reports need jinja2: pip install 'toplist[report]'"
_TITLE = 120  # characters
_GROUPS = 12  # beyond it their table stays folded on paper
_ACCURACY = "Accuracy looks at the first guess alone, a score at every confidence. So they need not agree."
_CUT = (
    "Lists are cut to their k most confident classes and scored again. A curve that falls says that longer lists help; "
    "where it is flat, the list could be shorter."
)
_NO_CURVES = "There are no curves: they need an outcome for each case, and the truth here is a distribution."
_SHAPES = (
    "A hard label is a list of one class with confidence 1, and pays dearly where it is wrong; a distribution leaves "
    "no confidence over. Mean {} scores of predictions of each shape:"
)
_RELIABLE = "Among predictions of 0.8, what was predicted should happen 8 times in 10."
_ANYTIME = (
    "A confidence sequence holds at all times at once: one may look after every case, and stop when one has seen "
    "enough. {}"
)
_ODD = "What is odd about the predictions as they were scored, though nothing had to be refused:"
_LOSSES = "The cases with the largest {} scores. Look here for a wrong truth, or a class that is never predicted."
_UNPRINTED = "The table of all {} groups is not printed; the page itself has it."


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


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing as SVG, and its caption."""

    id: str
    svg: str
    caption: str


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page: blocks are macros of `parts.html` with what they show, and those that show nothing go."""

    id: str
    title: str
    blocks: tuple[tuple[Any, ...], ...]


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
    style, script = _text("page.css") + STYLE, _text("page.js")
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
    curved = tuple(one for one in details if one.curve)
    wanted: list[tuple[Callable[[Any], Plot[Any]], Any, str, int]] = [
        (plot.intervals, results, f"{which} scores and their intervals", 1),
        (plot.pairs, results if results.pairs else None, "Pairwise differences and their significance", 1),
        (plot.curves, curved, f"Score against k{own}", 1),
        (plot.shapes, details, f"Mean scores by shape{own}", 1),
        (plot.reliability, details, f"Confidence and hit rate{own}", 1),
        (plot.groups, results if results.groups else None, f"{which} scores by group", 1),
        *((plot.path, path, "The difference as cases come in", i) for i, path in enumerate(results.paths, 1)),
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


def _sections(page: Page, shown: Shown, drawn: Drawn) -> list[Section]:
    """The sections that the page has, in order."""
    results, details = page.results, page.exhibits
    setting: tuple[Block, ...] = (
        ("facts", tables.facts(results, shown)),
        ("grid", tables.models(results, details, shown)),
        ("full_names", tables.full_names(shown)),
    )
    odd = tables.oddities(details, shown)
    faults: tuple[Block, ...] = (
        ("sentences", tables.fault_sentences(results, details, shown), "otherwise"),
        ("grid", tables.faults(results, shown)),
        ("text", _ODD if odd else ""),
        ("grid", odd),
    )
    return [
        _section("board", "Leaderboard", *_board(results, shown, drawn)),
        _section("significant", "Significant differences", *_differences(page, shown, drawn)),
        _section("setting", "What was compared, and how", *setting),
        *(_lists(page, shown, drawn) if details else []),
        *([_groups(results, shown, drawn)] if results.groups else []),
        *([_section("anytime", "Looked at after every case", *_paths(results, shown, drawn))] if results.paths else []),
        _section("faults", "What was wrong in each file", *faults),
        *_losses(page, shown),
        _reproduction(page),
    ]


def _board(results: Comparison, shown: Shown, drawn: Drawn) -> Iterator[Block]:
    yield "grid", leaderboard.leaderboard(results, shown)
    yield "sentences", statements.against_ranks(results, shown), "warning"
    yield _figure(drawn, "intervals")
    yield "reading", tables.reading(results)
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
    for i, one in enumerate(decided, 1):
        yield "sentences", statements.deciding(one, shown), "otherwise"
        yield "grid", tables.deciding(one, shown, i)
    yield "sentences", statements.between_rules(results, shown), "otherwise", "Under other rules"
    if results.pairs:
        yield "subheading", "Every pair"
        yield _figure(drawn, "pairs")
        yield "grid", leaderboard.pairs(results, shown)


def _lists(page: Page, shown: Shown, drawn: Drawn) -> list[Section]:
    """What the lists of each model show."""
    details, rule = page.exhibits, kind(page.results.rules[0], 30)
    curve = tables.curve(details, shown)
    cut: tuple[Block, ...] = (("text", _CUT), _figure(drawn, "curves"), ("grid", curve, True))
    shapes: tuple[Block, ...] = (
        ("text", _SHAPES.format(rule)),
        _figure(drawn, "shapes"),
        ("grid", tables.shapes(details, shown)),
    )
    reliability: tuple[Block, ...] = (
        ("text", _RELIABLE),
        ("sentences", statements.confidence(page.judged, shown), "otherwise"),
        _figure(drawn, "reliability"),
        ("grid", tables.reliability(details, page.judged, shown)),
    )
    return [
        _section("length", "Score against list length", *(cut if curve else (("text", _NO_CURVES),))),
        _section("shape", "Hard labels, lists and distributions", *shapes),
        _section("reliability", "Are the confidences right?", *reliability),
    ]


def _groups(results: Comparison, shown: Shown, drawn: Drawn) -> Section:
    many = len(results.groups) > _GROUPS
    grid = "grid", leaderboard.groups(results, shown), True, many
    note = "text", _UNPRINTED.format(len(results.groups)) if many else "", "paper small"
    return _section("groups", "Groups of cases", _figure(drawn, "groups"), grid, note)


def _paths(results: Comparison, shown: Shown, drawn: Drawn) -> Iterator[Block]:
    yield "text", _ANYTIME.format(f"{statements.enough(results.paths[0])} {statements.assumed(results.paths)}")
    for i, path in enumerate(results.paths, 1):
        method = stripped(path.method)
        yield "sentences", statements.path_story(path, shown), "otherwise"
        yield _figure(drawn, "path", i)
        yield "text", f"Method: {method}." if method else "", "small"


def _losses(page: Page, shown: Shown) -> list[Section]:
    losses, rule = tables.losses(page.exhibits, shown), kind(page.results.rules[0], 30)
    blocks = ("text", _LOSSES.format(rule)), ("losses", losses)
    return [_section("losses", "The cases that cost most", *blocks)] if losses else []


def _reproduction(page: Page) -> Section:
    made, seeds = page.provenance, tables.seeds(page.results)
    versions = [(plain(key), plain(value, 120)) for key, value in made.versions.items()]
    facts = "facts", [*versions, *([("seed", seeds)] if seeds else [])], "versions"
    command, files = ("command", visible(made.command)), ("grid", tables.files(made.files))
    return _section("reproduce", "How to reproduce this", command, facts, files)
