"""What was compared and how, and how to read what follows."""

from __future__ import annotations

from collections.abc import Sequence

from toplist.evidence.findings import Exhibit
from toplist.ranking.results import Results
from toplist.report.notes import classes
from toplist.report.numbers import NOTHING, fixed
from toplist.report.page import evidence
from toplist.report.page.grids import Cell, Grid, Head, counted, grid, named
from toplist.report.page.sureness import Shown
from toplist.report.page.wording import Name, Words, listed, name, sentence
from toplist.words.counts import count, noun, number_of, percent
from toplist.words.names import plain, visible

_RULES = {
    "brier": "the Brier score, from 0 (certain and right) to 2 (certain and wrong)",
    "log": "the log score, from 0 (certain and right) to infinity (no chance given to what happened)",
    "spherical": "the spherical score, from 0 (certain and right) to 1 (no chance given to what happened)",
    "zero-one": "the zero-one score, 0 where the most confident class happened and 1 where not",
    "one-vs-rest": "one-vs-rest, the sum of a binary score over all classes",
}
_MISSING = {
    "error": "No prediction may be missing, and none is.",
    "common": "Only cases that every predictor has are compared.",
    "pairwise": "Each predictor is scored on the cases it has, and every two are compared on those that both have.",
    "reject": "A missing prediction counts as an empty list, which says nothing.",
}


def facts(results: Results, shown: Shown) -> list[tuple[str, Words]]:
    """What was compared and how, a term and a sentence each."""
    compared = "" if results.compared == results.cases else f", {count(results.compared)} of them compared"
    weights = sentence("with weights" if results.weighted else "all of the same weight")
    if results.weight:  # "" is one without a name
        weights = sentence("weighted by ", name(results.weight))
    rules = [_RULES.get(rule, "") for rule in results.rules]
    said = [why or plain(r) for r, why in zip(results.rules, rules, strict=True)]
    order = "" if len(said) == 1 else ". The first one decides the order"
    found: list[tuple[str, Words]] = [
        ("Cases", sentence(f"{count(results.cases)}{compared}, ", weights, ".")),
        ("Classes", f"{_capital(classes(results))}."),
        ("Scores", f"{_capital('; '.join(said))}{order}. Lower is better."),
        ("Missing", _MISSING.get(results.missing, visible(results.missing))),
        ("Intervals", f"{percent(results.level)}. {_capital(visible(results.method))}."),
        ("Invalid lists", _penalty(results)),
    ]
    if results.truth_reading:
        found.insert(1, ("Truth", f"{_capital(visible(results.truth_reading))}."))
    if results.reference is not None:
        found.append(("Reference", shown.get(results.reference, name(results.reference))))
    if results.clusters is not None:
        column = sentence("Cases with the same ", name(results.clusters))
        same = column if results.clusters else sentence("Cases of one cluster")
        found.append(("Clusters", sentence(same, f" belong together{_many(results, 'cluster')}.")))
    if results.order is not None:
        by = sentence("by ", name(results.order)) if results.order else sentence("in the order given")
        after = sentence("Cases follow each other ", by)
        found.append(("Order", sentence(after, f"{_many(results, 'moment')}.")))
    if results.groups:
        found.append(("Groups", sentence(f"{count(len(results.groups))}, by ", name(results.by or "group"), ".")))
    if results.confidence_set is not None and results.confidence_set.method:
        found.append(("Confidence set", f"{_capital(visible(results.confidence_set.method))}."))
    return found


def _many(results: Results, unit: str) -> str:
    """How many units there are, where these are the units."""
    return f": {number_of(results.units, unit)}" if results.units and results.unit == unit else ""


def predictors(results: Results, exhibits: Sequence[Exhibit], shown: Shown) -> Grid:
    """Who took part, with the shape and the source of the predictions."""
    shapes = {exhibit.name: exhibit.shapes for exhibit in exhibits}
    lengths = {exhibit.name: evidence.lengths(exhibit) for exhibit in exhibits}
    rows = {row.name: row for row in results.overall.standings}
    origins = [o for o in results.origins if o.name in rows]

    def shape(of: str) -> Cell:
        kinds = [s for s in shapes.get(of, ()) if s.cases]
        whole = len(kinds) == 1
        said = [s.kind + "s" + ("" if whole else f" ({count(s.cases)})") for s in kinds]
        return Cell(listed(said) if said else NOTHING)

    return grid(
        "predictors",
        "Predictors",
        [
            (Head("predictor", "name"), [named(shown[o.name]) for o in origins]),
            (Head("shape", "text"), [shape(o.name) for o in origins]),
            (Head("cases"), [counted(rows[o.name].cases) for o in origins]),
            (Head("list lengths", "text"), [Cell(lengths.get(o.name, NOTHING)) for o in origins]),
            (Head("source", "text"), [Cell(name(o.source, 60)) for o in origins]),
            (Head("read as", "text"), [Cell(visible(o.reading) or plain(o.layout, 30)) for o in origins]),
        ],
    )


def full_names(shown: Shown) -> list[tuple[Name, str]]:
    """The names that were shortened, in full."""
    return [(short, visible(text)) for text, short in shown.items() if short.hint]


def reading(results: Results) -> list[str]:
    """How to read the page, for somebody who has never seen such scores."""
    lists = (
        "A prediction is a list of classes with confidences. It may be one label, a few classes, or all of them; the "
        "confidence that is left over is spread evenly over the classes that are not listed. So all shapes are scored "
        "on the same scale."
    )
    intervals = (
        f"A mean score comes with an interval: made in this way, intervals hold the mean over all cases of the kind "
        f"{percent(results.level)} of the time. Two intervals that overlap may still belong to a sure difference, "
        "because two predictors are compared case by case; these differences decide."
    )
    return [lists, _scale(results), intervals]


def _scale(results: Results) -> str:
    if "brier" in results.rules:
        nothing = _knows_nothing(results.classes)
        return (
            "A score says how far a prediction was from what happened; lower is better. The Brier score is 0 for "
            "certainty on what happened and 2 for certainty on something else"
            + (f"; a list that says nothing scores {nothing}." if nothing else ".")
        )
    return "A score says how far a prediction was from what happened; lower is better."


def _knows_nothing(classes: str) -> str:
    """The Brier score of the empty list, 1 - 1/m, where m is one number."""
    digits = classes.replace(",", "").strip()
    if not digits.isdecimal() or len(digits) > 15 or not int(digits):
        return ""
    exact = 1 - 1 / int(digits)
    return "almost 1" if exact > 0.9995 else fixed(exact, 3)


def _penalty(results: Results) -> str:
    invalid = sum(row.invalid for row in results.overall.standings)
    means = "A list is invalid if a class that is listed has less confidence than each class that is not."
    if not invalid:
        return f"{means} There are none."
    pays = "the penalty that is the default of each rule" if results.penalty is None else f"{results.penalty:g}"
    return f"{means} There {noun(invalid, 'is', 'are')} {number_of(invalid, 'list')}; each pays {pays}."


def _capital(text: str) -> str:
    text = text.strip().rstrip(".")
    return text[:1].upper() + text[1:]
