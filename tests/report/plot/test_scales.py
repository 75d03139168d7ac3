"""Axes, labels and numbers."""

import math
from itertools import pairwise

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.report import results as made
from toplist._text import fixed
from toplist.report.plot.canvas import Scale, axis, fitted, key, label, spread, width, wrapped

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


@given(x=FINITE, low=FINITE, high=FINITE)
def test_a_place_on_a_scale_is_between_its_ends_and_a_reversed_scale_mirrors_it(x, low, high):
    assume(abs(high - low) > 1e-6)
    place = Scale(low, high)(x)
    assert 0 <= place <= 1
    assert math.isclose(Scale(high, low)(x), 1 - place, abs_tol=1e-9)


@given(kind=st.sampled_from(["log", "log1p"]), xs=st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=9))
def test_logarithmic_scales_rise(kind, xs):
    places = [Scale(1e-3, 1e3, kind)(x) for x in sorted(xs)]
    assert places == sorted(places)


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
    shown = label(name, 16.0)
    assert shown
    assert shown.isprintable()
    assert width(shown) <= 16 + 2 * width('"')


@given(name=st.text("abcdefgh \\$", min_size=1, max_size=12).filter(lambda s: s == s.strip()))
def test_a_short_plain_name_is_its_own_label(name):
    assert label(name) == name


@given(x=FINITE, digits=st.integers(0, 6))
def test_numbers_have_no_minus_before_a_zero(x, digits):
    text = fixed(x, digits)
    assert not (text.startswith("\u2212") and not any(c in "123456789" for c in text))


@given(texts=st.lists(st.text(alphabet="abW日", max_size=60), unique=True, max_size=6), room=st.floats(5, 20))
def test_different_texts_stay_different_when_they_are_shortened_to_a_room(texts, room):
    shown = fitted(texts, room)
    assert len(set(shown)) == len(texts)
    assert all(width(text) <= room + 1.5 for text in shown)


def test_the_same_text_has_the_same_short_form():
    one, other, last = fitted(["x" * 90, "x" * 90, "y"], 8.0)
    assert one == other == label("x" * 90, 8.0)
    assert last == "y"


@given(text=st.text(alphabet="ab W", max_size=80), room=st.floats(6, 30))
def test_a_wrapped_title_keeps_its_short_words_and_fits(text, room):
    lines = wrapped(text, room)
    assert all(width(line) <= room for line in lines)
    if all(width(word) <= room for word in text.split()):
        assert " ".join(lines).split() == text.split()


@given(names=st.lists(st.one_of(st.text(max_size=300), st.sampled_from(made.HOSTILE)), unique=True, max_size=5))
def test_keys_of_models_are_short_and_printable(names):
    for name in names:
        assert len(key(name)) <= 137 * 10
        assert key(name).isprintable()
    assert key("n" * 10_000) != key("n" * 9_999)
