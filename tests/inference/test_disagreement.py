"""The difference of two models is split without remainder, and the cases that carry it are as few as can be."""

import json
import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from toplist.errors import OutcomeError, ShapeError, SpaceError, TopListError
from toplist.inference.score_difference import explain_difference, split

SCORES = st.one_of(st.integers(-8, 8).map(float), st.just(math.inf))


@st.composite
def pairs(draw, most=7, scores=SCORES):
    n = draw(st.integers(1, most))
    a, b = (np.array(draw(st.lists(scores, min_size=n, max_size=n))) for _ in range(2))
    right = [np.array(draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=n, max_size=n))) for _ in range(2)]
    return a, b, *right


@st.composite
def predictions(draw):
    n, m = draw(st.integers(1, 8)), 4
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    made = [tl.TopLists.from_proba(rng.dirichlet([0.5] * m, size=n)).truncate(draw(st.integers(0, m))) for _ in "ab"]
    return *made, rng.integers(0, m, n)


def better(d):
    """Below zero: a is. More infinite scores outweigh any sum."""
    return np.sign(int((d == np.inf).sum()) - int((d == -np.inf).sum()) or math.fsum(d[np.isfinite(d)]))


def differences(a, b):
    with np.errstate(invalid="ignore"):
        return np.where(a == b, 0.0, a - b)


@given(pair=pairs())
def test_counts_and_sums_of_the_splits_add_up_exactly(pair):
    found = split(*pair, rule="brier")
    d = differences(*pair[:2])
    assert sum(part.cases for part in found.splits) == found.cases == len(d)
    assert math.fsum(part.difference for part in found.splits) == found.difference
    assert found.difference == math.fsum(d[np.isfinite(d)])
    assert sum(part.infinite_a for part in found.splits) == (d == np.inf).sum()
    assert sum(part.infinite_b for part in found.splits) == (d == -np.inf).sum()


@given(pair=pairs())
def test_no_smaller_set_of_cases_turns_the_sign(pair):
    found = split(*pair, rule="brier")
    d = differences(*pair[:2])
    sign = better(d)
    turned = [
        len(away)
        for size in range(len(d) + 1)
        for away in combinations(range(len(d)), size)
        if better(np.delete(d, away)) != sign
    ]
    assert found.turning == (min(turned) if sign else 0)


@given(pair=pairs())
def test_exchanging_the_models_exchanges_everything(pair):
    a, b, right_a, right_b = pair
    one, other = split(a, b, right_a, right_b, rule="brier"), split(b, a, right_b, right_a, rule="brier")
    assert one.difference == -other.difference
    assert (one.score_a, one.accuracy_a) == (other.score_b, other.accuracy_b)
    assert one.turning == other.turning
    assert one.disagree == other.disagree
    assert [x.case for x in one.favour_a] == [x.case for x in other.favour_b]


@given(case=predictions(), rule=st.sampled_from(["brier", "log", "zero-one", "spherical"]))
def test_means_are_those_of_score_and_accuracy(case, rule):
    a, b, y = case
    found = explain_difference(a, b, y, rule=rule)
    assert found.accuracy_a == pytest.approx(tl.accuracy(a, y))
    assert found.accuracy_b == pytest.approx(tl.accuracy(b, y))
    assert found.score_a == pytest.approx(tl.score(a, y, rule=rule).mean())
    assert found.score_b == pytest.approx(tl.score(b, y, rule=rule).mean())
    if math.isfinite(found.score_a) and math.isfinite(found.score_b):
        assert found.difference / len(y) == pytest.approx(found.score_a - found.score_b, abs=1e-12)


@given(case=predictions())
def test_splits_go_by_first_guesses(case):
    a, b, y = case
    found = {part.name: part.cases for part in explain_difference(a, b, y).splits}
    if "shared" not in found:
        gap = found["only a right"] - found["only b right"]
        assert gap == round((tl.accuracy(a, y) - tl.accuracy(b, y)) * len(y))


@given(pair=pairs(), most=st.integers(0, 8))
def test_the_cases_named_are_the_strongest_in_order_and_on_the_right_side(pair, most):
    found = split(*pair, rule="brier", most=most)
    d = differences(*pair[:2])
    assert [x.difference for x in found.favour_a] == sorted(d[d < 0])[:most]
    assert [x.difference for x in found.favour_b] == sorted(d[d > 0], reverse=True)[:most]


@given(pair=pairs(scores=st.integers(-8, 8).map(float)))
def test_weights_count_cases_as_often_as_they_say(pair):
    times = np.arange(len(pair[0])) % 3
    if not times.any():
        times[:] = 1
    weighted = split(*pair, rule="brier", weights=times.astype(float))
    repeated = split(*(np.repeat(x, times) for x in pair), rule="brier")
    assert weighted.difference == repeated.difference
    assert weighted.accuracy_a == pytest.approx(repeated.accuracy_a)
    assert weighted.score_b == pytest.approx(repeated.score_b)


def test_accuracy_and_score_may_disagree_and_the_split_says_where():
    y = np.zeros(100, int)
    bold = tl.TopLists.from_labels(np.where(np.arange(100) < 60, 0, 1), 5)
    honest = tl.TopLists.from_topk(np.where(np.arange(100) < 55, 0, 1)[:, None], np.full((100, 1), 0.55), 5)
    found = explain_difference(bold, honest, y)
    assert found.better == "b"
    assert found.disagree
    parts = {part.name: part for part in found.splits}
    assert [parts[name].cases for name in ("both right", "only a right", "only b right", "both wrong")] == [
        55,
        5,
        0,
        40,
    ]
    assert parts["both wrong"].difference > 0 > parts["both right"].difference


def test_scores_that_are_infinite_for_both_tell_nothing():
    sure = tl.TopLists.from_labels(["x", "x"], 3)
    found = explain_difference(sure, sure, ["y", "x"], rule="log")
    assert found.score_a == found.score_b == math.inf
    assert (found.difference, found.turning, found.better, found.disagree) == (0.0, 0, None, False)
    assert found.favour_a == found.favour_b == ()


def test_cases_have_the_ids_of_the_lists():
    a = tl.TopLists.from_labels([0, 1], 2, ids=["first", "second"])
    b = tl.TopLists.from_labels([1, 1], 2)
    assert [x.name for x in explain_difference(a, b, [0, 0]).favour_a] == ["first"]


def test_a_record_is_fit_for_json():
    a, b = tl.TopLists.from_labels([0, 1], 2), tl.TopLists.from_proba(np.full((2, 2), 0.5))
    record = explain_difference(a, b, [0, 0], rule="log").to_dict()
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["score"]["a"] == "infinite"


@pytest.mark.parametrize("m", [2**10000, math.inf])
def test_any_number_of_classes_will_do(m):
    a = tl.TopLists.from_dicts([{"x": 0.7}, {}], m)
    b = tl.TopLists.from_dicts([{"x": 0.4, "z": 0.3}, {"y": 0.2}], m)
    assert explain_difference(a, b, ["x", "y"]).cases == 2


def test_what_cannot_be_compared_is_refused_in_words():
    a = tl.TopLists.from_labels([0, 1], 3)
    with pytest.raises(ShapeError, match="differ in length: 2 and 1"):
        explain_difference(a, a[:1], [0, 1])
    with pytest.raises(SpaceError, match="both need the same classes"):
        explain_difference(a, tl.TopLists.from_labels([0, 1], 4), [0, 1])
    with pytest.raises(ShapeError, match="there are no cases"):
        explain_difference(a[:0], a[:0], [])
    with pytest.raises(OutcomeError, match="one outcome per case"):
        explain_difference(a, a, np.full((2, 3), 1 / 3))
    with pytest.raises(ShapeError, match="ids of the two models differ"):
        explain_difference(*(tl.TopLists.from_labels([0], 3, ids=[name]) for name in "xy"), [0])
    with pytest.raises(TopListError, match="most"):
        explain_difference(a, a, [0, 1], most=-1)
