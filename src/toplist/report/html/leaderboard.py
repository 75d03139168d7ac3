"""The leaderboard with intervals and ties in its rows, and the differences between models in one view."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING

from toplist._text import NOTHING, fixed
from toplist.inference.estimation import POWER, detectable
from toplist.inference.ranking import PairwiseVerdict, tie_groups, verdicts
from toplist.inference.results import Comparison, Estimate, ModelRow, RuleScore
from toplist.report.calibration_statements import adjusted, chip
from toplist.report.html.grid import (
    Cell,
    Chip,
    Column,
    Grid,
    Head,
    Svg,
    counted,
    estimated,
    grid,
    number,
    percentage,
    same_for_all,
    varying,
)
from toplist.report.plot.canvas import shade, step
from toplist.report.statements import at_once
from toplist.report.tables import (
    ANSWER_MASS,
    BETTER,
    DAGGER,
    answer_masses,
    leaders,
    marked,
    rank_intervals,
    shown_metrics,
    signs,
)
from toplist.report.text import (
    Sentence,
    Shown,
    Words,
    count,
    decimals,
    kind,
    name,
    number_of,
    percent,
    sentence,
    small,
    value_of,
)
from toplist.scoring.case_scores import Metric

if TYPE_CHECKING:
    from toplist.calibration.miscalibration import CalibrationVerdict

_RULE = 30  # characters of a rule's name in a head
_RULES = 3  # rules that the main table shows, the first one among them
_HEIGHT = 30  # pixels of a row
_LANE = 7  # pixels between two tie bars
_MARGIN = 0.06  # of the axis, free at either end
_TICKS = 5  # steps of an axis, at most
MATRIX = 12  # models, beyond which differences are shown of one model at a time


# An axis in per cent of its width


@dataclass(frozen=True, slots=True)
class WhiskerAxis:
    """A range of numbers, and the round ones in it."""

    low: float
    high: float

    def at(self, x: float) -> float:
        """Where a number lies, in per cent of the width; what lies outside is at the end."""
        inside = (1 - 2 * _MARGIN) * (x - self.low) / (self.high - self.low) + _MARGIN
        return round(100 * min(max(inside, 0.0), 1.0), 2)

    def ticks(self, most: int = _TICKS) -> list[tuple[float, str]]:
        """Round numbers in the range and how they are written: steps of 1, 2 or 5 times a power of ten.

        >>> WhiskerAxis(0.103, 0.19).ticks()
        [(0.12, '0.12'), (0.14, '0.14'), (0.16, '0.16'), (0.18, '0.18')]
        """
        span = self.high - self.low
        power = 10.0 ** math.floor(math.log10(span / most))
        step = next(power * m for m in (1, 2, 5, 10) if span / (power * m) <= most)
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [(i * step, fixed(i * step, digits)) for i in range(first, last + 1)]

    def drawn(self, extra: str = "", most: int = _TICKS) -> Svg:
        """The ticks with their numbers."""
        ticks = "".join(
            f'<line x1="{self.at(x)}%" x2="{self.at(x)}%" y2="4"/><text x="{self.at(x)}%" y="16">{text}</text>'
            for x, text in self.ticks(most)
        )
        return Svg(f'<svg class="axis" height="20" aria-hidden="true">{ticks}{extra}</svg>')


def axis(estimates: Sequence[Estimate], *, also: Sequence[float] = ()) -> WhiskerAxis | None:
    """The range of the estimates and their intervals; nothing where there is no finite one."""
    ends = [x for e in estimates for x in (e.value, e.low, e.high) if x is not None and math.isfinite(x)]
    if not ends:
        return None
    low, high = min([*ends, *also]), max([*ends, *also])
    if high == low:
        low, high = low - (abs(low) or 1) / 10, high + (abs(high) or 1) / 10
    return WhiskerAxis(low, high)


def whisker(axis: WhiskerAxis, estimate: Estimate, words: str, *, line: float | None = None, blue: bool = True) -> Svg:
    """A mean and its interval on the axis, and a dotted line across."""
    dotted = "" if line is None else f'<line class="ref" x1="{axis.at(line)}%" x2="{axis.at(line)}%" y2="100%"/>'
    if not math.isfinite(estimate.value):
        return Svg(f'<svg class="interval" height="{_HEIGHT}" aria-hidden="true">{dotted}</svg>')
    low, high = (estimate.value if x is None else x for x in (estimate.low, estimate.high))
    return Svg(
        f'<svg class="interval{" best" if blue else ""}" height="{_HEIGHT}" role="img"><title>{escape(words)}</title>'
        f'{dotted}<line x1="{axis.at(low)}%" x2="{axis.at(high)}%" y1="50%" y2="50%"/>'
        f'<circle cx="{axis.at(estimate.value)}%" cy="50%" r="4"/></svg>'
    )


# The leaderboard


@dataclass(frozen=True, slots=True)
class BoardTables:
    """The main table, what is the same for all models, and the other columns."""

    main: Grid
    constant: Words
    more: Grid | None


def leaderboard(results: Comparison, judged: Mapping[str, CalibrationVerdict], shown: Shown) -> BoardTables:
    """Who came where, with intervals, ties, differences to the best and calibration."""
    rows, first = results.overall.rows, results.rules[0]
    beside = [_scores(rows, rule) for rule in results.rules[1:_RULES]]
    beside += [_accuracy(rows), *_calibration(rows, judged)]
    kept, same = varying(beside)
    line, foot = _whiskers(results, shown)
    own = [_ranks(results, rows), (Head("model", "name"), [Cell(shown[row.name]) for row in rows])]
    if results.missing == "pairwise" or len({row.cases for row in rows}) > 1:
        cells = [counted(row.cases) for row in rows]
        own.append((Head("cases", means="scores and accuracy are over each model's own cases"), cells))
    columns = [*_ties(results, shown), *own, *_relative(results, rows)]
    columns += [_first(rows, first), *line, *_difference(results), *kept]
    at = [bool(head.classes == "whisker") for head, _ in columns]
    what = "relative" if results.missing == "pairwise" else "mean"
    caption = f"{'Models' if len(rows) > 1 else 'Model'} by {what} {kind(first, _RULE)} score, lower is better"
    main = grid(
        *("leaderboard", caption, columns),
        leaders=leaders(results),
        classes="board",
        foot=[Cell(foot) if here else Cell("") for here in at] if foot is not None else (),
    )
    columns, others = varying(_more(results, rows, kept))
    more = grid("columns", "More columns", [own[1], *columns], classes="more") if columns else None
    return BoardTables(main, same_for_all([*same, *others]), more)


def _first(rows: Sequence[ModelRow], rule: str) -> Column:
    """Means under the rule that decides the order."""
    own = [row.scores[rule] for row in rows]
    return Head(kind(rule, _RULE), best="low", classes="mean"), _means(own)


def _scores(rows: Sequence[ModelRow], rule: str) -> Column:
    """Means under a further rule."""
    return Head(kind(rule, _RULE), best="low", classes="further"), _means([row.scores[rule] for row in rows])


def _means(own: Sequence[RuleScore]) -> list[Cell]:
    digits = decimals(score.mean for score in own)
    return [
        Cell(f"{fixed(score.mean.value, digits)}{f' ({count(score.infinite)})' if score.infinite else ''}",
             value=score.mean.value)
        for score in own
    ]  # fmt: skip


def _accuracy(rows: Sequence[ModelRow]) -> Column:
    return Head("accuracy", classes="further"), [percentage(value_of(row.metrics.get("accuracy"))) for row in rows]


def _calibration(rows: Sequence[ModelRow], judged: Mapping[str, CalibrationVerdict]) -> list[Column]:
    """What the test of calibration says of the top-1 prediction, by Holm's method over the tested models."""
    if not judged:
        return []
    p = adjusted(judged)
    chips = [Chip(*chip(judged.get(row.name), p.get(row.name))) for row in rows]
    cells = [Cell(one, classes="t") if one.text else Cell(NOTHING) for one in chips]
    return [(Head("calibration", "text", classes="further"), cells)]


def _ranks(results: Comparison, rows: Sequence[ModelRow]) -> Column:
    """Ranks, with their intervals."""
    cells, means = [counted(row.rank) for row in rows], ""
    if len(rows) > 1 and any(row.rank_interval for row in rows):
        texts = rank_intervals(rows)
        cells = [
            replace(cell, below="" if text in (NOTHING, cell.text) else text)
            for cell, text in zip(cells, texts, strict=True)
        ]
        means = f"rank and rank interval; at {percent(results.level)} all true ranks are in their intervals at once"
    return Head("rank", best="low", means=means, classes="rank"), cells


def _relative(results: Comparison, rows: Sequence[ModelRow]) -> list[Column]:
    """Where models have cases of their own, ratios decide the order."""
    if results.missing != "pairwise":
        return []
    means = "decides the order; geometric mean of the ratios of mean scores to all models, on the cases of both"
    own = [row.scores[results.rules[0]] for row in rows]
    return [
        (Head("relative", means=means, best="low"), estimated([score.relative for score in own], digits=3)),
        (Head("adjusted", means="mean over all cases by two-way fixed effects", best="low"),
         estimated([score.adjusted for score in own])),
    ]  # fmt: skip


def _difference(results: Comparison) -> list[Column]:
    found = [row.scores[results.rules[0]] for row in results.overall.rows]
    if not any(score.difference for score in found):
        return []
    means = f"mean paired difference{at_once(results, results.overall, results.rules[0])}; bold: significantly worse "
    means += f"than the best (Holm, {percent(results.level)})"
    digits = decimals(score.mean for score in found)
    away = [score.difference for score in found]
    marks = signs(results, found)
    cells = estimated(away, digits=digits, signed=True, marked=marked(results, found))
    if DAGGER in marks:
        means += f"; {DAGGER}: {BETTER}"
        cells = [
            replace(cell, text=f"{cell.text} {DAGGER}") if mark == DAGGER else cell
            for cell, mark in zip(cells, marks, strict=True)
        ]
    return [(Head("Δ vs best", means=means, best="low", classes="delta"), cells)]


def uniform(results: Comparison) -> float | None:
    """The mean score of the uniform prediction under the first rule, on the cases of the best model."""
    score = results.overall.rows[0].scores[results.rules[0]] if results.overall.rows else None
    if score is None or score.skill is None or not math.isfinite(score.mean.value) or score.skill.value >= 1:
        return None
    return score.mean.value / (1 - score.skill.value)


def _whiskers(results: Comparison, shown: Shown) -> tuple[list[Column], Svg | None]:
    """Means with their intervals on a common axis, and that axis."""
    rule, rows = results.rules[0], results.overall.rows
    means = [row.scores[rule].mean for row in rows]
    room = axis(means)
    if room is None:
        return [], None
    reference, extra = uniform(results), ""
    if reference is not None and room.low <= reference <= room.high + (room.high - room.low) / 4:
        room = WhiskerAxis(room.low, max(room.high, reference))
        at = room.at(reference)
        extra = f'<line class="uniform" x1="{at}%" x2="{at}%" y1="-{_HEIGHT}" y2="4"/>'
    digits, level, top = decimals(means), percent(results.level), leaders(results)
    line = means[0].value if len(rows) > 1 and math.isfinite(means[0].value) else None
    cells = [
        Cell(whisker(room, mean, f"{shown[row.name]}: {_interval(mean, digits, level)}", line=line, blue=i in top))
        for i, (row, mean) in enumerate(zip(rows, means, strict=True))
    ]
    return [(Head(f"mean and {level} CI", "text", classes="whisker"), cells)], room.drawn(extra)


def _interval(mean: Estimate, digits: int, level: str) -> str:
    value, low, high = (fixed(x, digits) for x in (mean.value, mean.low, mean.high))
    return f"{value}, {level} CI {low} to {high}" if mean.low is not None else value


def _ties(results: Comparison, shown: Shown) -> list[Column]:
    """A bar beside each run of models without a significant difference; in words, a letter for each run."""
    runs = tie_groups(results)
    if not runs:
        return []
    place = {row.name: i for i, row in enumerate(results.overall.rows)}
    ends = [(place[run[0]], place[run[-1]]) for run in runs]
    taken: list[int] = []  # the row where the last bar of each lane ends
    lanes = []
    for first, last in ends:
        lane = next((i for i, end in enumerate(taken) if end < first), len(taken))
        taken[lane : lane + 1] = [last]
        lanes.append(lane)
    words = [escape(f"not significantly different: {shown[r[0]]} to {shown[r[-1]]} ({len(r)} models)") for r in runs]
    cells = []
    for at in range(len(place)):
        own = [i for i, (first, last) in enumerate(ends) if first <= at <= last]
        bars = "".join(
            f'<rect x="{_LANE * lanes[i]}" y="{6 * (at == ends[i][0])}" width="3" '
            f'height="{_HEIGHT + 1 - 6 * (at == ends[i][0]) - 7 * (at == ends[i][1])}"><title>{words[i]}</title></rect>'
            for i in own
        )
        letters = " ".join(map(_letter, own))
        size = f'width="{_LANE * len(taken)}" height="{_HEIGHT}" viewBox="0 0 {_LANE * len(taken)} {_HEIGHT}"'
        svg = f'<svg class="ties" {size} preserveAspectRatio="none" aria-hidden="true">{bars}</svg>'
        cells.append(Cell(Svg(f'{svg}<span class="unseen">{letters}</span>')))
    means = "rows joined by a bar (that share a letter, in text) are not significantly different"
    return [(Head("ties", "text", means=means, classes="ties"), cells)]


def _letter(i: int) -> str:
    """A letter for each number.

    >>> _letter(0), _letter(25), _letter(26)
    ('a', 'z', 'aa')
    """
    return (_letter(i // 26 - 1) if i >= 26 else "") + chr(ord("a") + i % 26)


def _more(results: Comparison, rows: Sequence[ModelRow], beside: Sequence[Column]) -> list[Column]:
    """The columns that are shown when asked for; those beside the mean are among them where a page is narrow."""
    first = results.rules[0]
    own, means = [row.scores[first] for row in rows], [row.scores[first].mean for row in rows]
    digits, rule = decimals(means), kind(first, _RULE)
    columns: list[Column] = [(replace(head, classes="phone"), [replace(c, classes=f"{c.classes} phone") for c in cells])
               for head, cells in beside]  # fmt: skip
    ends = [Cell(f"{fixed(m.low, digits)} to {fixed(m.high, digits)}", value=m.low) if m.low is not None
            else Cell(NOTHING) for m in means]  # fmt: skip
    columns.append((Head(f"{percent(results.level)} CI of {rule}", best="low"), ends))
    columns += [_scores(rows, other) for other in results.rules[_RULES:]]
    if results.missing != "pairwise" and any(score.skill is not None for score in own):
        means_of = "improvement over the uniform prediction: 1 is perfect, 0 is none"
        columns.append((Head("skill", means=means_of), [number(value_of(score.skill), 3) for score in own]))
    if results.baseline is not None:
        means_of = "the same over the baseline, on the cases of both"
        cells = [number(value_of(score.baseline_skill), 3) for score in own]
        columns.append((Head(f"skill vs {name(results.baseline, 16)}", means=means_of), cells))
    if any(score.adjusted_p is not None for score in own):
        means_of = "of the difference to the best, by Holm's method over all tested pairs"
        cells = [Cell(small(score.adjusted_p), value=score.adjusted_p) for score in own]
        columns.append((Head("adjusted p", means=means_of, best="low"), cells))
    columns += _common(results, rows)
    invalid = any(row.invalid for row in rows)
    columns += [_metric(m, rows) for m in shown_metrics(results)[1:] if invalid or m.name != "invalid_rate"]
    masses = answer_masses(results, rows)
    if masses:
        columns.append((Head("answer mass", means=ANSWER_MASS), [percentage(one) for one in masses]))
    if invalid:
        head = Head("unpenalised", means=f"mean {rule} score without the penalty for invalid lists", best="low")
        columns.append((head, [number(score.unpenalised, digits) for score in own]))
    for other in results.rules:
        scores = [row.scores[other] for row in rows]
        if any(score.infinite for score in scores):
            places = decimals(score.mean for score in scores)
            head = Head(f"finite {kind(other, _RULE)}", means="mean over the finite scores, a diagnostic", best="low")
            columns.append((head, [number(score.finite, places) for score in scores]))
    return columns


def _common(results: Comparison, rows: Sequence[ModelRow]) -> list[Column]:
    """How many cases each has in common with the best, where that is not the same for all."""
    if len({row.cases for row in rows}) < 2:
        return []
    best = rows[0].name
    own = [pair for pair in results.pairs if pair.rule == results.rules[0] and best in (pair.a, pair.b)]
    cases = {pair.b if pair.a == best else pair.a: pair.cases for pair in own}
    head = Head("cases with best", means="cases that the best model has as well, for the difference")
    return [(head, [counted(cases.get(row.name)) for row in rows])]


def _metric(metric: Metric, rows: Sequence[ModelRow]) -> Column:
    values = [value_of(row.metrics.get(metric.name)) for row in rows]
    cells = [percentage(x) if metric.style == "share" else number(x, 2) for x in values]
    return Head(metric.heading, means=metric.meaning, best="low" if metric.better == "lower" else "high"), cells


# Differences between models


@dataclass(frozen=True, slots=True)
class Whisker:
    """One difference with its interval and zero."""

    svg: Svg
    axis: Svg
    words: Words


def whisker_of_two(results: Comparison, shown: Shown) -> Whisker | None:
    """The difference of two models on an axis with zero; nothing where it cannot be tested."""
    found = verdicts(results, results.rules[0])
    if len(results.overall.rows) != 2 or not found or not math.isfinite(found[0].pair.difference.value):
        return None
    v = found[0]
    flipped = v.pair.a == results.baseline
    d = -v.pair.simultaneous if flipped else v.pair.simultaneous
    one, other = (v.pair.b, v.pair.a) if flipped else (v.pair.a, v.pair.b)
    room = axis([d], also=[0.0])
    if room is None:
        return None
    digits, rule = decimals([d]), kind(results.rules[0], _RULE)
    value, low, high = (fixed(x, digits, signed=True) for x in (d.value, d.low, d.high))
    between = f" ({percent(results.level)} CI {low} to {high})" if d.low is not None else ""
    said = sentence(shown[one], " minus ", shown[other], f": {rule} {value}{between}, {_verdict(v)}")
    svg = whisker(room, d, str(said), line=0.0, blue=v.significant)
    return Whisker(
        svg, room.drawn(), sentence(shown[one], " minus ", shown[other], "; below zero, the first is better")
    )


def _verdict(v: PairwiseVerdict) -> str:
    if not v.tested:
        return "not tested"
    return f"{'significant' if v.significant else 'not significant'} (p {small(v.pair.adjusted_p)})"


def matrix(results: Comparison, shown: Shown) -> Grid | None:
    """Every difference of up to twelve models, the row minus the column, coloured where it is significant."""
    names = [row.name for row in results.overall.rows]
    by = {frozenset((v.pair.a, v.pair.b)): v for v in verdicts(results, results.rules[0])}
    if not 3 <= len(names) <= MATRIX or not by:
        return None
    digits = decimals(row.scores[results.rules[0]].mean for row in results.overall.rows)
    columns: list[Column] = [(Head("model", "name"), [Cell(shown[one]) for one in names[1:]])]
    for i, column in enumerate(names[:-1]):
        cells = [
            Cell("", classes="none") if j <= i else _pair(by.get(frozenset((names[j], column))), names[j], digits)
            for j in range(1, len(names))
        ]
        columns.append((Head(shown[column], classes="turned"), cells))
    rule = kind(results.rules[0], _RULE)
    caption = (
        f"Differences of mean {rule} scores, row minus column; coloured: significant (Holm, {percent(results.level)})"
    )
    return grid("matrix", caption, columns, sorts=False, classes="heat matrix")


def _pair(v: PairwiseVerdict | None, row: str, digits: int) -> Cell:
    """The difference of a row to a column; its colour says who is better, and by how many standard errors."""
    if v is None:
        return Cell(NOTHING)
    d = v.pair.difference if v.pair.a == row else -v.pair.difference
    colour = step(shade(d.value, d.error)) if v.significant else ""
    return Cell(fixed(d.value, digits, signed=True), value=d.value, classes=colour)


@dataclass(frozen=True, slots=True)
class Versus:
    """One model against all others, an item each: the other model, the difference and its interval."""

    model: str
    digits: int
    options: tuple[Words, ...]
    items: tuple[tuple[Words, Cell], ...]


def versus(results: Comparison, shown: Shown, *, any_model: bool = True) -> Versus | None:
    """The best model against each of more than twelve; with a script, any model where the page holds all pairs."""
    rows, rule = results.overall.rows, results.rules[0]
    found = {v.pair.b if v.pair.a == rows[0].name else v.pair.a: v for v in verdicts(results, rule)
             if rows[0].name in (v.pair.a, v.pair.b)} if rows else {}  # fmt: skip
    if len(rows) <= MATRIX or not found:
        return None
    own = [found[row.name] for row in rows[1:] if row.name in found]
    estimates = [-v.pair.simultaneous if v.pair.a == rows[0].name else v.pair.simultaneous for v in own]
    digits = decimals(row.scores[rule].mean for row in rows)
    cells = estimated(estimates, digits=digits, signed=True, marked=[v.significant for v in own])
    others = [v.pair.b if v.pair.a == rows[0].name else v.pair.a for v in own]
    items = tuple((shown[other], cell) for other, cell in zip(others, cells, strict=True))
    return Versus(str(shown[rows[0].name]), digits, tuple(shown[row.name] for row in rows if any_model), items)


def power(results: Comparison, shown: Shown) -> Sentence | None:
    """The smallest difference that the test of the first two models finds with a power of 80%."""
    found = verdicts(results, results.rules[0])
    if not found or not found[0].tested:
        return None
    d, tested = found[0].pair.difference, sum(v.tested for v in found)
    if not d.error or d.freedom is None:
        return None
    least = detectable(d.error, d.freedom, 1 - (1 - results.level) / tested)
    among = f", adjusted for {number_of(tested, 'pair')}" if tested > 1 else ""
    digits = decimals([found[0].pair.simultaneous])
    return sentence(
        *("Between ", shown[found[0].pair.a], " and ", shown[found[0].pair.b]),
        f", a true difference of {fixed(least, digits)} would be found with {percent(POWER)} power{among}.",
    )
