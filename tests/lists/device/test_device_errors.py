"""What is wrong on numpy is wrong on every array library, in the same words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import toplist as tl
from tests.lists.bad_lists import CODES, TWICE, VALUES, Bad
from tests.lists.device.libraries import Library

T = tl.TopLists
BAD = {**VALUES, **CODES, **TWICE}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_bad_lists_are_refused_in_the_words_of_numpy(lib: Library, bad: Bad, dtype: Any) -> None:
    """The first bad case, the problem, the remedy, how many more."""
    classes = np.array([bad.classes if i in (1, 3) else (0, 1, 2) for i in range(4)])
    t = np.array([bad.confidences if i in (1, 3) else bad.good for i in range(4)], dtype)
    with pytest.raises(bad.error) as caught:
        T.from_topk(lib.array(classes), lib.array(t), bad.m)
    assert str(caught.value) == f"case 1: {bad.problem} {bad.remedy} 1 more case has the same problem."
    assert (caught.value.case, caught.value.more) == (1, 1)


def lists(lib: Library, m: Any = 5, dtype: Any = np.float64) -> tl.DeviceLists:
    return T.from_topk(lib.array([[0, 1]] * 3), lib.array(np.array([[0.5, 0.25]] * 3, dtype)), m)


@pytest.mark.parametrize("bad", [-1, 5, 2**40])
def test_an_outcome_outside_the_space_is_refused_in_the_words_of_numpy(lib: Library, bad: int) -> None:
    for y in ([0, bad, 1], [0, bad, bad]):
        with pytest.raises(tl.OutcomeError) as numpy:
            tl.score(T.from_topk([[0, 1]] * 3, [[0.5, 0.25]] * 3, 5), y)
        with pytest.raises(tl.OutcomeError) as device:
            tl.score(lists(lib), lib.array(y))
        assert str(device.value) == str(numpy.value)
        assert (device.value.case, device.value.more) == (numpy.value.case, numpy.value.more)


@pytest.mark.parametrize("bad", [math.nan, 0.5], ids=str)
def test_an_outcome_that_is_no_code_is_refused(lib: Library, bad: float) -> None:
    """As on numpy, and not rounded to one that is."""
    with pytest.raises(tl.TopListError):
        tl.score(lists(lib), lib.array(np.array([0.0, bad, 1.0])))


@pytest.mark.parametrize("y", [[0, 1], [[0], [1], [0]], [0, 1, 0, 1]], ids=["short", "column", "long"])
def test_outcomes_are_one_per_case(lib: Library, y: Any) -> None:
    with pytest.raises(tl.TopListError) as caught:
        tl.score(lists(lib), lib.array(y))
    assert str(caught.value) == "outcomes for lists on a device are one array of 3 codes beside them."


@pytest.mark.parametrize("y", [[0, 1, 3], np.array([0, 1, 3])], ids=["list", "numpy"])
def test_outcomes_of_another_library_are_scored_or_refused(lib: Library, y: Any) -> None:
    """Never a traceback from somewhere inside."""
    try:
        got = tl.score(lists(lib), y)
    except tl.TopListError:
        return
    assert lib.numpy(got).tolist() == pytest.approx(
        tl.score(T.from_topk([[0, 1]] * 3, [[0.5, 0.25]] * 3, 5), y).tolist()
    )


def test_narrow_codes_do_not_wrap_outcomes(lib: Library) -> None:
    """Outcome 257 is not class 1, though it is in eight bits."""
    t, y = [[0.5, 0.25]] * 3, [257, 0, 256]
    narrow = T.from_topk(lib.array(np.array([[0, 1]] * 3, np.uint8)), lib.array(t), 300)
    wide = T.from_topk([[0, 1]] * 3, t, 300)
    assert lib.numpy(tl.score(narrow, lib.array(y))).tolist() == pytest.approx(tl.score(wide, y).tolist())


@pytest.mark.parametrize("m", [2**24 + 1, 2**24 + 3, 10**9 + 7])
def test_the_last_of_very_many_classes_is_a_class_in_single_precision(lib: Library, m: int) -> None:
    """A code is compared as an integer: single precision cannot tell 2**24 from 2**24 + 1."""
    t = lib.array(np.array([[0.5, 0.25]] * 3, np.float32))
    last = T.from_topk(lib.array([[m - 1, 0]] * 3), t, m)
    assert lib.numpy(tl.score(last, lib.array([m - 1] * 3))).tolist() == pytest.approx([0.3125] * 3, abs=1e-6)
    with pytest.raises(tl.ClassError):
        T.from_topk(lib.array([[m, 0]] * 3), t, m)
    with pytest.raises(tl.OutcomeError):
        tl.score(last, lib.array([0, m, 0]))


@pytest.mark.parametrize(
    ("classes", "t", "said"),
    [
        ([0, 1], [0.5, 0.25], "classes (2,) and confidences (2,) must be two arrays of the same (cases, k) shape."),
        ([[0, 1]], [[0.5]], "classes (1, 2) and confidences (1, 1) must be two arrays of the same (cases, k) shape."),
        ([[0.0, 1.0]], [[0.5, 0.25]], "classes must be integer codes, not "),
        ([[0, 1]], [[1, 0]], "confidences must be floating-point numbers, not "),
    ],
    ids=["flat", "widths", "float codes", "whole confidences"],
)
def test_arrays_that_do_not_fit_are_refused(lib: Library, classes: Any, t: Any, said: str) -> None:
    with pytest.raises(tl.ShapeError) as caught:
        T.from_topk(lib.array(classes), lib.array(t), 5)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    "options",
    [{"m": [5, 5]}, {"log_rest": [math.log(0.25)] * 2}, {"ids": ["a", "b"]}],
    ids=["sizes", "log_rest", "ids"],
)
def test_one_of_each_per_case(lib: Library, options: dict[str, Any]) -> None:
    """Sizes, rests and ids: one per case, or an error in the words of numpy."""
    m, given = options.get("m", 5), {name: value for name, value in options.items() if name != "m"}
    with pytest.raises(tl.ShapeError) as numpy:
        T.from_topk([[0, 1]] * 3, [[0.5, 0.25]] * 3, m, **given)
    if "log_rest" in given:
        given["log_rest"] = lib.array(given["log_rest"])
    with pytest.raises(tl.ShapeError) as device:
        T.from_topk(lib.array([[0, 1]] * 3), lib.array([[0.5, 0.25]] * 3), m, **given)
    assert str(device.value) == str(numpy.value)


def test_a_rest_that_does_not_add_up_is_refused(lib: Library) -> None:
    with pytest.raises(tl.MassError) as caught:
        T.from_topk(lib.array([[0, 1]] * 2), lib.array([[0.5, 0.25]] * 2), 5, log_rest=lib.array(np.log([0.25, 0.5])))
    assert str(caught.value) == (
        "case 1: the listed mass 0.75 and the given rest mass 0.5 do not add up to 1. "
        "Correct log_rest, or leave it out: it is then one minus the listed mass."
    )


@pytest.mark.parametrize("option", [{"scale": "percent"}, {"normalize": True}, {"duplicates": "sum"}], ids=str)
def test_repairs_are_for_numpy(lib: Library, option: dict[str, Any]) -> None:
    with pytest.raises(tl.TopListError) as caught:
        T.from_topk(lib.array([[0, 1]]), lib.array([[0.5, 0.25]]), 5, **option)
    assert str(caught.value) == "repair lists before they go to the device, or build them from numpy arrays."


def test_arrays_of_two_libraries_are_refused_or_understood(lib: Library) -> None:
    """Codes as a list or of numpy beside confidences of another library."""
    t = lib.array([[0.5, 0.25]])
    for classes in ([[0, 1]], np.array([[0, 1]])):
        try:
            made = T.from_topk(classes, t, 5)
        except tl.TopListError:
            continue
        assert len(made) == 1


def test_penalties_are_zero_or_more(lib: Library) -> None:
    with pytest.raises(tl.TopListError) as caught:
        tl.score(lists(lib), lib.array([0, 1, 2]), penalty=-1)
    assert str(caught.value) == "the penalty for invalid lists is zero or more, not -1."


def test_what_lists_on_a_device_cannot_do_is_said(lib: Library) -> None:
    """Each function either does it or raises the project's own error."""
    device = lists(lib)
    for use in (
        lambda: tl.expected_score(device, [0.2] * 5),
        lambda: tl.divergence(device, [0.2] * 5),
        lambda: tl.curve(device),
        lambda: tl.accuracy(device, lib.array([0, 1, 2])),
        lambda: tl.ranks(device, lib.array([0, 1, 2])),
        lambda: tl.scoring.worst_excess(device),
        lambda: tl.scoring.excess_bound(device),
    ):
        with pytest.raises(tl.TopListError):
            use()
