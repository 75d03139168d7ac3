"""Data-quality issues: every kind by name, counted as plain Python counts, however the cases are split."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import toplist as tl
from tests.draws import draws
from toplist.core.kernel import Rows
from toplist.errors import TopListError
from toplist.lists import from_logs
from toplist.lists.checks import BLOCKING, Issue, QualityCounts
from toplist.lists.converters import raw_rows
from toplist.lists.rows import to_rows

law = settings(
    deadline=None, max_examples=draws(60), derandomize=True, phases=(Phase.explicit, Phase.generate, Phase.shrink)
)
ODD = [0.0, 0.2, 0.25, 0.4, 0.5, 0.999, 1.0, 1.5, 60.0, 999.0, -0.1, -1.0, -9999.0, 1e20, math.nan, math.inf, -math.inf]

case = st.lists(st.tuples(st.integers(-1, 5), st.sampled_from(ODD)), max_size=5)
cases = st.lists(case, max_size=12)
sizes = st.sampled_from([3, 5, 40, math.inf, 2**10000])


def rows_of(drawn: Any, m: Any) -> Rows:
    at = np.concatenate(([0], np.cumsum([len(one) for one in drawn], dtype=np.int64)))
    pairs = [pair for one in drawn for pair in one]
    codes = np.array([c for c, _ in pairs], dtype=np.int64)
    return to_rows(at, codes, np.array([t for _, t in pairs], dtype=np.float64), tl.ClassSpace(m))


def of_lists(lists: tl.TopLists) -> tuple[Issue, ...]:
    return QualityCounts.of(lists.checked.rows, lists.space).issues()


def found(predictions: Any, space: Any = None, **options: Any) -> dict[str, Issue]:
    rows, known = raw_rows(predictions, space)
    return {one.kind: one for one in QualityCounts.of(rows, known, **options).issues()}


@law
@given(cases, sizes, st.data())
def test_how_the_cases_were_split_never_shows(drawn: Any, m: Any, data: Any) -> None:
    at = np.arange(len(drawn))
    whole = QualityCounts.of(rows_of(drawn, m), tl.ClassSpace(m))
    parts = data.draw(st.lists(st.integers(0, 3), min_size=len(drawn), max_size=len(drawn)))
    made = QualityCounts()
    for part in data.draw(st.permutations(range(4))):
        mine = at[np.array(parts, dtype=np.int64) == part]
        made = made + QualityCounts.of(rows_of([drawn[i] for i in mine], m), tl.ClassSpace(m), position=mine)
    assert made.issues() == whole.issues()
    assert made == whole or not drawn


def slow(drawn: Any, m: Any) -> Counter[str]:
    """The same counts, case by case in plain Python."""
    counts: Counter[str] = Counter()
    for one in drawn:
        t, codes = [value for _, value in one], [code for code, _ in one]
        finite = all(map(math.isfinite, t))
        counts["not finite"] += not finite
        counts["negative"] += any(value < 0 and math.isfinite(value) for value in t)
        counts["above one"] += any(value > 1 and math.isfinite(value) for value in t)
        counts["class twice"] += len(set(codes)) < len(codes)
        counts["class outside the space"] += any(code < 0 or code >= m for code in codes)
        counts["too many classes"] += len({code for code, _ in one}) > m
        good = finite and min(t, default=0.0) >= 0
        counts["mass above one"] += good and len(t) != m and math.fsum(t) > 1 + 1e-8
        sound = good and max(t, default=0.0) <= 1
        counts["incomplete distribution"] += sound and len(t) == m and abs(math.fsum(t) - 1) > 1e-8
        counts["empty list"] += not t
        counts["list of zeros"] += bool(t) and not any(t)
        counts["listed zero"] += 0.0 in t and any(t)
        counts["invalid"] += sound and math.fsum(t) <= 1 + 1e-8 and _below(one, m)
    return +counts


def _below(one: Any, m: Any) -> bool:
    once: dict[int, float] = {}
    for code, value in one:
        once.setdefault(code, value)
    unlisted, rest = m - len(once), 1 - math.fsum(once.values())
    return unlisted > 0 and rest > 0 and bool(once) and min(once.values()) < (rest / unlisted) * (1 - 1e-9) - 1e-15


@law
@given(cases, st.sampled_from([3, 5, 40, math.inf]))
def test_counts_are_those_of_plain_python(drawn: Any, m: Any) -> None:
    expected = slow(drawn, m)
    made = QualityCounts.of(rows_of(drawn, m), tl.ClassSpace(m))
    assert {kind: made.count(kind).cases for kind in expected} == expected
    told = {one.kind: one.cases for one in made.issues()}
    assert {kind: told[kind] for kind in expected} == expected
    assert all(told[kind] == expected[kind] for kind in set(BLOCKING) & set(told))


@law
@given(cases, sizes)
def test_the_door_refuses_what_has_a_serious_oddity_and_nothing_else(drawn: Any, m: Any) -> None:
    rows = rows_of(drawn, m)
    serious = any(one.blocking for one in QualityCounts.of(rows, tl.ClassSpace(m)).issues())
    try:
        with np.errstate(invalid="ignore"):  # of the kernel without a compiler, where values are infinite
            lists = tl.TopLists.from_ragged(rows.offsets, rows.classes, rows.confidences, m)
    except TopListError:
        assert serious
    else:
        assert not serious
        assert not any(one.blocking for one in of_lists(lists))


rng = np.random.default_rng(0)
DISTRIBUTIONS = rng.dirichlet(np.ones(6), 200)
TOP = np.sort(DISTRIBUTIONS, axis=1)[:, ::-1]

NAMED: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "not finite": ([{"a": math.nan}, {"a": 0.5}], 3, {}, "not finite"),
    "looks like percent": ([{"a": 60.0, "b": 30.0}] * 3, 3, {}, "scale='percent'"),
    "looks like log-probabilities": ([{"a": -0.2, "b": -2.5}] * 3, 3, {}, "scale='log'"),
    "looks like probabilities": (DISTRIBUTIONS, 6, {"scale": "percent"}, "scale='percent' may be wrong"),
    "looks like marginals": (rng.random((50, 6)), None, {}, "best_sets"),
    "looks like label sets": ((rng.random((50, 6)) < 0.5).astype(float), None, {}, "LabelSets"),
    "class twice": (([["a", "a"]], [[0.3, 0.2]]), 5, {}, "duplicates='sum'"),
    "class outside the space": ([{"x": 0.5}], tl.ClassSpace(labels=["a", "b"]), {}, "not in the space"),
    "too many classes": ([{0: 0.1, 1: 0.1, 2: 0.1}], 2, {}, "more classes than there are"),
    "incomplete distribution": (np.array([[0.5, 0.4], [0.5, 0.5]]), None, {}, "normalize=True"),
    "mass above one": ([{"a": 0.7, "b": 0.6}], 5, {}, "up to 1.3"),
    "list of zeros": ([{"a": 0.0}], 5, {}, "nothing but zeros"),
    "listed zero": ([{"a": 0.6, "b": 0.0}], 5, {}, "infinite"),
    "empty list": ([{}, {"a": 0.5}], 5, {}, "1 of 2 cases"),
    "invalid": ([{"a": 0.05}], 5, {}, "below what each unlisted class gets"),
}  # fmt: skip


@pytest.mark.parametrize("kind", NAMED)
def test_every_kind_is_named_with_its_remedy(kind: str) -> None:
    predictions, space, options, words = NAMED[kind]
    told = found(predictions, space, **options)
    assert kind in told
    assert words in told[kind].message
    assert told[kind].message.endswith(".")


def test_plain_predictions_are_not_odd() -> None:
    assert not found(DISTRIBUTIONS)
    sizes = rng.integers(1, 5, 200)
    lists = [dict(enumerate(p[:k].tolist())) for p, k in zip(TOP, sizes, strict=True)]
    assert not found(lists, 6)


def test_counts_are_no_percentages() -> None:
    told = found(rng.multinomial(50, np.ones(6) / 6, 40))
    assert set(told) == {"above one"}
    assert "normalize=True" in told["above one"].message
    assert "looks like percent" in found(100 * DISTRIBUTIONS)


def test_logarithms_are_judged_as_what_they_stand_for() -> None:
    logs = np.log(DISTRIBUTIONS)
    assert not found(logs, scale="log")
    marked = np.where(rng.random(logs.shape) < 0.1, -9999.0, logs)
    assert found(marked, scale="log")["negative"].blocking
    lists = from_logs([0, 2], [0, 1], [-600.0, -601.0], 2**1000, log_rest=[0.0])
    assert not of_lists(lists)  # small, and no zero
    nothing = from_logs([0, 2], [0, 1], [-600.0, -math.inf], 2**1000, log_rest=[0.0])
    assert "listed zero" in {one.kind for one in of_lists(nothing)}


def test_top_lists_of_one_length_are_not_odd() -> None:
    classes = np.tile(np.arange(5), (200, 1))
    for told in (TOP[:, :5], np.round(TOP[:, :5], 4), TOP[:, :5].astype(np.float32)):
        assert not found((classes, told), 1000)
    assert not found((classes, np.log(TOP[:, :5])), 50_000, scale="log")


def test_what_is_not_in_the_rows_is_counted_too() -> None:
    rows, space = raw_rows([{"a": 0.5}] * 3, 5)
    told = QualityCounts.of(rows, space, also={"case twice": np.array([False, False, True])}).issues()
    (twice,) = [one for one in told if one.kind == "case twice"]
    assert (twice.cases, twice.of, twice.first, twice.blocking) == (1, 3, "2", True)


def test_what_was_repaired_is_odd_but_not_serious() -> None:
    look = QualityCounts.of(*raw_rows([{"a": 0.7, "b": 0.6}], 5))
    assert [one.blocking for one in look.issues()] == [True]
    assert [one.blocking for one in look.issues(repaired={"mass above one"})] == [False]


def test_no_cases_are_not_odd() -> None:
    assert QualityCounts().issues() == ()
    assert QualityCounts.of(*raw_rows(np.zeros((0, 4)))).issues() == ()
    assert QualityCounts.of(*raw_rows([], 4)).issues() == ()


def test_sizes_may_differ_per_case() -> None:
    rows, space = raw_rows([{0: 0.5, 1: 0.4}, {0: 0.5, 1: 0.4}], tl.ClassSpace(np.array([2, 3])))
    told = {one.kind: one for one in QualityCounts.of(rows, space).issues()}
    assert told["incomplete distribution"].cases == 1


def test_what_was_to_be_normalised_does_not_stand_against_a_diagnosis(tmp_path: Path) -> None:
    """Unnormalised weights look like percentages; with normalize=True that is seen to, in memory and in a file."""
    pytest.importorskip("pyarrow", reason="files are read with pyarrow")
    weights = np.array([[30, 60, 20], [50, 25, 20], [10, 60, 40], [33, 33, 33]], float)
    lines = [f"{case},{','.join(map(str, row))}" for case, row in enumerate(weights)]
    (tmp_path / "weights.csv").write_text("\n".join(["case,a,b,c", *lines, ""]))
    (tmp_path / "y.csv").write_text("case,outcome\n0,a\n1,b\n2,b\n3,c\n")
    for found in (
        tl.diagnose(weights, [0, 1, 1, 2], read=tl.ReadOptions(normalize=True)),
        tl.diagnose(tmp_path / "weights.csv", tmp_path / "y.csv", read=tl.ReadOptions(normalize=True)),
    ):
        assert not found.blocking
        assert "looks like percent" in {one.kind for one in found.issues}
    assert tl.diagnose(weights, [0, 1, 1, 2]).blocking
