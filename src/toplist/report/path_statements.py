"""Anytime-valid comparisons in words: what is significant and since when, what is assumed, and a table of all paths."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

from toplist._text import NOTHING
from toplist.inference.results import Estimate, SequentialPath
from toplist.report.text import (
    PLAIN,
    Column,
    Sentence,
    Shown,
    TextTable,
    capital,
    count,
    in_digits_of,
    kind,
    number_of,
    percent,
    sentence,
    spans,
    stripped,
)

_STEP = (
    "A step is a {0}, with the sum of the differences of its cases, which may depend on each other in any way. "
    "Assumed: no prediction uses outcomes of its own {0}, and the outcomes of each {0} are known before the "
    "predictions of the next are made, or are independent of them."
)
_ASSUMED = {
    "case": "Assumed: the outcome of each case is known before the next prediction is made, or is independent of it. "
    "Cases that are predicted together and depend on each other need one time point, or one cluster.",
    "time point": _STEP.format("time point"),
    "cluster": _STEP.format("cluster"),
}


def assumed(paths: Sequence[SequentialPath]) -> str:
    """What is taken for granted, and by which steps the paths go."""
    units = dict.fromkeys(path.unit for path in paths) or {"case": None}
    return " ".join(_ASSUMED[unit] for unit in units)


def ending(path: SequentialPath) -> Estimate:
    """The mean difference after all cases, with its anytime-valid interval."""
    if not path.mean:
        return Estimate(math.nan, reason=path.reason or "there are no cases")
    low, high = (path.low[-1], path.high[-1]) if path.low else (None, None)
    return Estimate(path.mean[-1], low, high, path.reason)


def findings(path: SequentialPath, shown: Shown) -> list[Sentence]:
    """What is significant and since when, without a full stop: by the e-processes, and for the mean difference."""
    a, b, unit = shown[path.candidate], shown[path.baseline], path.unit
    ever = [
        (path.shown_better, a, b, path.log_evidence_better),
        (path.shown_worse, b, a, path.log_evidence_worse),
    ]
    said = [
        sentence(
            f"after {_steps(when, path)} there is significant evidence (the e-value crossed {_threshold(path)}; "
            f"{e_value(log[-1])} at the end) that ",
            *(one, " had a lower expected score than ", other, f" in at least one {unit}"),
        )
        for when, one, other, log in ever
        if when is not None
    ]
    if len(said) == 2:
        both = "; so the sign of the expected difference changed over time, or one of these two statements is an error"
        said = [sentence(said[0], ", and ", said[1], both)]
    if path.separated is not None:
        mean = path.mean[min(bisect_left(path.at, path.separated), len(path.at) - 1)]
        one, other = (a, b) if mean < 0 else (b, a)
        start = f"after {_steps(path.separated, path)} the confidence sequence excludes 0: "
        what = f" on average over the cases so far, by expected scores given what was known before each {unit}"
        said.append(sentence(start, one, " is significantly better than ", other, what))
    last = path.at[-1] if path.at else 0
    return said or [sentence("no significant difference to ", b, f" in {_steps(last, path)}")]


def _steps(n: int, path: SequentialPath) -> str:
    return number_of(n, path.unit)


def path_story(path: SequentialPath, shown: Shown) -> list[Sentence]:
    """What the path says at its end, when it first said so, and why it does not say more."""
    why, a, b = stripped(path.reason), shown[path.candidate], shown[path.baseline]
    if not path.at:
        return [sentence(a, " against ", b, f": {why or 'there are no cases'}.")]
    end = ending(path)
    value, low, high = (in_digits_of(end, x, signed=True) for x in (end.value, end.low, end.high))
    between = f", {percent(path.level)} confidence sequence {low} to {high}" if path.low else ""
    start = f"after {_steps(path.at[-1], path)}, the mean {kind(path.rule)} score of "
    last = sentence(start, a, " minus that of ", b, f" is {value}{between}; below zero, the first is better")
    told = [last, *findings(path, shown), *([sentence(why)] if why else [])]
    return [sentence(capital(one), ".") for one in told]


def conclusions(path: SequentialPath, shown: Shown = PLAIN) -> list[str]:
    """What may be said of the candidate in a terminal, and why not more."""
    who, why = shown[path.candidate], stripped(path.reason)
    return [f"{who}: {'; '.join(map(str, findings(path, shown)))}.", *([f"{who}: {why}."] if why else [])]


def paths_table(paths: Sequence[SequentialPath], shown: Shown = PLAIN) -> TextTable:
    """All candidates against one baseline under one rule, with a sentence for each that says what may be concluded."""
    first, level = paths[0], percent(paths[0].level)
    unit = next((path.unit for path in paths if path.unit != "case"), None)
    columns = (
        Column("candidate", "left", essential=True, heading=True),
        Column("cases"),
        *([Column(f"{unit}s")] if unit else []),
        Column(f"mean difference, {level}", "left", essential=True),
        Column("excludes 0 from"),
        Column("e-value better"),
        Column("e-value worse"),
    )
    rows = tuple(
        (
            *(str(shown[path.candidate]), count(path.cases), *([count(path.at[-1])] if unit else [])),
            *(span, NOTHING if path.separated is None else count(path.separated)),
            *(e_value(path.log_evidence_better[-1]), e_value(path.log_evidence_worse[-1])),
        )
        for path, span in zip(paths, spans(list(map(ending, paths)), signed=True), strict=True)
    )
    title = f"Anytime-valid comparison with {shown[first.baseline]}, {kind(first.rule)} score"
    said = [said for path in paths for said in conclusions(path, shown)]
    return TextTable(
        title, columns, rows, (*said, f"Below zero the candidate is better. {enough(first)}", assumed(paths))
    )


def enough(path: SequentialPath) -> str:
    """What is significant: the e-value that is needed, what may err how often, and for how many candidates together."""
    err, many = percent(1 - path.level), path.candidates
    each = "each direction is in error" if many == 1 else f"each direction is in error for any of {many} candidates"
    every = "Both" if many == 2 else f"All {many}"
    also = "" if many == 1 else f" {every} confidence sequences hold together at {percent(path.level)}."
    needed = f"An e-value of {_threshold(path)} is significant"
    return (
        f"{needed}: {each} with probability at most {err}, at all times together, so results may be inspected after "
        f"every {path.unit}.{also} Statements are about the cases so far, not about later ones."
    )


def _threshold(path: SequentialPath) -> str:
    """The e-value that is significant."""
    return f"{path.candidates / (1 - path.level):.4g}"


def e_value(log: float) -> str:
    """An e-value from its logarithm, however large.

    >>> e_value(0.0), e_value(2000.0), e_value(math.inf)
    ('1', '1e+869', '∞')
    """
    if log == math.inf:
        return "\u221e"
    if math.isinf(log) or abs(log) < 600:
        return f"{math.exp(log):.3g}"
    return f"1e{log / math.log(10):+.0f}"
