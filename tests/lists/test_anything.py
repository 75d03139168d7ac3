"""What people have in memory is read as lists in one way, by every function that takes predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import toplist as tl
from toplist.calibration import reliability
from toplist.lists import as_lists
from toplist.lists.converters import raw_rows

SPACE = tl.ClassSpace(labels=["de", "en", "fr"])
DICTS = [{"en": 0.7, "de": 0.2}, {"fr": 0.5, "en": 0.4}]
LISTS = tl.TopLists.from_dicts(DICTS, SPACE)
Y = ["en", "de"]
PIPELINE = [[{"label": c, "score": t} for c, t in row.items()] for row in DICTS]
FASTTEXT = ([[f"__label__{c}" for c in row] for row in DICTS], [np.array(list(row.values())) for row in DICTS])
P = np.array([[0.2, 0.7, 0.1], [0.1, 0.4, 0.5]])
SHAPES: dict[str, tuple[Any, tl.TopLists]] = {
    "Hugging Face": (PIPELINE, LISTS),
    "Hugging Face in tuples": (tuple(map(tuple, PIPELINE)), LISTS),
    "Hugging Face, top_k=1": ([row[0] for row in PIPELINE], LISTS.truncate(1)),
    "fastText": (FASTTEXT, LISTS),
    "fastText without a prefix": (([list(row) for row in DICTS], FASTTEXT[1]), LISTS),
    "mappings": (DICTS, LISTS),
    "an array": (P, tl.TopLists.from_proba(P, SPACE)),
    "rows": (P.tolist(), tl.TopLists.from_proba(P, SPACE)),
    "a sparse matrix": (sparse.csr_matrix(P), tl.TopLists.from_csr(sparse.csr_matrix(P), SPACE)),
    "labels": (["en", "fr"], tl.TopLists.from_labels(["en", "fr"], SPACE)),
    "lists": (LISTS, LISTS),
}
every_shape = pytest.mark.parametrize(("given", "expected"), SHAPES.values(), ids=SHAPES)


@every_shape
def test_every_function_reads_the_same_lists(given: Any, expected: tl.TopLists) -> None:
    assert as_lists(given, SPACE) == expected
    np.testing.assert_array_equal(tl.score(given, Y, space=SPACE), tl.score(expected, Y))
    np.testing.assert_array_equal(tl.entropy(given, space=SPACE), tl.entropy(expected))
    np.testing.assert_array_equal(tl.ranks(given, Y, space=SPACE), tl.ranks(expected, Y))
    np.testing.assert_array_equal(tl.curve(given, Y, space=SPACE).score, tl.curve(expected, Y).score)
    truth = tl.TopLists.from_labels(Y, SPACE)
    for function in (tl.expected_score, tl.divergence):
        np.testing.assert_array_equal(function(given, truth, space=SPACE), function(expected, truth))
    for mean in (tl.accuracy, tl.coverage):
        assert mean(given, Y, space=SPACE) == mean(expected, Y)
    assert tl.top_k_error(given, Y, k=1, space=SPACE) == tl.top_k_error(expected, Y, k=1)
    board, same = (tl.compare({"a": one}, Y, space=SPACE) for one in (given, expected))
    assert str(board) == str(same)
    rows, _ = raw_rows(given, SPACE)
    made = tl.TopLists.from_ragged(
        rows.offsets, np.tile(np.arange(3), 2) if rows.classes is None else rows.classes, rows.confidences, 3
    )
    np.testing.assert_array_equal(tl.score(made, [1, 0]), tl.score(expected, Y))
    assert tl.diagnose(given, Y, space=SPACE).cases == 2


def test_arrays_need_no_space_and_everything_else_is_asked_for_one() -> None:
    assert tl.score(P, [1, 2]).tolist() == tl.score(tl.TopLists.from_proba(P), [1, 2]).tolist()
    assert tl.accuracy(P, [1, 0]) == 0.5
    assert reliability(P, [1, 2]).curve.tolist() == reliability(tl.TopLists.from_proba(P), [1, 2]).curve.tolist()
    for given in (PIPELINE, DICTS, FASTTEXT, ["en", "fr"]):
        with pytest.raises(tl.SpaceError, match="how many classes"):
            tl.score(given, Y)
    with pytest.raises(tl.SpaceError, match="not over"):
        tl.score(LISTS, Y, space=9)


def test_a_class_that_a_pipeline_names_twice_is_seen() -> None:
    """A mapping would keep the last of the two."""
    twice = [[{"label": "en", "score": 0.5}, {"label": "en", "score": 0.2}]]
    with pytest.raises(tl.ClassError, match="twice"):
        tl.score(twice, ["en"], space=3)


def test_labels_that_are_numbers_are_codes_in_the_lists_of_a_pipeline() -> None:
    made = as_lists([[{"label": 2, "score": 0.5}], []], 5)
    assert (made.classes.tolist(), made.sizes.tolist()) == ([2], [1, 0])


def test_a_label_with_a_score_is_never_two_classes_and_the_reverse() -> None:
    """Decided by what stands in them; what could be both is refused."""
    assert as_lists([{"label": "en", "score": 0.5}], 5)[0].classes == ("en",)
    named = tl.ClassSpace(labels=["label", "score", "other"])
    assert as_lists([{"label": 0.3, "score": 0.5}], named)[0].classes == ("label", "score")
    for function in (as_lists, raw_rows):
        with pytest.raises(tl.ShapeError, match="either the class"):
            function([{"label": 0, "score": 0.5}], 5)


@pytest.mark.parametrize(
    "mixed",
    [
        [{"label": "en", "score": 0.5}, {"en": 0.5}],
        [{"label": "en", "score": 0.5}, [{"label": "en", "score": 0.5}]],
        [[{"label": "en", "score": 0.5}], {"label": "en", "score": 0.5}],
        [[{"label": "en", "score": 0.5}], ["en"]],
        [[{"label": "en", "score": 0.5}, "en"], [{"label": "en", "score": 0.5}]],
    ],
)
def test_cases_of_different_shapes_are_refused(mixed: Any) -> None:
    for function in (as_lists, raw_rows):
        with pytest.raises(tl.TopListError, match="case"):
            function(mixed, 5)


def test_the_prefix_of_fasttext_is_taken_off_all_labels_or_none() -> None:
    numbers = [[0.5], [0.4]]
    assert as_lists(([["__label__en"], ["__label__de"]], numbers), 5).space.labels == ("en", "de")
    kept = tl.ClassSpace(labels=["__label__en", "__label__de"])
    assert as_lists(([["__label__en"], ["__label__de"]], numbers), kept)[0].classes == ("__label__en",)
    for function in (as_lists, raw_rows):
        with pytest.raises(tl.ClassError, match="Take the prefix off"):
            function(([["__label__en"], ["de"]], numbers), 5)


def test_outcomes_with_the_prefix_are_refused_where_the_labels_lost_it() -> None:
    with pytest.raises(tl.OutcomeError, match="prefix"):
        tl.score(FASTTEXT, ["__label__en", "__label__de"], space=5)


def test_a_pair_of_one_case_and_pairs_of_different_lengths_are_refused() -> None:
    with pytest.raises(tl.ShapeError, match="one case"):
        tl.score((["__label__en", "__label__de"], [0.5, 0.4]), ["en"], space=5)  # or the first class of two cases
    for function in (as_lists, raw_rows):
        with pytest.raises(tl.ShapeError, match="2 classes but 1"):
            function(([["en", "de"]], [[0.5]]), 5)
        with pytest.raises(tl.ShapeError, match="1 lists of classes for 2"):
            function(([["en"]], [[0.5], [0.4]]), 5)


@pytest.mark.parametrize("labels", [["a", "b"], ("a", "b"), np.array(["a", "b"]), (c for c in "ab")])
def test_a_sequence_of_labels_is_a_space(labels: Any) -> None:
    space = tl.ClassSpace(labels)
    assert space == tl.ClassSpace(labels=["a", "b"])
    assert all(type(label) is str for label in space.labels or ())


def test_the_classes_of_a_classifier_are_a_space() -> None:
    """As texts, as codes from 0 on, and as truth values; other numbers are numbers of classes per case."""
    p = [[0.3, 0.7]]
    assert tl.TopLists.from_proba(p, np.array(["no", "yes"]))[0].confidences == {"no": 0.3, "yes": 0.7}
    assert tl.TopLists.from_proba(p, np.array([0, 1])).space == tl.ClassSpace(2)
    assert tl.TopLists.from_proba(p, np.array([False, True])).space.labels == (False, True)
    assert tl.ClassSpace(np.int64(4)) == tl.ClassSpace(4)
    assert tl.ClassSpace([3, 4]).per_case
    assert tl.compare({"a": [{"x": 0.5}, {"y": 0.6}]}, ["x", "z"], space=["x", "y", "z"]) is not None


@pytest.mark.parametrize("wrong", [["a", "a"], {"a", "b"}, "ab", [0, 2], [1, 0], ["a", 3], [["a"], ["b"]], [[1, 2]]])
def test_what_is_neither_labels_nor_numbers_of_classes_is_refused(wrong: Any) -> None:
    with pytest.raises(tl.SpaceError):
        tl.ClassSpace(wrong)
