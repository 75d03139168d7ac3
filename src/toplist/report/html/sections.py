"""The sections of a page on lists, time, data quality, method and reproduction, and what all sections share.

Each makes a `Section` of a `Page`, or None where it has nothing to say; what is constant or in order is one line in
the checks passed of `quality`. Calibration is in `calibration`; classes, groups and cases are in `cases`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from toplist._text import NOTHING, fixed, visible
from toplist.inference.results import (
    KINDS,
    Comparison,
    FileRecord,
    ModelDetails,
    PairCases,
    PartRecord,
    SourceSummary,
)
from toplist.report import path_statements, plot, statements
from toplist.report.html.grid import (
    Block,
    Cell,
    Column,
    Grid,
    Head,
    Section,
    drawing,
    grid,
    number,
    percentage,
    same_for_all,
    section,
    varying,
)
from toplist.report.text import (
    Name,
    Sentence,
    Shown,
    Words,
    count,
    kind,
    listed,
    name,
    number_of,
    percent,
    plain,
    sentence,
    series,
    stripped,
)

if TYPE_CHECKING:
    from toplist.report.html.page import Page

TRUE_CLASS = "true class"  # what a breakdown by class is by
_FOLDED = 12  # models from which on the table of lists is folded
_NAMED = 5  # models with an issue
_PATH = 60  # characters of a path
_PARTS = 50  # of a merged result that are listed
_LONG = 400  # characters of a message
_VISIBLE = 1e-3  # of the largest value of a curve: a rise that can be seen


def own_cases(page: Page) -> str:
    """That details are of all cases of each model, without weights, where scores are not."""
    cases = {row.name: row.cases for row in page.results.overall.rows}
    apart = len(set(cases.values())) > 1 or any(one.cases != cases.get(one.name, one.cases) for one in page.exhibits)
    said = [
        *(["each model on all its own cases"] if apart else []),
        *(["without weights"] if page.results.weighted else []),
    ]
    return f" {', '.join(said).capitalize()}." if said else ""


def tied(page: Page, shown: Shown) -> list[str]:
    """Models that no other one is significantly better than, as figures call them."""
    best = page.results.confidence_set
    return [] if best is None else [name_of(shown, who).text for who in best.members]


def rule_of(page: Page) -> str:
    """The first rule, which decides the order."""
    return kind(page.results.rules[0], 30)


name_of = statements.called_in


@dataclass(frozen=True, slots=True)
class Two:
    """A candidate and what it is compared with, case by case."""

    reference: str
    candidate: str
    cases: PairCases
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
    return compared(found, page.results.baseline or rows[1].name)


def compared(found: PairCases, reference: str) -> Two:
    """The cases of a pair as seen from the other model than the reference."""
    if found.a == reference:
        return Two(found.a, found.b, found, found.b_better, found.a_better)
    return Two(found.b, found.a, found, found.a_better, found.b_better)


# Lists of different lengths


def lists(page: Page, shown: Shown) -> Section | None:
    """Score against list length, types of predictions and coverage, where lists are not all alike."""
    details = page.exhibits
    if not details or alike(details):
        return None
    curved = tuple(replace(one, name=name_of(shown, one.name).text) for one in details if one.curve)
    caption = f"Mean {rule_of(page)} score of the lists truncated to k classes.{own_cases(page)}"
    table = _list_table(page, shown)
    drawn = (
        drawing(plot.curves(curved, tied(page, shown)), "curves", caption)
        if any(len(one.ks) > 1 for one in curved)
        else None
    )
    return section(
        "lists",
        "List length",
        ("text", f"{_CURVES}{_RISING if any(map(_rises, curved)) else ''}" if drawn else ""),
        ("figure", drawn),
        ("chart", table, f"Lists of all {count(len(details))} models" if len(details) > _FOLDED else ""),
    )


_CURVES = "Where a curve is flat, lists could be shorter; where it falls, longer lists help."
_RISING = " Where it rises, shorter lists score better: the probabilities of further classes are miscalibrated."


def _rises(one: ModelDetails) -> bool:
    """Whether a longer list has a visibly larger mean score."""
    return any(b - a > _VISIBLE * max(one.curve) for a, b in pairwise(one.curve) if math.isfinite(b))


def alike(details: Sequence[ModelDetails]) -> bool:
    """Whether all predictions are of one type and one length."""
    lengths = {length for one in details for length in (one.shortest, one.longest)}
    return len(lengths) <= 1 and len({s.kind for one in details for s in one.shapes if s.cases}) <= 1


def _list_table(page: Page, shown: Shown) -> Grid | None:
    rows = {row.name: row for row in page.results.overall.rows}
    details = [one for one in page.exhibits if one.name in rows]

    def metric(key: str, cell: Callable[[float], Cell]) -> list[Cell]:
        estimates = [rows[one.name].metrics.get(key) for one in details]
        return [Cell(NOTHING) if e is None else cell(e.value) for e in estimates]

    def cases_of(one: ModelDetails, what: str) -> float:
        return sum(s.cases for s in one.shapes if s.kind == what) / max(1, sum(s.cases for s in one.shapes))

    occur = [what for what in KINDS if any(s.kind == what and s.cases for one in details for s in one.shapes)]
    kinds = [(what, [percentage(cases_of(one, what)) for one in details]) for what in occur if len(occur) > 1]
    columns: list[Column] = [
        *((Head(f"{what}s", classes="roomy"), cells) for what, cells in kinds),
        (Head("classes listed"), [Cell(lengths(one)) for one in details]),
        (Head("mean", classes="roomy"), metric("mean_length", lambda x: number(x, 2))),
        (Head("coverage", means="share of cases whose true class is listed"), metric("coverage", percentage)),
        (Head("listed probability", classes="roomy", below="mean"), metric("mean_mass", percentage)),
    ]
    columns, same = varying(columns)
    if not columns:
        return None
    model: Column = Head("model", "name"), [Cell(name_of(shown, one.name)) for one in details]
    caption = sentence("Prediction types, list lengths and coverage. ", same_for_all(same))
    return grid("lists", caption, [model, *columns], classes="chart")


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
        a, b = name_of(shown, path.candidate), name_of(shown, path.baseline)
        blocks.append(("lines", path_statements.path_story(path, shown)))
        if path.at:
            renamed = replace(path, candidate=a.text, baseline=b.text)
            caption = sentence(f"Mean difference in {rule_of(page)} score, ", a, " minus ", b)
            blocks.append(("figure", drawing(plot.path(renamed), f"path-{i}", caption)))
    method = {stripped(path.method): None for path in paths if path.method}
    notes = [path_statements.enough(paths[0]), path_statements.assumed(paths), *(f"Method: {one}." for one in method)]
    return section("time", "Anytime-valid comparison", *blocks, ("folded", "Assumptions and method", notes))


# What needs the cases


def absent(page: Page, shown: Shown) -> Section | None:
    """What is not shown because cases are not at hand, and how to get it."""
    command = "toplist compare FILES --truth TRUTH --report board.html"
    return section("absent", "Not shown", ("text", page.absent), ("command", command)) if page.absent else None


# Data quality

_ISSUES = {
    "listed zero": "Lists a class with probability 0",
    "empty list": "No class named",
    "list of zeros": "Nothing but zeros",
}


def quality(page: Page, shown: Shown) -> Section:
    """Counts of repairs, missing predictions and other issues, and the checks that found nothing."""
    issues, passed = _issues(page, shown), checks(page, shown)
    return section(
        "quality",
        "Data quality",
        ("text", "" if issues else "No repairs, missing predictions or other issues."),
        ("facts", issues, "issues"),
        ("folded", "Issues in words", _in_words(page, shown)),
        ("folded", "Notes on the files", _notes(page, shown)),
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
    every = len(results.overall.rows)
    made = [(what, _cases_by_model(by, every, shown)) for what, by in found.items()]
    done = statements.repairs(results.truth_repairs)
    return [*made, *([("Repaired in the truth", f"{done}.")] if done else [])]


def _cases_by_model(by: Mapping[str, int], every: int, shown: Shown) -> Words:
    """In how many cases of which models."""
    if len(by) == every > 1 and len(set(by.values())) == 1:
        return f"All {count(every)} models: {number_of(next(iter(by.values())), 'case')} each."
    most = sorted(by, key=lambda who: -by[who])
    return sentence(*series([sentence(name_of(shown, who), f" {count(by[who])}") for who in most], _NAMED), ".")


def _in_words(page: Page, shown: Shown) -> list[Sentence]:
    """What is said of each issue; of one that models share, once."""
    found: dict[str, list[Name]] = {}
    for one in page.exhibits:
        said = [f"first invalid list: {stripped(one.invalid)}."] if one.invalid else []
        said += [visible(issue.message) for issue in one.issues if issue.kind != "invalid"]
        for text in said:
            found.setdefault(plain(text, _LONG), []).append(name_of(shown, one.name))
    return [sentence(*series(who), f": {text}") for text, who in found.items()]


def _notes(page: Page, shown: Shown) -> list[Sentence]:
    """What was found in files and done about it; what is noted of several models, once."""
    found: dict[str, list[Name]] = {}
    for one in page.results.sources:
        for text in one.notes if one.name in shown else ():
            found.setdefault(plain(text, _LONG), []).append(name_of(shown, one.name))
    return [sentence(*series(who), f": {text}") for text, who in found.items()]


def checks(page: Page, shown: Shown) -> list[Words]:
    """What was checked and found in order, a sentence each."""
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
        if not kinds - {"invalid"}:
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
                sentence("No model is significantly better than ", name_of(shown, lead), " in the cases ", *where, ".")
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
    "rps": "ranked probability score (RPS) of ordered classes, from 0 to the number of classes minus one",
    "rps-normalized": "ranked probability score (RPS) of ordered classes, divided by the number of classes minus one",
    "ranked_log": "ranked log score of ordered classes: the sum of the log scores of the thresholds between them",
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
    "over models. Detectable: the difference whose interval would exclude zero with 80% power. "
    "Miscalibration: the part of the score that perfect recalibration could remove.",
    "Binned calibration": "Top-1 predictions in bins of equal width by confidence, from exact sums. Overconfidence is "
    "mean confidence minus accuracy, in percentage points, with Student's interval over cases. Expected calibration "
    "error (ECE): the mean over cases of the distance of mean confidence and accuracy in the bin; it depends on the "
    "bins.",
}


def method(page: Page, shown: Shown) -> Section:
    """How scores, intervals and tests are made in five lines; definitions and sources folded."""
    results = page.results
    facts = _facts(results, shown)
    return section(
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
        ("Intervals", f"{level}. {_capital(statements.method_text(results))}."),
        ("Significance", f"Paired differences, adjusted by Holm's method{family} at {level}."),
        ("Missing", statements.policy(results, shown)),
    ]
    uniform = [text for rule in results.rules if (text := _uniform(rule, results.classes))]
    if uniform and all(one.answer_mass is None for one in results.sources):  # then no outcome may be OTHER
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
        found.append(("Baseline", name_of(shown, results.baseline)))
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
        "Binned calibration": not page.binned,
    }
    return [(term, said) for term, said in _DEFINITIONS.items() if not left_out.get(term, False)]


def _sources(page: Page, shown: Shown) -> list[tuple[Words, Words]]:
    """Where predictions came from, how they were read and how many classes they list; what all share is said once."""
    details = {one.name: one for one in page.exhibits}
    own = [one for one in page.results.sources if one.name in shown]

    def said(one: SourceSummary) -> list[str]:
        listed = lengths(details[one.name]) if one.name in details else _ends(page, one.name)
        return [
            plain(one.source, _PATH),
            visible(one.reading) or plain(one.layout, 30),
            f"classes listed: {listed}" if listed else "",
        ]

    columns = [list(column) for column in zip(*map(said, own), strict=True)]
    same = [column[0] for column in columns if len(set(column)) == 1 and column[0]]
    differ = [column for column in columns if len(set(column)) > 1]
    every: list[tuple[Words, Words]] = [("All models", f"{'; '.join(same)}.")] if same and len(own) > 1 else []
    if len(own) == 1:
        return [(shown[own[0].name], f"{'; '.join(same)}.")]
    if differ:
        every += [(shown[one.name], f"{'; '.join(texts)}.") for one, *texts in zip(own, *differ, strict=True)]
    return every


def _ends(page: Page, model: str) -> str:
    """How many classes lists have, where only sums are at hand; nothing where they are not."""
    if model not in page.binned:
        return ""
    shortest, longest = page.binned[model].lengths
    return count(longest) if shortest == longest else f"{count(shortest)} to {count(longest)}"


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
    return section(
        "reproduce",
        "Reproduce",
        ("command", visible(made.command) or ("toplist.merge_results(parts)" if made.parts else call(page.results))),
        ("text", f"{', '.join(main)}." if main else "", "small"),
        ("listed", f"Parts: {count(len(made.parts))}" if made.parts else "", _parts(made.parts)),
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


def _parts(made: Sequence[PartRecord]) -> list[tuple[Words, Words]]:
    """The parts that a result was merged from, with their cases."""
    found: list[tuple[Words, Words]] = [
        (
            name(one.name, _PATH),
            sentence(number_of(one.cases, "case"), "."),
        )
        for one in made[:_PARTS]
    ]
    more = len(made) - _PARTS
    cases = sum(one.cases for one in made[_PARTS:])
    return [*found, (f"{count(more)} more", f"{number_of(cases, 'case')}.")] if more > 0 else found


def _files(read: Sequence[FileRecord]) -> list[tuple[Words, Words]]:
    return [
        (name(one.name), sentence(name(one.path, _PATH), f", {number_of(one.bytes, 'byte')}, {plain(one.sha256, 80)}"))
        for one in read
    ]
