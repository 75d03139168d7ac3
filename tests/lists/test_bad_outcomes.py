"""Bad outcomes: the exact error, for every function that takes what happened."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import toplist as tl

RANGE = "Declare the right number of classes; codes start at 0."
EACH = "Each case needs one of each."
LABELS = ["cat", "dog", "fox"]

USERS: dict[str, Callable[[tl.TopLists, Any], Any]] = {
    "score": tl.score,
    "log score": lambda lists, y: tl.score(lists, y, rule="log"),
    "curve": tl.curve,
    "accuracy": tl.accuracy,
    "top_k_error": lambda lists, y: tl.top_k_error(lists, y, k=1),
    "coverage": tl.coverage,
    "ranks": tl.ranks,
}


def coded() -> tl.TopLists:
    return tl.TopLists.from_topk([[0, 1]] * 4, [[0.5, 0.2]] * 4, 5)


def named() -> tl.TopLists:
    return tl.TopLists.from_dicts([{"cat": 0.5, "dog": 0.2}] * 4, tl.ClassSpace(labels=LABELS))


def partly_named() -> tl.TopLists:
    return tl.TopLists.from_dicts([{"cat": 0.5, "dog": 0.2}] * 4, tl.ClassSpace(5, labels=LABELS))


def per_case() -> tl.TopLists:
    return tl.TopLists.from_topk([[0, 1]] * 4, [[0.5, 0.4]] * 4, [3, 4, 5, 6])


def sets() -> tl.TopLists:
    return tl.TopLists.from_dicts([{frozenset({"cat"}): 0.5}] * 4, tl.LabelSets(LABELS))


def few_sets() -> tl.TopLists:
    space = tl.LabelSets(LABELS, support=[{"cat"}, {"cat", "dog"}])
    return tl.TopLists.from_dicts([{frozenset({"cat"}): 0.5}] * 4, space)


def unknown(label: str, hint: str = "") -> str:
    return f"the outcome {label} is not among the 3 labels.{' ' + hint if hint else ''}"


def outside(code: int, size: int) -> str:
    return f"the outcome {code} is outside the space of {size} classes. {RANGE}"


def odd(value: float) -> str:
    return f"the outcome is {value}, which is neither a code nor a label."


# Lists, outcomes, the first bad case, how many more, what is said about it.
BAD: dict[str, tuple[Callable[[], tl.TopLists], Any, int, int, str]] = {
    "too large": (coded, [0, 1, 5, 0], 2, 0, outside(5, 5)),
    "too large, several": (coded, [0, 5, 0, 6], 1, 1, outside(5, 5)),
    "negative": (coded, [0, -1, 0, 0], 1, 0, outside(-1, 5)),
    "negative, int32": (coded, np.array([-1, -1, -1, -7], np.int32), 0, 3, outside(-1, 5)),
    "beyond its own size": (per_case, [2, 3, 5, 5], 2, 0, outside(5, 5)),
    "NaN": (coded, [0.0, 1.0, 2.0, math.nan], 3, 0, odd(math.nan)),
    "NaN, several": (coded, [0.0, math.nan, math.nan, math.nan], 1, 2, odd(math.nan)),
    "half": (coded, [0.0, 1.5, 2.0, 0.0], 1, 0, odd(1.5)),
    "code beyond labels": (named, [0, 1, 2, 3], 3, 0, outside(3, 3)),
    "typo": (named, ["cat", "dgo", "fox", "cat"], 1, 0, unknown("'dgo'", "Did you mean 'dog'?")),
    "capital": (named, ["cat", "Dog", "Fox", "cat"], 1, 1, unknown("'Dog'", "Did you mean 'dog'?")),
    "nothing like it": (named, ["cat", "zebra", "fox", "cat"], 1, 0, unknown("'zebra'")),
    "None": (named, ["cat", "dog", None, None], 2, 1, "the outcome is None."),
    "set with a typo": (sets, [{"cat"}, set(), {"dgo"}, {"dog"}], 2, 0, "'dgo' is not a label. Did you mean 'dog'?"),
    "set out of the support": (few_sets, [{"cat"}, {"dog"}] * 2, 1, 1, "the outcome {'dog'} is not in the support."),
    "set code too large": (sets, np.array([0, 7, 8, 1]), 2, 0, outside(8, 8)),
}  # fmt: skip
SHAPES: dict[str, tuple[Callable[[], tl.TopLists], Any, str]] = {
    "too few": (coded, [0, 1], f"2 outcomes for 4 lists. {EACH}"),
    "too many": (coded, [0] * 5, f"5 outcomes for 4 lists. {EACH}"),
    "none": (coded, [], f"0 outcomes for 4 lists. {EACH}"),
    "too few labels": (named, ["cat"], f"1 outcomes for 4 lists. {EACH}"),
    "too few sizes": (per_case, [0, 1, 2], f"3 outcomes for 4 lists. {EACH}"),
    "too few sets": (sets, [{"cat"}] * 3, f"3 outcomes for 4 lists. {EACH}"),
    "one number": (coded, 0, "outcomes must be a sequence, one per case."),
    "one word": (named, "cat", "outcomes must be a sequence, one per case."),
    "a set": (coded, {0, 1, 2, 3}, "outcomes must be a sequence, one per case."),
    "a generator": (coded, (i for i in range(4)), "outcomes must be a sequence, one per case."),
}


@pytest.mark.parametrize("use", USERS.values(), ids=USERS)
@pytest.mark.parametrize(("make", "y", "case", "more", "said"), BAD.values(), ids=BAD)
def test_a_bad_outcome_is_named_with_its_case(
    make: Callable[[], tl.TopLists], y: Any, case: int, more: int, said: str, use: Callable[..., Any]
) -> None:
    """The same words, whoever asks."""
    others = "" if not more else f" {more} more case{'s have' if more > 1 else ' has'} the same problem."
    with pytest.raises(tl.OutcomeError) as caught:
        use(make(), y)
    assert str(caught.value) == f"case {case}: {said}{others}"
    assert (caught.value.case, caught.value.more) == (case, more)


@pytest.mark.parametrize("use", USERS.values(), ids=USERS)
@pytest.mark.parametrize(("make", "y", "said"), SHAPES.values(), ids=SHAPES)
def test_outcomes_are_one_per_case(make: Callable[[], tl.TopLists], y: Any, said: str, use: Callable[..., Any]) -> None:
    """Lengths that differ are nobody's case."""
    with pytest.raises(tl.ShapeError) as caught:
        use(make(), y)
    assert str(caught.value) == said
    assert caught.value.case is None


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1e300], ids=["inf", "-inf", "1e300"])
def test_an_outcome_too_large_for_an_integer_is_an_outcome_error(value: float) -> None:
    """Neither a warning of the cast, nor a code that it happens to give."""
    with pytest.raises(tl.OutcomeError) as caught:
        tl.score(coded(), [0.0, 1.0, value, 0.0])
    assert caught.value.case == 2


def test_a_large_unsigned_outcome_is_named_as_it_was_given() -> None:
    """A code that does not fit 63 bits does not turn negative."""
    with pytest.raises(tl.OutcomeError) as caught:
        tl.score(coded(), np.array([0, 1, 2**64 - 1, 0], np.uint64))
    assert str(caught.value) == f"case 2: {outside(2**64 - 1, 5)}"


def test_no_outcomes_at_all_are_refused_where_they_are_needed() -> None:
    """Only a curve can do without."""
    for name, use in USERS.items():
        if name != "curve":
            with pytest.raises(tl.ShapeError, match=r"^outcomes must be a sequence, one per case\.$"):
                use(coded(), None)
    assert tl.curve(coded()).score is None


@pytest.mark.parametrize("y", [[0, 1, None, 0], ["0", "1", "2", "0"]], ids=["None", "text"])
def test_what_is_no_code_does_not_pass_as_unlisted_where_lists_have_codes(y: Any) -> None:
    """A space without labels, lists of codes: an outcome that is no code is a mistake, not a miss."""
    with pytest.raises(tl.OutcomeError) as caught:
        tl.score(coded(), y)
    assert str(caught.value) == (
        f"the outcomes are labels such as {y[0]!r}, but the lists hold codes. "
        "Give the space its labels: ClassSpace(labels=[...])."
    )


@pytest.mark.parametrize("y", [np.zeros((4, 1), int), [[0]] * 4], ids=["array", "lists"])
def test_a_column_of_outcomes_is_refused_with_the_way_to_flatten_it(y: Any) -> None:
    with pytest.raises(tl.ShapeError) as caught:
        tl.score(coded(), y)
    assert str(caught.value) == "outcomes must be one per case, not an array of shape (4, 1). Try y.ravel()."


def test_where_every_class_is_listed_there_is_no_other_outcome() -> None:
    """A label that is none of them has no place to go."""
    space = tl.ClassSpace(3, labels=["cat", "dog"])
    lists = tl.TopLists.from_topk([[0, 1, 2]] * 2, [[0.5, 0.25, 0.25]] * 2, space)
    with pytest.raises(tl.OutcomeError) as caught:
        tl.score(lists, ["cat", "owl"])
    assert str(caught.value) == "case 1: the outcome is none of the classes, all of which are listed."


def test_an_outcome_without_a_label_of_its_own_is_unlisted() -> None:
    """In a space with fewer labels than classes an unknown label is a class that no list can name."""
    lists = partly_named()
    missed = tl.score(lists, [2] * 4)  # a fox, which no list has
    assert tl.score(lists, ["owl"] * 4).tolist() == missed.tolist()


def test_one_list_refuses_an_outcome_like_a_batch_of_one() -> None:
    with pytest.raises(tl.OutcomeError) as caught:
        tl.score(named()[0], "dgo")
    assert str(caught.value) == f"case 0: {unknown(repr('dgo'), 'Did you mean ' + repr('dog') + '?')}"
    with pytest.raises(tl.OutcomeError) as coded_one:
        tl.score(coded()[0], 5)
    assert str(coded_one.value) == f"case 0: {outside(5, 5)}"


def test_a_distribution_per_case_is_checked_as_one() -> None:
    """A soft truth goes through the same door as lists."""
    p = np.full((4, 5), 0.2)
    p[2, 0] = 0.1
    with pytest.raises(tl.MassError) as caught:
        tl.score(coded(), p)
    assert str(caught.value) == (
        "case 2: all 5 classes are listed, but the confidences sum to 0.9. "
        "A complete list is a distribution: correct it, or pass normalize=True to divide by the sum."
    )
    with pytest.raises(tl.ShapeError) as shape:
        tl.expected_score(coded(), np.full((3, 5), 0.2))
    assert str(shape.value) == "3 distributions for 4 lists. One per case, or one for all."


def test_a_soft_truth_of_another_space_is_refused() -> None:
    """The same code is another class in another space."""
    other = tl.TopLists.from_dicts([{"fox": 1.0}] * 4, tl.ClassSpace(labels=LABELS[::-1]))
    with pytest.raises(tl.TopListError):
        tl.expected_score(named(), other)
    with pytest.raises(tl.TopListError):
        tl.expected_score(coded(), tl.TopLists.from_topk([[6]] * 4, [[1.0]] * 4, 7))
