"""Names, counts and lists in words; the verdict; and words that no surface may have."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest
from hypothesis import example as such_as
from hypothesis import given
from hypothesis import strategies as st

from tests.report import results as made
from tests.report.strategies import EVERY_NAME, HOSTILE, law, results
from tests.report.strategies import names as any_names
from toplist._text import visible
from toplist.inference.results import Comparison
from toplist.report import path_statements, statements
from toplist.report.html.page import render
from toplist.report.statements import MOST_WORDS, Standing, how_sure, standing, verdict, words
from toplist.report.tables import called
from toplist.report.terminal import as_text
from toplist.report.text import SHORT, Called, cells, listed, names, number_of, plain, sentence, series, shorten

FORBIDDEN = re.compile(
    r"\b(surely|not sure|is sure|too sure|sure enough|promised?|kept|behind|want of room|first guess(es)?|what happened"
    r"|speaks? (most )?for|gone|no chance|may be equal)\b",
    re.IGNORECASE,
)
BOARDS = {
    "example": made.example(),
    "pairwise": made.example(missing="pairwise"),
    "common": made.example(missing="common", reference=None),
    "drawn": made.drawn(groups=4, paths=2),
    "near": made.drawn(apart=0.05, cases=200, groups=2),
    "two": made.drawn(("new", "old"), cases=300),
    "one": made.drawn(("alone",), cases=100, paths=0),
    "many": made.drawn(made.many(20), cases=400, paths=0),
    "apart": made.apart(made.drawn(("a", "b", "c"), cases=300, paths=0), (300, 200, 100)),
    "rules": made.drawn(rules=("log", "brier", "spherical"), paths=0),
}


@pytest.mark.parametrize("found", BOARDS.values(), ids=BOARDS)
def test_no_terminal_has_a_word_that_the_field_does_not_use(found: Comparison) -> None:
    for width in (80, 140, None):
        for detail in (False, True):
            assert FORBIDDEN.search(as_text(found, width, detail=detail)) is None


@pytest.mark.parametrize("found", BOARDS.values(), ids=BOARDS)
def test_no_page_has_such_a_word(found: Comparison) -> None:
    pytest.importorskip("jinja2", reason="the report is an extra")
    text = re.sub(r"<(style|script)\b.*?</\1>|<[^>]*>", " ", render(made.page(found)), flags=re.DOTALL)
    assert FORBIDDEN.search(text) is None


@pytest.mark.parametrize("found", BOARDS.values(), ids=BOARDS)
def test_no_sentence_has_such_a_word(found: Comparison) -> None:
    shown = called(found)
    said = [
        verdict(found, shown),
        *how_sure(found, shown)[1],
        *statements.infinities(found, shown),
        *statements.doubts(found, shown),
        *statements.missing_intervals(found.overall, shown, detail=True),
        *statements.between_rules(found, shown),
        *statements.against_accuracy(found, shown),
        *statements.against_ranks(found, shown),
        *statements.selected(found, shown),
        *(statements.tally(found, rule) for rule in found.rules),
        *(one for path in found.paths for one in path_statements.path_story(path, shown)),
        statements.policy(found, shown),
        statements.penalty(found),
        path_statements.assumed(found.paths),
    ]
    assert not [str(one) for one in said if FORBIDDEN.search(str(one))]


@law
@given(results())
@such_as(EVERY_NAME)
def test_a_verdict_has_at_most_forty_words(found: Comparison) -> None:
    long = sentence(*["All of these models are overconfident. "] * 5)
    for shown in (Called(names(row.name for row in found.overall.rows)), called(found)):
        for clause in ((), (sentence("All are overconfident."),), (long, sentence("All are overconfident."))):
            assert words(verdict(found, shown, clause)) <= MOST_WORDS
    assert str(verdict(found, called(found)))


@pytest.mark.parametrize("found", BOARDS.values(), ids=BOARDS)
def test_a_verdict_names_the_first_model_and_no_more_than_four_others(found: Comparison) -> None:
    text = verdict(found, called(found))
    named = [str(part) for part in text.parts if not isinstance(part, str)]
    assert str(called(found)[found.overall.rows[0].name]) in named
    assert len(set(named)) <= 10


@law
@given(st.integers(0, 10**6), st.floats(0.02, 1.0), st.integers(2, 7))
def test_every_model_is_a_leader_or_compares_with_the_leaders_in_one_way(seed: int, apart: float, n: int) -> None:
    found = made.drawn(made.many(n), cases=150, apart=apart, seed=seed, paths=0)
    place = standing(found)
    every = [who for field in fields(Standing) for who in getattr(place, field.name)]
    assert sorted(every) == sorted(row.name for row in found.overall.rows)
    assert place.others == n - len(place.leaders)
    heading, said = how_sure(found, called(found))
    assert heading
    assert 1 <= len(said) <= 3


@law
@given(st.integers(0, 10**6), st.floats(0.02, 1.0))
def test_a_verdict_calls_better_only_what_is_significant(seed: int, apart: float) -> None:
    found = made.drawn(made.many(4), cases=150, apart=apart, seed=seed, paths=0)
    place, text = standing(found), str(verdict(found, called(found)))
    assert ("significantly better than all" in text) == (len(place.beaten) == place.others)
    assert ("not significantly better than" in text) == bool(place.equal)


def test_two_models_are_compared_by_their_difference() -> None:
    near = made.drawn(("new", "old"), cases=60, apart=0.01, seed=5, paths=0)
    text = str(verdict(near, called(near)))
    assert re.match(
        r"No significant difference between (new|old) and (new|old) \(Brier, (new|old) minus (new|old): ", text
    )
    assert text.endswith("needed (80% power).")
    far = made.drawn(("new", "old"), cases=2000, apart=3.0, paths=0)
    assert re.match(
        r"(new|old) is significantly better than (new|old): Brier −0\.\d+ \(95% CI −0\.\d+ to −0\.\d+\)\.$",  # noqa: RUF001
        str(verdict(far, called(far))),
    )


def test_a_candidate_is_compared_with_the_baseline() -> None:
    found = made.drawn(("new", "old"), cases=2000, apart=3.0, paths=0)
    leader, other = (row.name for row in found.overall.rows)
    text = str(verdict(made.replace(found, baseline=leader), called(found)))
    assert text.startswith(f"{other} is significantly worse than {leader}: Brier +")


@given(st.lists(any_names, max_size=8, unique=True), st.integers(10, 60))
@such_as(list(dict.fromkeys(HOSTILE)), SHORT)
@such_as(["a" * 50 + "b" + "c" * 50, "a" * 50 + "d" + "c" * 50, "e"], SHORT)
def test_distinct_names_stay_distinct_and_fit(texts: list[str], limit: int) -> None:
    found = names(texts, limit)
    assert len({str(one) for one in found.values()}) == len(texts)
    assert all(cells(str(one)) <= limit and len(str(one)) <= limit and str(one).isprintable() for one in found.values())
    assert not any(re.search(r"\(\d+\)$", str(one)) and not text.endswith(")") for text, one in found.items())
    assert list(found) == texts


def test_names_lose_what_all_share_and_say_what_they_were() -> None:
    runs = [f"xgboost-depth{i}-lr0.05-subsample0.8" for i in range(40)]
    found = names(runs)
    assert str(found[runs[36]]) == "…depth36…"
    assert found[runs[36]].hint == runs[36]
    assert [str(one) for one in names(["resnet18", "resnet50"]).values()] == ["resnet18", "resnet50"]


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
