"""The table: names, shapes, further columns, truths, orders and options, each with a readable id.

`python -m tests.io.recognition.combinations` prints it with what must come of each.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

from tests.io.recognition import vocabulary
from tests.io.recognition.contract import NAME, Combination, decide
from tests.io.recognition.tables import (
    CASES,
    CLASSES,
    EXTRAS,
    INDEX,
    Column,
    Table,
    World,
    extra,
    holds,
    ids,
    order,
    predictions,
    world,
)
from tests.io.strategies import chance

LAYOUTS = ("labels", "top", "long", "ranked", "wide", "one-hot", "lists")
FLAT = tuple(layout for layout in LAYOUTS if layout != "lists")
FILES = ("csv", "jsonl", "parquet")
NAMES = {"ranked": ("class", "p"), "lists": ("classes", "confidences")}


def _take(seed: str, many: Sequence[Any], count: int) -> list[Any]:
    """Some of many, always the same, in their order."""
    kept = sorted(chance(seed).sample(range(len(many)), min(count, len(many))))
    return [many[at] for at in kept]


def _form(seed: str, *tables: Table) -> str:
    return chance("form", seed).choice([form for form in FILES if all(holds(form, table) for table in tables)])


def _pair(
    name: str,
    layout: str,
    *,
    id_p: str | None = "id",
    id_t: str | None = "id",
    kind: str = "unique text",
    label: str | None = None,
    confidence: str | None = None,
    outcome: str = "outcome",
    extras: Sequence[tuple[str, str]] = (),
    truth_extras: Sequence[tuple[str, str]] = (),
    shuffled: bool = True,
    form: str | None = None,
    wide: dict[str, str] | None = None,
    codes: bool = False,
    **more: Any,
) -> Combination:
    """A prediction and its truth as files; ids first, further columns last."""
    made = world(layout)
    usual = NAMES.get(layout, ("class", "confidence"))
    cases = _telling(name, made, shuffled)
    table = predictions(
        made, layout, cases, label=label or usual[0], confidence=confidence or usual[1], names=wide, codes=codes
    )
    table = _dressed(table, id_p, kind, extras)
    called = wide if wide and set(wide) != set(CLASSES) else {}  # a class by another name, not all by a prefix
    values = tuple(CLASSES.index(y) if codes else called.get(y, y) for y in made.outcomes)
    truth = Table((Column(outcome, "code" if codes else "label", values),), tuple(range(CASES)))
    truth = _dressed(truth, id_t, kind, truth_extras)
    return Combination(name, made, table, truth, form or _form(name, table, truth), **more)


def _telling(name: str, made: World, shuffled: bool) -> tuple[int, ...]:
    """An order of the cases; if shuffled, one in which matching rows by position gives another score."""
    orders = (order((name, attempt), shuffled) for attempt in range(99))
    return next(
        o for o in orders if not shuffled or made.brier(list(zip(o, range(CASES), strict=True))) != made.brier()
    )


def _dressed(table: Table, id_name: str | None, kind: str, extras: Sequence[tuple[str, str]]) -> Table:
    table = table.with_columns(*(extra(name, what, table.cases) for name, what in extras))
    return table if id_name is None else table.with_columns(ids(id_name, kind, table.cases), first=True)


# Ids

SAME = ("case", "id", "image_id", "filename", "patient", "nr", "text", "Case ID", "specimen", "accession-no")
OTHERS = (
    *(("id", "case_id"), ("file", "image"), ("question_id", "index"), ("nr", "row"), ("Query ID", "query.id")),
    *(("specimen", "accession"), ("id", None), (None, "id"), ("specimen", None), (None, "specimen"), ("text", None)),
    *((None, None), ("id", "specimen")),
)


def _ids() -> Iterator[Combination]:
    every = [(name, name) for name in SAME] + list(OTHERS)
    for (a, b), layout in _take("ids", list(product(every, LAYOUTS)), 130):
        for kind in _take(f"kind {a} {b} {layout}", ["unique text", "serial"], 1):
            shuffled = (a, b) != (None, None)
            yield _pair(
                f"ids-{a}-{b}-{kind.replace(' ', '-')}-{layout}", layout, id_p=a, id_t=b, kind=kind, shuffled=shuffled
            )
    for layout in LAYOUTS:
        yield _pair(f"ids-and-text-{layout}", layout, extras=[("text", "unique text")])
    for layout in ("labels", "top", "ranked"):
        yield _twins(f"ids-two-unknown-shared-{layout}", layout, ("specimen", "accession"))
        yield _twins(f"ids-known-beside-unknown-{layout}", layout, ("filename", "accession"))
        yield _twins(f"ids-strong-beside-weak-{layout}", layout, ("text", "id"))


def _twins(name: str, layout: str, both: tuple[str, str]) -> Combination:
    """Two columns, each of which tells the cases apart in both files."""
    one = _pair(name, layout, id_p=None, id_t=None)
    put = {
        key: (ids(both[0], "unique text", t.cases), ids(both[1], "serial", t.cases))
        for key, t in (("p", one.prediction), ("t", one.truth))
    }
    return replace(one, prediction=one.prediction.with_columns(*put["p"]), truth=one.truth.with_columns(*put["t"]))


# Names of classes and confidences


def _names() -> Iterator[Combination]:
    labels, values = vocabulary.CLASSES, vocabulary.CONFIDENCES
    for label in labels:
        layout = chance("layout", label).choice(["labels", "labels", "top", "long"])
        yield _pair(f"class-{label}-{layout}", layout, label=label)
    for value in values:
        layout = chance("layout", value).choice(["top", "long"])
        label = chance(value).choice(labels)
        one = _pair(f"confidence-{label}-{value}-{layout}", layout, label=label, confidence=value)
        unit = _unit(value)
        if unit == "probability":
            yield one
        else:
            yield _in_units(one, value, unit)
            yield replace(_in_units(one, value, unit), id=f"{one.id}-without-units", options={})
    for label, value in _take("no ids", list(product(labels, values)), 14):
        told = f"rows-{label}-{value}"
        one = _pair(told, "top", label=label, confidence=value, id_p=None, id_t=None, shuffled=False)
        yield one if _unit(value) == "probability" else _in_units(one, value, _unit(value))
    for label, value in (
        ("Label", "Score"),
        (" pred ", "PROB"),
        ("Predicted Class", "Max-Prob"),
        ("y.pred", "Top Prob"),
    ):
        yield _pair(f"spelled-{label}-{value}".replace(" ", "_"), "long", label=label, confidence=value, form="jsonl")
    for label, value in (("label", "p"), ("category", "score"), ("prediction", "prob"), ("species", "confidence")):
        yield _pair(f"ranks-{label}-{value}", "ranked", label=label, confidence=value)
    for label, value in (("labels", "scores"), ("classes", "probabilities"), ("label", "score"), ("class", "probs")):
        yield _pair(f"lists-{label}-{value}", "lists", label=label, confidence=value)
    for label, layout in product(("klass", "kind", "guess"), ("labels", "top", "long")):
        yield _pair(f"class-unknown-{label}-{layout}", layout, label=label)
    for value in ("sureness", "weight", "w"):
        yield _pair(f"confidence-unknown-{value}-top", "top", confidence=value)
    for form in FILES:
        yield _pair(f"codes-labels-{form}", "labels", codes=True, form=form)
        yield _pair(
            f"codes-prediction-{form}", "labels", codes=True, form=form, label="prediction", id_p="nr", id_t="nr"
        )


def _unit(name: str) -> str:
    """What a confidence is, by its name."""
    return "percent" if name.startswith("percent") else "log" if name.startswith("log") else "probability"


def _in_units(one: Combination, name: str, unit: str) -> Combination:
    """The same lists, written in percent or as logarithms, and said to be so."""
    turn = (lambda t: 100 * t) if unit == "percent" else math.log
    columns = tuple(
        replace(c, kind=unit, values=tuple(map(turn, c.values))) if c.name == name else c
        for c in one.prediction.columns
    )
    return replace(one, prediction=replace(one.prediction, columns=columns), options={"scale": unit})


# Further columns of the prediction

FURTHER = ("note", "score", "target", "fold")  # harmless, a confidence's, a truth's, never either


def _extras() -> Iterator[Combination]:
    every = list(product(LAYOUTS, FURTHER, EXTRAS))
    every = [one for one in every if one[0] != "lists" or one[1:] != ("score", "blank")]
    for layout, name, kind in _take("extras", every, 230):
        if layout == "labels" and (name, kind) == ("score", "unit"):
            continue  # that is a label with its confidence
        yield _pair(f"extra-{layout}-{name}-{kind}".replace(" ", "-"), layout, extras=[(name, kind)])
    for kind in ("constant", "unit", "log", "whole", "large", "big", "blank", "unique text"):
        for layout in ("labels", "top"):
            yield _pair(
                f"extra-no-id-{layout}-{kind}".replace(" ", "-"),
                layout,
                id_p=None,
                id_t=None,
                shuffled=False,
                extras=[("note", kind)],
            )
    for layout in ("labels", "top", "long", "ranked"):
        yield _pair(f"extra-class-{layout}", layout, extras=[("prediction", "text")])
        yield _pair(
            f"extra-several-{layout}", layout, extras=[("note", "unique text"), ("year", "large"), ("site", "constant")]
        )
    for kind in ("list", "texts"):
        yield _pair(f"extra-lists-scores-{kind}", "lists", extras=[("scores" if kind == "list" else "labels", kind)])
    for layout in FLAT:
        yield _pair(f"extra-answer-copied-{layout}", layout, extras=[("answer", "text")])


# Truths


def _truths() -> Iterator[Combination]:
    for name in vocabulary.TRUTHS:
        layout = chance("truth", name).choice(LAYOUTS)
        yield _pair(f"truth-{name}-{layout}", layout, outcome=name)
    for name in (*vocabulary.CLASSES, "klass", "Outcome", "Y True"):
        layout = chance("truth", name).choice(FLAT)
        yield _pair(f"truth-{name}-{layout}".replace(" ", "_"), layout, outcome=name)
    every = list(product(("outcome", "label", "klass"), ("note", "score", "target", "fold", "prediction"), EXTRAS))
    for name, further, kind in _take("truth extras", every, 70):
        if further == "target" and name != "outcome":
            continue  # then that is the outcome
        layout = chance("truth", name, further, kind).choice(LAYOUTS)
        told = f"truth-{name}-beside-{further}-{kind}-{layout}".replace(" ", "-")
        yield _pair(told, layout, outcome=name, truth_extras=[(further, kind)])
    yield _pair("truth-two-names", "labels", outcome="outcome", truth_extras=[("gold", "text")])
    yield _pair(
        "truth-two-names-one-ignored", "labels", truth_extras=[("gold", "text")], options={"ignore": {"truth": "gold"}}
    )
    for layout, shape in product(("labels", "long", "wide"), ("long", "wide", "lists", "ranked")):
        yield _believed(f"truth-distributions-{shape}-{layout}", layout, shape)
    for layout, shape in product(("labels", "top"), ("long", "lists", "ranked", "top")):
        yield _believed(f"truth-short-of-one-{shape}-{layout}", layout, shape, short=True)


def _believed(name: str, layout: str, shape: str, *, short: bool = False) -> Combination:
    """A truth with a distribution per case, or with less than one."""
    made = world(layout, soft=True)
    if short:
        made = World(
            made.lists,
            tuple(
                {y: q * Fraction(7, 8) for y, q in list(one.items())[: 1 if shape == "top" else 2]}
                for one in made.truth
            ),
        )
    usual = NAMES.get(shape, ("class", "confidence"))
    cases = order(name, True)
    shaped = World(made.truth, made.truth)
    truth = predictions(shaped, shape, cases, label=usual[0], confidence=usual[1])
    truth = truth.with_columns(ids("id", "serial", truth.cases), first=True)
    one = _pair(name, layout, kind="serial")
    return replace(one, world=made, truth=truth, form=_form(name, one.prediction, truth))


# One file as both


def _same() -> Iterator[Combination]:
    for layout, outcome, given in product(LAYOUTS, ("outcome", "y_true", "klass", "label"), (True, False)):
        if layout == "long" or (outcome == "label" and layout in ("labels", "top") and not given):
            continue  # a row is no case; or two labels anyway
        name = f"same-{layout}-{outcome}-{'named' if given else 'unnamed'}"
        usual = NAMES.get(layout, ("prediction", "confidence"))
        one = _pair(name, layout, label=usual[0], id_p=chance(name).choice(["id", "file", None]))
        cases = one.prediction.cases
        table = one.prediction.with_columns(Column(outcome, "label", tuple(one.world.outcomes[c] for c in cases)))
        options = {"outcome": outcome} if given else {}
        yield replace(one, prediction=table, truth=table, same=True, options=options, form=_form(name, table))


# Wide tables


def _wides() -> Iterator[Combination]:
    for layout, odd, labels in product(
        ("wide", "one-hot"), ("y", "target", "label", "token", "score", "rank"), (False, True)
    ):
        if not labels:
            yield _pair(f"wide-{layout}-class-called-{odd}", layout, wide={"fox": odd})
        yield _pair(
            f"wide-{layout}-beside-{odd}-{'labels' if labels else 'number'}",
            layout,
            extras=[(odd, "whole")],
            labels=labels,
        )
    for prefix, layout in product(("prob_", "p_", "score_", "probability_"), ("wide", "one-hot")):
        names = {name: prefix + name for name in CLASSES}
        yield _pair(f"wide-{layout}-{prefix}", layout, wide=names)
        yield _pair(f"wide-{layout}-{prefix}pattern", layout, wide=names, options={"confidence": f"{prefix}*"})
        told = f"wide-{layout}-{prefix}pattern-beside-label"
        yield _pair(
            told,
            layout,
            wide=names,
            extras=[("label", "text"), ("note", "unit")],
            options={"confidence": {NAME: f"{prefix}*"}},
        )
    for layout, (name, kind) in product(
        ("wide", "one-hot"),
        (("note", "unique text"), ("note", "unit"), ("label", "text"), ("latency", "big"), ("target", "text")),
    ):
        yield _pair(
            f"wide-{layout}-{name}-{kind}-ignored".replace(" ", "-"),
            layout,
            extras=[(name, kind)],
            options={"ignore": name},
        )
        yield _pair(f"wide-{layout}-{name}-{kind}-labels".replace(" ", "-"), layout, extras=[(name, kind)], labels=True)


# Options


def _options() -> Iterator[Combination]:
    for given in ("specimen", {NAME: "specimen"}):
        told = "plain" if isinstance(given, str) else "named"
        yield _pair(f"option-case-{told}-one-side", "labels", id_p="specimen", id_t="id", options={"case": given})
    for layout in LAYOUTS:
        yield _pair(f"option-case-{layout}", layout, id_p="accession", id_t="accession", options={"case": "accession"})
        both = {NAME: "specimen", "truth": "accession"}
        yield _pair(f"option-case-each-{layout}", layout, id_p="specimen", id_t="accession", options={"case": both})
        yield _pair(f"option-case-missing-{layout}", layout, options={"case": "caseid"})
        yield _pair(f"option-ignore-missing-{layout}", layout, options={"ignore": "notes"})
        further = [("note", "unit"), ("nota", "unique text")]
        yield _pair(f"option-ignore-pattern-{layout}", layout, extras=further, options={"ignore": "not*"})
        yield _pair(f"option-ignore-both-{layout}", layout, extras=further, options={"ignore": ["note", "nota"]})
        yield _pair(f"option-ignore-one-{layout}", layout, extras=further, options={"ignore": {NAME: "note"}})
        right = {"top": "long", "one-hot": "wide"}.get(layout, layout)
        yield _pair(f"option-layout-{layout}", layout, options={"layout": {NAME: right}})
        wrong = {"labels": "long", "top": "ranked", "long": "lists", "ranked": "long", "lists": "ranked"}.get(
            layout, "labels"
        )
        yield _pair(f"option-layout-wrong-{layout}", layout, options={"layout": {NAME: wrong}})
        if layout != "long":
            yield _pair(f"option-position-{layout}", layout, shuffled=False, options={"by_position": True})
            yield _pair(f"option-position-shuffled-{layout}", layout, options={"by_position": True})
            unknown = {"id_p": "specimen", "id_t": "specimen"}
            yield _pair(f"option-position-unknown-id-{layout}", layout, **unknown, options={"by_position": True})
            yield _pair(
                f"option-position-one-id-{layout}", layout, id_t=None, shuffled=False, options={"by_position": True}
            )
            yield _pair(
                f"option-position-no-id-{layout}",
                layout,
                id_p=None,
                id_t=None,
                shuffled=False,
                options={"by_position": True},
            )
    for layout, label in product(("labels", "top", "long"), ("klass", "target", "text")):
        yield _pair(f"option-class-{label}-{layout}", layout, label=label, options={"class_column": {NAME: label}})
    for layout in ("labels", "top", "long"):
        yield _pair(f"option-class-plain-{layout}", layout, label="klass", options={"class_column": "klass"})
        yield _pair(
            f"option-class-of-two-{layout}",
            layout,
            label="label",
            extras=[("prediction", "text")],
            options={"class_column": "label"},
        )
        yield _pair(f"option-class-missing-{layout}", layout, options={"class_column": "klass"})
        yield _pair(f"option-confidence-missing-{layout}", layout, options={"confidence": "sureness"})
    for layout in ("top", "long"):
        yield _pair(f"option-confidence-{layout}", layout, confidence="sureness", options={"confidence": "sureness"})
        yield _pair(
            f"option-confidence-named-{layout}",
            layout,
            confidence="sureness",
            options={"confidence": {NAME: "sureness"}},
        )
        told = {"confidence": "confidence"}
        yield _pair(f"option-confidence-of-two-{layout}", layout, extras=[("score", "percent")], options=told)
        yield _pair(
            f"option-ignore-second-{layout}", layout, extras=[("score", "percent")], options={"ignore": "score"}
        )
        both = {"class_column": {NAME: "klass"}, "confidence": {NAME: "sureness"}}
        yield _pair(f"option-both-{layout}", layout, label="klass", confidence="sureness", options=both)
    for name, layout in product(("klass", "label", "target", "prediction"), ("labels", "top", "wide")):
        yield _pair(
            f"option-outcome-{name}-{layout}",
            layout,
            outcome=name,
            truth_extras=[("note", "unit")],
            options={"outcome": name},
        )
    yield _pair("option-outcome-same-name", "top", label="label", outcome="label", options={"outcome": "label"})
    yield _pair(
        "option-outcome-of-two", "top", outcome="gold", truth_extras=[("target", "text")], options={"outcome": "gold"}
    )
    yield _pair("option-outcome-missing", "top", options={"outcome": "klass"})


# pandas


def _frames() -> Iterator[Combination]:
    named = {"named": "specimen", "unnamed": INDEX, "known": "id"}
    for layout, name, kind in product(LAYOUTS, named, ("unique text", "serial")):
        if layout == "long":
            continue  # the rows of a case would have one id: an index may, but nobody does
        told = f"frame-{layout}-index-{name}-{kind}".replace(" ", "-")
        one = _pair(told, layout, id_p=None, id_t=None, form="frame")
        put = lambda t, n=named[name], k=kind: t.with_columns(ids(n, k, t.cases, index=True))  # noqa: E731
        both = {"prediction": put(one.prediction), "truth": put(one.truth)}
        yield replace(one, **both)
        if name != "known":
            yield replace(one, id=f"{told}-on-one-side", prediction=both["prediction"])
        if kind == "serial":
            yield replace(one, id=f"{told}-series", truth_as="series", **both)
            yield replace(one, id=f"{told}-list", truth_as="list", prediction=both["prediction"])
    for layout in LAYOUTS:
        yield _pair(f"frame-{layout}-ids", layout, form="frame")
        if layout == "long":
            continue
        for truth_as in ("table", "list", "array", "series"):
            told = f"frame-{layout}-default-index-{truth_as}"
            one = _pair(told, layout, id_p=None, id_t=None, shuffled=False, form="frame", truth_as=truth_as)
            yield one
            if truth_as == "list":
                ided = one.prediction.with_columns(ids("id", "serial", one.prediction.cases), first=True)
                yield replace(one, id=f"{told}-beside-ids", prediction=ided)
                yield replace(one, id=f"{told}-beside-ids-by-position", prediction=ided, options={"by_position": True})


def table() -> list[Combination]:
    """Every combination, once."""
    parts = (_ids, _names, _extras, _truths, _same, _wides, _options, _frames)
    every = [one for part in parts for one in part()]
    twice = [name for name, count in Counter(one.id for one in every).items() if count > 1]
    assert not twice, twice
    return every


def main() -> None:
    """Print it, for people who check the rules by hand."""
    counts: Counter[str] = Counter()
    for one in table():
        decision = decide(one)
        counts[decision.verdict] += 1
        columns = f"{','.join(one.prediction.names)} | {','.join(one.truth.names)}"
        print(f"{decision.verdict:7} {one.id:52} {one.form:8} {columns:70} {one.options or ''}  {decision.why}")
    print(dict(counts), file=sys.stderr)


if __name__ == "__main__":
    main()
