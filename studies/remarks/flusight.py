"""Why the mean over a team's own rounds misleads, and how far the choice of units reaches."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

from studies.remarks.markdown import chance, mean, share, signed, table
from studies.remarks.reading import Reading, Row

STEADY = "PSI-PROF"  # missed no round
TURNED = (("UGuelph-CompositeCurve", "VTSanghani-PRIME"), ("FluSight-ensemble", "CU-ensemble"))


def remark(boards: Mapping[str, Reading]) -> str:
    """Own means against relative skill and common cases; the season; pairs that turn; errors by unit; infinities."""
    own, common, cases = boards["flusight"], boards["flusight-common"], boards["flusight-cases"]
    parts = [_means(own, common), _why(own), _months(cases), _turned(own), _units(boards), _infinite(own)]
    return "\n\n".join([*parts, _best(boards)])


def _means(own: Reading, common: Reading) -> str:
    by_mean = sorted(own.names, key=lambda name: own.mark(name)["mean"]["value"])
    rows = []
    for place, name in enumerate(by_mean, 1):
        row, mark = own.row(name), own.mark(name)
        here = name in common.names
        rows.append(
            [
                name,
                f"{row['cases']:,}",
                share(own.row(name, "passed")["cases"], row["cases"]),
                mean(mark["mean"]["value"]),
                str(place),
                mean(mark["relative"]["value"]),
                str(own.names.index(name) + 1),
                mean(common.mark(name)["mean"]["value"]) if here else "",
                str(common.names.index(name) + 1) if here else "",
            ]
        )
    header = ["team", "cases", "peak passed", "own mean", "place", "relative", "place", "common cases", "place"]
    return table(header, rows)


def _why(own: Reading) -> str:
    """The paragraph: easier rounds, and two pairs that they put in the wrong order."""
    ahead, passed = (mean(own.mark(STEADY, group=group)["mean"]["value"]) for group in ("ahead", "passed"))
    first, second = (_told(own, *names) for names in TURNED)
    return (
        f"Why the mean over a team's own rounds misleads: {STEADY}, which missed no round, has a mean Brier score of "
        f"{ahead} while the peak of a state is ahead and of {passed} once it has passed, so such a mean says first of "
        f"all which rounds these were. {first} {second}"
    )


def _told(own: Reading, low: str, high: str) -> str:
    """Two teams by their own means, and on the cases of both."""
    pair = own.pair(low, high)
    d = _oriented(pair, low)
    late = {name: share(own.row(name, "passed")["cases"], own.row(name)["cases"]) for name in (low, high)}
    means = {name: mean(own.mark(name)["mean"]["value"]) for name in (low, high)}
    significant = "significantly" if own.significant(pair) else "not significantly"
    return (
        f"{low} ({late[low]} of its cases after the peak) has a lower own mean than {high} ({late[high]}), "
        f"{means[low]} against {means[high]}; on the {pair['cases']:,} cases of both it is worse by {d['value']:.3f} "
        f"[{d['low']:.3f}, {d['high']:.3f}], {significant}."
    )


def _months(cases: Reading) -> str:
    months = [section["group"] for section in cases.record["groups"]]
    rows = [
        [name, *(mean(mark["value"]) if (mark := cases.mark(name, group=m)["mean"])["value"] else "" for m in months)]
        for name in cases.names
    ]
    return table(["mean Brier score", *months], rows)


def turned(own: Reading) -> list[tuple[Row, bool, bool]]:
    """Pairs that the own means, or the relative skills, order otherwise than the cases of both; least p value first."""
    found = []
    for pair in own.pairs():
        value = pair["difference"]["value"]
        if value is None:
            continue
        one, other = own.mark(pair["a"]), own.mark(pair["b"])
        by_mean = value * (one["mean"]["value"] - other["mean"]["value"]) < 0
        by_ratio = value * (one["relative"]["value"] - other["relative"]["value"]) < 0
        if by_mean or by_ratio:
            found.append((pair, by_mean, by_ratio))
    return sorted(found, key=lambda one: one[0]["difference"]["p"])


def _turned(own: Reading) -> str:
    rows = []
    for pair, by_mean, by_ratio in turned(own):
        a, b = sorted((pair["a"], pair["b"]), key=lambda name: own.mark(name)["mean"]["value"])
        apart = own.mark(a)["mean"]["value"] - own.mark(b)["mean"]["value"]
        ratios = f"{own.mark(a)['relative']['value']:.3f} : {own.mark(b)['relative']['value']:.3f}"
        rows.append(
            [
                f"{a} - {b}",
                f"{apart:+.3f}" + ("!" if by_mean else " "),
                ratios + ("!" if by_ratio else " "),
                f"{pair['cases']:,}",
                signed(_oriented(pair, a)),
                chance(pair["adjusted_p"]),
            ]
        )
    wrong_means = sum(by_mean for _, by_mean, _ in turned(own))
    wrong_ratios = sum(by_ratio for _, _, by_ratio in turned(own))
    tested = sum(pair["difference"]["p"] is not None for pair in own.pairs())
    said = (
        f"Of {tested} pairs of teams with cases in common, the own means order {wrong_means} otherwise than these "
        f"cases do, and the relative skills {wrong_ratios} (marked !):"
    )
    header = ["pair", "own means", "relative", "cases of both", "difference there", "adjusted p"]
    return f"{said}\n\n{table(header, rows)}"


def _oriented(pair: Row, first: str) -> dict[str, float]:
    """The difference first minus second, whichever stands above."""
    d = pair["difference"]
    if pair["a"] == first:
        return {key: d[key] for key in ("value", "low", "high")}
    return {"value": -d["value"], "low": -d["high"], "high": -d["low"]}


def _units(boards: Mapping[str, Reading]) -> str:
    own, *others = (boards[f"flusight{unit}"] for unit in ("", "-cases", "-places", "-weeks"))
    shown = [pair for a, b in combinations(own.names[:3], 2) for pair in [own.pair(a, b)]]
    shown += [pair for pair, by_mean, _ in turned(own) if by_mean]
    shown += [own.pair("CU-ensemble", "FluSight-base_seasonal"), own.pair("CU-ensemble", "VTSanghani-PRIME")]
    shown += [own.pair("PSI-PROF_beta", "VTSanghani-PRIME")]
    rows = []
    for pair in shown:
        a, b, d = pair["a"], pair["b"], pair["difference"]
        errors = [board.pair(a, b)["difference"]["error"] for board in (*others, own)]
        found = [f"{d['value']:+.4f}", *(f"{error:.4f}" for error in errors), f"{d['freedom']:.1f}"]
        rows.append([f"{a} - {b}", *found, chance(d["p"]), chance(pair["adjusted_p"])])
    counts = [sum(map(board.significant, board.pairs())) for board in (*others, own)]
    met = sum(pair["adjusted_p"] is not None for pair in own.pairs())
    said = (
        f"Significantly different by Holm's method are {counts[0]} of the {met} pairs with common cases if every case "
        f"is a unit, {counts[1]} if a place is, {counts[2]} if a week is, and {counts[3]} if both are. Standard errors "
        "of some differences, and with both units the degrees of freedom, p, and p adjusted for all pairs:"
    )
    header = ["difference", "Brier", "by case", "by place", "by week", "both", "df", "p", "adjusted p"]
    return f"{said}\n\n{table(header, rows)}"


def _infinite(own: Reading) -> str:
    rows = []
    for name in own.names:
        marks = [own.mark(name, "log", group) for group in (None, "ahead", "passed")]
        counts = [mark["infinite"] for mark in marks]
        rows.append([name, *map(str, counts), share(counts[0], own.row(name)["cases"]), mean(marks[0]["finite"])])
    header = ["team", "infinite log scores", "peak ahead", "peak passed", "of its cases", "mean of the others"]
    return table(header, rows)


def _best(boards: Mapping[str, Reading]) -> str:
    own, common = boards["flusight"].record["confidence_set"], boards["flusight-common"].record["confidence_set"]
    out = [f"{name} ({chance(own['p'][name])})" for name in boards["flusight"].names if name not in own["members"]]
    return (
        f"The confidence set of the best at {100 * own['level']:.0f} % has {len(own['members'])} of the teams; out are "
        f"{' and '.join(out)}, with their adjusted p values. On the {common['cases']:,} cases of the five teams that "
        f"took part most often it has {len(common['members'])} of {len(common['p'])}."
    )
