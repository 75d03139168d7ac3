"""Anytime-valid comparisons as a table, with a sentence for each that says what may be concluded."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

from toplist.ranking.results import Estimate, SequentialPath
from toplist.report.columns import Column, Table
from toplist.report.escape import plain, visible
from toplist.report.notes import cases
from toplist.report.numbers import count, percent, spans


def paths_table(paths: Sequence[SequentialPath]) -> Table:
    """All candidates against one baseline under one rule."""
    first = paths[0]
    ends = [Estimate(path.mean[-1], *((path.low[-1], path.high[-1]) if path.low else (None, None))) for path in paths]
    columns = (
        Column("candidate", "left", essential=True, heading=True),
        Column("cases"),
        Column(f"mean difference, {percent(first.level)}", "left", essential=True),
        Column("e better"),
        Column("e worse"),
    )
    rows = tuple(
        (plain(path.candidate), count(path.cases), shown, e_value(path.better[-1]), e_value(path.worse[-1]))
        for path, shown in zip(paths, spans(ends, signed=True), strict=True)
    )
    title = f"Against {plain(first.baseline)} by {plain(first.rule)}, however often one looks"
    said = tuple(sentence for path in paths for sentence in conclusions(path))
    return Table(title, columns, rows, (*said, *_explained(first.level)))


def conclusions(path: SequentialPath) -> list[str]:
    """What may be said of the candidate, and why not more."""
    a, b = plain(path.candidate), plain(path.baseline)
    found = []
    for one, other, when in ((a, b, path.shown_better), (b, a, path.shown_worse)):
        if when is not None:
            found.append(f"after {cases(when)} {one} was shown to be better than {other} at some time")
    if path.separated is not None:
        mean = path.mean[min(bisect_left(path.at, path.separated), len(path.at) - 1)]
        better, other = (a, b) if mean < 0 else (b, a)
        found.append(f"after {cases(path.separated)} {better} was shown to be better than {other} on average")
    said = "; ".join(found) if found else f"no difference to {b} is shown in {cases(path.cases)}"
    why = visible(path.why).strip()
    return [f"{a}: {said}.", *([f"{a}: {why}"] if why else [])]


def e_value(log: float) -> str:
    """An e-value from its logarithm, however large.

    >>> e_value(0.0), e_value(2000.0), e_value(math.inf)
    ('1', '1e+869', 'inf')
    """
    if math.isinf(log) or abs(log) < 600:
        return f"{math.exp(log):.3g}"
    return f"1e{log / math.log(10):+.0f}"


def _explained(level: float) -> list[str]:
    return [
        f"Below zero the candidate is better; an e-value of {1 / (1 - level):.4g} shows it at {percent(level)}.",
        "All this takes for granted that the outcome of each case is known before the next prediction is made.",
    ]
