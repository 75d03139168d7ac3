"""What was perhaps meant, and how two spellings differ."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.draws import draws
from toplist import ClassSpace
from toplist._text import are_codes, closest, closest_file, did_you_mean, near_duplicates, spelling_difference

words = st.text("abcXYZ019 _-", min_size=1, max_size=8)
law = settings(deadline=None, max_examples=draws(200), derandomize=True)


@pytest.mark.parametrize("word", ["FOX", "Fox", " fox", "f o x", "f_ox", "FOX "])
def test_case_blanks_underscores_and_hyphens_are_ignored(word: str) -> None:
    assert closest(word, ["dog", "fox", "for"]) == "fox"
    assert ClassSpace(labels=["dog", "fox"]).suggest(word) == "Did you mean 'fox'?"


@law
@given(st.lists(words, min_size=1, max_size=6, unique=True), st.data())
def test_a_known_name_in_other_case_is_always_found(names: list[str], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(names))
    found = closest(name.swapcase(), names)
    assert found is not None
    assert found.casefold().replace(" ", "").replace("_", "").replace("-", "") == name.casefold().replace(
        " ", ""
    ).replace("_", "").replace("-", "")


def test_a_file_is_suggested_only_where_it_is_alike_and_of_the_same_kind() -> None:
    assert closest_file("nofile.csv", ["a_nll.csv", "y.csv"]) is None
    assert closest_file("preds.csv", ["pred.parquet", "prds.csv"]) == "prds.csv"
    assert closest_file("Preds.csv", ["preds.csv"]) == "preds.csv"
    assert closest_file("preds.csv", ["preds.csv.gz"]) == "preds.csv.gz"


def test_a_code_among_labels_is_said_to_be_one() -> None:
    said = ClassSpace(labels=["cat", "dog", "fox"]).suggest("2")
    assert said == "'2' is a number: are codes and labels mixed? Give the labels in both places."
    assert ClassSpace(labels=["0", "1"]).suggest("2") == ""
    assert ClassSpace(math.inf).suggest("cat") == ""


@pytest.mark.parametrize(
    ("word", "known", "what"),
    [
        ("Owl", "owl", "case"),
        ("owl ", "owl", "blanks around them"),
        ("snowy owl", "snowyowl", "blanks"),
        ("snowy_owl", "snowy-owl", "underscores, hyphens or blanks"),
        ("007", "7", "leading zeros"),
        ("3.0", "3", "how a number is written"),
        ("Snowy Owl", "snowy_owl", "case and blanks"),
    ],
)
def test_a_variant_says_in_what_it_differs(word: str, known: str, what: str) -> None:
    assert spelling_difference([word], ["zebra", known]) == (word, known, what)
    assert spelling_difference([known], ["zebra", word]) == (known, word, what)


def test_ids_may_differ_in_folder_and_extension() -> None:
    assert spelling_difference(["img/7.png"], ["7"]) is None
    assert spelling_difference(["7.png"], ["7"], ids=True) == ("7.png", "7", "the file extension")
    assert spelling_difference(["a/7"], ["7"], ids=True) == ("a/7", "7", "the folder before them")


@law
@given(st.lists(words, max_size=6), st.lists(words, max_size=6))
def test_a_variant_is_never_the_same_name(ours: list[str], theirs: list[str]) -> None:
    found = spelling_difference(ours, theirs)
    if found is not None:
        one, other, _ = found
        assert one != other
        assert one in ours
        assert other in theirs


def test_names_that_differ_only_in_case_or_blanks_are_found_in_pairs() -> None:
    assert near_duplicates(["Owl", "fox", "owl", "f ox", "hen"]) == [("Owl", "owl"), ("fox", "f ox")]


def test_codes_are_whole_numbers_from_zero_without_leading_zeros() -> None:
    assert are_codes(["0", "17"])
    assert not are_codes(["0", "-1"])
    assert not are_codes(["00"])
    assert not are_codes(["3.0"])


def test_nothing_alike_suggests_nothing() -> None:
    assert did_you_mean("zebra", ["dog", "fox"]) == ""
