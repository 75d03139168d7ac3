"""The lists with names of their own: hard labels, the empty list, the complete list; and when two lists are one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.oracle.dense import RULES
from tests.properties.cases import SIZES, Case, batches, by_every_rule, cases, law


@law
@given(m=st.sampled_from(SIZES[1:]), data=st.data())
def test_the_brier_score_of_a_hard_label_is_twice_the_error(m: int, data: st.DataObject) -> None:
    code = st.integers(0, m - 1)
    labels = data.draw(st.lists(code, min_size=1, max_size=6))
    y = [data.draw(st.just(c) | code) for c in labels]
    lists = tl.TopLists.from_labels(labels, m)
    wrong = np.array(labels) != np.array(y)
    np.testing.assert_array_equal(tl.score(lists, y), 2.0 * wrong)
    np.testing.assert_array_equal(tl.score(lists, y, rule="zero-one"), 1.0 * wrong)
    np.testing.assert_array_equal(tl.score(lists, y, rule="log"), np.where(wrong, np.inf, 0.0))
    assert tl.accuracy(lists, y) == pytest.approx(1 - wrong.mean())


@law
@given(m=st.sampled_from(SIZES[1:]), data=st.data())
@by_every_rule
def test_a_sure_hit_is_free_and_nothing_is_better(name: str, m: int, data: st.DataObject) -> None:
    c = data.draw(st.integers(0, m - 1))
    sure = tl.TopList({c: 1.0}, m)
    assert tl.score(sure, c, rule=RULES[name].rule) == pytest.approx(0.0, abs=RULES[name].tol)
    assert tl.entropy(sure, rule=RULES[name].rule) == pytest.approx(0.0, abs=RULES[name].tol)


@law
@given(m=st.sampled_from(SIZES), data=st.data())
def test_the_empty_list_rejects(m: int, data: st.DataObject) -> None:
    """Whatever happens it scores 1 - 1 / m under Brier, log m under the logarithmic score."""
    reject, y = tl.TopList({}, m), data.draw(st.integers(0, m - 1))
    assert tl.score(reject, y) == pytest.approx(1 - 1 / m, rel=1e-14)
    assert tl.score(reject, y, rule="log") == pytest.approx(math.log(m), rel=1e-14)
    assert tl.score(reject, y, rule="zero-one") == pytest.approx(1 - 1 / m, rel=1e-14)


@law
@given(m=st.sampled_from((1, 2, 3, 8, 1000)), data=st.data())
@by_every_rule
def test_the_empty_list_is_the_uniform_distribution(name: str, m: int, data: st.DataObject) -> None:
    """It scores alike for every outcome, as its own entropy, and as the distribution written out."""
    rule, reject = RULES[name].rule, tl.TopList({}, m)
    y = data.draw(st.integers(0, m - 1))
    s, tol = tl.score(reject, y, rule=rule), RULES[name].tol
    assert s == tl.score(reject, 0, rule=rule)
    assert s == pytest.approx(tl.entropy(reject, rule=rule), rel=tol, abs=tol)
    full = tl.TopLists.from_proba(np.full((1, m), 1 / m))
    assert s == pytest.approx(tl.score(full, [y], rule=rule)[0], rel=tol, abs=tol)


@law
@given(case=st.sampled_from((1, 2, 3, 5, 8, 1000)).flatmap(cases))
def test_padded_distributions_sum_to_one(case: Case) -> None:
    """And give every unlisted class the proxy."""
    t = case.list
    p = t.padded()
    assert p.shape == (t.size,)
    assert math.fsum(p) == pytest.approx(1, abs=1e-12)
    assert (p >= 0).all()
    others = [x for c, x in enumerate(p) if c not in t.confidences]
    assert others == [t.proxy] * (t.size - len(t))
    for c, x in t.confidences.items():
        assert p[c] == pytest.approx(x, rel=1e-8)


@law
@given(batch=batches())
def test_the_sums_of_a_batch_add_up(batch: tuple[tl.TopLists, list[int]]) -> None:
    """Listed mass and rest mass make one, the rest mass is shared among the unlisted classes."""
    lists, _ = batch
    for i, t in enumerate(lists):
        listed = math.fsum(t.confidences.values())
        assert listed + t.rest == pytest.approx(1, abs=1e-12)
        assert (lists.mass[i], lists.rest[i], lists.proxy[i], lists.sizes[i]) == (t.mass, t.rest, t.proxy, len(t))


@law
@given(case=cases(), data=st.data())
def test_lists_that_say_the_same_are_equal_and_hash_alike(case: Case, data: st.DataObject) -> None:
    """In whatever order they say it."""
    shuffled = tl.TopList(dict(data.draw(st.permutations(list(case.listed.items())))), case.m)
    assert case.list == shuffled
    assert hash(case.list) == hash(shuffled)
    assert len({case.list, shuffled}) == 1
    assert case.list.batch == shuffled.batch


@law
@given(case=cases(m=8), other=cases(m=8))
def test_lists_that_say_different_things_are_not_equal(case: Case, other: Case) -> None:
    """Other classes, other confidences, another number of classes, or no list at all."""
    assert (case.list == other.list) == (case.listed == other.listed)
    assert (case.list.batch == other.list.batch) == (case.listed == other.listed)
    if len(case.listed) < 8:
        assert case.list != tl.TopList(case.listed, 9)
    assert case.list != case.listed
    assert case.list.batch != [case.list]


@law
@given(batch=batches())
def test_a_batch_is_its_lists(batch: tuple[tl.TopLists, list[int]]) -> None:
    """Iterating, indexing from either end, and the length agree."""
    lists, _ = batch
    drawn = list(lists)
    assert len(lists) == len(drawn)
    assert all(lists[i] == t == lists[i - len(lists)] for i, t in enumerate(drawn))
    with pytest.raises(IndexError):
        lists[len(lists)]
