"""What goes into a report, as plain values.

The first lines: who is ahead, how sure that is, and on how many cases.

What was compared and how, and how to read what follows.

How to make the numbers again.

What was wrong in each file, and what was done about it.

What is odd about the predictions of each file, though they could be scored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from toplist.calibration.testing import CalibrationVerdict
from toplist.inference.pairwise import verdicts
from toplist.inference.results import Comparison, FileRecord, ModelDetails, SourceSummary
from toplist.inference.score_difference import Decided
from toplist.report.html import model_details
from toplist.report.html.findings import Shown, best
from toplist.report.html.grid import Cell, Column, Grid, Head, counted, grid, named, odd, shared
from toplist.report.html.safe_text import Name, Sentence, Words, kind, listed, name, scores, sentence
from toplist.report.numbers import NOTHING, decimals, fixed
from toplist.report.statements import classes, repaired
from toplist.report.text import count, noun, number_of, percent, plain, visible
from toplist.report.text import listed as listed_text


@dataclass(frozen=True, slots=True)
class Provenance:
    """How the numbers came about, so that somebody else can make them again.

    Nothing is looked up here: the same provenance makes the same page, byte for byte.
    """

    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    files: tuple[FileRecord, ...] = ()
    written: str = ""  # a date, or nothing


@dataclass(frozen=True, slots=True)
class Page:
    """All that a report shows."""

    results: Comparison
    exhibits: tuple[ModelDetails, ...] = ()
    provenance: Provenance = field(default_factory=Provenance)
    title: str = "Comparison of predictions"
    decided: tuple[Decided, ...] = ()  # pairs where accuracy says otherwise, with the cases that decide
    judged: Mapping[str, CalibrationVerdict] = field(default_factory=dict)  # the test of calibration, by model


def lede(results: Comparison, shown: Shown) -> list[Sentence]:
    """What somebody reads who reads nothing else."""
    rows = results.overall.rows
    if not rows:
        return [sentence("Nothing was compared.")]
    first, mark = rows[0], rows[0].scores[results.rules[0]]
    if len(rows) == 1:
        score = fixed(mark.mean.value, decimals([mark.mean]))
        return [sentence(shown[first.name], f" has a mean {kind(mark.rule)} score of {score}{_over(results)}.")]
    said = [_leads(results, shown)]
    own = [v for v in verdicts(results, results.rules[0]) if first.name in (v.pair.a, v.pair.b)]
    beaten = sum(v.sure and v.better == first.name for v in own)
    ahead = [shown[v.better] for v in own if v.sure and v.better not in (None, first.name)]
    open_ = [shown[v.pair.b if v.pair.a == first.name else v.pair.a] for v in own if v.kind == "unsure"]
    if own and beaten == len(own):
        said.append(sentence("It is surely better than ", "the other one." if beaten == 1 else "all others."))
    elif own and not beaten and len(open_) == len(own):
        said.append(sentence("It is not surely better than any other."))
    elif own and not any(v.tested for v in own):
        said.append(sentence("Whether that is more than chance could not be tested."))
    elif own:
        few = f"It is surely better than {count(beaten)} of the {count(len(own))} others"
        said.append(sentence(few, *([", while ", listed(open_, most=3), " may be as good."] if open_ else ["."])))
    if ahead:
        said.append(sentence("On the cases of both it is surely worse than ", listed(ahead, most=3), "."))
    said += _elsewhere(results)
    members = () if results.confidence_set is None else results.confidence_set.members
    told = {shown[name] for name in members} == {shown[first.name], *open_}  # which the sentences above say as well
    return [*said, *best(results, shown)[:1]] if members and not told else said


def warnings(results: Comparison, shown: Shown) -> list[Sentence]:
    """Why the board may not be right."""
    return [
        sentence(listed([shown[name] for name in one.models if name in shown]), f": {visible(one.sentence)}")
        for one in results.warnings
    ]


def _leads(results: Comparison, shown: Shown) -> Sentence:
    first, mark = results.overall.rows[0], results.overall.rows[0].scores[results.rules[0]]
    who, rule, over = shown[first.name], kind(mark.rule), _over(results)
    if mark.infinite:
        return sentence(who, f" leads with the fewest infinite {rule} scores, {count(mark.infinite)}{over}.")
    if results.missing == "pairwise" and mark.relative is not None:
        ratio = fixed(mark.relative.value, 3)
        return sentence(who, f" leads with a relative {rule} score of {ratio}, where below 1 is better,{over}.")
    score = fixed(mark.mean.value, decimals([mark.mean]))
    return sentence(who, f" leads with the lowest mean {rule} score, {score},{over}.")


def _over(results: Comparison) -> str:
    """On how many cases, in how many clusters or at how many moments."""
    own = results.overall.rows[0].cases
    base = (
        number_of(own, "case") if own == results.compared else f"{count(own)} of {number_of(results.compared, 'case')}"
    )
    among = {"cluster": " in ", "moment": " at "}.get(results.unit, "")
    # clusters are of all cases, so they say nothing about some of these
    return f" over {base}" + (
        f"{among}{number_of(results.units, results.unit)}"
        if among and results.units and own == results.compared
        else ""
    )


def _elsewhere(results: Comparison) -> list[Sentence]:
    """Where the leader has infinite scores under another rule, which nobody should overlook."""
    first = results.overall.rows[0]
    hit = [(scores(mark.rule), count(mark.infinite)) for mark in list(first.scores.values())[1:] if mark.infinite]
    return [
        sentence(f"Under {rule} its mean is infinite, because of {n} of {number_of(first.cases, 'case')}.")
        for rule, n in hit
    ]


_RULES = {
    "brier": "the Brier score, from 0 (certain and right) to 2 (certain and wrong)",
    "log": "the log score, from 0 (certain and right) to infinity (no chance given to what happened)",
    "spherical": "the spherical score, from 0 (certain and right) to 1 (no chance given to what happened)",
    "zero-one": "the zero-one score, 0 where the most confident class happened and 1 where not",
    "one-vs-rest": "one-vs-rest, the sum of a binary score over all classes",
}
_MISSING = {
    "error": "No prediction may be missing, and none is.",
    "common": "Only cases that every model has are compared.",
    "pairwise": "Each model is scored on the cases it has, and every two are compared on those that both have.",
    "reject": "A missing prediction counts as an empty list, which says nothing.",
}


def facts(results: Comparison, shown: Shown) -> list[tuple[str, Words]]:
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
    if results.baseline is not None:
        found.append(("Reference", shown.get(results.baseline, name(results.baseline))))
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


def _many(results: Comparison, unit: str) -> str:
    """How many units there are, where these are the units."""
    return f": {number_of(results.units, unit)}" if results.units and results.unit == unit else ""


def models(results: Comparison, exhibits: Sequence[ModelDetails], shown: Shown) -> Grid:
    """Who took part, with the shape and the source of the predictions."""
    shapes = {exhibit.name: exhibit.shapes for exhibit in exhibits}
    lengths = {exhibit.name: model_details.lengths(exhibit) for exhibit in exhibits}
    rows = {row.name: row for row in results.overall.rows}
    origins = [o for o in results.origins if o.name in rows]

    def shape(of: str) -> Cell:
        kinds = [s for s in shapes.get(of, ()) if s.cases]
        whole = len(kinds) == 1
        said = [s.kind + "s" + ("" if whole else f" ({count(s.cases)})") for s in kinds]
        return Cell(listed(said) if said else NOTHING)

    return grid(
        "models",
        "Models",
        [
            (Head("model", "name"), [named(shown[o.name]) for o in origins]),
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


def reading(results: Comparison) -> list[str]:
    """How to read the page, for somebody who has never seen such scores."""
    lists = (
        "A prediction is a list of classes with confidences. It may be one label, a few classes, or all of them; the "
        "confidence that is left over is spread evenly over the classes that are not listed. So all shapes are scored "
        "on the same scale."
    )
    intervals = (
        f"A mean score comes with an interval: made in this way, intervals hold the mean over all cases of the kind "
        f"{percent(results.level)} of the time. Two intervals that overlap may still belong to a sure difference, "
        "because two models are compared case by case; these differences decide."
    )
    return [lists, _scale(results), intervals]


def _scale(results: Comparison) -> str:
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


def _penalty(results: Comparison) -> str:
    invalid = sum(row.invalid for row in results.overall.rows)
    means = "A list is invalid if a class that is listed has less confidence than each class that is not."
    if not invalid:
        return f"{means} There are none."
    pays = "the penalty that is the default of each rule" if results.penalty is None else f"{results.penalty:g}"
    return f"{means} There {noun(invalid, 'is', 'are')} {number_of(invalid, 'list')}; each pays {pays}."


def _capital(text: str) -> str:
    text = text.strip().rstrip(".")
    return text[:1].upper() + text[1:]


def command(provenance: Provenance) -> str:
    """What was typed."""
    return visible(provenance.command)


def versions(provenance: Provenance, results: Comparison) -> list[tuple[str, str]]:
    """What was installed, and the seeds of what was drawn."""
    found = [(plain(key), plain(value, 120)) for key, value in provenance.versions.items()]
    return [*found, *([("seed", seeds)] if (seeds := _seeds(results)) else [])]


def _seeds(results: Comparison) -> str:
    """Every seed, with what it was for."""
    chosen = results.confidence_set
    uses: dict[int, list[str]] = {}
    for seed, use in ((results.seed, "intervals"), (None if chosen is None else chosen.seed, "confidence set")):
        if seed is not None:
            uses.setdefault(seed, []).append(f"the {use}")
    return "; ".join(f"{seed} for {listed_text(of)}" for seed, of in uses.items())


def files(provenance: Provenance) -> Grid | None:
    """Which bytes were read."""
    if not provenance.files:
        return None
    return grid(
        "files",
        "Files that were read",
        [
            (Head("file", "name"), [named(name(f.name)) for f in provenance.files]),
            (Head("path", "text"), [Cell(name(f.path, 60)) for f in provenance.files]),
            (Head("bytes"), [counted(f.bytes) for f in provenance.files]),
            (Head("SHA-256", "text"), [Cell(plain(f.sha256, 80)) for f in provenance.files]),
        ],
    )


_REPAIRS = 400  # characters of what is said of an invalid list


def faults(results: Comparison, shown: Shown) -> Grid | None:
    """Counts of what was odd: a row for each model that has any, a column for each thing that occurs."""
    rows = {row.name: row for row in results.overall.rows}
    origins = [o for o in results.origins if o.name in rows and not _clean(results, o)]
    columns: list[Column] = [
        (Head("model", "name"), [named(shown[o.name]) for o in origins]),
        (Head("missing", means="cases of the truth without a prediction"),
         [odd(rows[o.name].missing) for o in origins]),
        (Head("filled", means="missing predictions taken as empty lists"), [odd(o.filled) for o in origins]),
        (Head("left out", means="cases that were not compared"), [odd(o.left_out) for o in origins]),
        (Head("invalid lists"), [odd(rows[o.name].invalid) for o in origins]),
        *((Head(f"infinite {kind(rule, 30)}"), [odd(rows[o.name].scores[rule].infinite) for o in origins])
          for rule in results.rules),
        (Head("repairs", "text"), [Cell(_repairs(o)) for o in origins]),
    ]  # fmt: skip
    kept = [(head, cells) for head, cells in columns if head.row or any(_tells(cell) for cell in cells)]
    return grid("faults", "What was odd, and how often", kept) if origins else None


def _tells(cell: Cell) -> bool:
    return bool(cell.value) if cell.value is not None else cell.text != NOTHING


def sentences(results: Comparison, exhibits: Sequence[ModelDetails], shown: Shown) -> list[Sentence]:
    """What was wrong in words: the first invalid list of each model, and who had no fault at all."""
    found = [
        sentence(
            shown[e.name], ": the first invalid list is ", plain(visible(e.invalid).strip().rstrip("."), _REPAIRS), "."
        )
        for e in exhibits
        if e.invalid
    ]
    rows = {row.name: row for row in results.overall.rows}
    clean: list[Words] = [shown[o.name] for o in results.origins if o.name in rows and _clean(results, o)]
    if len(clean) == len(rows):
        return [*found, sentence("Nothing was wrong in any file.")]
    return [*found, sentence("Nothing was wrong with ", listed(clean), ".")] if clean else found


def _clean(results: Comparison, origin: SourceSummary) -> bool:
    row = next(row for row in results.overall.rows if row.name == origin.name)
    odd_lists = row.missing or row.invalid or any(mark.infinite for mark in row.scores.values())
    return not (odd_lists or origin.filled or origin.left_out or repaired(origin))


def _repairs(origin: SourceSummary) -> str:
    done = [f"{plain(repair, 40)} ({number_of(n, 'case')})" for repair, n in repaired(origin).items()]
    return str(listed(done)) if done else NOTHING


_ISSUES = 400  # characters of what is said
_TOLD = frozenset({"invalid"})  # which has a column among the faults, and a sentence


def oddities(exhibits: Sequence[ModelDetails], shown: Shown) -> Grid | None:
    """A row for each thing that is odd about a model; nothing where nothing is."""
    found = [(e, one) for e in exhibits for one in e.oddities if one.kind not in _TOLD]
    columns: list[Column] = [
        (Head("model", "name"), [named(shown[e.name]) for e, _ in found]),
        (Head("what is odd", "text"), [Cell(plain(one.kind, 40)) for _, one in found]),
        (Head("cases"), [counted(one.cases) for _, one in found]),
        (Head("share"), [shared(one.cases / one.of if one.of else None) for _, one in found]),
        (Head("in words", "text"), [Cell(plain(visible(one.words), _ISSUES)) for _, one in found]),
    ]
    return grid("oddities", "What is odd about the predictions", columns) if found else None
