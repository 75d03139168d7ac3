"""What the lists of each model show, as tables and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toplist.calibration.error import CalibrationBias
from toplist.calibration.bins import averages
from toplist.calibration.testing import SIGNIFICANT, CalibrationVerdict
from toplist.inference.pairwise import holm
from toplist.inference.results import Estimate, ModelDetails, WorstCase
from toplist.report.html.findings import Shown
from toplist.report.html.grid import Cell, Column, Grid, Head, counted, estimated, grid, named, number, shared
from toplist.report.html.safe_text import Name, Sentence, Words, kind, listed, name, sentence
from toplist.report.numbers import NOTHING, decimals, fixed, rate, small
from toplist.report.text import count, number_of, percent

_DIRECTIONS = {
    "over": "Overconfident in the first guess",
    "mass over": "Overconfident in what is listed",
    "under": "Underconfident in the first guess",
    "mass under": "Underconfident in what is listed",
    "mixed": "Miscalibrated, but not in one direction",
    "unsure": "No sure sign of miscalibration among so many models",
    "none": "No sign of miscalibration",
}
_LENGTHS = 3
_WORST = 3  # cases of each model, before the others are folded


@dataclass(frozen=True, slots=True)
class Losses:
    """The cases that cost one model most."""

    who: Name
    grid: Grid  # the worst ones
    more: Grid | None  # the others


def curve(exhibits: Sequence[ModelDetails], shown: Shown) -> Grid | None:
    """Mean scores of the lists cut to k classes; nothing where there are no curves."""
    known = [e for e in exhibits if e.curve]
    if not known:
        return None
    ks = sorted({k for e in known for k in e.ks})
    scores = [dict(zip(e.ks, e.curve, strict=True)) for e in known]
    columns: list[Column] = [
        (Head("model", "name"), [named(shown[e.name]) for e in known]),
        *((Head(f"k = {count(k)}"), [number(found.get(k), 4) for found in scores]) for k in ks),
    ]
    return grid("curve-scores", "Mean score of the lists cut to k classes, without penalty", columns)


def shapes(exhibits: Sequence[ModelDetails], shown: Shown) -> Grid:
    """How many predictions of each shape there are, and how they score."""
    found = [(e, s) for e in exhibits for s in e.shapes]
    columns: list[Column] = [
        (Head("model", "name"), [named(shown[e.name]) for e, _ in found]),
        (Head("shape", "text"), [Cell(s.kind) for _, s in found]),
        (Head("cases"), [counted(s.cases) for _, s in found]),
        (Head("share"), [shared(s.cases / e.cases if e.cases else None) for e, s in found]),
        (Head("mean score"), [number(s.score, 4) for _, s in found]),
        (Head("infinite"), [counted(s.infinite) for _, s in found]),
    ]
    if not any(s.infinite for _, s in found):
        del columns[5]
    return grid("shape-scores", "Predictions by shape", columns)


def reliability(exhibits: Sequence[ModelDetails], judged: Mapping[str, CalibrationVerdict], shown: Shown) -> Grid:
    """Mean confidence and how often it was right, with the interval of the difference."""
    columns: list[Column] = [(Head("model", "name"), [named(shown[e.name]) for e in exhibits])]
    own = [judged.get(e.name) for e in exhibits]
    for what, bins, gaps in (
        ("first guess", [e.top for e in exhibits], [None if one is None else one.gap for one in own]),
        ("listed mass", [e.mass for e in exhibits], [None if one is None else one.mass_gap for one in own]),
    ):
        means = [averages(found) or (None, None) for found in bins]
        away = [_difference(gap, mean) for gap, mean in zip(gaps, means, strict=True)]
        columns += [
            (Head(f"{what}, promised"), [shared(p) for p, _ in means]),
            (Head(f"{what}, kept"), [shared(k) for _, k in means]),
            (Head(f"{what}, gap"), estimated(away, digits=3, signed=True)),
        ]
    return grid("reliability-means", "Confidence promised and kept, on average", columns)


def _difference(gap: CalibrationBias | None, means: tuple[float | None, float | None]) -> Estimate | None:
    promised, kept = means
    if gap is not None:
        return Estimate(gap.difference, gap.low, gap.high)
    return None if promised is None or kept is None else Estimate(promised - kept)


def confidence(judged: Mapping[str, CalibrationVerdict], shown: Shown) -> list[Sentence]:
    """Who is over- or underconfident by the test of calibration, adjusted for as many models as are tested."""
    tested = {name: one for name, one in judged.items() if name in shown and one.test is not None}
    adjusted = holm([None if one.test is None else one.test.tail for one in tested.values()])
    groups: dict[str, list[Words]] = {}
    for (name_, one), p in zip(tested.items(), adjusted, strict=True):
        alone, said = one.direction(), one.direction(p)
        if one.test is None or p is None or alone is None or said is None:
            continue
        gap = one.mass_gap if said.startswith("mass") else one.gap
        key: str = said
        p_ = f"p = {small(one.test.p)}"
        if said == "none" and alone != "none":
            key, p_ = "unsure", f"{p_} alone, {small(p)} among {number_of(len(tested), 'model')}"
        groups.setdefault(key, []).append(_judged(shown[name_], p_, gap))
    if not groups:
        return _untested(judged, shown)
    many = f", also when adjusted by Holm's method for {number_of(len(tested), 'model')}," if len(tested) > 1 else ""
    means = f"p is that of the test of calibration; only what it finds at {percent(SIGNIFICANT)}{many} is called so."
    return [
        *(sentence(f"{_DIRECTIONS[key]}: ", listed(groups[key], most=20), ".") for key in _DIRECTIONS if key in groups),
        sentence(means),
        *_untested(judged, shown),
    ]


def _judged(who: Name, p: str, gap: CalibrationBias | None) -> Sentence:
    """A model with its p value, and the difference of the means with its interval."""
    if gap is None:
        return sentence(who, f" ({p})")
    away = Estimate(gap.difference, gap.low, gap.high)
    digits = decimals([away])
    value, low, high = (fixed(x, digits, signed=True) for x in (away.value, away.low, away.high))
    between = "" if gap.low is None else f", {percent(gap.level)} interval {low} to {high}"
    return sentence(
        who, f" ({p}; confidence {rate(gap.promised)}, right {rate(gap.kept)}: difference {value}{between})"
    )


def _untested(judged: Mapping[str, CalibrationVerdict], shown: Shown) -> list[Sentence]:
    """Whose test is of some of the cases, and who has none."""
    return [
        sentence(shown[name_], f": {note}")
        for name_, one in judged.items()
        if name_ in shown
        for note in one.notes
        if note.startswith(("The test", "There is no test"))
    ]


def losses(exhibits: Sequence[ModelDetails], shown: Shown) -> list[Losses]:
    """The cases that cost each model most."""
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


def _losses(exhibit: ModelDetails, found: Sequence[WorstCase], called: str, caption: Words) -> Grid:
    columns: list[Column] = [
        (Head("case", "name"), [named(name(c.case)) for c in found]),
        (Head(kind(exhibit.rule, 30)), [number(c.score, 4) for c in found]),
        (Head("what happened", "text"), [named(name(c.outcome)) for c in found]),
        (Head("what was predicted", "text"), [Cell(_predicted(c)) for c in found]),
        (Head("classes listed"), [counted(c.size) for c in found]),
        (Head("left over"), [shared(c.rest) for c in found]),
    ]
    return grid(called, caption, columns, sorts=False)


def _predicted(c: WorstCase) -> Words:
    if not c.listed:
        return "nothing"
    parts: list[Words] = []
    for label, confidence in c.listed:
        parts += [", " if parts else "", name(label, 24), f" {rate(confidence)}"]
    return sentence(*parts, ", …" if c.size > len(c.listed) else "")


def lengths(exhibit: ModelDetails) -> str:
    """The lengths that lists have: all of a few, or the range and the usual one."""
    if not exhibit.sizes:
        return NOTHING
    if len(exhibit.sizes) <= _LENGTHS:
        return ", ".join(count(size) for size, _ in exhibit.sizes)
    usual = max(exhibit.sizes, key=lambda pair: pair[1])[0]
    return f"{count(exhibit.shortest)} to {count(exhibit.longest)}, most often {count(usual)}"
