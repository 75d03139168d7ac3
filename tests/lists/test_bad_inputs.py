"""Bad values in lists: the exact error, whichever way the lists come in."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import toplist as tl
from tests.lists.bad_lists import CODES, LEAVE_OUT, NAN, SUM, TWICE, VALUES, Bad


def _topk(classes: Any, confidences: Any, m: int, **options: Any) -> tl.TopLists:
    return tl.TopLists.from_topk(classes, confidences, m, **options)


def _ragged(classes: Any, confidences: Any, m: int, **options: Any) -> tl.TopLists:
    n, k = confidences.shape
    return tl.TopLists.from_ragged(np.arange(n + 1) * k, classes.ravel(), confidences.ravel(), m, **options)


def _dicts(classes: Any, confidences: Any, m: int, **options: Any) -> tl.TopLists:
    rows = [dict(zip(c.tolist(), t, strict=True)) for c, t in zip(classes, confidences, strict=True)]
    return tl.TopLists.from_dicts(rows, m, **options)


def _csr(classes: Any, confidences: Any, m: int, **options: Any) -> tl.TopLists:
    n, k = confidences.shape
    matrix = SimpleNamespace(
        indptr=np.arange(n + 1) * k, indices=classes.ravel(), data=confidences.ravel(), shape=(n, m), format="csr"
    )
    return tl.TopLists.from_csr(matrix, **options)


def _proba(classes: Any, confidences: Any, m: int, **options: Any) -> tl.TopLists:
    return tl.TopLists.from_proba(confidences, m, **options)


MAKERS: dict[str, Callable[..., tl.TopLists]] = {"topk": _topk, "ragged": _ragged, "dicts": _dicts, "csr": _csr}
WITHOUT_DICTS = {name: make for name, make in MAKERS.items() if name != "dicts"}
FULL = {name: bad for name, bad in VALUES.items() if bad.m == 3}
APPLICABLE = [
    pytest.param(make, bad, id=f"{how}-{name}")
    for makers, table in ((MAKERS, VALUES), (MAKERS, CODES), (WITHOUT_DICTS, TWICE), ({"proba": _proba}, FULL))
    for how, make in makers.items()
    for name, bad in table.items()
]


def _batch(bad: Bad, where: set[int], dtype: Any) -> tuple[Any, Any]:
    """Five lists, bad ones at some places."""
    classes = np.array([bad.classes if i in where else (0, 1, 2) for i in range(5)], dtype=np.int64)
    confidences = np.array([bad.confidences if i in where else bad.good for i in range(5)], dtype=dtype)
    return classes, confidences


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("make", "bad"), APPLICABLE)
def test_a_bad_case_among_good_ones_is_named_with_its_problem_and_the_remedy(
    make: Callable[..., tl.TopLists], bad: Bad, dtype: Any
) -> None:
    """One bad case: its row, and no mention of others."""
    with pytest.raises(tl.CaseError) as caught:
        make(*_batch(bad, {2}, dtype), bad.m)
    error = caught.value
    assert str(error) == f"case 2: {bad.problem} {bad.remedy}"
    assert type(error) is bad.error
    assert (error.case, error.problem, error.remedy, error.more) == (2, bad.problem, bad.remedy, 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("make", "bad"), APPLICABLE)
def test_several_bad_cases_are_counted_behind_the_first(make: Callable[..., tl.TopLists], bad: Bad, dtype: Any) -> None:
    """The first is described; the others are a number, in the singular where it is one."""
    one, two = " 1 more case has the same problem.", " 2 more cases have the same problem."
    for where, others in (({1, 4}, one), ({1, 2, 4}, two)):
        with pytest.raises(bad.error) as caught:
            make(*_batch(bad, where, dtype), bad.m)
        assert str(caught.value) == f"case 1: {bad.problem} {bad.remedy}{others}"
        assert (caught.value.case, caught.value.more) == (1, len(where) - 1)


@pytest.mark.parametrize(("make", "bad"), APPLICABLE)
def test_a_bad_case_is_called_by_its_id_where_ids_are_given(make: Callable[..., tl.TopLists], bad: Bad) -> None:
    """The row is still said, for those who count."""
    for ids, name in ((["a", "b", "c", "d", "e"], "'d'"), ([10, 20, 30, 40, 50], "40")):
        with pytest.raises(bad.error) as caught:
            make(*_batch(bad, {3}, np.float64), bad.m, ids=ids)
        assert str(caught.value) == f"case 3 ({name}): {bad.problem} {bad.remedy}"


@pytest.mark.parametrize("bad", VALUES.values(), ids=VALUES)
def test_a_class_is_called_by_its_label_where_it_has_one(bad: Bad) -> None:
    """The person who has the file open knows labels, not codes."""
    labels = ["ant", "bee", "cow", "dog", "eel", "fox"][: bad.m]
    space = tl.ClassSpace(labels=labels)
    rows = [dict(zip(labels, t, strict=False)) for t in (bad.good, bad.confidences)]
    problem = bad.problem
    for code, label in enumerate(labels):
        problem = problem.replace(f"class {code}", f"class {label!r}")
    with pytest.raises(bad.error) as caught:
        tl.TopLists.from_dicts(rows, space)
    assert str(caught.value) == f"case 1: {problem} {bad.remedy}"


@pytest.mark.parametrize("bad", VALUES.values(), ids=VALUES)
def test_one_list_is_refused_like_a_batch_of_one(bad: Bad) -> None:
    """`TopList` has the same door."""
    with pytest.raises(bad.error) as caught:
        tl.TopList(dict(zip(bad.classes, bad.confidences, strict=True)), bad.m)
    assert str(caught.value) == f"case 0: {bad.problem} {bad.remedy}"


def test_more_classes_than_there_are_are_too_many() -> None:
    """That one of them is outside the space follows and is not what to say."""
    with pytest.raises(tl.ClassError) as caught:
        tl.TopLists.from_topk([[0, 1], [0, 1]], [[0.5, 0.5], [0.5, 0.5]], 1)
    problem = "2 classes are listed, but there are only 1. Declare the right number of classes."
    assert str(caught.value) == f"case 0: {problem} 1 more case has the same problem."


def test_a_list_that_is_too_long_because_classes_are_there_twice_is_told_so() -> None:
    """The number of classes is right, and nobody is told to declare another one."""
    once = r"^case 0: class 1 is listed twice\. If its confidences add up, pass duplicates='sum'\.$"
    with pytest.raises(tl.ClassError, match=once):
        tl.TopLists.from_topk([[0, 1, 1]], [[0.5, 0.3, 0.2]], 2)
    with pytest.raises(tl.ClassError, match="So is every class of this case: are the same predictions there twice"):
        tl.TopLists.from_topk([[0, 1, 0, 1]], [[0.3, 0.2, 0.3, 0.2]], 3)
    lists = tl.TopLists.from_ragged([0, 4], [0, 1, 0, 1], [0.3, 0.2, 0.2, 0.1], 3, duplicates="sum")
    assert lists[0] == tl.TopList({0: 0.5, 1: 0.2 + 0.1}, 3)


def test_the_first_bad_case_is_named_whatever_others_suffer_from() -> None:
    """Only cases with the same problem are counted; within a case, what makes other checks meaningless comes first."""
    classes = [[0, 1], [0, 0], [0, 1], [0, 1], [3, 3]]
    confidences = [[0.5, 0.2], [0.5, 0.2], [NAN, 0.2], [0.5, -0.5], [0.1, NAN]]
    with pytest.raises(tl.ClassError) as caught:
        tl.TopLists.from_topk(classes, confidences, 6)
    assert str(caught.value) == f"case 1: class 0 is listed twice. {SUM} 1 more case has the same problem."
    with pytest.raises(tl.ConfidenceError) as caught_value:
        tl.TopLists.from_topk(classes[2:], confidences[2:], 6)
    assert str(caught_value.value) == (
        f"case 0: the confidence of class 0 is nan. {LEAVE_OUT} 1 more case has the same problem."
    )


@pytest.mark.parametrize("k", [1, 2, 5, 31, 32, 33, 40])
def test_a_nan_is_found_wherever_it_stands(k: int) -> None:
    """Long rows are read in strides; neither those nor short ones may step over a NaN."""
    for position in range(k):
        confidences = np.full((3, k), 0.01)
        confidences[1, position] = NAN
        with pytest.raises(tl.ConfidenceError) as caught:
            tl.TopLists.from_topk(np.tile(np.arange(k), (3, 1)), confidences, 100)
        assert str(caught.value) == f"case 1: the confidence of class {position} is nan. {LEAVE_OUT}"


def test_a_thousand_more_are_written_with_a_comma() -> None:
    """Numbers of cases are for people."""
    with pytest.raises(tl.MassError) as caught:
        tl.TopLists.from_topk(np.zeros((1235, 1), int), np.full((1235, 1), 0.5), 1)
    assert str(caught.value).endswith(" 1,234 more cases have the same problem.")
    assert caught.value.more == 1234


def test_every_error_is_a_value_error_of_one_family() -> None:
    """One `except` catches all."""
    for kind in (tl.ShapeError, tl.ConfidenceError, tl.MassError, tl.ClassError, tl.OutcomeError):
        assert issubclass(kind, tl.CaseError)
    for kind in (tl.CaseError, tl.SpaceError, tl.RuleError):
        assert issubclass(kind, tl.TopListError)
    assert issubclass(tl.ImproperRuleError, tl.RuleError)
    assert issubclass(tl.TopListError, ValueError)
