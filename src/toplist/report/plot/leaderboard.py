"""Figures of a leaderboard: mean scores with intervals, means in groups of cases, and every model against every other.

Where models have different cases, scores are relative to the others on the cases of both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import partial
from itertools import pairwise
from statistics import median

from toplist._text import fixed
from toplist.errors import TopListError
from toplist.inference.ranking import PairwiseVerdict, judge, verdicts
from toplist.inference.results import Breakdown, Comparison, Estimate, Group, ModelRow, RuleScore
from toplist.report.plot.base import Plot
from toplist.report.plot.canvas import (
    LABELLED,
    MARGIN,
    NAMES,
    NOISE,
    SIZE,
    SMALL,
    Anchor,
    Dot,
    Hover,
    LegendEntry,
    Scale,
    Sheet,
    Stroke,
    Text,
    axis,
    called,
    decimals,
    drawable,
    finite,
    fitted,
    full,
    label,
    line_height,
    name_lines,
    over,
    room,
    rows_down,
    said,
    scored,
    shade,
    step,
    told_apart,
    width,
)
from toplist.report.statements import Standing, different, finding, less, pairs_with, standing
from toplist.report.text import Shown, count, infinite, listed, number_of, percent, small
from toplist.report.whiskers import lanes, tie_runs

WRITTEN = 20  # models up to which the cells of the matrix hold numbers
_ROWS = ((14, 22.0), (30, 18.0), (10**9, 15.0))  # up to so many rows, the height of each
_LANE, _MOST_LANES = 7.0, 6  # of bars that join models
_DOUBLED = (2, 4, 8)  # times the smallest significant difference of a table, from where a colour is one step stronger
_GROUPS = 40  # that are drawn
_RATIO = 20.0  # span of relative scores beyond which their axis is logarithmic
_EPOCH = date(1970, 1, 1)


def chosen(results: Comparison, rule: str | None) -> str:
    """The rule, the first one if none is named."""
    if rule is None:
        return results.rules[0]
    if rule not in results.rules:
        raise TopListError(f"{rule!r} is no rule of this leaderboard: there are {', '.join(map(repr, results.rules))}.")
    return rule


def standing_of(found: RuleScore, relative: bool) -> Estimate:
    """What a model stands by: the mean score, or what it is relative to the others on the cases of both.

    Infinite where the mean is; NaN, with the reason, where there are scores but none is relative.
    """
    if not relative or not math.isfinite(found.mean.value):
        return found.mean
    return found.relative or Estimate(math.nan, reason="no relative score, because a mean score is zero")


def ordered(results: Comparison, section: Group, rule: str) -> tuple[ModelRow, ...]:
    """Best first: as in the table under its first rule, by infinite scores and then what they stand by under others."""
    if rule == results.rules[0]:
        return section.rows

    def place(standing: ModelRow) -> tuple[float, float]:
        found = standing.scores[rule]
        mean = standing_of(found, results.missing == "pairwise").value
        mean = mean if math.isfinite(mean) else found.finite
        if math.isnan(found.mean.value):
            return math.inf, 0.0
        return found.infinite, math.inf if math.isnan(mean) else mean

    return tuple(sorted(section.rows, key=place))


def _score(rule: str, relative: bool) -> str:
    return f"{'relative' if relative else 'mean'} {f'{scored(rule)} ' if rule else ''}score"


def _better(relative: bool) -> str:
    return "below 1 is better" if relative else "lower is better"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# Intervals


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """One model; `low` and `high` are None where there is no interval, `worse` where there is no test."""

    name: str
    score: float  # the mean, or the relative one
    low: float | None
    high: float | None
    infinite: int
    cases: int
    worse: bool | None  # significantly worse than the first one
    why: str  # there is no interval


@dataclass(frozen=True, slots=True)
class IntervalsData:
    """Models under one rule, best first."""

    rule: str
    level: float
    rows: tuple[IntervalRow, ...]
    cases: int
    digits: int  # decimals that show the means
    title: str = ""  # the finding
    relative: bool = False  # scores are relative to the others, on the cases of both
    ties: tuple[tuple[int, int], ...] = ()  # first and last rows of runs in which no two are significantly different
    single: str = ""

    @property
    def across(self) -> str:
        """The title of the axis across."""
        return f"{_score(self.rule, self.relative)} ({_better(self.relative)})"

    @property
    def line(self) -> float | None:
        """What the others are held against: 1 for relative scores, else the first mean, if it is finite."""
        if self.relative:
            return 1.0
        return self.rows[0].score if self.rows and math.isfinite(self.rows[0].score) else None

    @property
    def subtitle(self) -> str:
        """What is shown."""
        bars = f" with {percent(self.level)} intervals" * any(row.low is not None for row in self.rows)
        text = f"{_capital(_score(self.rule, self.relative))}{bars}, {number_of(self.cases, 'case')}"
        text += f"; {_better(self.relative)}"
        if any(row.worse for row in self.rows):
            text += f"; grey: significantly worse than the best (Holm, {percent(self.level)})"
        return text

    @property
    def words(self) -> str:
        """What it shows."""
        rows = "; ".join(f"{said(row.name)} {self.about(row)}" for row in self.rows)
        return f"{_capital(_better(self.relative))}. With {percent(self.level)} intervals, from best to worst: {rows}."

    def value(self, row: IntervalRow) -> str:
        """The score of a row."""
        if math.isnan(row.score):
            return "no relative score" if self.relative and row.cases else "no cases"
        return infinite(row.infinite) if math.isinf(row.score) else fixed(row.score, self.digits)

    def about(self, row: IntervalRow) -> str:
        """The score of a row with its interval, and whether it is significantly worse."""
        text = self.value(row)
        if row.low is not None and row.high is not None:
            text += f" ({fixed(row.low, self.digits)} to {fixed(row.high, self.digits)})"
        elif row.why and math.isfinite(row.score):
            text += f" (no interval: {label(row.why, 60)})"
        return text + ", significantly worse than the best" * bool(row.worse)


def intervals(results: Comparison, rule: str | None = None) -> Plot[IntervalsData]:
    """Mean scores with intervals, best first: blue, or grey where they are significantly worse than the best.

    Parameters
    ----------
    results : Comparison
        Such as `board.comparison`.
    rule : str, optional
        The first one if it is not given.

    Returns
    -------
    Plot
    """
    name, relative = chosen(results, rule), results.missing == "pairwise"
    every = ordered(results, results.overall, name)
    first = every[0].name if every else ""
    beside = {
        other: (v.significant and v.worse == other) if v.tested else None
        for other, v in pairs_with(results, name, first).items()
    }
    rows = []
    for row in every:
        mark = row.scores[name]
        score = standing_of(mark, relative)
        numbers = (score.value, score.low, score.high, mark.infinite, row.cases)
        worse = False if row.name == first and beside else beside.get(row.name)
        rows.append(IntervalRow(row.name, *numbers, worse, score.reason))
    halves = finite((row.high - row.low) / 2 for row in rows if row.low is not None and row.high is not None)
    fine = [decimals([half], digits=1) for half in halves if half > 0]
    digits = max(decimals(row.score for row in rows), min(max(fine, default=0), 6))
    ties = tuple(tie_runs(results)) if name == results.rules[0] and len(rows) > 2 else ()
    ties = ties if max(lanes(ties), default=0) < _MOST_LANES else ()
    own = (name, results.level, tuple(rows), results.compared, digits)
    data = IntervalsData(*own, relative=relative, ties=ties)
    return Plot(replace(data, title=_finding(results, name, data)), draw_intervals)


def _finding(results: Comparison, rule: str, data: IntervalsData) -> str:
    """The title: who is best, in the words of the verdict."""
    what = _score(rule, data.relative)
    if not data.rows or not math.isfinite(data.rows[0].score):
        return f"No model has a finite {what}"
    if len(data.rows) == 1:
        return f"{said(data.rows[0].name)}: {what} {data.value(data.rows[0])}"
    return finding(_standing(results, rule), _short_names(results), what)


def _standing(results: Comparison, rule: str) -> Standing:
    """How the others compare with the best under a rule."""
    best = () if rule == results.rules[0] else (ordered(results, results.overall, rule)[0].name,)
    return standing(results, rule, best)


def _short_names(results: Comparison) -> dict[str, str]:
    return {who: said(short) for who, short in called(row.name for row in results.overall.rows).items()}


def _height(rows: int) -> float:
    return next(size for most, size in _ROWS if rows <= most)


def draw_intervals(data: IntervalsData, sheet: Sheet) -> None:
    """Rows down, scores across."""
    rows, short = data.rows, called(row.name for row in data.rows)
    texts = fitted([short[row.name] for row in rows], 0.4 * sheet.width / SIZE)
    values = [fixed(row.score, data.digits) if math.isfinite(row.score) else "" for row in rows]
    ends = [x for row in rows if math.isfinite(row.score) for x in (row.score, row.low, row.high)]
    scale = axis([*ends, *([data.line] if ends else [])], ticks=max(3, int(sheet.width / 110)))
    down = Scale(max(1, len(rows)) - 0.5, -0.5)
    beside = lanes(data.ties)
    left, right = room(texts, SIZE) + (_LANE * (max(beside) + 1) + 4 if beside else 0), room(values, SIZE)
    panel = sheet.panel(left, right, _height(len(rows)) * max(1, len(rows)), scale.scale, down)
    sheet.rule_x(panel, scale.ticks, scale.texts)
    sheet.name_x(panel, data.across)
    rows_down(sheet, panel, texts, [row.name for row in rows])
    if data.ties:
        sheet.note(["bars at the left join models that are not significantly different"])
    for (first, last), lane in zip(data.ties, beside, strict=True):
        ends_y = [panel.place(scale.low, first - 0.32)[1], panel.place(scale.low, last + 0.32)[1]]
        hover = Hover(f"not significantly different: rows {first + 1} to {last + 1}")
        sheet.mark(Stroke([MARGIN + _LANE * lane] * 2, ends_y, "muted", 2.4, hover=hover))
    if data.line is not None:
        panel.add(Stroke((data.line, data.line), (down.low, down.high), "muted", 1.0, (4, 3)))
    for at, (row, value) in enumerate(zip(rows, values, strict=True)):
        hover = Hover(f"{full(row.name)}: {data.about(row)}", row.name)
        role = "faint" if row.worse else "c0"
        if math.isnan(row.score):
            panel.add(Text(scale.low, at, f" {data.value(row)}", "muted", hover=hover))
        elif math.isinf(row.score):
            panel.add(Dot(scale.high, at, "c1", ">", 9.0, hover=hover))
            where = scale.high - (scale.high - scale.low) * 12 / panel.width
            panel.add(Text(where, at, data.value(row), anchor="end", hover=hover))
        else:
            if row.low is not None and row.high is not None:
                panel.add(Stroke((row.low, row.high), (at, at), role, 2.2, hover=hover))
            panel.add(Dot(row.score, at, role, hover=hover))
            sheet.write(
                sheet.width - 8, panel.place(scale.low, at)[1], value, size=SIZE, anchor="end", hover=hover,
                role="muted" if row.worse else "ink",
            )  # fmt: skip


# Pairs


@dataclass(frozen=True, slots=True)
class PairCell:
    """The model of the row minus that of the column, which stands above it in the table."""

    row: int
    column: int
    difference: float  # NaN where there is none
    low: float | None  # of the interval that holds for all pairs at once, as everywhere
    high: float | None
    error: float | None
    adjusted: float | None  # p by Holm's method
    significant: bool  # by the adjusted p

    @property
    def shade(self) -> int:
        """The step of colour: zero unless it is significant, then by the difference in standard errors."""
        return shade(self.difference, self.error) if self.significant else 0


@dataclass(frozen=True, slots=True)
class Pairs:
    """Models under one rule, best first, and a cell for each two of them."""

    rule: str
    level: float
    names: tuple[str, ...]
    cells: tuple[PairCell, ...]
    cases: int
    digits: int  # decimals that show two digits of the smallest standard error, or three of the largest difference
    title: str  # the finding

    @property
    def single(self) -> str:
        """A board of one model has no pairs."""
        return "" if self.cells else "There are no pairs of models to compare."

    @property
    def subtitle(self) -> str:
        """What is shown."""
        what = f"Difference of mean {scored(self.rule)} scores, {number_of(self.cases, 'case')}; "
        if len(self.names) == 2:
            return f"{what}{percent(self.level)} interval"
        colours = f"coloured where significant (Holm, {percent(self.level)}): orange worse, blue better"
        return f"{what}row minus column; {colours}"

    @property
    def words(self) -> str:
        """What it shows."""
        names = [said(name) for name in self.names]
        some = [
            f"{names[c.row]} minus {names[c.column]} {fixed(c.difference, self.digits, signed=True)}"
            for c in sorted(self.cells, key=lambda c: (c.column, c.row))
            if c.significant
        ]
        text = different(sum(c.adjusted is not None for c in self.cells), len(some), len(self.cells))
        return f"{text} (Holm, {percent(self.level)}){': ' if some else ''}{listed(some, 12)}."

    def about(self, cell: PairCell) -> str:
        """A cell in words."""
        value = f"{full(self.names[cell.row])} minus {full(self.names[cell.column])}: "
        if math.isnan(cell.difference):
            return f"{value}no cases of both"
        value += fixed(cell.difference, self.digits, signed=True)
        if cell.low is not None and cell.high is not None:
            value += f" ({fixed(cell.low, self.digits, signed=True)} to {fixed(cell.high, self.digits, signed=True)})"
        if cell.adjusted is None:
            return f"{value}, not tested"
        return f"{value}, adjusted p {small(cell.adjusted)}, {'' if cell.significant else 'not '}significant"


def pairs(results: Comparison, rule: str | None = None) -> Plot[Pairs]:
    """The lower triangle of differences, row minus column, coloured where they are significant.

    Parameters
    ----------
    results : Comparison
        Such as `board.comparison`.
    rule : str, optional
        The first one if it is not given.

    Returns
    -------
    Plot
    """
    name = chosen(results, rule)
    names = tuple(row.name for row in ordered(results, results.overall, name))
    place = {who: i for i, who in enumerate(names)}
    cells = sorted((_cell(v, place) for v in verdicts(results, name)), key=lambda c: (c.row, c.column))
    errors = [error for error in finite(cell.error for cell in cells) if error > 0]
    digits = min(6, decimals([min(errors)], digits=2) if errors else decimals(cell.difference for cell in cells))
    tested, apart = sum(cell.adjusted is not None for cell in cells), sum(cell.significant for cell in cells)
    title = different(tested, apart, len(cells))
    if len(names) == 2 and tested:
        title = finding(_standing(results, name), _short_names(results), _score(name, relative=False))
    return Plot(Pairs(name, results.level, names, tuple(cells), results.compared, digits, title), draw_pairs)


def _cell(verdict: PairwiseVerdict, place: dict[str, int]) -> PairCell:
    pair = verdict.pair
    below, above = sorted((pair.a, pair.b), key=lambda who: -place[who])
    row, column, difference = place[below], place[above], less(below, verdict)
    ends = difference.value, difference.low, difference.high, difference.error
    return PairCell(row, column, *ends, pair.adjusted_p, verdict.significant)


def draw_pairs(data: Pairs, sheet: Sheet) -> None:
    """Rows below the first model, columns before the last; the name of a column stands above it, on the diagonal."""
    if len(data.names) == 2:
        _draw_two(data, sheet)
        return
    many, short = len(data.names), called(data.names)
    texts = fitted([short[name] for name in data.names], 0.26 * sheet.width / SMALL)
    wide = [SMALL * width(text) for text in texts]
    left = room(texts[1:], SMALL)
    # a name begins at its column: the last ones reach furthest to the right
    side = min((sheet.width - left - 8 - w) / (i + 0.25) for i, w in enumerate(wide[:-1]) if i) if many > 2 else 44.0
    side = max(4.0, min(side, (sheet.width - left - 8) / (many - 1), 52.0))
    tall = max(15.0, min(26.0, side)) if many <= WRITTEN else 15.0
    across, down = Scale(-0.5, many - 1.5), Scale(many - 0.5, -0.5)
    panel = sheet.panel(left, sheet.width - left - side * (many - 1), tall * many, across, down)
    for i, (text, name) in enumerate(zip(texts, data.names, strict=True)):
        y, hover = panel.place(0, i)[1], Hover(full(name), name)
        if i:
            sheet.write(left - 8, y, text, anchor="end", hover=hover)
        if i < many - 1:
            sheet.write(left + side * i + 2, y, text, role="muted", hover=hover)
    known, least = (
        [c.difference for c in data.cells if not math.isnan(c.difference)],
        decimals(finite(c.difference for c in data.cells), digits=2),
    )
    written = _writer(known, max(data.digits, least), least, side) if many <= WRITTEN else None
    gap = min(0.03, 0.5 / side)
    for cell in data.cells:
        hover, role = Hover(data.about(cell), data.names[cell.row]), step(cell.shade)
        panel.box(
            cell.column - 0.5 + gap, cell.row - 0.5 + gap, cell.column + 0.5 - gap, cell.row + 0.5 - gap, role, hover
        )
        text = "?" if math.isnan(cell.difference) else written(cell.difference) if written else ""
        if text and SMALL * width(text) <= side:
            panel.add(
                Text(cell.column, cell.row, text, over(cell.shade), anchor="middle", bold=cell.significant, hover=hover)
            )
    _key(sheet, data)


def _writer(values: Sequence[float], most: int, least: int, side: float) -> Callable[[float], str] | None:
    """How numbers are written to fit into cells: with as many decimals, with the leading zero; None if none fits."""

    def written(x: float, digits: int, bare: bool) -> str:
        text = fixed(x, digits)
        return text.replace("0.", ".", 1) if bare and abs(x) < 1 else text

    for digits in range(most, least - 1, -1):
        for bare in (False, True):
            if all(SMALL * width(written(x, digits, bare)) * 1.05 <= side for x in values):
                return partial(written, digits=digits, bare=bare)
    return None


def _key(sheet: Sheet, data: Pairs) -> None:
    """What colours mean."""
    found = {cell.shade for cell in data.cells if cell.shade}
    ends = [f"below {NOISE[1]:g}", *(f"{a:g} to {b:g}" for a, b in pairwise(NOISE[1:])), f"{NOISE[-1]:g} or more"]
    steps = [(s, text) for s, text in enumerate(ends, 1) if {s, -s} & found]
    entries = [LegendEntry("not significant", ("level0",))]
    for i, (s, text) in enumerate(steps, 1):
        roles = tuple(step(sign * s) for sign in (-1, 1) if sign * s in found)
        entries.append(LegendEntry(text + " standard errors" * (i == len(steps)), roles))
    sheet.height += 6
    sheet.legend(entries)


def _draw_two(data: Pairs, sheet: Sheet) -> None:
    """The difference of two models with its interval and the line of zero."""
    (cell,) = data.cells
    scale = axis(
        [0.0, *finite([cell.difference, cell.low, cell.high])], ticks=max(3, int(sheet.width / 110)), margin=0.1
    )
    panel = sheet.panel(24, 24, 46, scale.scale, Scale(0, 1))
    sheet.rule_x(panel, scale.ticks, scale.texts)
    short = called(data.names)
    texts = fitted([short[name] for name in data.names], 0.3 * sheet.width / SMALL)
    sheet.name_x(panel, f"{texts[cell.row]} minus {texts[cell.column]}, mean {scored(data.rule)} score")
    panel.add(Stroke((0, 0), (0, 1), "ink", 1.2))
    hover, role = Hover(data.about(cell), data.names[cell.row]), "c0" if cell.significant else "faint"
    if cell.low is not None and cell.high is not None:
        panel.add(Stroke((cell.low, cell.high), (0.4, 0.4), role, 2.4, hover=hover))
    if math.isfinite(cell.difference):
        panel.add(Dot(cell.difference, 0.4, role, size=9.0, hover=hover))
    first, second = (f"← {texts[cell.row]} better", f"{texts[cell.column]} better →")
    middle = panel.place(0, 0)[0]
    if SMALL * width(first) < middle - 6:
        sheet.write(middle - 6, panel.top + 6, first, role="muted", anchor="end")
    if SMALL * width(second) < sheet.width - middle - 6:
        sheet.write(middle + 6, panel.top + 6, second, role="muted")


# Groups


@dataclass(frozen=True, slots=True)
class GroupsData:
    """Mean scores by group of cases and by model, best model first, with steps of colour for what is significant."""

    rule: str
    by: str
    models: tuple[str, ...]
    groups: tuple[str, ...]
    cases: tuple[int, ...]
    means: tuple[tuple[float, ...], ...]  # by group and model; infinite where any score is, NaN without cases
    shades: tuple[tuple[int, ...], ...]  # by group and model
    colours: str  # what they mean
    digits: int  # decimals that show the means
    axis: tuple[float, ...] = ()  # where groups lie, if they are numbers or dates (days since 1970-01-01)
    dates: bool = False
    relative: bool = False
    more: int = 0  # groups that are not drawn
    reversals: int = 0  # groups where a model is significantly better than the first one
    tied: tuple[str, ...] = ()  # not significantly worse than the best
    shown: Shown = field(default_factory=dict, compare=False, repr=False)

    @property
    def single(self) -> str:
        """One group, or none, is no figure."""
        if len(self.groups) > 1:
            return ""
        return f"All cases are in one group: {said(self.groups[0])}." if self.groups else "There are no groups."

    @property
    def lines(self) -> bool:
        """Whether groups are places on an axis."""
        return len(self.axis) > 1

    @property
    def up(self) -> str:
        """The title of the axis of scores."""
        return f"{_score(self.rule, self.relative)} ({_better(self.relative)})"

    @property
    def logarithmic(self) -> bool:
        """Whether the scores are ratios that span too much for a plain axis."""
        known = finite(x for row in self.means for x in row)
        return self.relative and bool(known) and min(known) > 0 and max(known) > _RATIO * min(known)

    @property
    def title(self) -> str:
        """The finding."""
        what, by = _score(self.rule, self.relative), said(self.by)
        if not self.groups or not self.models:
            return f"{_capital(what)} by {by}"
        short = called(self.models, self.shown)
        if self.reversals:
            worse = number_of(self.reversals, "group")
            return f"{said(short[self.models[0]])} is best overall, but significantly worse than another in {worse}"
        if self.lines:
            wins = [min(known)[1] for row in self.means if (known := _known(row))]
            if wins:
                most = max(sorted(set(wins)), key=wins.count)
                often = f"{wins.count(most)} of {len(self.groups)} groups"
                return f"{said(short[self.models[most]])} has the lowest {what} in {often}"
        hardest = max(range(len(self.groups)), key=lambda i: self.middle(i) if math.isfinite(self.middle(i)) else -1.0)
        value = fixed(self.middle(hardest), self.digits)
        return f"Hardest {by}: {said(self.groups[hardest])} (median of the models {value})"

    @property
    def subtitle(self) -> str:
        """What is shown."""
        cases = f"; {count(self.cases[0])} cases in each" if len(set(self.cases)) == 1 else ""
        more = f"; and {count(self.more)} more groups" if self.more else ""
        lines = "; grey: other models" if self.lines and len(self.models) > LABELLED else ""
        colours = f"; {self.colours}" if self.colours and not self.lines else ""
        what = f"{_capital(_score(self.rule, self.relative))} by {said(self.by)}, {_better(self.relative)}"
        return f"{what}{cases}{more}{lines}{colours}"

    @property
    def words(self) -> str:
        """What it shows."""
        lowest = [
            f"{said(group)}: {said(self.models[known[1]])} {fixed(known[0], self.digits)}"
            for group, row in zip(self.groups, self.means, strict=True)
            if (known := min(_known(row), default=None)) is not None
        ]
        return (
            f"{_capital(_better(self.relative))}. The lowest in each group: {listed(lowest, 40)}."
            if lowest
            else "There are no groups."
        )

    def middle(self, group: int) -> float:
        """The median of the models in a group; NaN where nobody has a mean."""
        known = [x for x in self.means[group] if not math.isnan(x)]
        return median(known) if known else math.nan

    def about(self, group: int, model: int) -> str:
        """A cell in words."""
        value, shade = self.means[group][model], self.shades[group][model]
        text = "no cases" if math.isnan(value) else fixed(value, self.digits)
        what = f"{full(self.models[model])}, {full(self.groups[group])}: {text}, {number_of(self.cases[group], 'case')}"
        return what + (", significant difference" if shade else "")


def _known(row: Sequence[float]) -> list[tuple[float, int]]:
    return [(mean, i) for i, mean in enumerate(row) if math.isfinite(mean)]


def groups(
    found: Breakdown | Comparison, rule: str | None = None, tied: Iterable[str] = (), shown: Shown = NAMES
) -> Plot[GroupsData]:
    """Mean scores by group: lines over an axis where groups are numbers or dates, else a heat map.

    Parameters
    ----------
    found : Breakdown or Comparison
        A breakdown is coloured where a model differs significantly from the average of all in a group, a comparison
        where another model is significantly better in the group.
    rule : str, optional
        The first one if it is not given; the one that a breakdown is of, which does not name it.
    tied : iterable of str, optional
        Models whose lines are labelled before others, such as those that are tied for best.
    shown : mapping of str to Name, optional
        The short names of models, where those among the ones that are drawn would be others.

    Returns
    -------
    Plot
    """
    if isinstance(found, Comparison):
        return Plot(_of_comparison(found, chosen(found, rule), tuple(tied), shown), draw_groups)
    colours = "coloured where significantly below (blue) or above (orange) the average of the models (Holm)"
    shades = breakdown_shades(found)
    if not any(map(any, shades)):
        colours = ""
    reversals = len({group for group, _ in found.reversals})
    own = (rule or "", found.by, found.models, found.groups, found.cases, found.means, shades, colours)
    rest = (_digits(found.means), found.axis, found.dates, False, found.left_out, reversals, tuple(tied), shown)
    return Plot(GroupsData(*own, *rest), draw_groups)


def _digits(means: Iterable[Iterable[float]]) -> int:
    return decimals(x for row in means for x in row)


def breakdown_shades(found: Breakdown) -> tuple[tuple[int, ...], ...]:
    """The step of colour of every cell by group and model: 0 where the difference to the mean is not significant.

    The scale is anchored to noise: step 1 begins at the smallest difference that is significant in this table, and
    each further step at twice the difference of the one before. Below zero is better.
    """
    unit = smallest_significant(found) or 0.0

    def reached(d: float, marked: bool) -> int:
        if not marked or math.isnan(d) or not d:
            return 0
        far = 1 + sum(abs(d) >= unit * times for times in _DOUBLED)
        return far if d > 0 else -far

    return tuple(
        tuple(map(reached, row, marks)) for row, marks in zip(found.differences, found.significant, strict=True)
    )


def smallest_significant(found: Breakdown) -> float | None:
    """The smallest significant difference to the average of the models in a group; None where there is none."""
    rows = zip(found.differences, found.significant, strict=True)
    every = (abs(d) for row, marks in rows for d, marked in zip(row, marks, strict=True) if marked and d)
    return min(filter(math.isfinite, every), default=None)


def _of_comparison(results: Comparison, name: str, tied: tuple[str, ...], shown: Shown) -> GroupsData:
    relative, models = results.missing == "pairwise", tuple(r.name for r in ordered(results, results.overall, name))
    rows: list[tuple[str, int, tuple[float, ...], tuple[int, ...]]] = []
    for section in results.groups:
        scores = {row.name: standing_of(row.scores[name], relative).value for row in section.rows}
        found = [judge(pair, results.level) for pair in section.pairs if pair.rule == name]
        worse = {v.worse for v in found if v.significant}
        means = tuple(scores.get(who, math.nan) for who in models)
        rows.append((section.group or "", section.cases, means, tuple(2 * (who in worse) for who in models)))
    places = _positions([row[0] for row in rows])
    more = max(0, len(rows) - _GROUPS)
    if not places:
        if more:  # the groups with the most cases
            rows = sorted(rows, key=lambda row: -row[1])[:_GROUPS]
        rows.sort(key=lambda row: -median([x for x in row[2] if not math.isnan(x)] or [-math.inf]))
    names, cases = tuple(row[0] for row in rows), tuple(row[1] for row in rows)
    every, shades = tuple(row[2] for row in rows), tuple(row[3] for row in rows)
    colours = f"orange: another model is significantly better (Holm, {percent(results.level)})"
    own = (results.group or "group", models, names, cases, every, shades, colours if any(map(any, shades)) else "")
    where = places or ((), False)
    worse_first = sum(bool(shade[0]) for shade in shades) if models else 0
    return GroupsData(name, *own, _digits(every), *where, relative, 0 if places else more, worse_first, tied, shown)


def _positions(names: Sequence[str]) -> tuple[tuple[float, ...], bool] | None:
    """Where groups lie on an axis, and whether they are dates; None where they are neither numbers nor dates."""
    readers = ((float, False), (lambda text: float((date.fromisoformat(text) - _EPOCH).days), True))
    for read, dates in readers:
        try:
            found = tuple(map(read, names))
        except ValueError:
            continue
        if len(found) > 1 and all(map(math.isfinite, found)) and list(found) == sorted(set(found)):
            return found, dates
    return None


def draw_groups(data: GroupsData, sheet: Sheet) -> None:
    """Lines over an axis, or a heat map."""
    (_draw_lines if data.lines else _draw_map)(data, sheet)


def _draw_lines(data: GroupsData, sheet: Sheet) -> None:
    labels = told_apart(data.models, data.tied, 0.3 * sheet.width / SMALL, data.shown)
    values = finite(x for row in data.means for x in row)
    scale = axis(values, ticks=5)
    ticks = scale.ticks
    up = scale.scale
    if data.logarithmic:
        up = Scale(min(values) / 1.05, max(values) * 1.05, "log")
        ticks = tuple(x for e in range(-6, 7) for m in (1, 2, 5) if up.low <= (x := m * 10.0**e) <= up.high)
    texts = scale.texts if not data.logarithmic else tuple(f"{x:g}" for x in ticks)
    left, right = room(texts), room((one.text for one in labels.values()), SMALL, 36)
    across, marks, names = _date_axis(data.axis) if data.dates else _number_axis(data.axis)
    sheet.height += 22
    panel = sheet.panel(left, right, line_height(len(labels), 0.42 * sheet.width), across, up)
    sheet.rule_y(panel, ticks, texts)
    sheet.rule_x(panel, marks, names)
    sheet.name_y(panel, data.up)
    sheet.name_x(panel, said(data.by))
    if data.relative:
        panel.add(Stroke((across.low, across.high), (1, 1), "muted", 1.0, (4, 3)))
    ends = []
    for i in sorted(range(len(data.models)), key=lambda i: (data.models[i] in labels, -i)):
        name, ys = data.models[i], drawable(row[i] for row in data.means)
        one = labels.get(name)
        if one is None:
            panel.add(Stroke(data.axis, ys, "faint", 0.8, opacity=0.6, hover=Hover(full(name), name)))
            continue
        panel.add(Stroke(data.axis, ys, one.role, 1.8, one.dashes, hover=Hover(full(name), name)))
        for g, (x, y) in enumerate(zip(data.axis, ys, strict=True)):
            if not math.isnan(y):
                panel.add(Dot(x, y, one.role, one.shape, 5.0, hollow=True, hover=Hover(data.about(g, i), name)))
    for name, one in labels.items():
        m = data.models.index(name)
        known = [(x, row[m]) for x, row in zip(data.axis, data.means, strict=True) if math.isfinite(row[m])]
        ends += [(one, known[-1])] if known else []
    name_lines(sheet, panel, [end for _, end in ends], [one for one, _ in ends])
    _infinite_note(data, sheet)


def _infinite_note(data: GroupsData, sheet: Sheet) -> None:
    many = sum(math.isinf(x) for row in data.means for x in row)
    if many:
        sheet.note([f"{count(many)} infinite means are not drawn"])


def _number_axis(places: Sequence[float]) -> tuple[Scale, tuple[float, ...], tuple[str, ...]]:
    found = axis(places, ticks=6, margin=0.02)
    return found.scale, found.ticks, found.texts


def _date_axis(places: Sequence[float]) -> tuple[Scale, tuple[float, ...], tuple[str, ...]]:
    """Days, months or years, about five of them."""
    low, high = min(places), max(places)
    span = high - low
    first, last = (_EPOCH + timedelta(days=int(x)) for x in (low, high))
    if span < 100:
        days = next((d for d in (1, 2, 7, 14, 28) if span / d <= 6), 28)
        marks = [first + timedelta(days=d) for d in range(0, int(span) + 1, days)]
        texts = [day.isoformat() for day in marks]
    elif span < 366 * 4:
        months = next((m for m in (1, 2, 3, 6, 12) if span / 30.4 / m <= 6), 12)
        number = range(first.year * 12 + first.month, last.year * 12 + last.month)
        marks = [date(n // 12, n % 12 + 1, 1) for n in number if (n % 12) % months == 0]
        texts = [f"{day.year}-{day.month:02}" for day in marks]
    else:
        years = next((y for y in (1, 2, 5, 10, 20, 50) if span / 365.25 / y <= 6), 100)
        marks = [date(y, 1, 1) for y in range(first.year + 1, last.year + 1) if y % years == 0]
        texts = [str(day.year) for day in marks]
    edge = 0.02 * span
    return Scale(low - edge, high + edge), tuple(float((day - _EPOCH).days) for day in marks), tuple(texts)


def _draw_map(data: GroupsData, sheet: Sheet) -> None:
    """Groups down and models across where there are more groups, else the other way round."""
    flipped = len(data.models) >= len(data.groups)
    short = called(data.models, data.shown)
    same = len(set(data.cases)) == 1
    share = 0.3 * sheet.width / SMALL
    who = fitted([short[name] for name in data.models], share)
    where = fitted(list(data.groups), share - (0 if same else 6))
    if not same:
        where = [f"{text} ({count(n)})" for text, n in zip(where, data.cases, strict=True)]
    down, across = (who, where) if flipped else (where, who)
    left = room(down, SMALL)
    side = (sheet.width - left - 8) / max(1, len(across))
    turned = any(SMALL * width(text) > side for text in across)
    sheet.height += room(across, SMALL, 6) if turned else 18
    tall = max(15.0, _height(len(down)) - 2)
    panel = sheet.panel(left, 8, tall * len(down), Scale(-0.5, len(across) - 0.5), Scale(len(down) - 0.5, -0.5))
    models = dict(zip(who, data.models, strict=True))
    for i, text in enumerate(down):
        hover = Hover(full(models[text]), models[text]) if flipped else Hover(full(data.groups[i]))
        sheet.write(left - 8, panel.place(0, i)[1], text, anchor="end", hover=hover)
    for i, text in enumerate(across):
        x = panel.place(i, 0)[0]
        hover = Hover(full(data.groups[i])) if flipped else Hover(full(models[text]), models[text])
        place: tuple[float, Anchor] = (panel.top - 6, "start") if turned else (panel.top - 10, "middle")
        sheet.write(x, place[0], text, anchor=place[1], turned=turned, hover=hover)
    values = [x for row in data.means for x in row if not math.isnan(x)]
    written = _writer(values, data.digits, max(0, data.digits - 1), side)
    gap = min(0.03, 0.5 / side)
    for g in range(len(data.groups)):
        for m in range(len(data.models)):
            value, shade, hover = data.means[g][m], data.shades[g][m], Hover(data.about(g, m), data.models[m])
            x, y = (g, m) if flipped else (m, g)
            if math.isnan(value):
                continue
            panel.box(x - 0.5 + gap, y - 0.5 + gap, x + 0.5 - gap, y + 0.5 - gap, step(shade), hover)
            if written is not None:
                panel.add(Text(x, y, written(value), over(shade), anchor="middle", bold=bool(shade), hover=hover))
    sheet.height += 4
