"""The tables and facts of a page beside its leaderboards: the setting, the lists of each model, the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from toplist.calibration.pairs import averages
from toplist.inference.results import Comparison, Estimate, FileRecord, ModelDetails, SourceSummary, WorstCase
from toplist.report.html.grid import Cell, Column, Grid, Head, counted, estimated, grid, named, number, odd, shared
from toplist.report.numbers import NOTHING, fixed, rate
from toplist.report.statements import classes, extent, penalty, policy, repaired, repairs
from toplist.report.text import (
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
    visible,
)

if TYPE_CHECKING:
    from toplist.calibration.miscalibration import CalibrationBias, CalibrationVerdict
    from toplist.inference.score_difference import Decided

_LENGTHS = 3  # of lists, before their range is told
_WORST = 3  # cases of each model, before the others are folded
_LONG = 400  # characters of what is said of a fault
_TOLD = frozenset({"invalid"})  # which has a column among the faults, and a sentence
_INVALID = "A list is invalid if a class that is listed has less confidence than each class that is not."
_LISTS = (
    "A prediction is a list of classes with confidences. It may be one label, a few classes, or all of them; the "
    "confidence that is left over is spread evenly over the classes that are not listed. So all shapes are scored on "
    "the same scale."
)
_INTERVALS = (
    "A mean score comes with an interval: if what it assumes is true, and no rare large loss is missing from these "
    "cases, such intervals hold the mean over all cases of the kind about {} of the time. Two intervals that overlap "
    "may still belong to a significant difference, because two models are compared case by case; these differences "
    "decide. Their intervals hold for all pairs at once."
)
_RULES = {
    "brier": "the Brier score, from 0 (certain and right) to 2 (certain and wrong)",
    "log": "the log score, from 0 (certain and right) to infinity (no chance given to what happened)",
    "spherical": "the spherical score, from 0 (certain and right) to 1 (no chance given to what happened)",
    "zero-one": "the zero-one score, 0 where the most confident class happened and 1 where not",
    "one-vs-rest": "one-vs-rest, the sum of a binary score over all classes",
}


# What was compared, and how


def facts(results: Comparison, shown: Shown) -> list[tuple[str, Words]]:
    """What was compared and how, a term and a sentence each."""
    said = "; ".join(_RULES.get(rule, plain(rule)) for rule in results.rules)
    order = "" if len(results.rules) == 1 else ". The first one decides the order"
    invalid = sum(row.invalid for row in results.overall.rows)
    many = f" There {'is' if invalid == 1 else 'are'} {number_of(invalid, 'such list')}." if invalid else ""
    found: list[tuple[str, Words]] = [
        ("Cases", sentence(count(results.cases), extent(results), ".")),
        ("Classes", f"{_capital(classes(results))}."),
        ("Scores", f"{_capital(said)}{order}. Lower is better."),
        ("Missing", policy(results, shown)),
        ("Intervals", f"{percent(results.level)}. {_capital(results.method)}."),
        ("Invalid lists", f"{_INVALID}{many} {penalty(results)}"),
    ]
    if results.truth_reading:
        found.insert(1, ("Truth", f"{_capital(results.truth_reading)}."))
    if results.baseline is not None:
        found.append(("Baseline", shown.get(results.baseline, name(results.baseline))))
    if results.cluster is not None:
        same = sentence("Cases with the same ", name(results.cluster)) if results.cluster else "Cases of one cluster"
        found.append(("Clusters", sentence(same, f" belong together{_many(results, 'cluster')}.")))
    if results.time is not None:
        by = sentence("by ", name(results.time)) if results.time else "in the order given"
        found.append(("Order", sentence("Cases follow each other ", by, f"{_many(results, 'time point')}.")))
    if results.groups:
        found.append(("Groups", sentence(f"{count(len(results.groups))}, by ", name(results.group or "group"), ".")))
    if results.confidence_set is not None and results.confidence_set.method:
        found.append(("Confidence set", f"{_capital(results.confidence_set.method)}."))
    return found


def _capital(text: str) -> str:
    text = stripped(text)
    return text[:1].upper() + text[1:]


def _many(results: Comparison, unit: str) -> str:
    """How many units there are, where these are the units."""
    return f": {number_of(results.units, unit)}" if results.units and results.unit == unit else ""


def reading(results: Comparison) -> list[str]:
    """How to read the page, for somebody who has never seen such scores."""
    scale = "A score says how far a prediction was from what happened; lower is better."
    if "brier" in results.rules:
        digits = results.classes.replace(",", "").strip()
        empty = ""
        if digits.isdecimal() and len(digits) <= 15 and int(digits):  # the empty list scores 1 - 1/m
            exact = 1 - 1 / int(digits)
            empty = f"; a list that says nothing scores {'almost 1' if exact > 0.9995 else fixed(exact, 3)}"
        scale += f" The Brier score is 0 for certainty on what happened and 2 for certainty on something else{empty}."
    return [_LISTS, scale, _INTERVALS.format(percent(results.level))]


def models(results: Comparison, details: Sequence[ModelDetails], shown: Shown) -> Grid:
    """The models, with the shape and the source of their predictions."""
    shapes = {one.name: [s for s in one.shapes if s.cases] for one in details}
    texts = {one.name: lengths(one) for one in details}
    rows = {row.name: row for row in results.overall.rows}
    origins = [o for o in results.sources if o.name in rows]

    def shape(of: str) -> Cell:
        kinds = shapes.get(of, [])
        said = [s.kind + "s" + ("" if len(kinds) == 1 else f" ({count(s.cases)})") for s in kinds]
        return Cell(listed(said) or NOTHING)

    columns: list[Column] = [
        (Head("model", "name"), [named(shown[o.name]) for o in origins]),
        (Head("shape", "text"), [shape(o.name) for o in origins]),
        (Head("cases"), [counted(rows[o.name].cases) for o in origins]),
        (Head("list lengths", "text"), [Cell(texts.get(o.name, NOTHING)) for o in origins]),
        (Head("source", "text"), [Cell(name(o.source, 60)) for o in origins]),
        (Head("read as", "text"), [Cell(visible(o.reading) or plain(o.layout, 30)) for o in origins]),
    ]
    return grid("models", "Models", columns)


def lengths(details: ModelDetails) -> str:
    """The lengths that lists have: all of a few, or the range and the usual one."""
    if not details.sizes:
        return NOTHING
    if len(details.sizes) <= _LENGTHS:
        return ", ".join(count(size) for size, _ in details.sizes)
    usual = max(details.sizes, key=lambda pair: pair[1])[0]
    return f"{count(details.shortest)} to {count(details.longest)}, most often {count(usual)}"


def full_names(shown: Shown) -> list[tuple[Words, str]]:
    """Names that were shortened, in full."""
    return [(short, visible(text)) for text, short in shown.items() if short.hint]


def seeds(results: Comparison) -> str:
    """The seed of the intervals; nothing where nothing was drawn."""
    return "" if results.seed is None else f"{results.seed} for the intervals"


def files(read: Sequence[FileRecord]) -> Grid | None:
    """Which bytes were read."""
    columns: list[Column] = [
        (Head("file", "name"), [named(name(f.name)) for f in read]),
        (Head("path", "text"), [Cell(name(f.path, 60)) for f in read]),
        (Head("bytes"), [counted(f.bytes) for f in read]),
        (Head("SHA-256", "text"), [Cell(plain(f.sha256, 80)) for f in read]),
    ]
    return grid("files", "Files that were read", columns) if read else None


# What was wrong


def faults(results: Comparison, shown: Shown) -> Grid | None:
    """Counts of what was odd: a row for each model that has any, a column for each thing that occurs."""
    rows = {row.name: row for row in results.overall.rows}
    origins = [o for o in results.sources if o.name in rows and not _clean(results, o)]
    columns: list[Column] = [
        (Head("model", "name"), [named(shown[o.name]) for o in origins]),
        (Head("missing", means="cases of the truth without a prediction"),
         [odd(rows[o.name].missing) for o in origins]),
        (Head("filled", means="missing predictions taken as empty lists"), [odd(o.filled) for o in origins]),
        (Head("left out", means="cases that were not compared"), [odd(o.left_out) for o in origins]),
        (Head("invalid lists"), [odd(rows[o.name].invalid) for o in origins]),
        *((Head(f"infinite {kind(rule, 30)}"), [odd(rows[o.name].scores[rule].infinite) for o in origins])
          for rule in results.rules),
        (Head("repairs", "text"), [Cell(repairs(repaired(o), 40) or NOTHING) for o in origins]),
    ]  # fmt: skip
    kept = [(head, cells) for head, cells in columns if head.row or any(_tells(cell) for cell in cells)]
    return grid("faults", "What was odd, and how often", kept) if origins else None


def _tells(cell: Cell) -> bool:
    return bool(cell.value) if cell.value is not None else cell.text != NOTHING


def fault_sentences(results: Comparison, details: Sequence[ModelDetails], shown: Shown) -> list[Sentence]:
    """The first invalid list of each model, and who had no fault at all."""
    found = [
        sentence(shown[one.name], f": the first invalid list is {plain(stripped(one.invalid), _LONG)}.")
        for one in details
        if one.invalid
    ]
    clean = [shown[o.name] for o in results.sources if o.name in shown and _clean(results, o)]
    if len(clean) == len(results.overall.rows):
        return [*found, sentence("Nothing was wrong in any file.")]
    return [*found, *([sentence("Nothing was wrong with ", *series(clean), ".")] if clean else [])]


def _clean(results: Comparison, origin: SourceSummary) -> bool:
    row = next(row for row in results.overall.rows if row.name == origin.name)
    odd_lists = row.missing or row.invalid or any(mark.infinite for mark in row.scores.values())
    return not (odd_lists or origin.filled or origin.left_out or repaired(origin))


def oddities(details: Sequence[ModelDetails], shown: Shown) -> Grid | None:
    """A row for each thing that is odd about a model; nothing where nothing is."""
    found = [(one, issue) for one in details for issue in one.issues if issue.kind not in _TOLD]
    columns: list[Column] = [
        (Head("model", "name"), [named(shown[one.name]) for one, _ in found]),
        (Head("issue", "text"), [Cell(plain(issue.kind, 40)) for _, issue in found]),
        (Head("cases"), [counted(issue.cases) for _, issue in found]),
        (Head("share"), [shared(issue.cases / issue.of if issue.of else None) for _, issue in found]),
        (Head("in words", "text"), [Cell(plain(visible(issue.message), _LONG)) for _, issue in found]),
    ]
    return grid("oddities", "Data quality of the predictions", columns) if found else None


# What the lists of each model show


def curve(details: Sequence[ModelDetails], shown: Shown) -> Grid | None:
    """Mean scores of the lists cut to k classes; nothing where there are no curves."""
    known = [one for one in details if one.curve]
    scores = [dict(zip(one.ks, one.curve, strict=True)) for one in known]
    columns: list[Column] = [
        (Head("model", "name"), [named(shown[one.name]) for one in known]),
        *(
            (Head(f"k = {count(k)}"), [number(found.get(k), 4) for found in scores])
            for k in sorted({k for one in known for k in one.ks})
        ),
    ]
    return grid("curve-scores", "Mean score of the lists cut to k classes, without penalty", columns) if known else None


def shapes(details: Sequence[ModelDetails], shown: Shown) -> Grid:
    """How many predictions of each shape there are, and how they score."""
    found = [(one, shape) for one in details for shape in one.shapes]
    columns: list[Column] = [
        (Head("model", "name"), [named(shown[one.name]) for one, _ in found]),
        (Head("shape", "text"), [Cell(s.kind) for _, s in found]),
        (Head("cases"), [counted(s.cases) for _, s in found]),
        (Head("share"), [shared(s.cases / one.cases if one.cases else None) for one, s in found]),
        (Head("mean score"), [number(s.score, 4) for _, s in found]),
        *([(Head("infinite"), [counted(s.infinite) for _, s in found])] if any(s.infinite for _, s in found) else []),
    ]
    return grid("shape-scores", "Predictions by shape", columns)


def reliability(details: Sequence[ModelDetails], judged: Mapping[str, CalibrationVerdict], shown: Shown) -> Grid:
    """Mean confidence and how often it was right, with the interval of the difference."""
    columns: list[Column] = [(Head("model", "name"), [named(shown[one.name]) for one in details])]
    own = [judged.get(one.name) for one in details]
    for what, bins, gaps in (
        ("first guess", [one.top for one in details], [None if one is None else one.bias for one in own]),
        ("listed mass", [one.mass for one in details], [None if one is None else one.mass_bias for one in own]),
    ):
        means = [averages(found) or (None, None) for found in bins]
        away = [_difference(gap, *mean) for gap, mean in zip(gaps, means, strict=True)]
        columns += [
            (Head(f"{what}, mean confidence"), [shared(p) for p, _ in means]),
            (Head(f"{what}, hit rate"), [shared(k) for _, k in means]),
            (Head(f"{what}, bias"), estimated(away, digits=3, signed=True)),
        ]
    return grid("reliability-means", "Mean confidence and hit rate", columns)


def _difference(gap: CalibrationBias | None, confidence: float | None, hits: float | None) -> Estimate | None:
    if gap is not None:
        return Estimate(gap.difference, gap.low, gap.high)
    return None if confidence is None or hits is None else Estimate(confidence - hits)


def deciding(one: Decided, shown: Shown, place: int) -> Grid | None:
    """The few cases that count most for the better one of a pair."""
    cases, worse, better = one.found.favour_b, shown[one.worse], shown[one.better]

    def right(c: Any) -> Words:
        who = [model for model, hit in ((worse, c.right_a), (better, c.right_b)) if hit > 0]
        return "neither" if not who else "both" if len(who) == 2 else who[0]

    columns: list[Column] = [
        (Head("case", "name"), [named(name(one.called.get(c.case, ""))) for c in cases]),
        (Head(worse), [number(c.a, 4) for c in cases]),
        (Head(better), [number(c.b, 4) for c in cases]),
        (Head("difference"), [number(c.a - c.b, 4, signed=True) for c in cases]),
        (Head("first guess right", "text"), [Cell(right(c)) for c in cases]),
    ]
    caption = sentence("The cases that speak most for ", better, " against ", worse)
    return grid(f"deciding-{place}", caption, columns, sorts=False) if cases else None


def losses(details: Sequence[ModelDetails], shown: Shown) -> list[tuple[Words, Grid, Grid | None]]:
    """The cases that cost each model most: who, the worst ones, and the others."""
    found: list[tuple[Words, Grid, Grid | None]] = []
    for i, one in enumerate(details, 1):
        who, worst, others = shown[one.name], one.costly[:_WORST], one.costly[_WORST:]
        first = sentence("What cost ", who, " most, worst first")
        more = sentence("What cost ", who, f" most, from number {_WORST + 1} on")
        rest = _losses(one, others, f"losses-{i}-more", more) if others else None
        if worst:
            found.append((who, _losses(one, worst, f"losses-{i}", first), rest))
    return found


def _losses(details: ModelDetails, found: Sequence[WorstCase], called: str, caption: Words) -> Grid:
    columns: list[Column] = [
        (Head("case", "name"), [named(name(c.case)) for c in found]),
        (Head(kind(details.rule, 30)), [number(c.score, 4) for c in found]),
        (Head("what happened", "text"), [named(name(c.outcome)) for c in found]),
        (Head("what was predicted", "text"), [Cell(_predicted(c)) for c in found]),
        (Head("classes listed"), [counted(c.size) for c in found]),
        (Head("left over"), [shared(c.rest) for c in found]),
    ]
    return grid(called, caption, columns, sorts=False)


def _predicted(c: WorstCase) -> Words:
    parts: list[Words] = []
    for label, confidence in c.listed:
        parts += [", " if parts else "", name(label, 24), f" {rate(confidence)}"]
    return sentence(*parts, ", …" if c.size > len(c.listed) else "") if parts else "nothing"
