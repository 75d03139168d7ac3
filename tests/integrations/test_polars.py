"""The expression of polars scores as `toplist.score` does, to the last bit, in every engine."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.integrations.lists import REFUSED, Row, rows, table
from toplist.integrations.polars import padded_score
from toplist.scoring.rules import RULES

pytest.importorskip("pyarrow", reason="needs pyarrow")
SCORE = padded_score("classes", "confidences", "outcome", "m")


def scores(found: list[Row], *, text: bool, rule: Any = "brier") -> list[Any]:
    frame = pl.from_arrow(table(found, text=text))
    return frame.select(padded_score("classes", "confidences", "outcome", "m", rule=rule))["score"].to_list()


@given(st.data(), st.booleans(), st.booleans())
def test_each_row_has_the_score_of_its_list_to_the_last_bit(data: Any, text: bool, same: bool) -> None:
    found = data.draw(rows(text=text, same_m=same))
    assert scores(found, text=text) == [row.score("brier") for row in found]


@pytest.mark.parametrize("rule", [*RULES, tl.Power(1.5)], ids=str)
def test_it_takes_every_rule(rule: Any) -> None:
    found = [Row([2, 0, 1], [0.5, 0.3, 0.1], outcome, 6) for outcome in range(6)]
    assert scores(found, text=False, rule=rule) == [row.score(rule) for row in found]


def test_an_infinite_score_is_one() -> None:
    assert scores([Row(["a"], [1.0], "b", 3)], text=True, rule="log") == [math.inf]


@given(st.data())
def test_lazy_frames_streams_and_slices_have_the_same_scores(data: Any) -> None:
    found = data.draw(rows(text=True))
    frame = pl.from_arrow(table(found, text=True))
    whole = frame.select(SCORE)["score"].to_list()
    assert frame.lazy().select(SCORE).collect()["score"].to_list() == whole
    assert frame.lazy().select(SCORE).collect(engine="streaming")["score"].to_list() == whole
    half = len(frame) // 2
    parts = pl.concat([frame[:half], frame[half:]], rechunk=False)
    assert parts.select(SCORE)["score"].to_list() == whole
    assert frame[half:].select(SCORE)["score"].to_list() == whole[half:]


def test_means_by_group_are_those_of_the_scores() -> None:
    rng = np.random.default_rng(0)
    n, m = 2000, 20
    t = -np.sort(-rng.dirichlet(np.ones(4), n)[:, :3], axis=1)
    c = rng.permuted(np.tile(np.arange(m), (n, 1)), axis=1)[:, :3]
    y, group = rng.integers(0, m, n), rng.integers(0, 5, n)
    frame = pl.DataFrame({"c": c.tolist(), "t": t.tolist(), "y": y, "group": group})
    expected = tl.score(tl.TopLists.from_topk(c, t, m), y)
    made = padded_score("c", "t", "y", m)
    means = [expected[group == one].mean() for one in range(5)]
    for result in (
        frame.group_by("group").agg(made.mean()),
        frame.lazy().group_by("group").agg(made.mean()).collect(engine="streaming"),
    ):
        assert result.sort("group")["score"].to_list() == pytest.approx(means, rel=1e-12)
    assert len(frame.filter(made > 1)) == (expected > 1).sum()


@pytest.mark.parametrize(
    ("classes", "confidences"),
    [
        (pl.List(pl.Categorical), pl.List(pl.Float64)),
        (pl.List(pl.Enum(["a", "b", "c"])), pl.List(pl.Float64)),
        (pl.Array(pl.String, 2), pl.Array(pl.Float64, 2)),
        (pl.List(pl.String), pl.List(pl.Decimal(3, 2))),
    ],
    ids=["categories", "enumeration", "arrays", "decimals"],
)
def test_columns_may_have_other_types(classes: Any, confidences: Any) -> None:
    frame = pl.DataFrame(
        {"classes": [["b", "a"], ["c", "a"]], "confidences": [[0.5, 0.25], [0.75, 0.25]], "outcome": ["a", "a"]}
    ).with_columns(pl.col("classes").cast(classes), pl.col("confidences").cast(confidences))
    if isinstance(classes, pl.List) and classes.inner != pl.String:
        frame = frame.with_columns(pl.col("outcome").cast(classes.inner))
    expected = [
        Row(["b", "a"], [0.5, 0.25], "a", 3).score("brier"),
        Row(["c", "a"], [0.75, 0.25], "a", 3).score("brier"),
    ]
    found = frame.select(padded_score("classes", "confidences", "outcome", 3))["score"].to_list()
    assert found == expected


def test_single_precision_is_scored_as_such() -> None:
    p = np.full((1, 10), 0.1, np.float32)
    frame = pl.DataFrame({"c": [list(range(10))], "t": pl.Series(p).cast(pl.List(pl.Float32)), "y": [3]})
    expected = tl.score(tl.TopLists.from_topk([range(10)], p, 10), [3])[0]
    assert frame.select(padded_score("c", "t", "y", 10))["score"].to_list() == [expected]


def test_arguments_may_be_expressions() -> None:
    frame = pl.DataFrame({"name": [["A", "B"]], "percent": [[60.0, 30.0]], "y": ["b"]})
    made = padded_score(
        pl.col("name").list.eval(pl.element().str.to_lowercase()),
        pl.col("percent").list.eval(pl.element() / 100),
        pl.col("y"),
        pl.lit(5),
        rule="log",
    )
    assert frame.select(made)["score"].to_list() == [Row(["a", "b"], [0.6, 0.3], "b", 5).score("log")]


def test_confidences_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is scored are the bytes of the column."""
    seen: list[Any] = []
    made = tl.TopLists.from_ragged.__func__  # type: ignore[attr-defined]

    def spied(cls: Any, offsets: Any, classes: Any, confidences: Any, space: Any, **options: Any) -> Any:
        seen.append((classes, confidences))
        return made(cls, offsets, classes, confidences, space, **options)

    monkeypatch.setattr(tl.TopLists, "from_ragged", classmethod(spied))
    frame = pl.DataFrame({"c": [[0, 1]] * 1000, "t": [[0.5, 0.3]] * 1000, "y": [1] * 1000})
    frame.select(padded_score("c", "t", "y", 4))
    ((classes, confidences),) = seen
    for column, values in (("c", classes), ("t", confidences)):
        buffer = frame[column].to_arrow().values.buffers()[1]
        assert values.ctypes.data == buffer.address


def test_no_rows_have_no_scores() -> None:
    frame = pl.from_arrow(table([], text=True))
    assert frame.select(SCORE)["score"].to_list() == []
    assert frame.select(SCORE).schema == {"score": pl.Float64}


@pytest.mark.parametrize(("classes", "confidences", "outcome", "m", "said"), REFUSED)
def test_what_cannot_be_scored_is_an_error_that_shows_the_row(
    classes: Any, confidences: Any, outcome: Any, m: Any, said: str
) -> None:
    columns = [pa.array([value] * 3) for value in (classes, confidences, outcome, m)]
    frame = pl.from_arrow(pa.table(columns, names=["classes", "confidences", "outcome", "m"]))
    with pytest.raises((tl.TopListError, pl.exceptions.PolarsError), match=f"(?s){said}"):
        frame.select(SCORE)


@pytest.mark.parametrize(("m", "rule"), [(0, "brier"), (2.5, "brier"), (None, "brier"), (True, "brier"), (3, "bier")])
def test_arguments_that_make_no_sense_are_refused_at_once(m: Any, rule: str) -> None:
    with pytest.raises(tl.TopListError, match=r"m, the number of classes, is a whole number|brier"):
        padded_score("c", "t", "y", m, rule=rule)


def test_without_polars_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(tl.TopListError, match=r"pip install 'toplist\[polars\]'"):
        padded_score("c", "t", "y", 3)
