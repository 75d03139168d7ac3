"""The largest valid sublist (paper, section 3): unique, found by removing the smallest, the same as the best of all
sublists; and the repair that keeps every class on the list.

Confidences are sixty-fourths here, so that "below the proxy" is decided without rounding; the oracles are rational.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import toplist as tl
from tests.oracle.dense import RULES
from tests.properties.cases import Case, batches, by_every_rule, cases, law

Rational = dict[int, Fraction]


def rational(t: tl.TopList) -> Rational:
    """The list, exactly."""
    return {c: Fraction(x) for c, x in t.confidences.items()}


def proxy(t: Rational, m: int) -> Fraction:
    """The share of each unlisted class."""
    return (1 - sum(t.values(), Fraction(0))) / (m - len(t)) if len(t) < m else Fraction(0)


def is_valid(t: Rational, m: int) -> bool:
    """No listed confidence is below the proxy."""
    return len(t) == m or all(x >= proxy(t, m) for x in t.values())


def greedy(t: Rational, m: int) -> Rational:
    """Remove the smallest confidence while the list is invalid."""
    while not is_valid(t, m):
        least = min(t, key=t.__getitem__)
        t = {c: x for c, x in t.items() if c != least}
    return t


def valid_sublists(t: Rational, m: int) -> list[Rational]:
    """All of them."""
    every = [dict(part) for k in range(len(t) + 1) for part in combinations(t.items(), k)]
    return [part for part in every if is_valid(part, m)]


exact_cases = cases(exact=True)


@law
@given(case=exact_cases)
def test_a_list_is_valid_if_no_confidence_is_below_the_proxy(case: Case) -> None:
    """Up to a tolerance of 1e-15, which spares proxies that small."""
    t = rational(case.list)
    least = min(t.values(), default=Fraction(1))
    assert case.list.is_valid() == (is_valid(t, case.m) or least > proxy(t, case.m) - Fraction(1, 10**15))
    assert tl.lists.is_valid(case.list) == case.list.is_valid()


@law
@given(case=exact_cases)
def test_the_largest_valid_sublist_is_what_greedy_removal_leaves(case: Case) -> None:
    assert rational(case.list.valid()) == greedy(rational(case.list), case.m)


@law
@given(case=exact_cases)
def test_the_largest_valid_sublist_is_the_only_largest_of_all_valid_sublists(case: Case) -> None:
    every = valid_sublists(rational(case.list), case.m)
    longest = max(map(len, every))
    assert [rational(case.list.valid())] == [part for part in every if len(part) == longest]


@law
@given(case=cases())
def test_taking_the_largest_valid_sublist_twice_changes_nothing(case: Case) -> None:
    once = case.list.valid()
    assert once.is_valid()
    assert once.valid() == once
    assert once.rest == once.valid().rest


@law
@given(case=exact_cases)
def test_a_valid_list_is_its_own_largest_valid_sublist(case: Case) -> None:
    """What is left of a list, written down anew."""
    kept = tl.TopList(case.list.valid().confidences, case.m)
    assert kept.is_valid()
    assert kept.valid() == kept == kept.repair()


@law
@given(case=cases())
@by_every_rule
def test_an_invalid_list_scores_as_its_largest_valid_sublist_plus_the_penalty(name: str, case: Case) -> None:
    rule = RULES[name].rule
    t, kept = case.list, case.list.valid()
    due = 0.0 if t.is_valid() else 0.5
    assert tl.score(t, case.y, rule=rule, penalty=0.5) == pytest.approx(
        tl.score(kept, case.y, rule=rule) + due, rel=1e-12, abs=1e-12
    )
    assert tl.entropy(t, rule=rule) == pytest.approx(tl.entropy(kept, rule=rule), rel=1e-12, abs=1e-12)


@law
@given(case=cases(exact=True))
@by_every_rule
def test_a_repaired_list_keeps_its_classes_and_scores_as_the_largest_valid_sublist(name: str, case: Case) -> None:
    """Whatever happens: in the same classes, valid, with the same padded distribution."""
    t = case.list
    mended = t.repair()
    assert mended.is_valid()
    assert set(mended.classes) == set(t.classes)
    rule, kept = RULES[name].rule, t.valid()
    tol = RULES[name].tol
    for y in {*t.classes, case.y}:
        expected = tl.score(kept, y, rule=rule)
        assert tl.score(mended, y, rule=rule) == pytest.approx(expected, rel=tol, abs=tol)


@law
@given(case=cases())
def test_repair_leaves_the_kept_confidences_and_lifts_the_others_to_the_proxy(case: Case) -> None:
    kept, mended = case.list.valid(), case.list.repair()
    for c, x in mended.confidences.items():
        assert x == pytest.approx(kept.confidences.get(c, kept.proxy), rel=1e-12, abs=1e-300)
    if case.m <= 8:
        np.testing.assert_allclose(mended.padded(), kept.padded(), rtol=1e-12, atol=1e-15)


@law
@given(case=cases(exact=True))
def test_repairing_twice_changes_nothing(case: Case) -> None:
    once, twice = case.list.repair(), case.list.repair().repair()
    assert set(once.classes) == set(twice.classes)
    for c, x in once.confidences.items():
        assert twice.confidences[c] == pytest.approx(x, rel=1e-15)


@law
@given(batch=batches())
def test_batches_are_cut_and_repaired_list_by_list(batch: tuple[tl.TopLists, list[int]]) -> None:
    """The neighbours of a list do not change what is kept of it."""
    lists, _ = batch
    valid, mended = lists.valid(), lists.repair()
    assert valid.is_valid().all()
    assert mended.is_valid().all()
    np.testing.assert_array_equal(mended.sizes, lists.sizes)
    for i, t in enumerate(lists):
        assert valid[i] == t.valid()
        assert mended[i] == t.repair()
        assert (valid.rest[i], mended.rest[i]) == (t.valid().rest, t.repair().rest)


@law
@given(case=exact_cases, data=st.data())
def test_removing_a_class_below_the_proxy_lowers_the_proxy_but_not_below_it(case: Case, data: st.DataObject) -> None:
    """And removing a class that is not below it does not lower the proxy: why greedy removal works (section 3)."""
    t = rational(case.list)
    assume(t)
    assume(len(t) < case.m)
    c = data.draw(st.sampled_from(sorted(t)))
    before, x = proxy(t, case.m), t[c]
    after = proxy({d: v for d, v in t.items() if d != c}, case.m)
    assert x < after < before if x < before else after >= before
    left = {d: v for d, v in case.listed.items() if d != c}
    assert tl.TopList(left, case.m).proxy == pytest.approx(float(after), rel=1e-14)
