"""The weights of the ranks: as even as they can be, as fractions, as doubles and as logarithms."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.scoring.topbeta import exact
from toplist.errors import SpaceError, TopListError
from toplist.scoring import topbeta


@st.composite
def walls(draw):
    """A distribution with a tie at ranks i and i + 1: m, beta, i, beta - P_{i-1}, and the tied probability."""
    m = draw(st.integers(2, 9))
    beta = Fraction(draw(st.integers(1, 99)), 100)
    assume(exact.longest(m, beta) > 1)
    i = draw(st.integers(1, exact.longest(m, beta) - 1))
    n, part = m - i + 1, st.fractions(0, 1, max_denominator=50)
    if i == 1:
        s = beta
        low, high = Fraction(1, n), Fraction(1, 2)
    else:
        s = (beta - Fraction(i - 1, m)) * draw(part)
        mass = 1 - beta + s
        low, high = mass / n, min(mass / 2, (beta - s) / (i - 1))
    assume(s > 0 and low <= high)
    return m, beta, i, s, low + (high - low) * draw(part)


@pytest.mark.parametrize("form", ["M", "A"])
@given(wall=walls(), a=st.sampled_from([Fraction(101, 100), Fraction(2), Fraction(7)]))
def test_no_tie_needs_more_than_the_minimal_ratio(form, wall, a):
    m, beta, i, s, v = wall
    assert exact.wall_ratio(m, beta, i, s, v, form, a) <= topbeta.ratio(m, beta, i, form, a=a)


@pytest.mark.parametrize("form", ["M", "A"])
@pytest.mark.parametrize("m", [2, 3, 7, 20])
@pytest.mark.parametrize("beta", [Fraction(55, 100), Fraction(2, 3), Fraction(9, 10), Fraction(99, 100)])
def test_the_minimal_ratio_is_needed_on_a_fine_grid_of_flat_tails(form, m, beta):
    """A search over beta - P_{i-1} comes as close as its step allows."""
    for i in range(1, exact.longest(m, beta)):
        most = beta - Fraction(i - 1, m)
        steps = [most] if i == 1 else [most * Fraction(0.96**j) for j in range(240)]
        found = max(exact.wall_ratio(m, beta, i, s, (1 - beta + s) / (m - i + 1), form) for s in steps)
        needed = topbeta.ratio(m, beta, i, form)
        assert Fraction(97, 100) * needed <= found <= needed


@pytest.mark.parametrize("form", ["M", "A"])
@given(m=st.integers(2, 40), percent=st.integers(1, 99))
def test_simple_constants_are_enough(form, m, percent):
    beta = Fraction(percent, 100)
    minimal, simple = (topbeta.constants(m, beta, None, form, kind=kind) for kind in ("minimal", "simple"))
    assert all(least <= given for least, given in zip(minimal.ratios, simple.ratios, strict=True))
    assert len(minimal.exact) == topbeta.longest(m, beta)


@pytest.mark.parametrize("form", ["M", "A"])
def test_doubles_keep_the_ratios_in_exact_arithmetic(form):
    found = topbeta.constants(12, 0.9, None, form)
    for c, after, needed in zip(found.floats, found.floats[1:], found.ratios, strict=False):
        assert Fraction(c) >= needed * Fraction(after)
    assert found.floats == pytest.approx([float(c) for c in found.exact], rel=1e-14)
    assert found.log10 == pytest.approx([math.log10(c) for c in found.floats], abs=1e-12)


def test_a_cap_only_ends_the_sequence():
    assert topbeta.constants(20, 0.9, 4).ratios == topbeta.constants(20, 0.9).ratios[:3]
    assert topbeta.constants(20, 0.9, 50) == topbeta.constants(20, 0.9)


def test_constants_of_two_to_the_ten_thousand_classes_are_known_by_their_logarithms():
    found = topbeta.constants(2**10000, 0.9, 3)
    assert found.floats[2] == 0.0
    assert found.log10[2] == pytest.approx(-10000 * math.log10(2) - math.log10(found.ratios[0]), rel=1e-6)


def test_a_beta_is_the_decimal_it_prints_as():
    assert topbeta.longest(10, 0.9) == topbeta.longest(10, np.float64(0.9)) == topbeta.longest(10, Fraction(9, 10)) == 9
    assert topbeta.longest(math.inf, 0.9) == math.inf
    assert topbeta.longest(2**10000, 0.5) == 2**9999


@given(m=st.integers(1, 30), percent=st.integers(1, 99))
def test_no_true_list_is_longer_than_the_longest_and_the_uniform_one_is_as_long(m, percent):
    beta = Fraction(percent, 100)
    assert exact.length([Fraction(1, m)] * m, beta) == topbeta.longest(m, beta)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: topbeta.constants(math.inf, 0.9), "finitely many"),
        (lambda: topbeta.constants(10**9, 0.9), "give a cap"),
        (lambda: topbeta.constants(10, 1.0), "beta is between 0 and 1"),
        (lambda: topbeta.constants(10, Fraction(1)), "beta is between 0 and 1"),
        (lambda: topbeta.constants(10, 0.9, 0), "cap is a whole number"),
        (lambda: topbeta.constants(10, 0.9, form="B"), '"M" or "A"'),
        (lambda: topbeta.constants(10, 0.9, form="A", a=1), "above 1"),
        (lambda: topbeta.constants(10, 0.9, kind="best"), "minimal"),
        (lambda: topbeta.constants([3, 4], 0.9), "one number of classes"),
        (lambda: topbeta.ratio(10, 0.9, 9), "from 1 to 8"),
    ],
    ids=["infinite", "many", "one", "fraction", "cap", "form", "a", "kind", "per case", "rank"],
)
def test_what_does_not_make_sense_is_said(call, words):
    with pytest.raises(TopListError, match=words):
        call()


def test_conditioning_says_how_many_ranks_doubles_resolve():
    poor = topbeta.conditioning(100, 0.9, 10)
    assert not poor.fine
    assert poor.log10 == pytest.approx(-topbeta.constants(100, 0.9, 10).log10[-1])
    assert topbeta.conditioning(100, 0.9, poor.resolved).fine
    assert topbeta.conditioning(100, 0.9, poor.resolved).log10 <= 8
    assert topbeta.conditioning(100, 0.9, poor.resolved + 1).log10 > 8
    assert f"doubles resolve {poor.resolved} ranks" in str(poor)
    assert topbeta.conditioning(2, 0.4).log10 == 0
    assert "about the same" in topbeta.conditioning(2, 0.4).verdict


def test_conditioning_of_infinitely_many_classes_is_refused():
    with pytest.raises(SpaceError, match="finitely many"):
        topbeta.conditioning(math.inf, 0.9, 2)
