"""From results to the text of a page: its frame, its sections in order, its data, its content policy, its file."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from toplist._files import load, require_place, write_bytes
from toplist._text import fixed, visible
from toplist.inference.results import (
    Action,
    Breakdown,
    Comparison,
    FileRecord,
    ModelDetails,
    PairCases,
    PartRecord,
)
from toplist.report import calibration_statements, export, statements
from toplist.report.html import calibration, cases, leaderboard, sections
from toplist.report.html.grid import Block, Section
from toplist.report.plot import STYLE
from toplist.report.plot.canvas import STEPS, THEMES, Theme, key, over, step
from toplist.report.text import (
    Name,
    Sentence,
    Shown,
    Words,
    count,
    decimals,
    in_digits_of,
    infinite,
    kind,
    listed,
    names,
    number_of,
    percent,
    plain,
    scores,
    sentence,
    series,
    share,
    value_of,
)

if TYPE_CHECKING:
    from toplist.calibration.binned import BinnedCalibration
    from toplist.calibration.decomposition import Decomposition, Reliability
    from toplist.calibration.miscalibration import CalibrationVerdict

_REMEDY = "reports need jinja2: pip install 'toplist[report]'"
_TITLE = 120  # characters
_PAIRS, _PAIRS_OF_GROUPS = 5_000, 2_000  # that a page holds as data; of more it has none
_ROWS = 500  # of groups, models and rules that a page holds as data; of more it has no groups


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
    parts : tuple of PartRecord, default ()
        Which parts a result was merged from, where it was.

    """

    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    files: tuple[FileRecord, ...] = ()
    written: str = ""
    parts: tuple[PartRecord, ...] = ()


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
    title : str, default ""
        The heading of the page; made of the models and cases if it is empty.
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
    binned : mapping of str to BinnedCalibration, default {}
        Calibration from sums in bins, by model, where cases are not at hand.
    absent : str, default ""
        What is not shown because cases are not at hand, and how to get it; empty where they are.

    """

    results: Comparison
    exhibits: tuple[ModelDetails, ...] = ()
    provenance: Provenance = field(default_factory=Provenance)
    title: str = ""
    judged: Mapping[str, CalibrationVerdict] = field(default_factory=dict)
    curves: Mapping[str, Reliability] = field(default_factory=dict)
    decompositions: Mapping[str, Decomposition] = field(default_factory=dict)
    breakdowns: tuple[Breakdown, ...] = ()
    against: tuple[PairCases, ...] = ()
    actions: tuple[Action, ...] = ()
    binned: Mapping[str, BinnedCalibration] = field(default_factory=dict)
    absent: str = ""


@dataclass(frozen=True, slots=True)
class ModelName(Name):
    """The name of a model, with the key by which it is highlighted everywhere."""

    key: str = ""

    def __html__(self) -> str:
        hint = f' title="{escape(self.hint)}"' if self.hint else ""
        return f'<bdi class="n" data-model="{escape(self.key)}"{hint}>{escape(self.text)}</bdi>'


@cache
def _environment() -> Any:
    """The templates, which are compiled once."""
    jinja = load("jinja2", _REMEDY)
    environment = jinja.Environment(
        autoescape=True,
        undefined=jinja.StrictUndefined,
        loader=jinja.FunctionLoader(_text),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # Of what this package made itself: style, script, data and drawings.
    environment.globals["trusted"] = load("markupsafe", _REMEDY).Markup
    return environment


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
    environment = _environment()
    trusted = environment.globals["trusted"]
    style = _text("page.css") + _text("sections.css") + _heat() + STYLE
    script = _text("page.js")
    results = page.results
    called = names([row.name for row in results.overall.rows])
    shown = {text: ModelName(one.text, one.hint, key(text)) for text, one in called.items()}
    page = replace(page, exhibits=tuple(one for one in page.exhibits if one.name in shown))
    best = results.overall.rows[0].name if results.overall.rows else ""
    said = statements.verdict(results, shown, calibration_statements.calibration_clause(page.judged, shown, best))
    data = embedded(results)
    found: str = environment.get_template("template.html").render(
        title=plain(page.title, _TITLE) if page.title else title(results, shown),
        facts=_facts(page),
        verdict=said,
        description=str(said),
        strip=_strip(page, shown),
        warnings=_warnings(results, shown),
        shown=list(shown.values()),
        sections=_sections(page, shown),
        held=_held(data),
        embedded=trusted(_harmless(data)),
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


def _heat() -> str:
    """The colours of tables whose cells say how large a difference is, in both themes."""
    levels = range(-STEPS, STEPS + 1)

    def rules(theme: Theme, before: str) -> str:
        return "".join(
            f"{before}.heat .{step(level)}{{background:{theme[step(level)]};color:{theme[over(level)]}}}"
            for level in levels
        )

    light, dark = THEMES["light"], THEMES["dark"]
    return (
        f"{rules(light, '')}\n@media (prefers-color-scheme:dark){{{rules(dark, ':root:not([data-theme=light]) ')}}}\n"
        f"{rules(dark, ':root[data-theme=dark] ')}\n@media print{{{rules(light, ':root:root:root ')}}}\n"
    )


# The frame


def title(results: Comparison, shown: Shown) -> str:
    """The heading of a page that was given none."""
    rows = results.overall.rows
    cases = number_of(results.compared, "case")
    if not rows:
        return "Nothing to compare"
    if len(rows) == 2:
        one, other = (row.name for row in rows)
        first, second = (other, one) if one == results.baseline else (one, other)
        return f"{shown[first]} vs {shown[second]} on {cases}"
    others = f" and {count(len(rows) - 1)} others" if len(rows) > 1 else ""
    return f"{shown[rows[0].name]}{others} on {cases}"


def _facts(page: Page) -> list[str]:
    """What was compared, in a line."""
    results, written = page.results, page.provenance.written
    rule = f"{kind(results.rules[0])} score" if scores(results.rules[0]).startswith("the ") else kind(results.rules[0])
    return [
        "toplist",
        number_of(len(results.overall.rows), "model"),
        number_of(results.compared, "case"),
        plain(statements.classes(results)),
        f"{rule}, lower is better",
        *([plain(written, 40)] if written else []),
    ]


def _warnings(results: Comparison, shown: Shown) -> list[Sentence]:
    """Why the page may mislead, a line each."""
    infinities = statements.infinities(results, shown)
    return [
        *statements.doubts(results, shown),
        *([sentence(*(part for one in infinities for part in (one, " ")))] if infinities else []),
        *statements.against_ranks(results, shown),
    ]


@dataclass(frozen=True, slots=True)
class NextStep:
    """Something to do next, as it is shown."""

    title: Words
    gain: str
    reason: Words
    command: str


@dataclass(frozen=True, slots=True)
class Strip:
    """The answer in three parts: the best model, how sure that is, and what to do next."""

    best: bool
    name: Words
    facts: tuple[Words, ...]
    heading: str
    how_sure: tuple[Words, ...]
    whisker: leaderboard.Whisker | None  # of two models
    actions: tuple[NextStep, ...]
    open: int = 2  # actions that are not folded


def _strip(page: Page, shown: Shown) -> Strip:
    results = page.results
    if not results.overall.rows:
        return Strip(False, "", (), "", (), None, ())
    row, rule = results.overall.rows[0], results.rules[0]
    score, name = row.scores[rule], kind(rule)
    mean = score.mean
    value, low, high = (in_digits_of(mean, x) for x in (mean.value, mean.low, mean.high))
    ends = f", {percent(results.level)} CI {low} to {high}" if mean.low is not None else ""
    facts = [f"{name} {infinite(score.infinite) if score.infinite else value}{ends}"]
    skill, accuracy = value_of(score.skill), value_of(row.metrics.get("accuracy"))
    if skill is not None and math.isfinite(skill) and skill:
        facts.append(f"{share(abs(skill))} {'better' if skill > 0 else 'worse'} than the uniform prediction")
    if accuracy is not None and not math.isnan(accuracy):
        facts.append(f"accuracy {share(accuracy)}")
    leaders = [shown[one.name] for one in results.overall.rows if one.rank == 1] or [shown[row.name]]
    heading, said = statements.how_sure(results, shown)
    return Strip(
        len(results.overall.rows) > 1,
        sentence(*series(leaders, 3)),
        tuple(facts),
        heading,
        tuple(said),
        leaderboard.whisker_of_two(results, shown),
        tuple(_step(action, shown, name) for action in page.actions),
        open=1 if len(results.overall.rows) == 2 else 2,
    )


def _step(action: Action, shown: Shown, rule: str) -> NextStep:
    """An action with the names of its models in their places."""
    known = action.gain is not None and math.isfinite(action.gain.value)
    gain = f"{rule} {fixed(value_of(action.gain), decimals([action.gain]), signed=True)}" if known else ""
    words, reason = (statements.with_names(text, action.models, shown) for text in (action.title, action.reason))
    return NextStep(words, gain, sentence(reason, ".") if reason.parts else "", visible(action.command))


# Sections


def _sections(page: Page, shown: Shown) -> list[Section]:
    """The sections that the page has, in order."""
    many = len(page.results.overall.rows)
    if not many:
        return []
    found = [
        Section("leaderboard", "Leaderboard", tuple(_board(page, shown))),
        *([Section("differences", "Differences", tuple(_differences(page, shown)))] if many > 2 else []),
        *(
            make(page, shown)
            for make in (
                calibration.calibration,
                cases.by_class,
                cases.groups,
                cases.cases,
                sections.lists,
                sections.over_time,
                sections.absent,
                sections.quality,
                sections.method,
                sections.reproduce,
            )
        ),
    ]
    return [one for one in found if one is not None and one.blocks]


def _board(page: Page, shown: Shown) -> Iterator[Block]:
    results = page.results
    found = leaderboard.leaderboard(results, page.judged, shown)
    read = [
        *(_reading(found, results) if len(results.overall.rows) > 2 else []),
        calibration_statements.chip_legend(page.judged),
    ]
    yield "board", found, " ".join(filter(None, read))
    notes: list[Words] = [
        *([found.constant] if found.constant else []),
        *statements.selected(results, shown),
        *statements.missing_intervals(results.overall, shown),
    ]
    if len(results.overall.rows) == 2:  # of more models, differences have a section of their own
        notes += _findings(page, shown)
    yield "paragraph", notes, "small"


def _reading(found: leaderboard.BoardTables, results: Comparison) -> list[str]:
    """How to read the table."""
    heads = {head.classes for head in found.main.heads}
    said = [
        *(["Rows joined by a bar on the left are not significantly different."] if "ties" in heads else []),
        *([f"Bold Δ: significantly worse than the best (Holm, {percent(results.level)})."] if "delta" in heads else []),
        *(
            [f"{statements.STEPS}."]
            if any(statements.in_steps(row.scores[results.rules[0]], results.level) for row in results.overall.rows)
            else []
        ),
        *(["Blue: no other model is significantly better."] if found.main.leaders else []),
    ]
    reference = leaderboard.uniform(results)
    if reference is not None:
        said.append(f"The uniform prediction scores {fixed(reference, 3)}.")
    return said


def _differences(page: Page, shown: Shown) -> Iterator[Block]:
    table, said = leaderboard.matrix(page.results, shown), _findings(page, shown)
    if table is not None:
        yield "matrix", table, said
        return
    yield "versus", leaderboard.versus(page.results, shown, any_model=len(page.results.pairs) <= _PAIRS)
    yield "sentences", said


def _findings(page: Page, shown: Shown) -> list[Sentence]:
    """What else is known of differences: power, narrow leads, other rules, accuracy."""
    results = page.results
    power = leaderboard.power(results, shown)
    return [
        *([power] if power is not None else []),
        *statements.leads(results, shown),
        *statements.untested(results, shown, results.rules[0]),
        *statements.between_rules(results, shown),
        *statements.against_accuracy(results, shown, page.against),
    ]


# The data of the page


@dataclass(frozen=True, slots=True)
class Data:
    """What downloads are made of: a table as text, and all results as in JSON."""

    csv: str
    board: dict[str, Any]
    left_out: str  # what the results are without, because there is too much of it


def embedded(results: Comparison) -> Data:
    """The results as the page holds them; without pairs or groups where these are very many."""
    without = []
    if len(results.pairs) > _PAIRS:
        results = replace(results, pairs=())
        without.append("pairs")
    if sum(len(one.rows) for one in results.groups) * len(results.rules) > _ROWS:
        results = replace(results, groups=())
        without.append("groups")
    elif sum(len(one.pairs) for one in results.groups) > _PAIRS_OF_GROUPS:
        results = replace(results, groups=tuple(replace(one, pairs=()) for one in results.groups))
        without.append("pairs in groups")
    return Data(export.as_csv(results), export.as_dict(results), listed(without))


def _harmless(data: Data) -> str:
    """The data as JSON in ASCII that cannot end the element around it."""
    text = json.dumps({"csv": data.csv, "board": data.board}, separators=(",", ":"))
    for character in "<>&\x7f":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _held(data: Data) -> str:
    """What can be downloaded from the page."""
    without = f", without {data.left_out}, which are too many for a page" if data.left_out else ""
    return f"Downloads come from the page itself: CSV as by to_csv(), JSON as by to_json() ({export.SCHEMA}){without}."
