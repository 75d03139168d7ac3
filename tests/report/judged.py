"""Results with tested pairs: any p values and differences, for laws about significance on every surface."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from typing import Any

from hypothesis import strategies as st

from tests.report import results as made
from toplist.inference.results import Comparison, Estimate, Pair
from toplist.report.text import Name, names

BASE = {n: made.drawn(tuple("ABCDEFG"[:n]), cases=40, rules=("brier",), zeros=False, paths=0) for n in range(1, 8)}
THREE, TWO = ("".join(row.name for row in BASE[n].overall.rows) for n in (3, 2))  # in the order of the table
LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)


@st.composite
def judged(draw: st.DrawFn, most: int = 7) -> Comparison:
    """Results with any p values and any differences that go with them, some of them right at the limit."""
    base = BASE[draw(st.integers(2, most))]
    level = draw(st.sampled_from(LEVELS))
    edge = 1 - level
    p = (
        st.none()
        | st.sampled_from([0.0, edge, math.nextafter(edge, 1), math.nextafter(edge, 0), 1.0])
        | st.floats(0, 1)
    )
    value = st.floats(-2, 2).filter(lambda x: abs(x) > 1e-9)
    found = []
    for a, b in combinations([row.name for row in base.overall.rows], 2):
        adjusted, difference = draw(p), draw(value)
        more = draw(st.none() | st.integers(0, 10**9))
        estimate = Estimate(difference, p=adjusted)
        found.append(Pair("brier", a, b, 40, estimate, adjusted, more, estimate))
    return replace(base, level=level, pairs=tuple(found))


def shown(results: Comparison) -> dict[str, Name]:
    return names(row.name for row in results.overall.rows)


def paired(a: str, b: str, adjusted: float | None, more: int | None = None, **changes: Any) -> Pair:
    found = Estimate(-0.01, -0.03, 0.01, p=adjusted)
    return Pair("brier", a, b, 40, found, adjusted, more, **({"simultaneous": found} | changes))
