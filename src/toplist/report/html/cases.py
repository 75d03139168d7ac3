"""The sections by class, by group and by case: heat maps, confusions, and cases as lists with the true class marked.

Of two models, the cases that the candidate fixes and breaks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from toplist._text import fixed
from toplist.inference.results import (
    RIGHT,
    Breakdown,
    CaseView,
    Confusion,
    ModelDetails,
    PairCases,
    PredictionView,
)
from toplist.report import plot
from toplist.report.html.grid import (
    Block,
    Cell,
    Column,
    Grid,
    Head,
    Section,
    counted,
    drawing,
    grid,
    number,
    percentage,
    section,
)
from toplist.report.html.sections import TRUE_CLASS, Two, compared, name_of, rule_of, tied, two
from toplist.report.plot.canvas import step
from toplist.report.plot.leaderboard import breakdown_shades, smallest_significant
from toplist.report.statements import OnlyRight, only_one_right, top_1_cases
from toplist.report.text import (
    Name,
    Sentence,
    Shown,
    Words,
    count,
    name,
    names,
    number_of,
    percent,
    rate,
    sentence,
    series,
    share,
)

if TYPE_CHECKING:
    from toplist.report.html.page import Page

_ACROSS = 12  # groups up to which a heat map has them as columns
_MOST = 20  # groups of a heat map
_CHOSEN, _SUPPORT = 10, 5  # of many classes, as `Breakdown` has them: the hardest of so many cases, the most frequent
_RARE = 1  # cases of a confusion that may be chance
_FEWEST, _CONFUSED = 6, 10  # confusions of the best model
_OTHERS = 12  # other models whose confusions and worst cases are folded
_BRIEF = 3  # confusions of another model; reversals that are named
_SHOWN, _CARDS, _SIDE = 4, 8, 2  # cards at once, in all, and of cases that are fixed or broken at once
_BESIDE = 0.01  # a probability below it is left out where two lists are compared
_LITTLE = 0.0005  # a probability below it is written <0.001


# Classes and groups of cases


def by_class(page: Page, shown: Shown) -> Section | None:
    """Mean scores by true class, hardest first, and which classes are taken for which."""
    found = next((one for one in page.breakdowns if one.by == TRUE_CLASS), None)
    confused, others = _confusions(page, shown)
    if (found is None or not found.groups) and confused is None:
        return None
    if found is None or not found.groups:
        return section("classes", "By class", ("beside", (None, confused, others), two(page) is not None))
    called = names(found.groups)
    lines = [*_classes_shown(found), *_hardest(found, called), *_reversed(page, found, called, shown)]
    return section(
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
    lines = [*_groups_shown(found), *_reversed(page, found, called, shown)]
    if found.axis and len(found.groups) > 2:
        renamed = replace(found, models=tuple(name_of(shown, who).text for who in found.models), by=by.text)
        caption = sentence(f"Mean {rule_of(page)} score by ", by)
        figure = drawing(plot.groups(renamed, page.results.rules[0], tied(page, shown)), "groups", caption)
        block: tuple[Block, ...] = (("figure", figure),)
    else:
        lines = [*_hardest(found, called), *lines]
        block = (
            ("paragraph", _legend(page, found), "reading"),
            (("chart", heat_map(page, found, called, shown, "groups"))),
        )
    return section(
        "groups",
        f"By {by.text}",
        ("paragraph", lines),
        *block,
        ("grid", _all_groups(page, found, called, shown, "groups", "group"), True, True),
    )


def _legend(page: Page, found: Breakdown) -> list[str]:
    """What colours mean, and how many cases there are where all groups have as many."""
    least, level = smallest_significant(found), percent(page.results.level)
    each = [f"{number_of(found.cases[0], 'case')} each."] if _same_cases(found) else []
    pair = len(found.models) == 2
    holm = f"(Holm over all {'groups' if pair else 'cells'}, {level})"
    if len(found.models) < 2:
        return each
    if found.incomplete:
        each.append("Groups in which a model lacks cases are not tested: their means are of different cases.")
    mean = "the other model" if pair else "the mean of the models"
    if not _tested(page, found):
        return [f"Differences to {mean} are not tested here, which needs the cases. Bold: the lowest score.", *each]
    if least is None:
        return [f"No difference to {mean} is significant {holm}.", *each]
    return [
        f"Blue: significantly better than {mean}; orange: worse {holm}.",
        f"Each step of colour doubles the difference, from {fixed(2 * least if pair else least, 3)} on.",
        *([] if pair else ["Bold: the lowest score."]),
        *each,
    ]


def _tested(page: Page, found: Breakdown) -> bool:
    """Whether differences to the mean of the models are tested: of more than two models, that needs the cases."""
    return not page.absent or len(found.models) == 2


def _same_cases(found: Breakdown) -> bool:
    return len(found.cases) > 1 and len(set(found.cases)) == 1


def heat_map(page: Page, found: Breakdown, called: Shown, shown: Shown, key: str) -> Grid:
    """Means by model and group with colours for significant differences; two models and many groups as rows."""
    many = list(range(len(found.groups)))[:_MOST]
    by, rule, shades = name(found.by or "group"), rule_of(page), breakdown_shades(found)
    rows: Column = Head(by, "name"), [Cell(called[found.groups[g]]) for g in many]
    cases = [] if _same_cases(found) else [(Head("n"), [counted(found.cases[g]) for g in many])]
    if len(found.models) == 2:
        return _two_models(page, found, called, shown, grid_of=(key, [rows, *cases], many))
    means = [_mean(row) for row in found.means]

    def cell(g: int, m: int) -> Cell:
        value, d, shade = found.means[g][m], found.differences[g][m], shades[g][m]
        tested = f" ({'significant' if shade else 'not significant'})" if _tested(page, found) else ""
        beside = "" if not math.isfinite(d) else f", {fixed(d, 4, signed=True)} against the mean{tested}"
        right = found.accuracy[g][m]
        accuracy = "" if math.isnan(right) else f", accuracy {share(right)}"
        who, where = name_of(shown, found.models[m]).text, called[found.groups[g]].text
        lowest = found.groups[g] not in found.incomplete and _is_lowest(found.means[g], m)
        return replace(
            number(value, 3),
            classes=(step(shade) if shade else "") + (" lowest" if lowest else ""),
            hint=f"{who}, {where}: {rule} {fixed(value, 4)}{beside}{accuracy}",
        )

    several, mean = len(found.models) > 1, f"mean of {count(len(found.models))}"
    caption = sentence(f"Mean {rule} score by model and ", by)
    if len(many) <= _ACROSS or len(found.models) > _ACROSS:
        columns: list[Column] = [
            (Head("model", "name"), [*([Cell(mean)] * several), *(Cell(name_of(shown, m)) for m in found.models)])
        ]
        for g in many:
            n = "" if _same_cases(found) else f"n {count(found.cases[g])}"
            own = [cell(g, m) for m in range(len(found.models))]
            columns.append((Head(called[found.groups[g]], below=n), [*([number(means[g], 3)] * several), *own]))
        return grid(key, caption, columns, classes=_HEAT, reference=several, sorts=False)
    columns = [rows, *cases, *([(Head(mean), [number(means[g], 3) for g in many])] * several)]
    columns += [(Head(name_of(shown, who)), [cell(g, m) for g in many]) for m, who in enumerate(found.models)]
    return grid(key, caption, columns, classes=_HEAT)


_HEAT = "chart heat"


def _two_models(
    page: Page, found: Breakdown, called: Shown, shown: Shown, *, grid_of: tuple[str, list[Column], list[int]]
) -> Grid:
    """Groups as rows, the two means, and their difference, which alone has a colour."""
    key, columns, many = grid_of
    pair, shades = two(page), breakdown_shades(found)
    reference = (page.results.baseline or found.models[1]) if pair is None else pair.reference
    order = [0, 1] if found.models[0] == reference else [1, 0]
    old, new = (name_of(shown, found.models[m]) for m in order)
    differences = []
    for g in many:
        d, shade = 2 * found.differences[g][order[1]], shades[g][order[1]]
        hint = f"{called[found.groups[g]].text}: {'significant' if shade else 'not significant'}"
        differences.append(Cell(fixed(d, 3, signed=True), "", d, step(shade) if shade else "", hint))
    means: list[Column] = [
        (Head(name_of(shown, found.models[m])), [number(found.means[g][m], 3) for g in many]) for m in order
    ]
    caption = sentence(f"Mean {rule_of(page)} score. Δ: ", new, " \u2212 ", old)
    return grid(key, caption, [*columns, *means, (Head("Δ"), differences)], classes=_HEAT)


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
    those = " of those" if found.left_out else ""
    return [sentence(f"Hardest{those}: ", called[first], f" {fixed(means[first], 3)}, ", called[second],
                     f" {fixed(means[second], 3)}.")]  # fmt: skip


def _reversed(page: Page, found: Breakdown, called: Shown, shown: Shown) -> list[Sentence]:
    """Groups where another model is significantly better than the leader."""
    rows = page.results.overall.rows
    if not found.reversals or not rows:
        return []
    by_group: dict[str, list[Name]] = {}
    for group, model in found.reversals:
        if group in called:
            by_group.setdefault(group, []).append(name_of(shown, model))
    parts = [sentence(*series(who, 3), " in ", called[group]) for group, who in by_group.items()]
    lead = sentence("Significantly better than ", name_of(shown, rows[0].name), ": ")
    return [sentence(lead, *_semicolons(parts), ".")]


def _semicolons(parts: Sequence[Sentence]) -> list[Words]:
    shown: list[Words] = []
    for i, part in enumerate(parts[:_BRIEF]):
        shown += ["; " if i else "", part]
    more = len(parts) - _BRIEF
    return [*shown, f"; and {count(more)} more"] if more > 0 else shown


def _classes_shown(found: Breakdown) -> list[Sentence]:
    """Which classes are shown, where these are not all."""
    n, every = len(found.groups), len(found.groups) + found.left_out
    if found.left_out:
        which = f"the {_CHOSEN} hardest with at least {_SUPPORT} cases and the {_CHOSEN} most frequent"
        return [sentence(f"{count(n)} of {count(every)} classes: {which}.")]
    return [sentence(f"The {_MOST} hardest of {count(every)} classes; the table below has all.")] if n > _MOST else []


def _groups_shown(found: Breakdown) -> list[Sentence]:
    """Which groups are shown, where these are not all."""
    n, every = len(found.groups), len(found.groups) + found.left_out
    if found.left_out:
        which = f"the {_CHOSEN} hardest and the {_CHOSEN} easiest"
        return [sentence(f"{count(n)} of {count(every)} groups: {which}.")]
    if n > _MOST and not found.axis:
        return [sentence(f"The {_MOST} hardest of {count(every)} groups; the table below has all.")]
    return []


def _all_groups(page: Page, found: Breakdown, called: Shown, shown: Shown, key: str, one: str) -> Grid | None:
    """Every group with its cases and means, where the figure above does not have them all as numbers."""
    if len(found.groups) <= _MOST and not (found.axis and len(found.groups) > 2 and found.by != TRUE_CLASS):
        return None
    columns: list[Column] = [
        (Head(one, "name"), [Cell(called[group]) for group in found.groups]),
        (Head("cases"), [counted(n) for n in found.cases]),
        *(
            (Head(name_of(shown, who)), [number(row[m], 3) for row in found.means])
            for m, who in enumerate(found.models)
        ),
    ]
    return grid(f"{key}-all", sentence(f"Mean {rule_of(page)} score by ", name(found.by or "group")), columns)


def _confusions(page: Page, shown: Shown) -> tuple[Grid | None, list[tuple[Name, Sentence]]]:
    """The most frequent confusions of the best model as a table, and those of others a line each."""
    order = {row.name: i for i, row in enumerate(page.results.overall.rows)}
    repeated = [replace(one, confusions=tuple(c for c in one.confusions if c.cases > _RARE)) for one in page.exhibits]
    known = sorted((one for one in repeated if one.confusions), key=lambda one: order.get(one.name, len(order)))
    if not known:
        return None, []
    best, *rest = known
    rows = min(max(_FEWEST, len(known)), _CONFUSED)  # as many as the heat map beside it has
    found = best.confusions[:rows]
    most = max(one.cases for one in found)
    label = names({text: None for one in known for c in one.confusions for text in (c.true, c.predicted)})
    columns: list[Column] = [
        (Head("true class", "name"), [Cell(label[c.true]) for c in found]),
        (Head("predicted", "text"), [Cell(label[c.predicted], classes="arrow") for c in found]),
        (Head("cases"), [replace(counted(c.cases), bar=(("wrong", c.cases / most),)) for c in found]),
        (Head("of class"), [percentage(c.share) for c in found]),
        (
            Head("confidence", classes="roomy", below="mean"),
            [Cell(rate(c.confidence), "", c.confidence) for c in found],
        ),
    ]
    caption = sentence("Most frequent confusions of ", name_of(shown, best.name))
    made = grid("confusions", caption, columns, classes="chart", sorts=False)

    def brief(one: ModelDetails) -> tuple[Name, Sentence]:
        said = [_confused(c, label) for c in one.confusions[:_BRIEF]]
        return name_of(shown, one.name), sentence(*series(said, _BRIEF))

    if two(page) is not None:
        return None, [brief(one) for one in known]
    return made, [brief(one) for one in rest[:_OTHERS]]


def _confused(one: Confusion, label: Shown) -> Sentence:
    return sentence(label[one.true], " → ", label[one.predicted], f" {count(one.cases)}")


# Cases


@dataclass(frozen=True, slots=True)
class ListedClass:
    """A class of a card: its probability, and whether it is the true class."""

    label: Words
    probability: str
    width: float
    style: str


@dataclass(frozen=True, slots=True)
class Listing:
    """What one model predicted for a case."""

    score: str
    lines: tuple[ListedClass, ...]
    model: Words = ""


@dataclass(frozen=True, slots=True)
class Card:
    """A case with its true class and predictions."""

    case: Words
    listings: tuple[Listing, ...]
    outcome: Words
    others: str
    doubtful: bool


def cases(page: Page, shown: Shown) -> Section | None:
    """The worst predictions of the best model, and the cases that tell models apart."""
    against = [one for one in page.against if one.a in shown and one.b in shown and one.cases]
    pair = two(page)
    if pair is not None:
        return section("cases", "Cases", *_cases_of_two(page, pair, shown))
    compared = [_against(page, one, shown) for one in against]
    return (
        section("cases", "Cases", *_worst(page, shown, _CARDS), ("against", compared))
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
    others = [(name_of(shown, one.name), [card(page, c, shown) for c in one.worst[:_SHOWN]]) for one in rest[:_OTHERS]]
    doubtful = sum(card(page, one, shown).doubtful for one in best.worst)
    of = f"{count(doubtful)} of the {number_of(len(best.worst), 'case')} with the largest scores"
    check = f" No model is right in {of}: check the labels." if doubtful else ""
    return [
        ("subheading", sentence("Worst predictions of ", name_of(shown, best.name))),
        ("text", f"The cases with the largest {rule_of(page)} scores.{check}", "small"),
        ("cards", cards[:_SHOWN], cards[_SHOWN:]),
        ("worst", others, "the other model" if len(others) == 1 else f"{count(len(others))} other models"),
    ]


def card(page: Page, one: CaseView, shown: Shown) -> Card:
    """A case as it is shown: at most the predictions of two models, the true class marked."""
    rule = rule_of(page)
    listings = tuple(
        Listing(
            f"{rule} {fixed(p.score, 3)}", _lines(one, p), "" if len(one.predictions) == 1 else name_of(shown, p.model)
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
        said = f"the other model is {'right' if right > RIGHT else 'wrong'}"
    return Card(name(one.case), listings, name(one.outcome), said, doubtful=nobody and others > 1)


def _number(x: float) -> str:
    return count(round(x)) if abs(x - round(x)) < 1e-9 else f"{x:.1f}"


def _lines(one: CaseView, p: PredictionView) -> tuple[ListedClass, ...]:
    """The most confident classes and the true one; classes that would be written as zero are left out.

    Beside the list of another model, so are those below one in a hundred.
    """
    least = _LITTLE if len(one.predictions) == 1 else _BESIDE
    found = [
        ListedClass(name(label, 24), rate(x), x, "true" if label == one.outcome and p.true is not None else "false")
        for label, x in p.listed
        if x >= least or (label == one.outcome and p.true is not None)
    ]
    if p.true is not None and not any(line.style == "true" for line in found):
        value = "0" if not p.true else rate(p.true)
        found.append(ListedClass(name(one.outcome, 24), value, p.true, "true"))
    if not p.size:
        found.append(ListedClass("no class named; scored as uniform", "", 0.0, "note"))
    elif p.rest >= _LITTLE:
        found.append(ListedClass("unlisted", rate(p.rest), p.rest, "rest"))
    return tuple(found)


Side = tuple[Words, list[Card]]  # a heading and the cases below it


def _against(page: Page, one: PairCases, shown: Shown) -> tuple[Words, list[Sentence], list[Side]]:
    """Two models: a heading, sentences, and the largest advantages of either, or what is fixed and broken, as cards."""
    baseline = page.results.baseline
    if baseline in (one.a, one.b):
        pair = compared(one, baseline)
        new, old = name_of(shown, pair.candidate), name_of(shown, pair.reference)
        said = [_wins(page, pair, shown), *_disappears(one)]
        return sentence(new, " against the baseline ", old), said, _only_right(page, one, shown)
    heading = sentence(name_of(shown, one.a), " against ", name_of(shown, one.b))
    return heading, pair_sentences(one, shown), _advantages(page, one, shown)


def _advantages(page: Page, one: PairCases, shown: Shown) -> list[Side]:
    """The cases where either model has the most to gain over the other."""
    return [
        (sentence("Largest advantages of ", name_of(shown, who)), [card(page, c, shown) for c in found[:_SHOWN]])
        for who, found in ((one.a, one.for_a), (one.b, one.for_b))
    ]


def pair_sentences(one: PairCases, shown: Shown) -> list[Sentence]:
    """Who is right and who scores better in how many cases, and how few cases the difference hangs on."""
    better = sentence(
        name_of(shown, one.a),
        f" has the lower score in {number_of(one.a_better, 'case')}, ",
        name_of(shown, one.b),
        f" in {count(one.b_better)}{f', equal in {count(one.equal)}' if one.equal else ''}.",
    )
    return [*top_1_cases(one, None, shown), better, *_disappears(one)]


def _disappears(one: PairCases) -> list[Sentence]:
    n = one.turning
    most = "most favourable case is" if n == 1 else f"{count(n)} most favourable cases are"
    return [sentence(f"The difference disappears if the {most} removed.")] if n else []


def _wins(page: Page, pair: Two, shown: Shown) -> Sentence:
    """Wins, losses and ties against the baseline by score, and in how many cases the two are right or wrong alike."""
    both = pair.cases
    wins, losses = number_of(pair.better, "win"), number_of(pair.worse, "loss", "losses")
    scores = f" has {wins}, {losses} and {number_of(both.equal, 'tie')} by {rule_of(page)} score"
    right = f"; both right in {count(both.both_right)}, both wrong in {count(both.both_wrong)}."
    known = bool(only_one_right(both, pair.reference, shown))
    return sentence(name_of(shown, pair.candidate), scores, right if known else ".")


def _only_right(page: Page, one: PairCases, shown: Shown) -> list[Side]:
    """Cases that only one of two models has right: how many, and those with the most to gain.

    Where the truth is a distribution no prediction is right or wrong: the largest advantages of either.
    """

    def flipped(each: OnlyRight) -> list[Card]:
        some = []
        for view in one.for_a if each.model == one.a else one.for_b:
            by = {p.model: p.right for p in view.predictions}
            if by.get(each.model, 0.0) > 0.5 > by.get(each.other, 1.0):
                some.append(card(page, view, shown))
        return some[:_SHOWN]

    found = only_one_right(one, page.results.baseline, shown)
    return [(each.heading, flipped(each)) for each in found] or _advantages(page, one, shown)


def _cases_of_two(page: Page, pair: Two, shown: Shown) -> list[Block]:
    sides = _only_right(page, pair.cases, shown)
    against = page.results.baseline is not None
    said = [_wins(page, pair, shown), *_disappears(pair.cases)] if against else pair_sentences(pair.cases, shown)
    more: list[Side] = [(head, cards[_SIDE:]) for head, cards in sides if cards[_SIDE:]]
    more += [
        (
            sentence("Worst predictions of ", name_of(shown, one.name)),
            [card(page, c, shown) for c in one.worst[:_SHOWN]],
        )
        for one in page.exhibits
        if one.worst
    ]
    return [
        ("paragraph", said, "reading"),
        ("sides", [(head, cards[:_SIDE]) for head, cards in sides]),
        ("further", more),
    ]
