"""The three figures of the study: scores against length, calibration before and after reranking, differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from studies.whiskers import Difference, Differences, Row, whiskers
from toplist.report.plot import Plot
from toplist.report.plot.canvas import (
    DASHES,
    MARKERS,
    SIZE,
    Dot,
    Hover,
    Panel,
    Scale,
    Sheet,
    Stroke,
    axis,
)

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a figure of this study says; `results` are its values."""

    results: Record
    title: str
    subtitle: str
    words: str
    single: str = ""


# Score against the length of lists


def lengths(results: Record) -> Plot[Drawn]:
    """Mean padded Brier score against the length of the list, a panel per data set, a line per method."""
    said = [f"{name}: {_best_at_both_ends(found['lengths'])}" for name, found in results.items()]
    lowest = [_best(found["lengths"], _forms(found["lengths"])[-1])[0] for found in results.values()]
    (method, many), *_ = Counter(lowest).most_common()
    longest = _forms(next(iter(results.values()))["lengths"])[-1]
    return Plot(
        Drawn(
            results,
            f"{method} has the lowest mean Brier score on {many} of {len(results)} data sets at k = {longest}",
            "Mean padded Brier score when the k most probable sets are listed; lower is better",
            ". ".join(said) + ".",
        ),
        _draw_lengths,
    )


def _forms(rows: Record) -> list[str]:
    return [form for form in rows if form.isdigit()]


def _best(rows: Record, form: str) -> tuple[str, float]:
    name, row = min(rows[form].items(), key=lambda one: float(one[1]["brier"]["value"]))
    return name, row["brier"]["value"]


def _best_at_both_ends(rows: Record) -> str:
    """The best method at the shortest and at the longest list."""
    forms = _forms(rows)
    best = {form: _best(rows, form) for form in (forms[0], forms[-1])}
    return ", ".join(f"{name} is best at k = {k} with {score:.4f}" for k, (name, score) in best.items())


def _draw_lengths(data: Drawn, sheet: Sheet) -> None:
    names, methods = list(data.results), list(next(iter(data.results.values()))["metrics"])
    across, left, between = 3, 40.0, 44.0
    side = (sheet.width - left - 12 - between * (across - 1)) / across
    block, start = side + 62, sheet.height
    places = [(left + (side + between) * (i % across), start + block * (i // across)) for i in range(len(names) + 1)]
    for (x, y), name in zip(places, names, strict=False):
        sheet.write(x, y + 8, name, size=SIZE, bold=True)
        forms = _forms(data.results[name]["lengths"])
        values = {m: [data.results[name]["lengths"][form][m]["brier"]["value"] for form in forms] for m in methods}
        scale = axis((v for own in values.values() for v in own), ticks=5)
        panel = _square(sheet, x, y + 20, side, Scale(0, len(forms) - 1), scale.scale)
        sheet.rule_x(panel, tuple(map(float, range(len(forms)))), forms)
        sheet.rule_y(panel, scale.ticks, scale.texts)
        sheet.name_x(panel, "list length k", within=(x - left, x + side + 12))
        for i, method in enumerate(methods):
            _line(
                panel,
                i,
                values[method],
                [f"{method}: {v:.4f} at k = {k}" for k, v in zip(forms, values[method], strict=True)],
            )
    x, y = places[-1]
    for i, method in enumerate(methods):
        here = y + 30 + 20 * i
        sheet.mark(Stroke((x, x + 24), (here, here), f"c{i}", 1.6, DASHES[i % len(DASHES)]))
        sheet.mark(Dot(x + 12, here, f"c{i}", MARKERS[i], 5.5))
        sheet.write(x + 32, here, method)


def _square(sheet: Sheet, x: float, y: float, side: float, across: Scale, up: Scale) -> Panel:
    return sheet.panel(x, sheet.width - x - side, side, across, up, top=y)


def _line(panel: Panel, i: int, values: Sequence[float], said: Sequence[str]) -> None:
    panel.add(Stroke(range(len(values)), values, f"c{i}", 1.5, DASHES[i % len(DASHES)]))
    panel.add(*(Dot(x, v, f"c{i}", MARKERS[i], 4.5, hover=Hover(said[x])) for x, v in enumerate(values)))


# Calibration


def calibration(results: Record, before: str, after: str) -> Plot[Drawn]:
    """Confidence against frequency of the listed sets, two methods, a column per data set."""
    said = [
        f"{name}, {method}: mean confidence {rates(found['reliability'][method]['top'])} of the most confident set"
        for name, found in results.items()
        for method in (before, after)
    ]
    nearer = sum(_bias(found, after) < _bias(found, before) for found in results.values())
    return Plot(
        Drawn(
            {"before": before, "after": after, "results": results},
            f"{after}: confidence closer to the hit rate than {before} on {nearer} of {len(results)} data sets",
            "Hit rate of label sets against confidence; bins of fewer than 20 sets are left out",
            "; ".join(said) + ".",
        ),
        _draw_calibration,
    )


def rates(bins: list[list[float]]) -> str:
    """The mean confidence in some bins, and the hit rate."""
    confidence, hit_rate = _means(bins)
    return f"{confidence:.3f}, hit rate {hit_rate:.3f}"


def _means(bins: list[list[float]]) -> tuple[float, float]:
    count = sum(b[2] for b in bins)
    confidence, hit_rate = (sum(b[2] * b[at] for b in bins) / count for at in (3, 4))
    return confidence, hit_rate


def _bias(found: Record, method: str) -> float:
    confidence, hit_rate = _means(found["reliability"][method]["top"])
    return abs(confidence - hit_rate)


def _draw_calibration(data: Drawn, sheet: Sheet) -> None:
    results, methods = data.results["results"], (data.results["before"], data.results["after"])
    left, between = 56.0, 12.0
    side = (sheet.width - left - 12 - between * (len(results) - 1)) / len(results)
    start = sheet.height
    for row, method in enumerate(methods):
        y = start + 22 + (side + 18) * row
        sheet.write(16, y + side / 2, method, anchor="middle", turned=True, bold=True)
        for column, (name, found) in enumerate(results.items()):
            x = left + (side + between) * column
            if not row:
                sheet.write(x, start + 8, name, size=SIZE, bold=True)
            panel = _square(sheet, x, y, side, Scale(0, 1), Scale(0, 1))
            ticks = (0.0, 0.5, 1.0)
            sheet.rule_x(panel, ticks, ("0", "0.5", "1") if row else ("",) * 3)
            sheet.rule_y(panel, ticks, ("", "0.5", "1") if not column else ("",) * 3)
            _diagonal(panel, found["reliability"][method])
    sheet.write(
        sheet.width / 2, sheet.height + 6, "confidence (across) and hit rate (up)", role="muted", anchor="middle"
    )
    sheet.height += 16
    sheet.note(["circles, solid: the most confident set; squares, dashed: all listed sets"])


def _diagonal(panel: Panel, found: Record) -> None:
    panel.add(Stroke((0, 1), (0, 1), "ink", 1.0, (4, 3)))
    for what, role, shape, dashes in (("listed", "c1", "s", (3.0, 1.5)), ("top", "c0", "o", ())):
        bins = [b for b in found[what] if b[2] >= 20]
        panel.add(Stroke([b[3] for b in bins], [b[4] for b in bins], role, 1.3, dashes))
        panel.add(
            *(
                Dot(
                    b[3],
                    b[4],
                    role,
                    shape,
                    4.0,
                    hover=Hover(f"confidence {b[3]:.3f}, hit rate {b[4]:.3f}, {b[2]:,.0f} sets"),
                )
                for b in bins
            )
        )


# Differences

COLUMNS = (("brier", "padded Brier"), ("zero-one", "set error"), ("f1", "F1 lost"))


def differences(results: Record, reference: str) -> Plot[Differences]:
    """What each method gains or loses against one, under three measures, with intervals."""
    made = tuple(
        Row(name, method, i, tuple(Difference(*against(found, reference, method, key)) for key, _ in COLUMNS))
        for name, found in results.items()
        for i, method in enumerate((one for one in found["metrics"] if one != reference), 1)
    )
    lowest = [
        min((row for row in made if row.group == name), key=lambda row: row.values[0].value).name for name in results
    ]
    (method, many), *_ = Counter(lowest).most_common()
    return whiskers(
        Differences(
            f"{method} gains most over {reference} in padded Brier score on {many} of {len(results)} data sets",
            f"Differences to {reference} with 95% intervals, lists of ten sets; below 0 is better than {reference}",
            tuple(words for _, words in COLUMNS),
            made,
        )
    )


def against(found: Record, reference: str, method: str, key: str) -> tuple[float, float, float]:
    """How a method differs from the reference, with the interval: below zero is better."""
    pair = next(p for p in found["pairs"] if {p["a"], p["b"]} == {reference, method})
    value, low, high = (pair[key][end] for end in ("value", "low", "high"))
    return (value, low, high) if pair["a"] == method else (-value, -high, -low)
