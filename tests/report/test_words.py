"""Names, counts and lists in words; the verdict; and words that no surface may have."""

from __future__ import annotations

import re
from dataclasses import fields

from hypothesis import example as such_as
from hypothesis import given
from hypothesis import strategies as st

from tests.report import results as made
from tests.report.strategies import EVERY_NAME, HOSTILE, law, results
from tests.report.strategies import names as any_names
from toplist.inference.results import Comparison
from toplist.report.statements import MOST_WORDS, Standing, how_sure, standing, verdict, words
from toplist.report.tables import called
from toplist.report.text import SHORT, Called, cells, names, number_of, sentence


@law
@given(results())
@such_as(EVERY_NAME)
def test_a_verdict_has_at_most_forty_words(found: Comparison) -> None:
    long = sentence(*["All of these models are overconfident. "] * 5)
    for shown in (Called(names(row.name for row in found.overall.rows)), called(found)):
        for clause in ((), (sentence("All are overconfident."),), (long, sentence("All are overconfident."))):
            assert words(verdict(found, shown, clause)) <= MOST_WORDS
    assert str(verdict(found, called(found)))


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


@given(st.integers(0, 10**9))
def test_one_thing_is_singular(n: int) -> None:
    said = number_of(n, "case")
    assert said.endswith(" case") == (n == 1)
    assert said.startswith("no ") == (n == 0)
