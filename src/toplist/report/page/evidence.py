"""What the lists of each predictor show, as tables and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toplist.diagnosis.bins import averages
from toplist.evidence.findings import Costly, Exhibit
from toplist.report.numbers import NOTHING, rate
from toplist.report.page.grids import Cell, Column, Grid, Head, counted, grid, named, number, shared
from toplist.report.page.sureness import Shown
from toplist.report.page.wording import Name, Sentence, Words, kind, listed, name, sentence
from toplist.words.counts import count

_CLOSE = 0.01  # promised and kept that differ by less are called close
_LENGTHS = 3
_WORST = 3  # cases of each predictor, before the others are folded


@dataclass(frozen=True, slots=True)
class Losses:
    """The cases that cost one predictor most."""

    who: Name
    grid: Grid  # the worst ones
    more: Grid | None  # the others


def curve(exhibits: Sequence[Exhibit], shown: Shown) -> Grid | None:
    """Mean scores of the lists cut to k classes; nothing where there are no curves."""
    known = [e for e in exhibits if e.curve]
    if not known:
        return None
    ks = sorted({k for e in known for k in e.ks})
    scores = [dict(zip(e.ks, e.curve, strict=True)) for e in known]
    columns: list[Column] = [
        (Head("predictor", "name"), [named(shown[e.name]) for e in known]),
        *((Head(f"k = {count(k)}"), [number(found.get(k), 4) for found in scores]) for k in ks),
    ]
    return grid("curve-scores", "Mean score of the lists cut to k classes, without penalty", columns)


def shapes(exhibits: Sequence[Exhibit], shown: Shown) -> Grid:
    """How many predictions of each shape there are, and how they score."""
    found = [(e, s) for e in exhibits for s in e.shapes]
    columns: list[Column] = [
        (Head("predictor", "name"), [named(shown[e.name]) for e, _ in found]),
        (Head("shape", "text"), [Cell(s.kind) for _, s in found]),
        (Head("cases"), [counted(s.cases) for _, s in found]),
        (Head("share"), [shared(s.cases / e.cases if e.cases else None) for e, s in found]),
        (Head("mean score"), [number(s.score, 4) for _, s in found]),
        (Head("infinite"), [counted(s.infinite) for _, s in found]),
    ]
    if not any(s.infinite for _, s in found):
        del columns[5]
    return grid("shape-scores", "Predictions by shape", columns)


def reliability(exhibits: Sequence[Exhibit], shown: Shown) -> Grid:
    """What was promised on average and what came of it."""
    columns: list[Column] = [(Head("predictor", "name"), [named(shown[e.name]) for e in exhibits])]
    for what, of in (("first guess", [e.top for e in exhibits]), ("listed mass", [e.mass for e in exhibits])):
        means = [averages(bins) or (None, None) for bins in of]
        gaps = [None if p is None or k is None else p - k for p, k in means]
        columns += [
            (Head(f"{what}, promised"), [shared(p) for p, _ in means]),
            (Head(f"{what}, kept"), [shared(k) for _, k in means]),
            (Head(f"{what}, gap"), [number(gap, 3, signed=True) for gap in gaps]),
        ]
    return grid("reliability-means", "Confidence promised and kept, on average", columns)


def confidence(exhibits: Sequence[Exhibit], shown: Shown) -> list[Sentence]:
    """Who promises more than is kept, and who less, by the most confident class."""
    over: list[Words] = []
    under: list[Words] = []
    close: list[Words] = []
    for e in exhibits:
        found = averages(e.top)
        if found is None:
            continue
        promised, came = found
        who = sentence(shown[e.name], f" ({rate(promised)} promised, {rate(came)} kept)")
        (over if promised - came >= _CLOSE else under if came - promised >= _CLOSE else close).append(who)
    words = ("Too sure of the first guess", "Not sure enough of it", f"Within {_CLOSE:g} of what is promised")
    return [
        sentence(f"{said}, on average: ", listed(who, most=20), ".")
        for said, who in zip(words, (over, under, close), strict=True)
        if who
    ]


def losses(exhibits: Sequence[Exhibit], shown: Shown) -> list[Losses]:
    """The cases that cost each predictor most."""
    return [
        Losses(
            shown[e.name],
            _losses(e, e.costly[:_WORST], f"losses-{i}", sentence("What cost ", shown[e.name], " most, worst first")),
            _losses(
                e,
                e.costly[_WORST:],
                f"losses-{i}-more",
                sentence("What cost ", shown[e.name], f" most, from number {_WORST + 1} on"),
            )
            if len(e.costly) > _WORST
            else None,
        )
        for i, e in enumerate(exhibits, 1)
        if e.costly
    ]


def _losses(exhibit: Exhibit, found: Sequence[Costly], called: str, caption: Words) -> Grid:
    columns: list[Column] = [
        (Head("case", "name"), [named(name(c.case)) for c in found]),
        (Head(kind(exhibit.rule, 30)), [number(c.score, 4) for c in found]),
        (Head("what happened", "text"), [named(name(c.outcome)) for c in found]),
        (Head("what was predicted", "text"), [Cell(_predicted(c)) for c in found]),
        (Head("classes listed"), [counted(c.size) for c in found]),
        (Head("left over"), [shared(c.rest) for c in found]),
    ]
    return grid(called, caption, columns, sorts=False)


def _predicted(c: Costly) -> Words:
    if not c.listed:
        return "nothing"
    parts: list[Words] = []
    for label, confidence in c.listed:
        parts += [", " if parts else "", name(label, 24), f" {rate(confidence)}"]
    return sentence(*parts, ", …" if c.size > len(c.listed) else "")


def lengths(exhibit: Exhibit) -> str:
    """The lengths that lists have: all of a few, or the range and the usual one."""
    if not exhibit.sizes:
        return NOTHING
    if len(exhibit.sizes) <= _LENGTHS:
        return ", ".join(count(size) for size, _ in exhibit.sizes)
    usual = max(exhibit.sizes, key=lambda pair: pair[1])[0]
    return f"{count(exhibit.shortest)} to {count(exhibit.longest)}, most often {count(usual)}"
