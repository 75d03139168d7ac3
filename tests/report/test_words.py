"""Names, counts and lists in words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toplist.report.text import cells, listed, number_of, numbers, plain, series, shorten, visible


@given(st.text(max_size=80), st.integers(1, 40))
def test_what_is_shortened_fits_and_keeps_both_ends(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert cells(short) <= max(limit, 1)
    if short != text:
        head, _, tail = short.partition("…") if "…" not in text else ("", "", "")
        assert text.startswith(head)
        assert text.endswith(tail)


@given(st.text(max_size=200), st.integers(6, 60))
def test_a_plain_name_can_be_seen_and_fits(text: str, limit: int) -> None:
    assert plain(text, limit).isprintable()
    assert len(plain(text, limit)) <= limit
    assert visible(visible(text)) == visible(text)


@given(st.lists(st.tuples(st.text("ab", max_size=3), st.sampled_from("xy"))))
def test_numbers_tell_names_apart_that_look_alike(names: list[tuple[str, str]]) -> None:
    ends = numbers(names)
    written = {}
    for (name, text), end in zip(names, ends, strict=True):
        assert written.setdefault((text, end), name) == name
        others = {other for other, same in names if same == text}
        assert bool(end) == (len(others) > 1)


@given(st.lists(st.integers(), max_size=30), st.integers(1, 10))
def test_a_series_has_the_first_items_and_counts_the_others(items: list[int], most: int) -> None:
    found = series(items, most)
    shown = [item for item in found if isinstance(item, int)]
    assert shown == items[: len(shown)]
    assert len(shown) == (len(items) if len(items) <= most + 1 else most)
    assert "".join(map(str, found)) == listed(map(str, items), most)
    assert found.count(" and ") == (len(items) > 1)


@given(st.integers(0, 10**9))
def test_one_thing_is_singular(n: int) -> None:
    said = number_of(n, "case")
    assert said.endswith(" case") == (n == 1)
    assert said.startswith("no ") == (n == 0)
