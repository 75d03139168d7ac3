"""Rows of a query: a top list, its outcome and its number of classes, and what `toplist.score` says of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import toplist as tl


@dataclass(frozen=True)
class Row:
    """One case; any of the four may be missing."""

    classes: list[Any] | None
    confidences: list[float] | None
    outcome: Any
    m: int | None

    @property
    def is_known(self) -> bool:
        return None not in (self.classes, self.confidences, self.outcome, self.m)

    def score(self, rule: Any) -> float | None:
        """By the list alone, whatever the other rows are."""
        if not self.is_known:
            return None
        listed = dict(zip(self.classes or (), self.confidences or (), strict=True))
        labels = [self.outcome, *(one for one in listed if one != self.outcome)]
        space = self.m if isinstance(self.outcome, int) else tl.ClassSpace(self.m, labels)
        return float(tl.score(tl.TopLists.from_dicts([listed], space), [self.outcome], rule=rule)[0])


@st.composite
def rows(draw: Any, *, text: bool, blank: bool = True, same_m: bool = False) -> list[Row]:
    """Lists of any length, invalid ones among them; m per row, and here and there something that is missing."""
    fixed = draw(st.integers(2, 9)) if same_m else None
    made = []
    for _ in range(draw(st.integers(1, 12))):
        m = fixed or draw(st.integers(2, 9))
        k = draw(st.integers(0, m))
        codes = draw(st.permutations(range(m)))
        weights = draw(st.lists(st.integers(0, 8), min_size=k, max_size=k))
        total = sum(weights) + (draw(st.integers(0, 9)) if k < m else 0) or 1
        confidences = [weight / total for weight in weights]
        if k == m and sum(weights) == 0:
            codes, confidences, k = codes[:0], [], 0
        outcome = draw(st.integers(0, m - 1))
        name = (lambda code: f"class {code}") if text else int
        parts = [[name(code) for code in codes[:k]], confidences, name(outcome), m]
        if blank and draw(st.integers(0, 5)) == 0:
            parts[draw(st.integers(0, 3))] = None
        made.append(Row(*parts))
    return made


def table(found: list[Row], *, text: bool, numbers: Any = None, whole: Any = None) -> pa.Table:
    """The rows as a table, with their numbers."""
    kind = pa.string() if text else whole or pa.int64()
    return pa.table(
        {
            "number": pa.array(range(len(found)), pa.int64()),
            "classes": pa.array([row.classes for row in found], pa.list_(kind)),
            "confidences": pa.array([row.confidences for row in found], pa.list_(numbers or pa.float64())),
            "outcome": pa.array([row.outcome for row in found], kind),
            "m": pa.array([row.m for row in found], pa.int64()),
        }
    )


# What cannot be scored: classes, confidences, outcome, m, and what is said.
REFUSED: list[tuple[Any, Any, Any, Any, str]] = [
    (
        ["a", "b"],
        [0.5, 0.6],
        "a",
        5,
        r"sum to 1\.1, which is above 1.*classes \['a', 'b'\], confidences \[0\.5, 0\.6\]",
    ),
    (["a", "a"], [0.5, 0.3], "a", 5, r"class 'a' is listed twice.*outcome 'a', m 5"),
    (["a", "b"], [0.5, 0.3], "c", 2, "more classes, with the outcome, than m"),
    (["a", None], [0.5, 0.3], "a", 5, "a class of the list is NULL"),
    (["a", "b"], [0.5, None], "a", 5, "a confidence of the list is NULL"),
    (["a"], [0.5, 0.3], "a", 5, "there are 1 classes, but 2 confidences"),
    (["a"], [float("nan")], "a", 5, "the confidence of class 'a' is nan"),
    (["a"], [-0.5], "a", 5, "the confidence of class 'a' is negative: -0.5"),
    (["a"], [0.5], "a", 0, "m is the number of classes, at least 1"),
    ([9], [0.5], 1, 5, r"class 9 is outside the space of 5 classes"),
    ([1], [0.5], 5, 5, "the outcome 5 is outside the space of 5 classes"),
    ([1], [0.5], -1, 5, "the outcome -1 is outside the space of 5 classes"),
    (["a"], [0.5], 1, 5, "classes are text and outcomes numbers. Cast one of them"),
    ([1], [0.5], "a", 5, "classes are numbers and outcomes text. Cast one of them"),
    ([0.5], [0.5], 1, 5, "both text or both whole numbers"),
    ("a", [0.5], "a", 5, "classes are lists, one per row, not text"),
    (["a"], 0.5, "a", 5, "confidences are lists, one per row, not numbers"),
    (["a"], ["x"], "a", 5, "confidences are lists of numbers, not of text"),
    (["a"], [0.5], "a", 5.5, "m, the number of classes, is a whole number"),
]
