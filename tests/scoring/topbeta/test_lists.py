"""The functional on batches, and its image."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.scoring.topbeta import exact
from toplist.errors import CaseError, TopListError
from toplist.scoring import topbeta


@st.composite
def wholes(draw):
    m = draw(st.integers(1, 7))
    whole = draw(st.lists(st.integers(0, 6), min_size=m, max_size=m))
    whole[0] += not any(whole)
    return whole, Fraction(draw(st.integers(5, 95)), 100), draw(st.sampled_from([None, 1, 2, 3]))


@given(drawn=wholes())
def test_top_beta_lists_are_true_and_all_true_lists_are_found(drawn):
    whole, beta, cap = drawn
    p = [x / sum(whole) for x in whole]
    wanted = exact.true_listings([Fraction(x, sum(whole)) for x in whole], beta, cap)
    found = {frozenset(t.confidences.items()) for t in topbeta.true_top_beta(p, beta, cap)}
    assert found == {frozenset((c, float(x)) for c, x in t) for t in wanted}
    made = topbeta.top_beta(tl.TopLists.from_proba([p]), beta, cap=cap)
    assert topbeta.in_image(made, beta, cap).inside.all()
    assert frozenset(made[0].classes) in {frozenset(c for c, _ in t) for t in wanted}


@given(drawn=wholes(), k=st.integers(0, 7))
def test_a_list_is_in_the_image_if_it_is_true_for_its_padded_distribution(drawn, k):
    whole, beta, cap = drawn
    m, total = len(whole), sum(whole)
    listed = [Fraction(x, total) for x in whole[:k]]
    if k >= m:
        listed = listed[:m]
    rest = 1 - sum(listed)
    padded = listed + [rest / (m - len(listed))] * (m - len(listed)) if m > len(listed) else listed
    wanted = frozenset(enumerate(listed)) in exact.true_listings(padded, beta, cap)
    lists = tl.TopLists.from_dicts([{c: float(x) for c, x in enumerate(listed)}], m)
    assert topbeta.in_image(lists, beta, cap).inside[0] == wanted


def test_a_longer_list_has_the_top_beta_list_of_the_distribution_it_came_from():
    rng = np.random.default_rng(0)
    whole = tl.TopLists.from_proba(rng.dirichlet([0.5] * 8, size=50))
    assert topbeta.top_beta(whole.truncate(7), 0.7) == topbeta.top_beta(whole, 0.7)
    assert topbeta.top_beta(whole.truncate(3), 0.7, cap=2) == topbeta.top_beta(whole, 0.7, cap=2)


def test_single_precision_does_not_put_lists_outside():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([0.5] * 8, size=200).astype(np.float32)
    assert topbeta.in_image(topbeta.top_beta(tl.TopLists.from_proba(p), 0.9), 0.9).inside.all()
    just = tl.TopLists.from_topk([[0, 1, 2]], np.array([[0.3, 0.3, 0.2]], np.float32), 6)
    assert topbeta.in_image(just, 0.8).inside.all()


def test_hard_labels_and_infinitely_many_classes_are_in_the_image():
    assert topbeta.in_image(tl.TopLists.from_labels([0, 1], 3), 0.9).inside.all()
    open_ended = tl.TopLists.from_dicts([{0: 0.5, 1: 0.45}, {0: 0.5}], math.inf)
    assert topbeta.in_image(open_ended, 0.9).why == ("", "mass below beta")
    assert topbeta.in_image(open_ended, 0.9, cap=1).why == ("longer than the cap", "")


def test_every_reason_is_told():
    lists = tl.TopLists.from_dicts(
        [{0: 0.8, 1: 0.01}, {0: 0.5, 1: 0.2, 2: 0.2}, {0: 0.9, 1: 0.05}, {0: 0.3}, {0: 0.9}], 4
    )
    found = topbeta.in_image(lists, 0.8, cap=2)
    assert found.why == (*topbeta.REASONS, "")
    assert found.counts() == dict.fromkeys(topbeta.REASONS, 1)


def test_a_list_that_does_not_say_its_top_beta_list_is_refused():
    lists = tl.TopLists.from_dicts([{0: 0.9}, {0: 0.5, 1: 0.2}], 9)
    with pytest.raises(CaseError, match=r"case 1: the list has the mass 0.7, which is below beta = 0.8"):
        topbeta.top_beta(lists, 0.8)
    assert topbeta.top_beta(lists, 0.8, cap=2).sizes.tolist() == [1, 2]
    with pytest.raises(CaseError, match="less likely than those that are not listed"):
        topbeta.top_beta(tl.TopLists.from_dicts([{0: 0.5, 1: 0.01}], 3), 0.505)


def test_one_list_is_cut_like_many():
    t = tl.TopList({0: 0.5, 1: 0.3, 2: 0.2}, 3)
    assert topbeta.top_beta(t, 0.8) == tl.TopList({0: 0.5, 1: 0.3}, 3)


def test_a_beta_is_the_decimal_it_prints_as():
    assert topbeta.longest(10, 0.9) == topbeta.longest(10, np.float64(0.9)) == topbeta.longest(10, Fraction(9, 10)) == 9
    assert topbeta.longest(math.inf, 0.9) == math.inf
    assert topbeta.longest(2**10000, 0.5) == 2**9999


@given(m=st.integers(1, 30), percent=st.integers(1, 99))
def test_no_true_list_is_longer_than_the_longest_and_the_uniform_one_is_as_long(m, percent):
    beta = Fraction(percent, 100)
    assert exact.length([Fraction(1, m)] * m, beta) == topbeta.longest(m, beta)


def test_what_does_not_make_sense_is_said():
    for wrong, words in (
        (lambda: topbeta.longest(10, 1.0), "beta is between 0 and 1"),
        (lambda: topbeta.longest(10, Fraction(1)), "beta is between 0 and 1"),
        (lambda: topbeta.longest([3, 4], 0.9), "one number of classes"),
        (lambda: topbeta.in_image(tl.TopLists.from_dicts([{0: 1.0}], 3), 0.9, cap=0), "cap is a whole number"),
        (lambda: topbeta.in_image([[0.5, 0.5]], 0.9), "expected TopLists"),
    ):
        with pytest.raises(TopListError, match=words):
            wrong()
