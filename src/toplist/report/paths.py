"""Anytime-valid comparisons as a table, with a sentence for each that says what may be concluded."""

from __future__ import annotations

import math
from collections.abc import Sequence

from toplist.ranking.results import SequentialPath
from toplist.report.columns import Column, Table
from toplist.report.numbers import spans
from toplist.words.counts import count, percent
from toplist.words.names import plain
from toplist.words.paths import assumed, ending, findings, reason


def paths_table(paths: Sequence[SequentialPath]) -> Table:
    """All candidates against one baseline under one rule."""
    first, moments = paths[0], any(path.unit == "moment" for path in paths)
    columns = (
        Column("candidate", "left", essential=True, heading=True),
        Column("cases"),
        *([Column("moments")] if moments else []),
        Column(f"mean difference, {percent(first.level)}", "left", essential=True),
        Column("e better"),
        Column("e worse"),
    )
    rows = tuple(
        (
            *(plain(path.candidate), count(path.cases), *([count(path.at[-1])] if moments else [])),
            *(shown, e_value(path.better[-1]), e_value(path.worse[-1])),
        )
        for path, shown in zip(paths, spans(list(map(ending, paths)), signed=True), strict=True)
    )
    title = f"Against {plain(first.baseline)} by {plain(first.rule)}, however often one looks"
    said = tuple(sentence for path in paths for sentence in conclusions(path))
    return Table(title, columns, rows, (*said, *_explained(first.level), assumed(paths)))


def conclusions(path: SequentialPath) -> list[str]:
    """What may be said of the candidate, and why not more."""
    who, why = plain(path.candidate), reason(path)
    said = "; ".join("".join(parts) for parts in findings(path, plain))
    return [f"{who}: {said}.", *([f"{who}: {why}."] if why else [])]


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
    ]
