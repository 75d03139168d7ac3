"""The section on calibration: who is over- or underconfident, curves with bands, and a table of all models."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from toplist._text import NOTHING, fixed
from toplist.inference.results import Comparison
from toplist.report import calibration_statements, plot
from toplist.report.html.grid import (
    Cell,
    Column,
    Grid,
    Head,
    Section,
    counted,
    grid,
    number,
    panel,
    percentage,
    same_for_all,
    section,
    varying,
)
from toplist.report.html.sections import name_of, own_cases, rule_of, two
from toplist.report.text import (
    Sentence,
    Shown,
    Words,
    count,
    percent,
    sentence,
    series,
    share,
    spelled,
)

if TYPE_CHECKING:
    from toplist.calibration.binned import BinnedCalibration
    from toplist.calibration.decomposition import Decomposition
    from toplist.calibration.miscalibration import CalibrationBias, CalibrationVerdict
    from toplist.report.html.page import Page

_OPEN = 6  # models up to which the table is not folded, and panels that are drawn
_NAMED = 20  # models in a sentence
_LITTLE = 0.00005  # a part of a score below it is written 0.0000


def calibration(page: Page, shown: Shown) -> Section | None:
    """Who is over- or underconfident by the test of calibration, curves with bands, and a table of all models."""
    if page.binned:
        return _of_bins(page, shown)
    judged = {row.name: page.judged[row.name] for row in page.results.overall.rows if row.name in page.judged}
    curves = [row.name for row in page.results.overall.rows if row.name in page.curves][:_OPEN]
    if not judged and not curves:
        return None
    adjusted, order = calibration_statements.adjusted(judged), _before_after(page)
    drawn = [
        panel(plot.calibration_panel(name_of(shown, who).text, page.curves[who], judged.get(who), adjusted.get(who)), i)
        for i, who in enumerate(sorted(curves, key=lambda one: order.get(one, 0)), 1)
    ]
    found = calibration_statements.calibration_groups(judged, shown)
    few = all(direction.startswith("Too few") for direction, _ in found)
    lines = [sentence("Too few cases to judge calibration.")] if few else _directions(found, shown)
    note = f"{_drawn(page, curves, judged)}{own_cases(page)}"
    if two(page) is not None:
        parts = ("text", "" if few else _of_two(page, judged, shown), "small")
        return section(
            "calibration",
            "Calibration",
            ("paragraph", lines),
            ("text", note, "reading"),
            ("panels", drawn, True),
            parts,
        )
    table = _calibration_table(page, judged, adjusted, shown)
    return section(
        "calibration",
        "Calibration",
        ("lines", lines),
        ("text", note, "reading"),
        ("panels", drawn),
        ("chart", table, f"Calibration of all {count(len(judged))} models" if len(judged) > _OPEN else ""),
        ("lines", [*_notes(judged, shown), *_predicted(page, judged, shown)], "small"),
    )


def _of_bins(page: Page, shown: Shown) -> Section:
    """Calibration from sums in bins: curves with an interval for each bin, and a table of all models.

    Nobody is called over- or underconfident here: that takes the test of calibration, which needs the cases.
    """
    found = {row.name: page.binned[row.name] for row in page.results.overall.rows if row.name in page.binned}
    first = next(iter(found.values()))
    chosen = [who for who in drawn_models(page.results) if who in found]
    drawn = [panel(plot.binned_panel(name_of(shown, who).text, found[who]), i) for i, who in enumerate(chosen, 1)]
    level = percent(first.level)
    ends = f"; vertical lines: {level} Clopper-Pearson interval of each bin alone" if first.ends else ""
    note = (
        f"Points: cases in {first.width} bins of equal width by confidence{ends}; orange diamond: mean confidence and "
        f"accuracy; bars: number of cases.{_whose(page, chosen)}{own_cases(page)}"
    )
    why = {"cluster": "of one cluster", "time point": "that follow each other in time"}.get(page.results.unit, "")
    depends = (
        f"There are no intervals here: cases {why} may depend on each other, and sums in bins do not tell how much."
    )
    tests = "Models are not tested for calibration here, which needs the cases"
    lines = [
        *([f"{tests}: an interval without 0 is that of one model alone."] if first.ends else [depends, f"{tests}."]),
        f"ECE: expected calibration error over {first.width} bins; by chance it is above 0 for calibrated models too.",
    ]
    table = _binned_table(page, found, shown)
    return section(
        "calibration",
        "Calibration",
        ("text", note, "reading"),
        ("panels", drawn, len(drawn) == 2),
        ("chart", table, f"Calibration of all {count(len(found))} models" if len(found) > _OPEN else ""),
        ("lines", lines, "small"),
    )


def _binned_table(page: Page, found: Mapping[str, BinnedCalibration], shown: Shown) -> Grid:
    """Bias and expected calibration error of all models."""
    every = list(found.values())
    level, width = percent(page.results.level), every[0].width
    interval = f"points, {level}" if every[0].ends else "points"
    columns: list[Column] = [
        (Head("mean confidence", classes="roomy"), [percentage(one.bias.mean_confidence) for one in every]),
        (Head("accuracy", classes="roomy"), [percentage(one.bias.hit_rate) for one in every]),
        (Head("overconfidence", below=interval), [_bias(one.bias) for one in every]),
        (
            Head("ECE", means="expected calibration error", below=f"{width} bins"),
            [number(one.error, 3) for one in every],
        ),
        (Head("ECE if calibrated", classes="roomy", below="about"), [number(one.chance, 3) for one in every]),
    ]
    counts = {row.name: row.cases for row in page.results.overall.rows}
    if any(one.cases != counts[who] for who, one in found.items()):
        head = Head("cases", means="that name a class", classes="roomy")
        columns.append((head, [counted(one.cases) for one in every]))
    return _of_models("Calibration of the top-1 prediction, from sums in bins. ", columns, list(found), shown)


def _of_models(caption: str, columns: Sequence[Column], who: Sequence[str], shown: Shown) -> Grid:
    """A table with a row for each model; what is the same for all of them stands in the caption."""
    kept, same = varying(columns)
    model: Column = Head("model", "name"), [Cell(name_of(shown, one)) for one in who]
    return grid("reliability", sentence(caption, same_for_all(same)), [model, *kept], classes="chart")


def _bias(bias: CalibrationBias | None) -> Cell:
    """Mean confidence minus accuracy in points, with its interval."""
    if bias is None:
        return Cell(NOTHING)
    low, high = calibration_statements.bias_ends(bias)
    between = "" if low is None or high is None else f"{_points(low)} to {_points(high)}"
    return Cell(_points(bias.difference), between, abs(bias.difference))


def drawn_models(results: Comparison) -> list[str]:
    """Whose panels are drawn where all models have curves: the first that are tied for best, and the last two."""
    ranked = [row.name for row in results.overall.rows if row.rank is not None]
    tied = () if results.confidence_set is None else results.confidence_set.members
    some = {*(tied or ranked[:1])[: _OPEN - 2], *ranked[-2:]}
    every = [row.name for row in results.overall.rows]
    return every if len(every) <= _OPEN else [who for who in every if who in some]


def _drawn(page: Page, curves: Sequence[str], judged: Mapping[str, CalibrationVerdict]) -> str:
    """How to read the panels, and whose they are where these are not all models."""
    if not curves:
        return ""
    holm = "; p: Holm" if len(judged) > 1 else ""
    bands = [page.curves[who].band for who in curves]
    level = next((f"; grey: {percent(band.level)} band if calibrated" for band in bands if band is not None), "")
    means = "orange diamond: mean confidence and accuracy"
    return f"Line: isotonic fit{level}; {means}; bars: number of cases{holm}.{_whose(page, curves)}"


def _whose(page: Page, curves: Sequence[str]) -> str:
    """Whose the panels are, where these are not all models."""
    every = [row.name for row in page.results.overall.rows]
    chosen = page.results.confidence_set
    best = [who for who in every if chosen is not None and who in chosen.members] or every[:1]
    own, last = [who for who in curves if who in best], [who for who in curves if who not in best]
    if len(curves) == len(every):
        return ""
    which = "the best model"
    if len(best) > 1:
        some = "" if len(own) == len(best) else f"{count(len(own))} of the {count(len(best))} "
        which = f"{some}models that no other one is significantly better than"
    two = "the model" if len(last) == 1 else f"the {spelled(len(last))}"
    return f" Panels: {which}{f', and {two} ranked last' if last else ''}."


def _of_two(page: Page, judged: Mapping[str, CalibrationVerdict], shown: Shown) -> Words:
    """The miscalibration part of the score of two models, the reference first."""
    order = _before_after(page)
    said: list[Words] = []
    for who in sorted(judged, key=lambda one: order.get(one, 0)):
        parts = page.decompositions.get(who)
        if parts is not None and parts.miscalibration is not None:
            said.append(sentence(name_of(shown, who), f" {fixed(parts.miscalibration, 4)}"))
    return sentence(f"Miscalibration part of the {rule_of(page)} score: ", *series(said), ".") if said else ""


def _before_after(page: Page) -> dict[str, int]:
    """Of two models, the one that the other is compared with stands first; others stay in order."""
    pair = two(page)
    return {} if pair is None else {pair.reference: -1}


def _directions(found: Sequence[tuple[str, list[str]]], shown: Shown) -> list[Sentence]:
    """The models by direction; where it is the same for all of them, without their names."""
    if len(found) == 1 and len(found[0][1]) > 1:
        direction, who = found[0]
        every = "Both" if len(who) == 2 else f"All {count(len(who))}"
        return [sentence(f"{every} models: {direction[:1].lower()}{direction[1:]}.")]
    return [
        sentence(
            f"{direction}{f' ({count(len(who))})' if len(who) > 1 else ''}: ",
            *series([name_of(shown, one) for one in who], _NAMED),
            ".",
        )
        for direction, who in found
    ]


def _notes(judged: Mapping[str, CalibrationVerdict], shown: Shown) -> list[Sentence]:
    """Whose test is of some of the cases, and who has none; what is true of all is said once."""
    found: dict[str, list[Words]] = {}
    for who, one in judged.items():
        for note in one.notes:
            if note.startswith(("The test", "There is no test")):
                found.setdefault(note, []).append(name_of(shown, who))
    return [
        sentence(note) if len(who) == len(judged) else sentence(*series(who), f": {note}")
        for note, who in found.items()
    ]


def _predicted(page: Page, judged: Mapping[str, CalibrationVerdict], shown: Shown) -> list[Sentence]:
    """Whose accuracy is of fewer cases than in the leaderboard: lists that name no class have no confidence."""
    said: list[Words] = []
    for row in page.results.overall.rows:
        bias = None if row.name not in judged else judged[row.name].bias
        accuracy = row.metrics.get("accuracy")
        if bias is None or accuracy is None or bias.cases >= row.cases or share(bias.hit_rate) == share(accuracy.value):
            continue
        said.append(sentence(name_of(shown, row.name), f" ({count(bias.cases)} of {count(row.cases)})"))
    few = "Mean confidence and accuracy are of the cases with a prediction that names a class: "
    return [sentence(few, *series(said, _NAMED), ".")] if said else []


def _calibration_table(
    page: Page, judged: Mapping[str, CalibrationVerdict], adjusted: Mapping[str, float | None], shown: Shown
) -> Grid | None:
    """All models; what is the same for all of them stands in the caption."""
    biases = {who: one.bias for who, one in judged.items()}
    largest = max((d.score for d in page.decompositions.values() if math.isfinite(d.score)), default=0.0)

    def detectable(bias: CalibrationBias | None) -> Cell:
        least = None if bias is None else bias.detectable
        return Cell(NOTHING) if least is None else Cell(fixed(100 * least, 1), value=least)

    def p_value(who: str) -> Cell:
        return Cell(calibration_statements.p_value(adjusted.get(who), judged[who].test), value=adjusted.get(who))

    every, level = list(biases.values()), percent(page.results.level)
    means = "difference whose interval would exclude 0 with 80% power"
    columns: list[Column] = [
        (
            Head("mean confidence", classes="roomy"),
            [percentage(None if b is None else b.mean_confidence) for b in every],
        ),
        (Head("accuracy", classes="roomy"), [percentage(None if b is None else b.hit_rate) for b in every]),
        (Head("overconfidence", below=f"points, {level}"), [_bias(b) for b in every]),
        (Head("p", below="Holm"), [p_value(who) for who in judged]),
        (Head("detectable", means=means, classes="roomy", below="points"), [detectable(b) for b in every]),
    ]
    bars = ""
    if page.decompositions and largest:
        bars = f"Bars: mean {rule_of(page)} score, orange: its miscalibration. "
        below, means = f"part of {rule_of(page)}", "what perfect recalibration could remove"
        head = Head("miscalibration", means=means, classes="roomy", below=below)
        columns.append((head, [_parts(page.decompositions.get(who), largest) for who in judged]))
    table = _of_models(f"Calibration of the top-1 prediction. {bars}", columns, list(judged), shown)
    return table if len(table.heads) > 1 else None


def _points(x: float) -> str:
    return fixed(100 * x, 1, signed=True)


def _parts(one: Decomposition | None, largest: float) -> Cell:
    """Miscalibration as a part of the score, which a bar shows."""
    if one is None or one.miscalibration is None or one.discrimination is None or not math.isfinite(one.score):
        return Cell(NOTHING)
    rest = max(one.score - one.miscalibration, 0.0)
    plus = {"miscalibration": one.miscalibration, "unlisted true classes": one.misses, "penalty": one.penalty}
    said = [f" + {what} {fixed(x, 4)}" for what, x in plus.items() if abs(x) >= _LITTLE]
    base = f"uncertainty {fixed(one.uncertainty, 4)} \u2212 discrimination {fixed(one.discrimination, 4)}"
    bar = (("rest", rest / largest), ("wrong", one.miscalibration / largest))
    hint = f"{fixed(one.score, 4)} = {base}{''.join(said)}"
    return replace(number(one.miscalibration, 4), hint=hint, bar=bar)
