"""The leaderboard with intervals and ties in its rows, and the differences between models in one view."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING

from toplist._text import NOTHING, fixed
from toplist.inference.estimation import POWER, detectable
from toplist.inference.ranking import PairwiseVerdict, verdicts
from toplist.inference.results import Comparison, ModelRow, RuleScore
from toplist.report.calibration_statements import adjusted, chip
from toplist.report.html.grid import (
    Cell,
    Chip,
    Column,
    Grid,
    Head,
    counted,
    estimated,
    grid,
    number,
    percentage,
    same_for_all,
    varying,
)
from toplist.report.plot.canvas import shade, step
from toplist.report.statements import at_once, less, pairs_with
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
from toplist.report.whiskers import HEIGHT, Svg, WhiskerAxis, axis, in_words, lanes, tie_runs, whisker
from toplist.scoring.case_scores import Metric

if TYPE_CHECKING:
    from toplist.calibration.miscalibration import CalibrationVerdict

_RULE = 30  # characters of a rule's name in a head
_RULES = 3  # rules that the main table shows, the first one among them
_LANE = 7  # pixels between two tie bars
MATRIX = 12  # models, beyond which differences are shown of one model at a time


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
        extra = f'<line class="uniform" x1="{at}%" x2="{at}%" y1="-{HEIGHT}" y2="4"/>'
    digits, level, top = decimals(means), percent(results.level), leaders(results)
    line = means[0].value if len(rows) > 1 and math.isfinite(means[0].value) else None
    cells = [
        Cell(whisker(room, mean, f"{shown[row.name]}: {in_words(mean, digits, level)}", line=line, blue=i in top))
        for i, (row, mean) in enumerate(zip(rows, means, strict=True))
    ]
    return [(Head(f"mean and {level} CI", "text", classes="whisker"), cells)], room.drawn(extra)


def _ties(results: Comparison, shown: Shown) -> list[Column]:
    """A bar beside each run of models without a significant difference; in words, a letter for each run."""
    runs, names = tie_runs(results), [shown[row.name] for row in results.overall.rows]
    if not runs:
        return []
    beside = lanes(runs)
    wide = _LANE * (max(beside) + 1)
    words = [escape(f"not significantly different: {names[a]} to {names[b]} ({b - a + 1} models)") for a, b in runs]
    cells = []
    for at in range(len(names)):
        own = [i for i, (first, last) in enumerate(runs) if first <= at <= last]
        bars = "".join(
            f'<rect x="{_LANE * beside[i]}" y="{6 * (at == runs[i][0])}" width="3" '
            f'height="{HEIGHT + 1 - 6 * (at == runs[i][0]) - 7 * (at == runs[i][1])}"><title>{words[i]}</title></rect>'
            for i in own
        )
        letters = " ".join(map(_letter, own))
        size = f'width="{wide}" height="{HEIGHT}" viewBox="0 0 {wide} {HEIGHT}"'
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
    pairs = pairs_with(results, results.rules[0], rows[0].name)
    head = Head("cases with best", means="cases that the best model has as well, for the difference")
    return [(head, [counted(pairs[row.name].pair.cases if row.name in pairs else None) for row in rows])]


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
    one, other = (v.pair.b, v.pair.a) if v.pair.a == results.baseline else (v.pair.a, v.pair.b)
    d = less(one, v)
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
    found = pairs_with(results, rule, rows[0].name) if rows else {}
    if len(rows) <= MATRIX or not found:
        return None
    digits = decimals(row.scores[rule].mean for row in rows)
    others = [row.name for row in rows[1:] if row.name in found]
    estimates, marks = [less(one, found[one]) for one in others], [found[one].significant for one in others]
    cells = estimated(estimates, digits=digits, signed=True, marked=marks)
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
