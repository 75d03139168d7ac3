"""Axes, labels and numbers."""

import math
from itertools import pairwise

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.report import results as made
from toplist.report.numbers import number
from toplist.report.plot.canvas import ROOM, axis, edges, label, level, spread, width

FINITE = st.floats(-1e6, 1e6)


@given(values=st.lists(st.one_of(FINITE, st.none(), st.just(math.inf), st.just(math.nan)), max_size=9))
def test_an_axis_holds_every_finite_value_and_three_round_numbers_at_least(values):
    found = axis(values)
    known = [v for v in values if v is not None and math.isfinite(v)]
    assert found.low < found.high
    assert all(found.low <= v <= found.high for v in known)
    assert 3 <= len(found.ticks) <= 25 if known else not found.ticks
    assert len(set(found.texts)) == len(found.texts)


@given(low=FINITE, high=FINITE)
def test_round_numbers_are_written_exactly(low, high):
    assume(abs(high - low) > 1e-6 * max(abs(high), abs(low), 1e-90))
    found = axis([low, high])
    step = found.ticks[1] - found.ticks[0]
    for tick, text in zip(found.ticks, found.texts, strict=True):
        assert abs(float(text.replace(",", "").replace("\u2212", "-")) - tick) < 1e-6 * step


@given(values=st.lists(FINITE, min_size=1, max_size=9))
def test_steps_of_the_scale_are_reached_by_the_largest_difference(values):
    assume(max(map(abs, values)) > 1e-100)
    limits = edges(values)
    assert list(limits) == sorted(limits)
    assert max(abs(level(v, limits)) for v in values) == len(limits) == 4


@given(value=st.floats(allow_nan=False))
def test_steps_are_symmetric(value):
    limits = (0.1, 0.2, 0.5, 1.0)
    assert level(-value, limits) == -level(value, limits)


@given(places=st.lists(st.floats(0, 100), max_size=20))
def test_labels_keep_their_distance_and_their_order(places):
    moved = spread(places, 5.0, 0.0, 100.0)
    assert sorted(range(len(places)), key=lambda i: (places[i], i)) == sorted(range(len(moved)), key=lambda i: moved[i])
    ordered = sorted(moved)
    assert all(b - a >= 5 - 1e-9 for a, b in pairwise(ordered))
    assert all(-1e-9 <= x <= 100 + 1e-9 for x in moved)


@given(places=st.lists(st.integers(0, 10).map(lambda i: 9.0 * i), unique=True, max_size=10))
def test_labels_that_do_not_collide_stay(places):
    assert spread(places, 9.0, 0.0, 100.0) == places


@given(name=st.one_of(st.text(), st.sampled_from(made.HOSTILE)))
def test_a_label_is_printable_and_fits(name):
    shown = label(name)
    assert shown
    assert shown.isprintable()
    assert width(shown) <= ROOM + 2 * width('"')


@given(name=st.text("abcdefgh \\$", min_size=1, max_size=12).filter(lambda s: s == s.strip()))
def test_a_short_plain_name_is_its_own_label(name):
    assert label(name) == name


@given(x=FINITE, digits=st.integers(0, 6))
def test_numbers_have_no_minus_before_a_zero(x, digits):
    text = number(x, digits)
    assert not (text.startswith("\u2212") and not any(c in "123456789" for c in text))
