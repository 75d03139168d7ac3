"""The sections of a page after its leaderboard: calibration, classes, groups, cases, lists, data quality, method.

Each makes a `Section` of a `Page`, or None where it has nothing to say; what is constant or in order is one line in
the checks passed of `quality`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from toplist._text import NOTHING, fixed, visible
from toplist.inference.results import (
    KINDS,
    Breakdown,
    CaseView,
    Comparison,
    Confusion,
    FileRecord,
    ModelDetails,
    PairCases,
    PredictionView,
    SourceSummary,
)
from toplist.report import plot, statements
from toplist.report.html.grid import Column, Figure, Grid, Head, Section, counted, grid, named, number
from toplist.report.numbers import rate, share, small
from toplist.report.plot import Plot
from toplist.report.text import (
    Name,
    Sentence,
    Shown,
    Words,
    count,
    kind,
    listed,
    name,
    names,
    number_of,
    percent,
    plain,
    sentence,
    series,
    stripped,
)

if TYPE_CHECKING:
    from toplist.calibration.decomposition import Decomposition
    from toplist.calibration.miscalibration import CalibrationVerdict
    from toplist.calibration.pairs import Bin
    from toplist.report.html.page import Page

TRUE_CLASS = "true class"  # what a breakdown by class is by
_OPEN = 6  # models up to which the table of calibration is not folded, and panels that are drawn
_ACROSS = 12  # groups up to which a heat map has them as columns
_MOST = 20  # groups of a heat map
_DOUBLED = (2, 4, 8)  # times the smallest significant difference, from where a colour is one step stronger
_FEWEST, _CONFUSED = 6, 10  # confusions of the best model
_OTHERS = 12  # other models whose confusions and worst cases are folded
_NAMED = 5  # models with an issue
_BRIEF = 3  # confusions of another model; reversals that are named
_SHOWN, _CARDS, _SIDE = 4, 8, 2  # cards at once, in all, and of cases that are fixed or broken at once
_MINUS = "\u2212"
_BESIDE = 0.01  # a probability below it is left out where two lists are compared
_LITTLE = 0.0005  # a probability below it is written <0.001
_WIDE, _NARROW = 760, 360  # px that figures are drawn for
_PANEL = 200, 176  # px of a panel
_PATH = 60  # characters of a path
_LONG = 400  # characters of a message


@dataclass(frozen=True, slots=True)
class Box:
    """A cell of a table: its text, a class of the style sheet, what a pointer shows, and parts of a bar."""

    text: Words
    style: str = ""
    hint: str = ""
    bar: tuple[tuple[str, float], ...] = ()  # classes of the style sheet, and widths as shares of the cell
    small: str = ""
    value: float | None = None

    @property
    def key(self) -> str:
        """The number for sorting; nothing where there is none."""
        return "" if self.value is None or math.isnan(self.value) else f"{self.value:.9g}"


@dataclass(frozen=True, slots=True)
class Top:
    """The head of a column: its text, a second line, whether it is text, and whether a phone leaves it out."""

    text: Words
    small: str = ""
    left: bool = False
    wide: bool = False
    means: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A table whose cells have colours or bars; the first column names the rows."""

    id: str
    caption: Words
    heads: tuple[Top, ...]
    rows: tuple[tuple[Box, ...], ...]
    style: str = ""
    reference: bool = False  # whether the first row is what the others are compared with
    sorts: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A class of a card: its probability, and whether it is the true class."""

    label: Words
    probability: str
    width: float
    style: str


@dataclass(frozen=True, slots=True)
class Listing:
    """What one model predicted for a case."""

    score: str
    lines: tuple[Line, ...]
    model: Words = ""


@dataclass(frozen=True, slots=True)
class Card:
    """A case with its true class and predictions."""

    case: Words
    listings: tuple[Listing, ...]
    outcome: Words
    others: str
    doubtful: bool


Block = tuple[Any, ...]


def drawing(made: Plot[Any], called: str, caption: Words) -> Figure:
    """The figure for wide pages and for phones."""
    wide, narrow = (made.svg(inline=True, prefix=f"drawn-{called}-{width}", width=width) for width in (_WIDE, _NARROW))
    return Figure(f"figure-{called}", wide, caption, narrow)


def panel(made: Plot[Any], i: int) -> tuple[str, str]:
    """A small figure: six side by side on wide pages, two on phones."""
    wide, narrow = (made.svg(inline=True, prefix=f"drawn-panel-{i}-{width}", width=width) for width in _PANEL)
    return wide, narrow


def _section(key: str, title: str, *blocks: Block) -> Section:
    return Section(key, title, tuple(block for block in blocks if block[1]))


def _own_cases(page: Page) -> str:
    """That details are of all cases of each model, without weights, where scores are not."""
    cases = {row.name: row.cases for row in page.results.overall.rows}
    apart = len(set(cases.values())) > 1 or any(one.cases != cases.get(one.name, one.cases) for one in page.exhibits)
    said = [
        *(["each model on all its own cases"] if apart else []),
        *(["without weights"] if page.results.weighted else []),
    ]
    return f" {', '.join(said).capitalize()}." if said else ""


def _tied(page: Page, shown: Shown) -> list[str]:
    """Models that no other one is significantly better than, as figures call them."""
    best = page.results.confidence_set
    return [] if best is None else [_who(shown, who).text for who in best.members]


def _rule(page: Page) -> str:
    return kind(page.results.rules[0], 30)


def _who(shown: Shown, model: str) -> Name:
    return shown[model] if model in shown else name(model)


# Calibration


def calibration(page: Page, shown: Shown) -> Section | None:
    """Who is over- or underconfident by the test of calibration, curves with bands, and a table of all models."""
    judged = {row.name: page.judged[row.name] for row in page.results.overall.rows if row.name in page.judged}
    curves = [row.name for row in page.results.overall.rows if row.name in page.curves][:_OPEN]
    if not judged and not curves:
        return None
    adjusted, order = statements.adjusted(judged), _before_after(page)
    drawn = [
        panel(plot.calibration_panel(_who(shown, who).text, page.curves[who], _with_p(judged, who, adjusted)), i)
        for i, who in enumerate(sorted(curves, key=lambda one: order.get(one, 0)), 1)
    ]
    found = statements.calibration_groups(judged, shown)
    few = all(direction.startswith("Too few") for direction, _ in found)
    lines = [sentence("Too few cases to judge calibration.")] if few else _directions(found, shown)
    holm = "; p: Holm" if len(judged) > 1 else ""
    note = f"Line: isotonic fit; grey: 90% band if calibrated; bars: number of cases{holm}." if drawn else ""
    note = f"{note}{_own_cases(page)}"
    if two(page) is not None:
        parts = ("text", "" if few else _of_two(page, judged, shown), "small")
        return _section(
            "calibration",
            "Calibration",
            ("paragraph", lines),
            ("text", note, "reading"),
            ("panels", drawn, True),
            parts,
        )
    table = _calibration_table(page, judged, adjusted, shown)
    return _section(
        "calibration",
        "Calibration",
        ("lines", lines),
        ("text", note, "reading"),
        ("panels", drawn),
        ("chart", table, f"Calibration of all {count(len(judged))} models" if len(judged) > _OPEN else ""),
        ("lines", _notes(judged, shown), "small"),
    )


def _with_p(
    judged: Mapping[str, CalibrationVerdict], who: str, adjusted: Mapping[str, float | None]
) -> CalibrationVerdict | None:
    """With the p value that the table has, and that decides."""
    found, p = judged.get(who), adjusted.get(who)
    if found is None or found.test is None or p is None:
        return found
    return replace(found, test=replace(found.test, p=p))


def _of_two(page: Page, judged: Mapping[str, CalibrationVerdict], shown: Shown) -> Words:
    """The calibration error and the miscalibration part of the score of two models, the reference first."""
    order, details = _before_after(page), {one.name: one for one in page.exhibits}
    said: list[Words] = []
    for who in sorted(judged, key=lambda one: order.get(one, 0)):
        error, parts = binned_error(details[who].top) if who in details else None, page.decompositions.get(who)
        if error is not None and parts is not None and parts.miscalibration is not None:
            said.append(sentence(_who(shown, who), f" {rate(error)} and {fixed(parts.miscalibration, 4)}"))
    return sentence(f"ECE and miscalibration part of the {_rule(page)} score: ", *series(said), ".") if said else ""


def _before_after(page: Page) -> dict[str, int]:
    """Of two models, the one that the other is compared with stands first; others stay in order."""
    pair = two(page)
    return {} if pair is None else {pair.reference: -1}


def _directions(found: Sequence[tuple[str, list[str]]], shown: Shown) -> list[Sentence]:
    """The models by direction; where it is the same for all of them, without their names."""
    if len(found) == 1 and len(found[0][1]) > 1:
        direction, who = found[0]
        every = "Both" if len(who) == 2 else f"All {count(len(who))}"
        return [sentence(f"{every} models: {direction[:1].lower()}{direction[1:]}.")]
    return [
        sentence(
            f"{direction}{f' ({count(len(who))})' if len(who) > 1 else ''}: ",
            *series([_who(shown, one) for one in who], _MOST),
            ".",
        )
        for direction, who in found
    ]


def _notes(judged: Mapping[str, CalibrationVerdict], shown: Shown) -> list[Sentence]:
    """Whose test is of some of the cases, and who has none; what is true of all is said once."""
    found: dict[str, list[Words]] = {}
    for who, one in judged.items():
        for note in one.notes:
            if note.startswith(("The test", "There is no test")):
                found.setdefault(note, []).append(_who(shown, who))
    return [
        sentence(note) if len(who) == len(judged) else sentence(*series(who), f": {note}")
        for note, who in found.items()
    ]


def _calibration_table(
    page: Page, judged: Mapping[str, CalibrationVerdict], adjusted: Mapping[str, float | None], shown: Shown
) -> Chart | None:
    """All models; what is the same for all of them stands in the caption."""
    details = {one.name: one for one in page.exhibits}
    biases = {who: one.bias for who, one in judged.items()}
    largest = max((d.score for d in page.decompositions.values() if math.isfinite(d.score)), default=0.0)

    def points(who: str) -> Box:
        bias = biases[who]
        if bias is None:
            return Box(NOTHING)
        between = "" if bias.low is None or bias.high is None else f"{_points(bias.low)} to {_points(bias.high)}"
        return Box(_points(bias.difference), small=between, value=abs(bias.difference))

    def detectable(who: str) -> Box:
        bias = biases[who]
        least = None if bias is None else bias.detectable
        return Box(NOTHING) if least is None else Box(fixed(100 * least, 1), value=least)

    def error(who: str) -> Box:
        found = None if who not in details else binned_error(details[who].top)
        return Box(rate(found), value=found)

    def means(who: str, which: str) -> Box:
        bias = biases[who]
        value = None if bias is None else float(getattr(bias, which))
        return Box(NOTHING if value is None else share(value), value=value)

    level = percent(page.results.level)
    columns: list[tuple[Top, list[Box]]] = [
        (Top("mean confidence", wide=True), [means(who, "mean_confidence") for who in judged]),
        (Top("accuracy", wide=True), [means(who, "hit_rate") for who in judged]),
        (Top("overconfidence", f"points, {level}"), [points(who) for who in judged]),
        (Top("p", "Holm"), [Box(small(adjusted.get(who)), value=adjusted.get(who)) for who in judged]),
        (
            Top("detectable", "points", wide=True, means="difference whose interval would exclude 0 with 80% power"),
            [detectable(who) for who in judged],
        ),
        (
            Top("ECE", wide=True, means="mean absolute difference of confidence and accuracy over 20 bins; above 0 by "
                "chance even for a calibrated model"),
            [error(who) for who in judged],
        ),
    ]  # fmt: skip
    if page.decompositions and largest:
        own = [page.decompositions.get(who) for who in judged]
        head = Top(
            "miscalibration", f"part of {_rule(page)}", wide=True, means="what perfect recalibration could remove"
        )
        columns.append((head, [_parts(one, largest) for one in own]))
    columns, same = varied(columns)
    model = Top("model", left=True), [Box(_who(shown, who)) for who in judged]
    bars = f" Bars: mean {_rule(page)} score, orange: its miscalibration." if page.decompositions and largest else ""
    caption = sentence(f"Calibration of the top-1 prediction.{bars}", *same)
    made = chart("reliability", caption, [model, *columns], sorts=True)
    return made if judged and columns else None


def _points(x: float) -> str:
    return fixed(100 * x, 1, signed=True)


def _parts(one: Decomposition | None, largest: float) -> Box:
    """Miscalibration as a part of the score, which a bar shows."""
    if one is None or one.miscalibration is None or one.discrimination is None or not math.isfinite(one.score):
        return Box(NOTHING)
    rest = max(one.score - one.miscalibration, 0.0)
    plus = {"miscalibration": one.miscalibration, "unlisted true classes": one.misses, "penalty": one.penalty}
    said = [f" + {what} {fixed(x, 4)}" for what, x in plus.items() if abs(x) >= _LITTLE / 10]
    base = f"uncertainty {fixed(one.uncertainty, 4)} {_MINUS} discrimination {fixed(one.discrimination, 4)}"
    bar = (("rest", rest / largest), ("wrong", one.miscalibration / largest))
    hint = f"{fixed(one.score, 4)} = {base}{''.join(said)}"
    return Box(fixed(one.miscalibration, 4), hint=hint, bar=bar, value=one.miscalibration)


def binned_error(bins: Iterable[Bin]) -> float | None:
    """The expected calibration error: the mean absolute difference of mean confidence and hit rate over bins.

    >>> from toplist.calibration.pairs import Bin
    >>> binned_error([Bin(0.0, 0.5, 1, 0.25, 0.0), Bin(0.5, 1.0, 3, 0.75, 1.0)])
    0.25
    """
    filled = [one for one in bins if one.count]
    total = sum(one.count for one in filled)
    return sum(one.count * abs(one.mean_confidence - one.hit_rate) for one in filled) / total if total else None


# Tables of boxes


def chart(
    called: str,
    caption: Words,
    columns: Sequence[tuple[Top, Sequence[Box]]],
    *,
    style: str = "",
    reference: bool = False,
    sorts: bool = False,
) -> Chart:
    """A table of columns side by side."""
    rows = tuple(zip(*(cells for _, cells in columns), strict=True))
    return Chart(called, caption, tuple(head for head, _ in columns), rows, style, reference, sorts)


def varied(columns: Sequence[tuple[Top, list[Box]]]) -> tuple[list[tuple[Top, list[Box]]], list[Words]]:
    """The columns that differ between rows, and a sentence about those that do not; empty ones are left out."""
    kept, same = [], []
    for head, cells in columns:
        texts = {(str(cell.text), cell.small) for cell in cells}
        if len(texts) != 1 or (len(cells) == 1 and texts != {(NOTHING, "")}):
            kept.append((head, cells))
        elif texts != {(NOTHING, "")}:
            same.append(sentence(head.text, " ", cells[0].text))
    return kept, [sentence(" The same for all: ", *series(same), ".")] if same else []


# Classes and groups of cases


def by_class(page: Page, shown: Shown) -> Section | None:
    """Mean scores by true class, hardest first, and which classes are taken for which."""
    found = next((one for one in page.breakdowns if one.by == TRUE_CLASS), None)
    confused, others = _confusions(page, shown)
    if (found is None or not found.groups) and confused is None:
        return None
    if found is None or not found.groups:
        return _section("classes", "By class", ("beside", (None, confused, others), two(page) is not None))
    called = names(found.groups)
    lines = [*_hardest(found, called), *_reversed(page, found, called, shown), *_not_given(found, "class", "classes")]
    return _section(
        "classes",
        "By class",
        ("paragraph", lines),
        ("paragraph", _legend(page, found), "reading"),
        ("beside", (heat_map(page, found, called, shown, "classes"), confused, others), two(page) is not None),
        ("grid", _all_groups(page, found, called, shown, "classes", "class"), True, True),
    )


def groups(page: Page, shown: Shown) -> Section | None:
    """Mean scores by the column that was asked for: lines where its values are dates or numbers, else a heat map."""
    found = next((one for one in page.breakdowns if one.by != TRUE_CLASS), None)
    if found is None or not found.groups:
        return None
    called, by = names(found.groups), name(found.by or "group")
    lines = [*_reversed(page, found, called, shown), *_not_given(found, "group")]
    if found.axis and len(found.groups) > 2:
        renamed = replace(found, models=tuple(_who(shown, who).text for who in found.models), by=by.text)
        caption = sentence(f"Mean {_rule(page)} score by ", by)
        figure = drawing(plot.groups(renamed, page.results.rules[0], _tied(page, shown)), "groups", caption)
        block: tuple[Block, ...] = (("figure", figure),)
    else:
        lines = [*_hardest(found, called), *lines]
        block = (
            ("paragraph", _legend(page, found), "reading"),
            (("chart", heat_map(page, found, called, shown, "groups"))),
        )
    return _section(
        "groups",
        f"By {by.text}",
        ("paragraph", lines),
        *block,
        ("grid", _all_groups(page, found, called, shown, "groups", "group"), True, True),
    )


def steps(found: Breakdown) -> list[list[int]]:
    """The step of colour of every cell by group and model: 0 where the difference to the mean is not significant.

    The scale is anchored to noise: step 1 begins at the smallest difference that is significant in this table, and
    each further step at twice the difference of the one before. Below zero is better.
    """
    unit = _smallest(found) or 0.0

    def step(d: float, significant: bool) -> int:
        if not significant or math.isnan(d) or not d:
            return 0
        far = 1 + sum(abs(d) >= unit * times for times in _DOUBLED)
        return far if d > 0 else -far

    return [
        [step(d, s) for d, s in zip(row, flags, strict=True)]
        for row, flags in zip(found.differences, found.significant, strict=True)
    ]


def _smallest(found: Breakdown) -> float | None:
    """The smallest difference that is significant."""
    every = [
        abs(d)
        for row, flags in zip(found.differences, found.significant, strict=True)
        for d, s in zip(row, flags, strict=True)
        if s and math.isfinite(d) and d
    ]
    return min(every, default=None)


def _legend(page: Page, found: Breakdown) -> list[str]:
    """What colours mean, and how many cases there are where all groups have as many."""
    least, level = _smallest(found), percent(page.results.level)
    each = [f"{number_of(found.cases[0], 'case')} each."] if _same_cases(found) else []
    pair, holm = len(found.models) == 2, f"(Holm over all cells, {level})"
    if len(found.models) < 2:
        return each
    mean = "the other model" if pair else "the mean of the models"
    if least is None:
        return [f"No difference to {mean} is significant {holm}.", *each]
    return [
        f"Blue: significantly better than {mean}; orange: worse {holm}.",
        f"Each step of colour doubles the difference, from {fixed(2 * least if pair else least, 3)} on.",
        *([] if pair else ["Bold: the lowest score."]),
        *each,
    ]


def _same_cases(found: Breakdown) -> bool:
    return len(found.cases) > 1 and len(set(found.cases)) == 1


def heat_map(page: Page, found: Breakdown, called: Shown, shown: Shown, key: str) -> Chart:
    """Means by model and group with colours for significant differences; two models and many groups as rows."""
    many = list(range(len(found.groups)))[:_MOST]
    if len(found.models) == 2:
        return _two_models(page, found, called, shown, key, many)
    level, means = steps(found), [_mean(row) for row in found.means]
    rule, by = _rule(page), found.by or "group"

    def box(g: int, m: int) -> Box:
        value, d, step = found.means[g][m], found.differences[g][m], level[g][m]
        significant = "significant" if step else "not significant"
        beside = "" if not math.isfinite(d) else f", {fixed(d, 4, signed=True)} against the mean ({significant})"
        right = found.accuracy[g][m]
        accuracy = "" if math.isnan(right) else f", accuracy {share(right)}"
        who, where = _who(shown, found.models[m]).text, called[found.groups[g]].text
        hint = f"{who}, {where}: {rule} {fixed(value, 4)}{beside}{accuracy}"
        style = _colour(step) + (" lowest" if _is_lowest(found.means[g], m) else "")
        return Box(fixed(value, 3), style, hint, value=value)

    across = len(many) <= _ACROSS or len(found.models) > _ACROSS
    mean = f"mean of {count(len(found.models))}"
    caption = sentence(f"Mean {rule} score by model and ", name(by))
    if across:
        several = len(found.models) > 1
        columns = [
            (
                Top("model", left=True),
                [*([Box(mean)] if several else []), *(Box(_who(shown, m)) for m in found.models)],
            ),
            *(
                (
                    Top(called[found.groups[g]], "" if _same_cases(found) else f"n {count(found.cases[g])}"),
                    [*([Box(fixed(means[g], 3))] if several else []), *(box(g, m) for m in range(len(found.models)))],
                )
                for g in many
            ),
        ]
        return chart(key, caption, columns, style="heat", reference=several)
    columns = [
        (Top(name(by), left=True), [Box(called[found.groups[g]]) for g in many]),
        *_numbers(found, many),
        *([(Top(mean), [Box(fixed(means[g], 3), value=means[g]) for g in many])] if len(found.models) > 1 else []),
        *((Top(_who(shown, who)), [box(g, m) for g in many]) for m, who in enumerate(found.models)),
    ]
    return chart(key, caption, columns, style="heat", sorts=True)


def _numbers(found: Breakdown, many: Sequence[int]) -> list[tuple[Top, list[Box]]]:
    """A column of cases by group, unless all have as many."""
    made = Top("n"), [Box(count(found.cases[g]), value=float(found.cases[g])) for g in many]
    return [] if _same_cases(found) else [made]


def _two_models(page: Page, found: Breakdown, called: Shown, shown: Shown, key: str, many: Sequence[int]) -> Chart:
    """Groups as rows, the two means, and their difference, which alone has a colour."""
    pair, level = two(page), steps(found)
    order = [0, 1] if pair is None or found.models[0] == pair.reference else [1, 0]
    old, new = (_who(shown, found.models[m]) for m in order)

    def difference(g: int) -> Box:
        d, step = 2 * found.differences[g][order[1]], level[g][order[1]]
        hint = "significant" if step else "not significant"
        return Box(fixed(d, 3, signed=True), _colour(step), f"{called[found.groups[g]].text}: {hint}", value=d)

    columns = [
        (Top(name(found.by or "group"), left=True), [Box(called[found.groups[g]]) for g in many]),
        *_numbers(found, many),
        *(
            (
                Top(_who(shown, found.models[m])),
                [Box(fixed(found.means[g][m], 3), value=found.means[g][m]) for g in many],
            )
            for m in order
        ),
        (Top("Δ"), [difference(g) for g in many]),
    ]
    caption = sentence(f"Mean {_rule(page)} score. Δ: ", new, f" {_MINUS} ", old)
    return chart(key, caption, columns, style="heat", sorts=True)


def _colour(step: int) -> str:
    return f"below{-step}" if step < 0 else f"above{step}" if step else ""


def _mean(values: Sequence[float]) -> float:
    known = [x for x in values if not math.isnan(x)]
    return sum(known) / len(known) if known else math.nan


def _is_lowest(values: Sequence[float], m: int) -> bool:
    known = [x for x in values if not math.isnan(x)]
    return len(known) > 1 and math.isfinite(values[m]) and values[m] == min(known) and known.count(values[m]) == 1


def _hardest(found: Breakdown, called: Shown) -> list[Sentence]:
    """The two groups with the largest mean score over the models, where there are more."""
    means = {group: _mean(row) for group, row in zip(found.groups, found.means, strict=True)}
    known = sorted((group for group in means if math.isfinite(means[group])), key=lambda one: -means[one])
    if len(known) < 3:
        return []
    first, second = known[:2]
    return [sentence("Hardest: ", called[first], f" {fixed(means[first], 3)}, ", called[second],
                     f" {fixed(means[second], 3)}.")]  # fmt: skip


def _reversed(page: Page, found: Breakdown, called: Shown, shown: Shown) -> list[Sentence]:
    """Groups where another model is significantly better than the leader."""
    rows = page.results.overall.rows
    if not found.reversals or not rows:
        return []
    by_group: dict[str, list[Name]] = {}
    for group, model in found.reversals:
        if group in called:
            by_group.setdefault(group, []).append(_who(shown, model))
    parts = [sentence(*series(who, 3), " in ", called[group]) for group, who in by_group.items()]
    lead = sentence("Significantly better than ", _who(shown, rows[0].name), ": ")
    return [sentence(lead, *_semicolons(parts), ".")]


def _semicolons(parts: Sequence[Sentence]) -> list[Words]:
    shown: list[Words] = []
    for i, part in enumerate(parts[:_BRIEF]):
        shown += ["; " if i else "", part]
    more = len(parts) - _BRIEF
    return [*shown, f"; and {count(more)} more"] if more > 0 else shown


def _not_given(found: Breakdown, one: str, many: str = "") -> list[Sentence]:
    n = found.left_out
    return [sentence(f"{number_of(n, f'further {one}', f'further {many}' if many else '')} not shown.")] if n else []


def _all_groups(page: Page, found: Breakdown, called: Shown, shown: Shown, key: str, one: str) -> Grid | None:
    """Every group with its cases and means, where the figure above does not have them all as numbers."""
    if len(found.groups) <= _MOST and not (found.axis and len(found.groups) > 2 and found.by != TRUE_CLASS):
        return None
    columns: list[Column] = [
        (Head(one, "name"), [named(called[group]) for group in found.groups]),
        (Head("cases"), [counted(n) for n in found.cases]),
        *((Head(_who(shown, who)), [number(row[m], 3) for row in found.means]) for m, who in enumerate(found.models)),
    ]
    return grid(f"{key}-all", sentence(f"Mean {_rule(page)} score by ", name(found.by or "group")), columns)


def _confusions(page: Page, shown: Shown) -> tuple[Chart | None, list[tuple[Name, Sentence]]]:
    """The most frequent confusions of the best model as a table, and those of others a line each."""
    order = {row.name: i for i, row in enumerate(page.results.overall.rows)}
    known = sorted((one for one in page.exhibits if one.confusions), key=lambda one: order.get(one.name, len(order)))
    if not known:
        return None, []
    best, *rest = known
    rows = min(max(_FEWEST, len(known)), _CONFUSED)  # as many as the heat map beside it has
    found = best.confusions[:rows]
    most = max(one.cases for one in found)
    label = names({text: None for one in known for c in one.confusions for text in (c.true, c.predicted)})
    columns = [
        (Top("true class", left=True), [Box(label[c.true]) for c in found]),
        (Top("predicted", left=True), [Box(label[c.predicted], style="arrow") for c in found]),
        (Top("cases"), [Box(count(c.cases), bar=(("wrong", c.cases / most),), value=float(c.cases)) for c in found]),
        (Top("of class"), [Box(share(c.share), value=c.share) for c in found]),
        (Top("confidence", "mean", wide=True), [Box(rate(c.confidence), value=c.confidence) for c in found]),
    ]
    made = chart("confusions", sentence("Most frequent confusions of ", _who(shown, best.name)), columns)

    def brief(one: ModelDetails) -> tuple[Name, Sentence]:
        said = [_confused(c, label) for c in one.confusions[:_BRIEF]]
        return _who(shown, one.name), sentence(*series(said, _BRIEF))

    if two(page) is not None:
        return None, [brief(one) for one in known]
    return made, [brief(one) for one in rest[:_OTHERS]]


def _confused(one: Confusion, label: Shown) -> Sentence:
    return sentence(label[one.true], " → ", label[one.predicted], f" {count(one.cases)}")


# Cases


@dataclass(frozen=True, slots=True)
class Two:
    """A candidate and what it is compared with, case by case."""

    reference: str
    candidate: str
    cases: PairCases
    fixed: tuple[CaseView, ...]  # the largest advantages of the candidate
    broken: tuple[CaseView, ...]
    repaired: int  # only the candidate is right
    spoiled: int  # only the reference is right
    better: int  # cases with a lower score of the candidate
    worse: int


def two(page: Page) -> Two | None:
    """The two models of a page that compares just two: the baseline, or else the lower one, is the reference."""
    rows = page.results.overall.rows
    if len(rows) != 2 or len(page.against) != 1:
        return None
    found = page.against[0]
    if {found.a, found.b} != {row.name for row in rows}:
        return None
    return _compared(found, page.results.baseline or rows[1].name)


def _compared(found: PairCases, reference: str) -> Two:
    if found.a == reference:
        sides = found.for_b, found.for_a, found.only_b_right, found.only_a_right, found.b_better, found.a_better
        return Two(found.a, found.b, found, *sides)
    sides = found.for_a, found.for_b, found.only_a_right, found.only_b_right, found.a_better, found.b_better
    return Two(found.b, found.a, found, *sides)


def cases(page: Page, shown: Shown) -> Section | None:
    """The worst predictions of the best model, and the cases that tell models apart."""
    against = [one for one in page.against if one.a in shown and one.b in shown and one.cases]
    pair = two(page)
    if pair is not None:
        return _section("cases", "Cases", *_cases_of_two(page, pair, shown))
    compared = [_against(page, one, shown) for one in against]
    return (
        _section("cases", "Cases", *_worst(page, shown, _CARDS), ("against", compared))
        if compared or any(one.worst for one in page.exhibits)
        else None
    )


def _worst(page: Page, shown: Shown, most: int) -> list[Block]:
    """The worst predictions of the best model, and folded those of others."""
    order = {row.name: i for i, row in enumerate(page.results.overall.rows)}
    known = sorted((one for one in page.exhibits if one.worst), key=lambda one: order.get(one.name, len(order)))
    if not known:
        return []
    best, *rest = known
    cards = [card(page, one, shown) for one in best.worst[:most]]
    others = [(_who(shown, one.name), [card(page, c, shown) for c in one.worst[:_SHOWN]]) for one in rest[:_OTHERS]]
    doubtful = sum(one.doubtful for one in cards)
    check = f" No model is right in {count(doubtful)} of them: check the label." if doubtful else ""
    return [
        ("subheading", sentence("Worst predictions of ", _who(shown, best.name))),
        ("text", f"The cases with the largest {_rule(page)} scores.{check}", "small"),
        ("cards", cards[:_SHOWN], cards[_SHOWN:]),
        ("worst", others, "the other model" if len(others) == 1 else f"{count(len(others))} other models"),
    ]


def card(page: Page, one: CaseView, shown: Shown) -> Card:
    """A case as it is shown: at most the predictions of two models, the true class marked."""
    rule = _rule(page)
    listings = tuple(
        Listing(
            f"{rule} {fixed(p.score, 3)}", _lines(one, p), "" if len(one.predictions) == 1 else _who(shown, p.model)
        )
        for p in one.predictions
    )
    others = one.models - len(one.predictions)
    own = sum(p.right for p in one.predictions)
    right = one.right - own
    if others < 1 or math.isnan(right):
        return Card(name(one.case), listings, name(one.outcome), "", doubtful=False)
    nobody = right <= 0 and own <= 0
    said = f"{_number(right)} of {count(others)} others right"
    if others == 1:
        said = f"the other model is {'right' if right > 0.5 else 'wrong'}"
    return Card(name(one.case), listings, name(one.outcome), said, doubtful=nobody and others > 1)


def _number(x: float) -> str:
    return count(round(x)) if abs(x - round(x)) < 1e-9 else f"{x:.1f}"


def _lines(one: CaseView, p: PredictionView) -> tuple[Line, ...]:
    """The most confident classes and the true one; classes that would be written as zero are left out.

    Beside the list of another model, so are those below one in a hundred.
    """
    least = _LITTLE if len(one.predictions) == 1 else _BESIDE
    found = [
        Line(name(label, 24), rate(x), x, "true" if label == one.outcome and p.true is not None else "false")
        for label, x in p.listed
        if x >= least or (label == one.outcome and p.true is not None)
    ]
    if p.true is not None and not any(line.style == "true" for line in found):
        value = "0" if not p.true else rate(p.true)
        found.append(Line(name(one.outcome, 24), value, p.true, "true"))
    if not p.size:
        found.append(Line("no class named; scored as uniform", "", 0.0, "note"))
    elif p.rest >= _LITTLE:
        found.append(Line("unlisted", rate(p.rest), p.rest, "rest"))
    return tuple(found)


Side = tuple[Words, list[Card]]  # a heading and the cases below it


def _against(page: Page, one: PairCases, shown: Shown) -> tuple[Words, list[Sentence], list[Side]]:
    """Two models: a heading, sentences, and the largest advantages of either, or what is fixed and broken, as cards."""
    baseline = page.results.baseline
    if baseline in (one.a, one.b):
        pair = _compared(one, baseline)
        new, old = _who(shown, pair.candidate), _who(shown, pair.reference)
        said = [_wins(page, pair, shown), *_disappears(one)]
        return sentence(new, " against the baseline ", old), said, _fixed_and_broken(page, pair, shown)
    a, b = _who(shown, one.a), _who(shown, one.b)
    sides: list[Side] = [
        (sentence("Largest advantages of ", who), [card(page, c, shown) for c in found[:_SHOWN]])
        for who, found in ((a, one.for_a), (b, one.for_b))
    ]
    return sentence(a, " against ", b), pair_sentences(one, shown), sides


def pair_sentences(one: PairCases, shown: Shown) -> list[Sentence]:
    """Who is right and who scores better in how many cases, and how few cases the difference hangs on."""
    a, b = _who(shown, one.a), _who(shown, one.b)
    right = sentence(
        f"Both right in {count(one.both_right)} of {number_of(one.cases, 'case')}, only ", a,
        f" in {count(one.only_a_right)}, only ", b, f" in {count(one.only_b_right)}, both wrong in "
        f"{count(one.both_wrong)}.",
    )  # fmt: skip
    better = sentence(
        a, f" has the lower score in {number_of(one.a_better, 'case')}, ", b, f" in {count(one.b_better)}"
        f"{f', equal in {count(one.equal)}' if one.equal else ''}.",
    )  # fmt: skip
    return [right, better, *_disappears(one)]


def _disappears(one: PairCases) -> list[Sentence]:
    n = one.turning
    most = "most favourable case is" if n == 1 else f"{count(n)} most favourable cases are"
    return [sentence(f"The difference disappears if the {most} removed.")] if n else []


def _wins(page: Page, pair: Two, shown: Shown) -> Sentence:
    both = pair.cases
    wins, losses = number_of(pair.better, "win"), number_of(pair.worse, "loss", "losses")
    scores = f" has {wins}, {losses} and {number_of(both.equal, 'tie')} by {_rule(page)} score"
    right = f"; both right in {count(both.both_right)}, both wrong in {count(both.both_wrong)}."
    return sentence(_who(shown, pair.candidate), scores, right)


def _fixed_and_broken(page: Page, pair: Two, shown: Shown) -> list[Side]:
    """Cases that only the candidate has right, and only the reference: how many, and those with the most to gain."""
    new, old = _who(shown, pair.candidate), _who(shown, pair.reference)

    def flipped(found: Iterable[CaseView], right: str, wrong: str) -> list[Card]:
        some = []
        for one in found:
            by = {p.model: p.right for p in one.predictions}
            if by.get(right, 0.0) > 0.5 > by.get(wrong, 1.0):
                some.append(card(page, one, shown))
        return some[:_SHOWN]

    repaired, spoiled = number_of(pair.repaired, "case"), number_of(pair.spoiled, "case")
    return [
        (
            sentence(f"Fixed: {repaired} right in ", new, ", wrong in ", old),
            flipped(pair.fixed, pair.candidate, pair.reference),
        ),
        (
            sentence(f"Broken: {spoiled} wrong in ", new, ", right in ", old),
            flipped(pair.broken, pair.reference, pair.candidate),
        ),
    ]


def _cases_of_two(page: Page, pair: Two, shown: Shown) -> list[Block]:
    sides = _fixed_and_broken(page, pair, shown)
    more: list[Side] = [(head, cards[_SIDE:]) for head, cards in sides if cards[_SIDE:]]
    more += [
        (sentence("Worst predictions of ", _who(shown, one.name)), [card(page, c, shown) for c in one.worst[:_SHOWN]])
        for one in page.exhibits
        if one.worst
    ]
    return [
        ("paragraph", [_wins(page, pair, shown), *_disappears(pair.cases)], "reading"),
        ("sides", [(head, cards[:_SIDE]) for head, cards in sides]),
        ("further", more),
    ]


# Lists of different lengths


def lists(page: Page, shown: Shown) -> Section | None:
    """Score against list length, types of predictions and coverage, where lists are not all alike."""
    details = page.exhibits
    if not details or alike(details):
        return None
    curved = tuple(replace(one, name=_who(shown, one.name).text) for one in details if one.curve)
    caption = f"Mean {_rule(page)} score of the lists truncated to k classes.{_own_cases(page)}"
    table = _list_table(page, shown)
    drawn = (
        drawing(plot.curves(curved, _tied(page, shown)), "curves", caption)
        if any(len(one.ks) > 1 for one in curved)
        else None
    )
    return _section(
        "lists",
        "List length",
        ("text", "Where a curve is flat, lists could be shorter; where it falls, longer lists help." if drawn else ""),
        ("figure", drawn),
        ("chart", table, f"Lists of all {count(len(details))} models" if len(details) > _OTHERS else ""),
    )


def alike(details: Sequence[ModelDetails]) -> bool:
    """Whether all predictions are of one type and one length."""
    lengths = {length for one in details for length in (one.shortest, one.longest)}
    return len(lengths) <= 1 and len({s.kind for one in details for s in one.shapes if s.cases}) <= 1


def _list_table(page: Page, shown: Shown) -> Chart | None:
    rows = {row.name: row for row in page.results.overall.rows}
    details = [one for one in page.exhibits if one.name in rows]

    def metric(key: str, made: Any) -> list[Box]:
        found = [rows[one.name].metrics.get(key) for one in details]
        return [Box(NOTHING) if e is None else Box(made(e.value), value=e.value) for e in found]

    def cases_of(one: ModelDetails, what: str) -> Box:
        part = sum(s.cases for s in one.shapes if s.kind == what) / max(1, sum(s.cases for s in one.shapes))
        return Box(share(part), value=part)

    occur = [what for what in KINDS if any(s.kind == what and s.cases for one in details for s in one.shapes)]
    columns: list[tuple[Top, list[Box]]] = [
        *((Top(f"{what}s", wide=True), [cases_of(one, what) for one in details]) for what in occur if len(occur) > 1),
        (Top("classes listed"), [Box(lengths(one)) for one in details]),
        (Top("mean", wide=True), metric("mean_length", lambda x: fixed(x, 2))),
        (Top("coverage", means="share of cases whose true class is listed"), metric("coverage", share)),
        (Top("listed probability", "mean", wide=True), metric("mean_mass", share)),
    ]
    columns, same = varied(columns)
    if not columns:
        return None
    model = Top("model", left=True), [Box(_who(shown, one.name)) for one in details]
    caption = sentence("Prediction types, list lengths and coverage.", *same)
    return chart("lists", caption, [model, *columns], sorts=True)


def lengths(details: ModelDetails) -> str:
    """The lengths that lists have: all of a few, or the range and the usual one."""
    if not details.sizes:
        return NOTHING
    if len(details.sizes) <= 3:
        return ", ".join(count(size) for size, _ in details.sizes)
    usual = max(details.sizes, key=lambda pair: pair[1])[0]
    return f"{count(details.shortest)} to {count(details.longest)}, most often {count(usual)}"


# Over time


def over_time(page: Page, shown: Shown) -> Section | None:
    """Comparisons that hold at all times at once, where they were asked for."""
    paths = page.results.paths
    if not paths:
        return None
    blocks: list[Block] = []
    for i, path in enumerate(paths, 1):
        a, b = _who(shown, path.candidate), _who(shown, path.baseline)
        blocks.append(("lines", statements.path_story(path, shown)))
        if path.at:
            renamed = replace(path, candidate=a.text, baseline=b.text)
            caption = sentence(f"Mean difference in {_rule(page)} score, ", a, " minus ", b)
            blocks.append(("figure", drawing(plot.path(renamed), f"path-{i}", caption)))
    method = {stripped(path.method): None for path in paths if path.method}
    notes = [statements.enough(paths[0]), statements.assumed(paths), *(f"Method: {one}." for one in method)]
    return _section("time", "Anytime-valid comparison", *blocks, ("folded", "Assumptions and method", notes))


# Data quality

_ISSUES = {
    "never happens": "Predicts classes absent from the truth",
    "never listed": "True class never listed",
    "listed zero": "Lists a class with probability 0",
    "empty list": "No class named",
    "list of zeros": "Nothing but zeros",
    "rounded": "Rounded probabilities",
    "hard labels only": "Hard labels only",
    "all lists equal": "Same list for all cases",
    "not in falling order": "Not sorted by probability",
    "cut at a threshold": "Cut at a threshold",
}


def quality(page: Page, shown: Shown) -> Section:
    """Counts of repairs, missing predictions and other issues, and the checks that found nothing."""
    issues, passed = _issues(page, shown), checks(page, shown)
    return _section(
        "quality",
        "Data quality",
        ("text", "" if issues else "No repairs, missing predictions or other issues."),
        ("facts", issues, "issues"),
        ("folded", "Issues in words", _in_words(page, shown)),
        ("folded", f"Checks passed: {count(len(passed))}" if passed else "", passed),
    )


def _issues(page: Page, shown: Shown) -> list[tuple[str, Words]]:
    """What is wrong, and in how many cases of which models, most first; what all models have alike is said once."""
    results = page.results
    sources = {one.name: one for one in results.sources}
    details = {one.name: one for one in page.exhibits}
    found: dict[str, dict[str, int]] = {}
    for row in results.overall.rows:
        source = sources.get(row.name)
        own = {
            "Missing predictions": row.missing,
            "Missing predictions filled in": 0 if source is None else source.filled,
            "Cases left out": 0 if source is None else source.left_out,
            "Invalid lists": row.invalid,
            "Probability 0 for the true class": max(mark.infinite for mark in row.scores.values()),
        }
        if source is not None:
            own |= {f"Repaired: {plain(what, 40)}": n for what, n in statements.repaired(source).items()}
        for issue in details[row.name].issues if row.name in details else ():
            if issue.kind != "invalid":
                own[_ISSUES.get(issue.kind, plain(issue.kind, 40))] = issue.cases
        for what, n in own.items():
            if n:
                found.setdefault(what, {})[row.name] = n
    made = [(what, _cases_by_model(by, len(results.overall.rows), shown)) for what, by in found.items()]
    done = statements.repairs(results.truth_repairs)
    return [*made, *([("Repaired in the truth", f"{done}.")] if done else [])]


def _cases_by_model(by: Mapping[str, int], every: int, shown: Shown) -> Words:
    if len(by) == every > 1 and len(set(by.values())) == 1:
        return f"All {count(every)} models: {number_of(next(iter(by.values())), 'case')} each."
    most = sorted(by, key=lambda who: -by[who])
    return sentence(*series([sentence(_who(shown, who), f" {count(by[who])}") for who in most], _NAMED), ".")


def _in_words(page: Page, shown: Shown) -> list[Sentence]:
    """What is said of each issue; of one that models share, once."""
    found: dict[str, list[Name]] = {}
    for one in page.exhibits:
        said = [f"first invalid list: {stripped(one.invalid)}."] if one.invalid else []
        said += [visible(issue.message) for issue in one.issues if issue.kind != "invalid"]
        for text in said:
            found.setdefault(plain(text, _LONG), []).append(_who(shown, one.name))
    return [sentence(*series(who), f": {text}") for text, who in found.items()]


def checks(page: Page, shown: Shown) -> list[Words]:
    """What was looked at and found in order, a sentence each."""
    results, details = page.results, page.exhibits
    rows, own = results.overall.rows, {one.name for one in details}
    every = "The model" if len(rows) == 1 else f"All {count(len(rows))} models"
    has = "has a prediction" if len(rows) == 1 else "have a prediction"
    found: list[Words] = []
    if not any(row.missing for row in rows):
        found.append(f"{every} {has} for each of {number_of(results.compared, 'case')}.")
    if not any(row.invalid for row in rows):
        found.append("No list is invalid.")
    unbounded = [rule for rule in results.rules if rule == "log"]
    if unbounded and not any(row.scores[rule].infinite for row in rows for rule in unbounded):
        found.append("No model assigns probability 0 to the true class.")
    if not any(statements.repaired(source) for source in results.sources) and not results.truth_repairs:
        found.append("Nothing was repaired.")
    kinds = {issue.kind for one in details for issue in one.issues}
    if details and own >= {row.name for row in rows}:
        if "never happens" not in kinds:
            found.append("No model predicts a class that is absent from the truth.")
        if "never listed" not in kinds:
            found.append("Every true class is listed at least once.")
        if "rounded" not in kinds:
            found.append("Probabilities are not rounded.")
        if not kinds - {"invalid", "never happens", "never listed", "rounded"}:
            found.append("No other data-quality issue.")
        if alike(details):
            found.append(_alike(details))
    if not results.warnings:
        found.append("No warning about the comparison.")
    lead = rows[0].name if rows else ""
    for one in page.breakdowns:
        if len(one.models) > 1 and not one.reversals:
            where = ["of any true class"] if one.by == TRUE_CLASS else ["of any group by ", name(one.by or "group")]
            found.append(
                sentence("No model is significantly better than ", _who(shown, lead), " in the cases ", *where, ".")
            )
    if not results.weighted:
        found.append("All cases have the same weight.")
    return found


def _alike(details: Sequence[ModelDetails]) -> str:
    kinds = {s.kind for one in details for s in one.shapes if s.cases}
    what = f"{next(iter(kinds), 'list')}s"
    n = details[0].longest
    return f"All predictions are {what} of {number_of(n, 'class', 'classes')}."


# Method

_RULES = {
    "brier": "Brier score, from 0 (certain and right) to 2 (certain and wrong)",
    "log": "log score, from 0 to ∞ (probability 0 for the true class)",
    "spherical": "spherical score, from 0 (certain and right) to 1 (probability 0 for the true class)",
    "zero-one": "zero-one score, 0 where the top-1 prediction is the true class, else 1",
    "one-vs-rest": "one-vs-rest: the sum of a binary score over all classes",
}
_DEFINITIONS = {
    "Brier score": "Sum over classes of the squared difference between probability and outcome (0 or 1).",
    "Log score": "Minus the natural logarithm of the probability of the true class.",
    "Δ": "Mean paired difference: models are compared case by case, so intervals of two means may overlap although the "
    "difference is significant. Below zero is better.",
    "Skill": "Improvement over the uniform prediction; 1 is perfect, 0 is none.",
    "Lists": "A prediction is one label, a list of classes with probabilities, or a distribution. Unlisted probability "
    "is spread evenly over the unlisted classes, so all types are scored on the same scale.",
    "Invalid list": "A listed class has a lower probability than each unlisted one. The largest valid part is scored, "
    "with a penalty.",
    "Coverage": "Share of cases whose true class is listed.",
    "Calibration": "Overconfidence is mean confidence minus accuracy of the top-1 prediction, in percentage points. A "
    "model is called over- or underconfident only if the test of calibration is significant after Holm's adjustment "
    "over models. Detectable: the difference whose interval would exclude zero with 80% power. ECE: mean absolute "
    "difference of confidence and accuracy over 20 bins, above zero by chance even for a calibrated model. "
    "Miscalibration: the part of the score that perfect recalibration could remove.",
}


def method(page: Page, shown: Shown) -> Section:
    """How scores, intervals and tests are made in five lines; definitions and sources folded."""
    results = page.results
    facts = _facts(results, shown)
    return _section(
        "method",
        "Method",
        ("facts", facts, "brief-facts"),
        (
            "more_method",
            "Definitions, data and files",
            [*_data(results, shown), *_sources(page, shown), *_definitions(page)],
            full_names(shown),
        ),
    )


def _facts(results: Comparison, shown: Shown) -> list[tuple[str, Words]]:
    rules = [_RULES.get(rule, plain(rule)) for rule in results.rules]
    order = "" if len(rules) == 1 else ". The first one decides the order"
    tested = sum(pair.adjusted_p is not None for pair in results.pairs if pair.rule == results.rules[0])
    level = percent(results.level)
    family = f" over {number_of(tested, 'pair')}" if tested > 1 else ""
    found: list[tuple[str, Words]] = [
        ("Scores", f"{_capital('; '.join(rules))}{order}. Lower is better."),
        ("Intervals", f"{level}. {_capital(results.method)}."),
        ("Significance", f"Paired differences, adjusted by Holm's method{family} at {level}."),
        ("Missing", statements.policy(results, shown)),
    ]
    uniform = [text for rule in results.rules if (text := _uniform(rule, results.classes))]
    if uniform:
        found.append(("Uniform", f"A prediction of the same probability for all classes scores {listed(uniform)}."))
    return found


def _uniform(rule: str, classes: str) -> str:
    digits = classes.replace(",", "").strip()
    if not digits.isdecimal() or len(digits) > 15 or not int(digits):
        return ""
    m = int(digits)
    made = {"brier": 1 - 1 / m, "log": math.log(m)}.get(rule)
    return "" if made is None else f"{kind(rule)} {fixed(made, 3)}"


def _capital(text: str) -> str:
    text = stripped(text)
    return text[:1].upper() + text[1:]


def _data(results: Comparison, shown: Shown) -> list[tuple[Words, Words]]:
    found: list[tuple[Words, Words]] = [
        ("Cases", sentence(count(results.cases), statements.extent(results), ".")),
        ("Classes", f"{_capital(statements.classes(results))}."),
    ]
    if results.truth_reading:
        found.append(("Truth", f"{_capital(results.truth_reading)}."))
    if results.baseline is not None:
        found.append(("Baseline", _who(shown, results.baseline)))
    if results.cluster is not None:
        same = sentence("Cases with the same ", name(results.cluster)) if results.cluster else "Cases of one cluster"
        found.append(("Clusters", sentence(same, f" belong together{_many(results, 'cluster')}.")))
    if results.time is not None:
        by = sentence("by ", name(results.time)) if results.time else "in the order given"
        found.append(("Order", sentence("Cases follow each other ", by, f"{_many(results, 'time point')}.")))
    if results.groups:
        found.append(("Groups", sentence(f"{count(len(results.groups))}, by ", name(results.group or "group"), ".")))
    if any(row.invalid for row in results.overall.rows):
        found.append(("Penalty", statements.penalty(results)))
    if results.confidence_set is not None and results.confidence_set.method:
        found.append(("Confidence set", f"{_capital(results.confidence_set.method)}."))
    return found


def _many(results: Comparison, unit: str) -> str:
    """How many units there are, where these are the units."""
    return f": {number_of(results.units, unit)}" if results.units and results.unit == unit else ""


def _definitions(page: Page) -> list[tuple[Words, Words]]:
    invalid = any(row.invalid for row in page.results.overall.rows)
    short = bool(page.exhibits) and not alike(page.exhibits)
    rules = page.results.rules
    left_out = {
        "Brier score": "brier" not in rules,
        "Log score": "log" not in rules,
        "Invalid list": not invalid,
        "Coverage": not short,
        "Calibration": not page.judged,
    }
    return [(term, said) for term, said in _DEFINITIONS.items() if not left_out.get(term, False)]


def _sources(page: Page, shown: Shown) -> list[tuple[Words, Words]]:
    """Where predictions came from, how they were read and how many classes they list; what all share is said once."""
    details = {one.name: one for one in page.exhibits}
    own = [one for one in page.results.sources if one.name in shown]

    def said(one: SourceSummary) -> list[str]:
        listed = f"classes listed: {lengths(details[one.name])}" if one.name in details else ""
        return [plain(one.source, _PATH), visible(one.reading) or plain(one.layout, 30), listed]

    columns = [list(column) for column in zip(*map(said, own), strict=True)]
    same = [column[0] for column in columns if len(set(column)) == 1 and column[0]]
    differ = [column for column in columns if len(set(column)) > 1]
    every: list[tuple[Words, Words]] = [("All models", f"{'; '.join(same)}.")] if same and len(own) > 1 else []
    if len(own) == 1:
        return [(shown[own[0].name], f"{'; '.join(same)}.")]
    if differ:
        every += [(shown[one.name], f"{'; '.join(texts)}.") for one, *texts in zip(own, *differ, strict=True)]
    return every


def full_names(shown: Shown) -> list[tuple[Words, str]]:
    """Names that were shortened, in full."""
    return [(short, visible(text)) for text, short in shown.items() if short.hint]


# Reproduction

_MAIN = ("toplist", "python", "numpy", "seed")  # versions that are not folded


def reproduce(page: Page, shown: Shown) -> Section:
    """The command or the call that made the page, the versions, and the files with their digests."""
    made = page.provenance
    versions = [f"{plain(key)} {plain(value, 120)}" for key, value in made.versions.items()]
    if page.results.seed is not None:
        versions.append(f"seed {page.results.seed}")
    main = [one for one in versions if one.split()[0] in _MAIN]
    rest = ", ".join(one for one in versions if one not in main)
    return _section(
        "reproduce",
        "Reproduce",
        ("command", visible(made.command) or call(page.results)),
        ("text", f"{', '.join(main)}." if main else "", "small"),
        ("provenance", (f"{rest}." if rest else "", _files(made.files))),
    )


def call(results: Comparison) -> str:
    """The call in Python that compares the same, but for the predictions and outcomes themselves.

    >>> from toplist import compare
    >>> call(compare({"a": [0, 1]}, [0, 1], space=3, rules="brier").comparison)
    'toplist.compare(models, truth, rules="brier")'
    """
    rules = tuple(plain(rule) for rule in results.rules)
    given = [] if rules == ("brier", "log") else [f'rules="{rules[0]}"' if len(rules) == 1 else f"rules={list(rules)}"]
    if results.baseline is not None:
        given.append(f"baseline={plain(results.baseline)!r}")
    if results.missing != "error":
        given.append(f'missing="{plain(results.missing)}"')
    if results.min_cases is not None:
        given.append(f"min_cases={results.min_cases}")
    if results.level != 0.95:
        given.append(f"inference={results.level:g}")
    return f"toplist.compare({', '.join(['models', 'truth', *given])})"


def _files(read: Sequence[FileRecord]) -> list[tuple[Words, Words]]:
    return [
        (name(one.name), sentence(name(one.path, _PATH), f", {number_of(one.bytes, 'byte')}, {plain(one.sha256, 80)}"))
        for one in read
    ]
