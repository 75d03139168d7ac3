"""What is refused, and in which words: lists, outcomes, shapes, spaces and options, one row each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import toplist as tl
from tests.lists.device.libraries import LIBRARIES, Library, library
from tests.lists.makers import MAKERS

T = tl.TopLists
NAN, INF = math.nan, math.inf
C, P = [[0, 1], [1, 2]], [[0.5, 0.2], [0.6, 0.3]]

LEAVE_OUT = "Leave the class out of the list, or leave the case out on purpose: nothing is dropped silently."
LOGS = "If these are log-probabilities, pass scale='log'."
PROBABILITIES = "Confidences are probabilities, from 0 to 1."
SENTINEL = "Leave such entries out of the list: what is not listed shares the rest mass."
PERCENT = "If these are percentages, pass scale='percent'; unnormalised weights: normalize=True."
WEIGHTS = "If these are unnormalised weights, pass normalize=True."
ROUNDING = "If that is rounding, pass normalize=True to divide by the sum."
MARGINALS = (
    "Independent per-label scores (marginals) are not a distribution over classes: score label by label, "
    f"or make lists of label sets with toplist.multilabel.best_sets. {WEIGHTS}"
)
PADDING = "If negative codes pad short lists, leave them out and pass ragged lists (from_ragged, from_dicts)."
MAP = "Declare the right number of classes, or map the labels first."
SUM = "If its confidences add up, pass duplicates='sum'."
COMPLETE = "A complete list is a distribution: correct it, or pass normalize=True to divide by the sum."
ONE_MORE = " 1 more case has the same problem."

# A bad list of classes and confidences among so many classes; the error, the problem and the remedy.
NO_NUMBER, NO_SUM, NO_CLASS = tl.ConfidenceError, tl.MassError, tl.ClassError
LISTS: dict[str, tuple[tuple[int, ...], tuple[float, ...], int, type[tl.CaseError], str, str]] = {
    "NaN first": ((0, 1, 2), (NAN, 0.2, 0.1), 6, NO_NUMBER, "the confidence of class 0 is nan.", LEAVE_OUT),
    "NaN last": ((0, 1, 2), (0.2, 0.1, NAN), 6, NO_NUMBER, "the confidence of class 2 is nan.", LEAVE_OUT),
    "infinity": ((0, 1, 2), (0.5, INF, 0.1), 6, NO_NUMBER, "the confidence of class 1 is inf.", LEAVE_OUT),
    "log of zero": ((0, 1, 2), (-0.7, -INF, -2.3), 6, NO_NUMBER, "the confidence of class 1 is -inf.", LOGS),
    "negative": ((0, 1), (0.5, -0.2), 6, NO_NUMBER, "the confidence of class 1 is negative: -0.2.", PROBABILITIES),
    "logs": ((0, 1, 2), (-0.7, -1.6, -2.5), 6, NO_NUMBER, "the confidence of class 0 is negative: -0.7.", LOGS),
    "sentinel": ((0, 2), (0.6, -9999.0), 6, NO_NUMBER,
                 "the confidence of class 2 is -9999, a producer's mark for 'not in my top list'.", SENTINEL),
    "percent": ((0, 1), (60.0, 30.0), 6, NO_NUMBER, "the confidence of class 0 is 60, which is above 1.", PERCENT),
    "weights": ((0, 1), (20.0, 400.0), 6, NO_NUMBER, "the confidence of class 1 is 400, which is above 1.", WEIGHTS),
    "mass": ((0, 1, 2), (0.6, 0.3, 0.125), 6, NO_SUM, "the confidences sum to 1.025, which is above 1.", ROUNDING),
    "marginals": ((0, 1, 2), (0.9, 0.8, 0.7), 6, NO_SUM, "the confidences sum to 2.4, which is above 1.", MARGINALS),
    "incomplete": ((0, 1, 2), (0.5, 0.2, 0.2), 3, NO_SUM,
                   "all 3 classes are listed, but the confidences sum to 0.9.", COMPLETE),
    "overcomplete": ((0, 1, 2), (0.5, 0.3, 0.25), 3, NO_SUM,
                     "all 3 classes are listed, but the confidences sum to 1.05.", COMPLETE),
    "negative code": ((0, -1), (0.5, 0.2), 6, NO_CLASS, "class -1 is not a class: codes start at 0.", PADDING),
    "outside": ((0, 6), (0.5, 0.2), 6, NO_CLASS, "class 6 is outside the space of 6 classes (0 to 5).", MAP),
    "far outside": ((2**40, 2), (0.5, 0.2), 6, NO_CLASS,
                    "class 1099511627776 is outside the space of 6 classes (0 to 5).", MAP),
    "twice": ((4, 0, 4), (0.5, 0.2, 0.1), 6, NO_CLASS, "class 4 is listed twice.", SUM),
}  # fmt: skip


def _proba(classes: Any, t: Any, m: int, **options: Any) -> tl.TopLists:
    return T.from_proba(t, m, **options)


@pytest.mark.parametrize("name", LISTS)
def test_a_bad_list_is_refused_in_the_same_words_by_every_constructor(name: str) -> None:
    """The first bad case with its id, its problem, the remedy, and how many more there are."""
    listed, values, m, kind, problem, remedy = LISTS[name]
    good = (0.5, 0.3, 0.2)[: len(listed)]
    makers = {**MAKERS, "proba": _proba}
    if m != 3:
        del makers["proba"]
    if len(set(listed)) < len(listed):
        del makers["dicts"]
    for make in makers.values():
        for dtype in (np.float32, np.float64):
            for bad, ids, said in (
                ([2], None, "case 2: {}"),
                ([1, 4], ["a", "b", "c", "d", "e"], f"case 1 ('b'): {{}}{ONE_MORE}"),
                ([1, 2, 4], [10, 20, 30, 40, 50], "case 1 (20): {} 2 more cases have the same problem."),
            ):
                classes = np.array([listed if i in bad else (0, 1, 2)[: len(listed)] for i in range(5)])
                t = np.array([values if i in bad else good for i in range(5)], dtype)
                with pytest.raises(tl.CaseError) as caught:
                    make(classes, t, m, ids=ids)
                error = caught.value
                assert (type(error), str(error)) == (kind, said.format(f"{problem} {remedy}")), make
                assert (error.case, error.problem, error.remedy, error.more) == (bad[0], problem, remedy, len(bad) - 1)


@pytest.mark.parametrize("name", [name for name, row in LISTS.items() if row[3] is not NO_CLASS])
def test_one_list_is_refused_like_a_batch_of_one_and_calls_classes_by_their_labels(name: str) -> None:
    listed, values, m, kind, problem, remedy = LISTS[name]
    with pytest.raises(kind) as caught:
        tl.TopList(dict(zip(listed, values, strict=True)), m)
    assert str(caught.value) == f"case 0: {problem} {remedy}"
    labels = ["ant", "bee", "cow", "dog", "eel", "fox"][:m]
    for code, label in enumerate(labels):
        problem = problem.replace(f"class {code}", f"class {label!r}")
    with pytest.raises(kind) as caught:
        T.from_dicts([dict(zip((labels[c] for c in listed), values, strict=True))], labels)
    assert str(caught.value) == f"case 0: {problem} {remedy}"


@pytest.mark.parametrize("k", [1, 2, 5, 31, 32, 33, 40])
def test_a_nan_is_found_wherever_it_stands(k: int) -> None:
    """Long rows are read in strides; neither those nor short ones may step over a NaN."""
    for position in range(k):
        t = np.full((3, k), 0.01)
        t[1, position] = NAN
        with pytest.raises(tl.ConfidenceError) as caught:
            T.from_topk(np.tile(np.arange(k), (3, 1)), t, 100)
        assert str(caught.value) == f"case 1: the confidence of class {position} is nan. {LEAVE_OUT}"


LABELS = ["cat", "dog", "fox"]


def coded() -> tl.TopLists:
    made: tl.TopLists = T.from_topk([[0, 1]] * 4, [[0.5, 0.2]] * 4, 5)
    return made


def named() -> tl.TopLists:
    return T.from_dicts([{"cat": 0.5, "dog": 0.2}] * 4, LABELS)


def sized() -> tl.TopLists:
    made: tl.TopLists = T.from_topk([[0, 1]] * 4, [[0.5, 0.4]] * 4, [3, 4, 5, 6])
    return made


def sets(**options: Any) -> tl.TopLists:
    return T.from_dicts([{frozenset({"cat"}): 0.5}] * 4, tl.LabelSets(LABELS, **options))


RANGE = "Declare the right number of classes; codes start at 0."


def outside(code: Any, size: int) -> str:
    return f"the outcome {code} is outside the space of {size} classes. {RANGE}"


def unknown(label: str, hint: str = "") -> str:
    return f"the outcome {label!r} is not among the 3 labels.{hint}"


USERS: dict[str, Callable[[tl.TopLists, Any], Any]] = {
    "score": tl.score,
    "curve": tl.curve,
    "accuracy": tl.accuracy,
    "top_k_error": lambda lists, y: tl.top_k_error(lists, y, k=1),
    "coverage": tl.coverage,
    "ranks": tl.ranks,
}
ODD, MEANT = "the outcome is {}, which is neither a code nor a label.", " Did you mean 'dog'?"
NO_SEQUENCE = "outcomes must be a sequence, one per case."
CODES = (
    "the outcomes are labels such as {!r}, but the lists hold codes. "
    "Give the space its labels: ClassSpace(labels=[...])."
)
OUTCOMES: dict[str, tuple[Callable[[], tl.TopLists], Any, type[tl.CaseError], str]] = {
    "too large": (coded, [0, 5, 0, 6], tl.OutcomeError, f"case 1: {outside(5, 5)}{ONE_MORE}"),
    "negative": (coded, np.array([0, -1, 0, 0], np.int32), tl.OutcomeError, f"case 1: {outside(-1, 5)}"),
    "beyond 63 bits": (coded, np.array([0, 2**64 - 1] * 2, np.uint64), tl.OutcomeError,
                       f"case 1: {outside(2**64 - 1, 5)}{ONE_MORE}"),
    "beyond 64 bits": (coded, [0, 2**70, 0, 0], tl.OutcomeError, f"case 1: {outside(2**70, 5)}"),
    "beyond its own size": (sized, [2, 3, 5, 5], tl.OutcomeError, f"case 2: {outside(5, 5)}"),
    "NaN": (coded, [0.0, NAN, NAN, NAN], tl.OutcomeError,
            f"case 1: {ODD.format('nan')} 2 more cases have the same problem."),
    "half": (coded, [0.0, 1.5, 2.0, 0.0], tl.OutcomeError, f"case 1: {ODD.format('1.5')}"),
    "infinite": (coded, [0.0, 1.0, -INF, 0.0], tl.OutcomeError, f"case 2: {outside(-INF, 5)}"),
    "too large a float": (coded, [0.0, 1.0, 1e300, 0.0], tl.OutcomeError, f"case 2: {outside(1e300, 5)}"),
    "a code beyond labels": (named, [0, 1, 2, 3], tl.OutcomeError, f"case 3: {outside(3, 3)}"),
    "a typo": (named, ["cat", "dgo", "fox", "cat"], tl.OutcomeError, f"case 1: {unknown('dgo', MEANT)}"),
    "a capital": (named, ["cat", "Dog", "Fox", "cat"], tl.OutcomeError, f"case 1: {unknown('Dog', MEANT)}{ONE_MORE}"),
    "nothing like it": (named, ["cat", "zebra", "fox", "cat"], tl.OutcomeError, f"case 1: {unknown('zebra')}"),
    "None": (named, ["cat", "dog", None, None], tl.OutcomeError, f"case 2: the outcome is None.{ONE_MORE}"),
    "None among codes": (coded, [0, 1, None, 0], tl.OutcomeError, CODES.format(0)),
    "texts for codes": (coded, ["0", "1", "2", "0"], tl.OutcomeError, CODES.format("0")),
    "no class is left": (lambda: T.from_proba([[0.5, 0.25, 0.25]] * 2, tl.ClassSpace(3, LABELS[:2])), ["cat", "owl"],
                         tl.OutcomeError, "case 1: the outcome is none of the classes, all of which are listed."),
    "a set with a typo": (sets, [{"cat"}, set(), {"dgo"}, {"dog"}], tl.OutcomeError,
                          f"case 2: 'dgo' is not a label.{MEANT}"),
    "a set out of the support": (lambda: sets(support=[{"cat"}, {"cat", "dog"}]), [{"cat"}, {"dog"}] * 2,
                                 tl.OutcomeError, f"case 1: the outcome {{'dog'}} is not in the support.{ONE_MORE}"),
    "a set's code too large": (sets, np.array([0, 7, 8, 1]), tl.OutcomeError, f"case 2: {outside(8, 8)}"),
    "too few": (coded, [0, 1], tl.ShapeError, "2 outcomes for 4 lists. Each case needs one of each."),
    "too many labels": (named, LABELS * 2, tl.ShapeError, "6 outcomes for 4 lists. Each case needs one of each."),
    "too few sizes": (sized, [0, 1, 2], tl.ShapeError, "3 outcomes for 4 lists. Each case needs one of each."),
    "too few sets": (sets, [{"cat"}] * 3, tl.ShapeError, "3 outcomes for 4 lists. Each case needs one of each."),
    "a number": (coded, 0, tl.ShapeError, NO_SEQUENCE),
    "a word": (named, "cat", tl.ShapeError, NO_SEQUENCE),
    "a set": (coded, {0, 1, 2, 3}, tl.ShapeError, NO_SEQUENCE),
    "a generator": (coded, (i for i in range(4)), tl.ShapeError, NO_SEQUENCE),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_bad_outcome_is_refused_in_the_same_words_by_every_function(name: str) -> None:
    make, y, kind, said = OUTCOMES[name]
    for user, function in USERS.items():
        with pytest.raises(tl.CaseError) as caught:
            function(make(), y)
        assert (type(caught.value), str(caught.value)) == (kind, said), user


def test_no_outcomes_at_all_are_refused_where_they_are_needed() -> None:
    """Only a curve can do without."""
    for name, use in USERS.items():
        if name != "curve":
            with pytest.raises(tl.ShapeError, match=NO_SEQUENCE):
                use(coded(), None)
    assert tl.curve(coded()).score is None


def test_an_outcome_without_a_label_of_its_own_is_unlisted() -> None:
    """In a space with fewer labels than classes an unknown label is a class that no list can name."""
    lists = T.from_dicts([{"cat": 0.5, "dog": 0.2}], tl.ClassSpace(5, labels=LABELS))
    assert tl.score(lists, ["owl"]) == tl.score(lists, [2])  # a fox, which no list has


SAME = (
    "classes {} and confidences {} must be two arrays of the same (cases, k) shape. "
    "A single list is one row: pass arrays of shape (1, k)."
)
RISE = (
    "offsets must rise from 0 to the number of entries (3); these go from {}. "
    "Case i has the entries offsets[i] to offsets[i + 1]."
)
INTEGERS = "offsets are flat integers, one more than there are cases, not {}."
COLUMNS = "A distribution has one column per class; for lists of fewer classes use from_topk."
NOT_KNOWN = "An empty list is a reject; leave out what is not known."
REST = "Correct log_rest, or leave it out: it is then one minus the listed mass."
EVERY = "So is every class of this case: are the same predictions there twice, one after the other?"
NO_CODES = "classes must be codes or labels, not {}."
THOUSAND = "1,234 more cases have the same problem."
MARK = "the confidence of class 1 is -9999, a producer's mark for 'not in my top list'."
REJECT = "There is nothing to divide by: leave the case out, or give an empty list, which is a reject."
OVER = "the lists are over {}, the distributions over {}: both need one space."
LARGE = "is too large to spread out; scoring does not need it."
ODDS = "If these are decimal odds, give reciprocals that sum to 1; unnormalised weights: normalize=True."
BOTH = "truncate to k classes or to a mass: give one of the two."


def ragged(offsets: Any, classes: Any = (0, 1, 2), t: Any = (0.5, 0.2, 0.1)) -> tl.TopLists:
    return T.from_ragged(offsets, classes, t, 5)


CALLS: dict[str, tuple[Callable[[], Any], type[tl.TopListError], str]] = {
    "topk flat": (lambda: T.from_topk([0, 1], [0.5, 0.2], 5), tl.ShapeError, SAME.format("(2,)", "(2,)")),
    "topk widths": (lambda: T.from_topk(C, [[0.5], [0.6]], 5), tl.ShapeError, SAME.format("(2, 2)", "(2, 1)")),
    "topk ids": (lambda: T.from_topk(C, P, 5, ids=["a"]), tl.ShapeError, "1 ids for 2 cases. One per case."),
    "topk one id": (lambda: T.from_topk(C, P, 5, ids="a"), tl.ShapeError, "ids must be one per case."),
    "topk sizes": (lambda: T.from_topk(C, P, [3, 4, 5]), tl.ShapeError, "3 sizes for 2 cases. One per case."),
    "topk rests": (lambda: T.from_topk(C, P, 5, log_rest=[-1.0]), tl.ShapeError,
                   "1 log_rest for 2 cases. One per case."),
    "ragged falling": (lambda: ragged([0, 2, 1, 3]), tl.ShapeError, RISE.format("0 to 3 and fall in between")),
    "ragged too far": (lambda: ragged([0, 4]), tl.ShapeError, RISE.format("0 to 4")),
    "ragged below zero": (lambda: ragged([-1, 3]), tl.ShapeError, RISE.format("-1 to 3")),
    "ragged floats": (lambda: ragged([0.0, 3.0]), tl.ShapeError, INTEGERS.format("an array of float64 of shape (2,)")),
    "ragged no offsets": (lambda: ragged([]), tl.ShapeError, INTEGERS.format("an empty array")),
    "ragged square": (lambda: ragged([[0, 3]]), tl.ShapeError, INTEGERS.format("an array of int64 of shape (1, 2)")),
    "ragged square lists": (lambda: ragged([0, 3], [[0, 1, 2]], [[0.5, 0.2, 0.1]]), tl.ShapeError,
                            "offsets (integers), classes and confidences must be flat arrays."),
    "ragged lengths": (lambda: ragged([0, 2], [0, 1]), tl.ShapeError,
                       "2 classes but 3 confidences. Each class needs one confidence."),
    "labels square": (lambda: T.from_labels([[0], [1]], 5), tl.ShapeError,
                      "hard predictions are one label per case, not an array of shape (2, 1)."),
    "proba flat": (lambda: T.from_proba([0.5, 0.5]), tl.ShapeError,
                   "probabilities must be a (cases, classes) array, not (2,)."),
    "proba columns": (lambda: T.from_proba([[0.5, 0.5]], 3), tl.ShapeError, f"2 columns for ClassSpace(3). {COLUMNS}"),
    "proba sizes": (lambda: T.from_proba([[0.5, 0.5]], [2]), tl.ShapeError,
                    f"2 columns for ClassSpace(2 to 2 per case). {COLUMNS}"),
    "logits flat": (lambda: T.from_logits([0.5, 0.5]), tl.ShapeError,
                    "logits must be a (cases, classes) array, not (2,)."),
    "csr dense": (lambda: T.from_csr(np.eye(2)), tl.ShapeError,
                  "from_csr takes a CSR matrix. Convert with .tocsr() first."),
    "csr by columns": (lambda: T.from_csr(sparse.csc_array(np.eye(2)), 4), tl.ShapeError,
                       "from_csr takes rows, not the csc format. Convert with .tocsr() first."),
    "csr columns": (lambda: T.from_csr(sparse.csr_array(np.eye(9)), 5), tl.ShapeError,
                    "9 columns for ClassSpace(5). Declare the right number of classes."),
    "text": (lambda: T.from_topk(C, [["high", "low"]] * 2, 5), tl.ShapeError, "confidences must be numbers, not <U4."),
    "text in dicts": (lambda: T.from_dicts([{"a": "high"}], 5), tl.ShapeError, "confidences must be numbers, not <U4."),
    "text in rows": (lambda: T.from_proba([["high", "low"]]), tl.ShapeError, "probabilities must be numbers, not <U4."),
    "not a mapping": (lambda: T.from_dicts([{0: 0.5}, [0.5, 0.2]], 5), tl.ShapeError,
                      "case 1: expected a mapping from class to confidence, got [0.5, 0.2]."),
    "NaN logit": (lambda: T.from_logits([[0.0, 1.0], [NAN, 0.0], [INF, 0.0]]), tl.ConfidenceError,
                  f"case 1: a logit is NaN or infinite, or all are minus infinity.{ONE_MORE}"),
    "rest": (lambda: T.from_topk(C, P, 5, log_rest=np.log([0.3, 0.2])), tl.MassError,
             f"case 1: the listed mass 0.9 and the given rest mass 0.2 do not add up to 1. {REST}"),
    "rests": (lambda: T.from_ragged([0, 2, 4], [0, 1, 1, 2], [0.5, 0.2, 0.6, 0.3], 5, log_rest=[0, 0], ids=["a", "b"]),
              tl.MassError,
              f"case 0 ('a'): the listed mass 0.7 and the given rest mass 1 do not add up to 1. {REST}{ONE_MORE}"),
    "rest NaN": (lambda: T.from_dicts([{0: 0.5}], 5, log_rest=[NAN]), tl.MassError,
                 f"case 0: the listed mass 0.5 and the given rest mass nan do not add up to 1. {REST}"),
    "too many classes": (lambda: T.from_topk([[0, 1]] * 2, [[0.5, 0.5]] * 2, 1), tl.ClassError,
                         "case 0: 2 classes are listed, but there are only 1. Declare the right number of classes."
                         + ONE_MORE),
    "too many as one is there twice": (lambda: T.from_topk([[0, 1, 1]], [[0.5, 0.3, 0.2]], 2), tl.ClassError,
                                       f"case 0: class 1 is listed twice. {SUM}"),
    "all of it twice": (lambda: T.from_topk([[0, 1, 0, 1]], [[0.3, 0.2, 0.3, 0.2]], 3), tl.ClassError,
                        f"case 0: class 0 is listed twice. {EVERY} {SUM}"),
    "the first of several problems": (
        lambda: T.from_topk([[0, 0], [0, 1], [3, 3]], [[0.5, 0.2], [NAN, 0.2], [0.1, NAN]], 6),
        tl.ClassError, f"case 0: class 0 is listed twice. {SUM}{ONE_MORE}"),
    "NaN before what is listed twice": (lambda: T.from_topk([[0, 1], [3, 3]], [[NAN, 0.2], [0.1, NAN]], 6),
                                        tl.ConfidenceError,
                                        f"case 0: the confidence of class 0 is nan. {LEAVE_OUT}{ONE_MORE}"),
    "a thousand more": (lambda: T.from_topk(np.zeros((1235, 1), int), np.full((1235, 1), 0.5), 1), tl.MassError,
                        f"case 0: all 1 classes are listed, but the confidences sum to 0.5. {COMPLETE} {THOUSAND}"),
    "decimal odds": (lambda: T.from_proba([[1.9, 3.6, 4.5]]), tl.ConfidenceError,
                     f"case 0: the confidence of class 2 is 4.5, which is above 1. {ODDS}"),
    "a sentinel among logs": (lambda: T.from_topk([[0, 1]], [[-0.1, -9999.0]], 5, scale="log"), tl.ConfidenceError,
                              f"case 0: {MARK} {SENTINEL}"),
    "nothing to normalize": (lambda: T.from_proba([[0.5, 0.5], [0.0, 0.0]], normalize=True), tl.MassError,
                             f"case 1: all 2 classes are listed, but the confidences sum to 0. {REJECT}"),
    "NaN to normalize": (lambda: T.from_topk(C, [[4.0, 1.0], [4.0, NAN]], 9, normalize=True), tl.ConfidenceError,
                         f"case 1: the confidence of class 2 is nan. {LEAVE_OUT}"),
    "negative to normalize": (lambda: T.from_topk(C, [[4.0, 1.0], [4.0, -0.5]], 9, normalize=True), tl.ConfidenceError,
                              f"case 1: the confidence of class 2 is negative: -0.5. {PROBABILITIES}"),
    "half a class": (lambda: T.from_topk([[0.0, 1.5]], [[0.5, 0.2]], 5), tl.ClassError, NO_CODES.format("float64")),
    "class NaN": (lambda: T.from_labels([0.0, NAN], 5), tl.ClassError, NO_CODES.format("float64")),
    "class None": (lambda: T.from_labels(["cat", None], 5), tl.ClassError, f"a listed class is None. {NOT_KNOWN}"),
    "NaN key": (lambda: T.from_dicts([{NAN: 0.5}], 5), tl.ClassError, f"a listed class is nan. {NOT_KNOWN}"),
    "truth values": (lambda: T.from_labels([True, False], 5), tl.ClassError, NO_CODES.format("bool")),
    "a typo": (lambda: T.from_dicts([{"cat": 0.5, "dgo": 0.2}], LABELS), tl.ClassError,
               "class 'dgo' is not among the labels of the space. Did you mean 'dog'?"),
    "no such label": (lambda: T.from_labels(["cat", "zebra"], tl.ClassSpace(9, LABELS)), tl.ClassError,
                      "class 'zebra' is not among the labels of the space."),
    "more labels than classes": (lambda: T.from_dicts([{"a": 0.5}, {"b": 0.5}, {"c": 0.5}], 2), tl.SpaceError,
                                 "3 different labels are listed, but there are only 2 classes."),
    "scale": (lambda: T.from_topk(C, P, 5, scale="percentage"), tl.TopListError,  # type: ignore[arg-type]
              "scale is \"probability\", \"percent\" or \"log\", not 'percentage'."),
    "duplicates": (lambda: T.from_topk(C, P, 5, duplicates="add"), tl.TopListError,  # type: ignore[arg-type]
                   "duplicates are an \"error\" or a \"sum\", not 'add'."),
    "too large to pad": (lambda: T.from_labels([0], 2**28 + 1).padded(), tl.TopListError, f"1 x 268435457 {LARGE}"),
    "too many to pad": (lambda: T.from_labels([0] * 1025, 2**18).padded(), tl.TopListError, f"1,025 x 262144 {LARGE}"),
    "endless to pad": (lambda: T.from_labels([0], INF).padded(), tl.TopListError, f"1 x infinitely many {LARGE}"),
    "sizes to pad": (lambda: sized().padded(), tl.TopListError,
                     "the number of classes differs per case: pad one list at a time, lists[i].padded()."),
    "no class": (lambda: tl.ClassSpace(0), tl.SpaceError, "there is at least one class, not 0."),
    "fewer than no class": (lambda: tl.ClassSpace(-3), tl.SpaceError, "there is at least one class, not -3."),
    "two and a half classes": (lambda: tl.ClassSpace(2.5), tl.SpaceError, "2.5 is not a number of classes."),
    "NaN classes": (lambda: tl.ClassSpace(NAN), tl.SpaceError, "nan is not a number of classes."),
    "minus infinity classes": (lambda: tl.ClassSpace(-INF), tl.SpaceError, "-inf is not a number of classes."),
    "True classes": (lambda: tl.ClassSpace(True), tl.SpaceError, "True is not a number of classes."),
    "a text of classes": (lambda: tl.ClassSpace("5"), tl.SpaceError,
                          "'5' is not a number of classes; give labels as labels=[...]."),
    "labels and numbers": (lambda: tl.ClassSpace(["a", 3]), tl.SpaceError,
                           "'a' is not a number of classes; give labels as labels=[...]."),
    "complex classes": (lambda: tl.ClassSpace(5j), tl.SpaceError, "5j is not a number of classes."),
    "a dict of classes": (lambda: tl.ClassSpace({"a": 1}), tl.SpaceError, "{'a': 1} is not a number of classes."),
    "a case without classes": (lambda: tl.ClassSpace([3, 0]), tl.SpaceError, "there is at least one class, not 0."),
    "a case without end": (lambda: tl.ClassSpace([3, INF]), tl.SpaceError,
                           "sizes that differ per case must be finite."),
    "how many": (lambda: tl.ClassSpace(None), tl.SpaceError,
                 "say how many classes there are: a number, math.inf, or labels=[...]."),
    "a label twice": (lambda: tl.ClassSpace(labels=["a", "b", "a"]), tl.SpaceError,
                      "label 'a' is there twice; every class needs a label of its own."),
    "a label too many": (lambda: tl.ClassSpace(2, labels=LABELS), tl.SpaceError,
                         "3 labels for 2 classes; there is a label too many."),
    "a label too many in a case": (lambda: tl.ClassSpace([5, 2], labels=LABELS), tl.SpaceError,
                                   "3 labels for [5 2] classes; there is a label too many."),
    "cut to nothing said": (lambda: coded().truncate(), tl.TopListError, BOTH),
    "cut to both": (lambda: coded()[0].truncate(k=1, mass=0.5), tl.TopListError, BOTH),
    "cut below zero": (lambda: coded()[0].truncate(-1), tl.TopListError, "k is a number of classes, not -1."),
    "cut to a half": (lambda: coded().truncate(1.5), tl.TopListError,  # type: ignore[arg-type]
                      "k is a number of classes, not 1.5."),
    "cut to a mass below zero": (lambda: coded().truncate(mass=-0.1), tl.TopListError,
                                 "mass is between 0 and 1, not -0.1."),
    "cut to percent": (lambda: coded()[0].truncate(mass=90), tl.TopListError, "mass is between 0 and 1, not 90."),
    "cut to NaN": (lambda: coded().truncate(mass=NAN), tl.TopListError, "mass is between 0 and 1, not nan."),
    "a column of outcomes": (lambda: tl.score(coded(), [[0]] * 4), tl.ShapeError,
                             "outcomes must be one per case, not an array of shape (4, 1). Try y.ravel()."),
    "an outcome of one list": (lambda: tl.score(named()[0], "dgo"), tl.OutcomeError,
                               f"case 0: {unknown('dgo', MEANT)}"),
    "a code of one list": (lambda: tl.score(coded()[0], 5), tl.OutcomeError, f"case 0: {outside(5, 5)}"),
    "a distribution that is none": (lambda: tl.score(coded(), [[0.2] * 5] * 3 + [[0.1] + [0.2] * 4]), tl.MassError,
                                    f"case 3: all 5 classes are listed, but the confidences sum to 0.9. {COMPLETE}"),
    "too few distributions": (lambda: tl.expected_score(coded(), np.full((3, 5), 0.2)), tl.ShapeError,
                              "3 distributions for 4 lists. One per case, or one for all."),
    "distributions over others": (lambda: tl.expected_score(coded(), T.from_topk([[6]] * 4, [[1.0]] * 4, 7)),
                                  tl.SpaceError, OVER.format("ClassSpace(5)", "ClassSpace(7)")),
    "distributions in another order": (lambda: tl.expected_score(named(), T.from_labels(["fox"] * 4, LABELS[::-1])),
                                       tl.SpaceError,
                                       OVER.format(*(f"ClassSpace(labels={x})" for x in (LABELS, LABELS[::-1])))),
    **{f"no cases for {mean.__name__}": (lambda mean=mean: mean(coded()[:0], []), tl.TopListError,
                                         "there are no cases to average over.")
       for mean in (tl.accuracy, tl.coverage, tl.curve)},
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_what_does_not_fit_is_refused_with_the_remedy(name: str) -> None:
    call, kind, said = CALLS[name]
    with pytest.raises(tl.TopListError) as caught:
        call()
    assert (type(caught.value), str(caught.value)) == (kind, said)


# What people try when they are in a hurry.
MISUSES: dict[str, Callable[[], Any]] = {
    "rows of different lengths": lambda: T.from_topk([[0, 1], [1]], [[0.5, 0.2], [0.6]], 5),
    "distributions of different lengths": lambda: T.from_proba([[0.5, 0.5], [1.0]]),
    "logits of different lengths": lambda: T.from_logits([[0.5, 0.5], [1.0]]),
    "dicts for arrays": lambda: T.from_topk({0: 0.5}, {0: 0.5}, 5),
    "complex numbers": lambda: T.from_topk(C, np.array(P) + 1j, 5),
    "masked confidences": lambda: T.from_topk(C, np.ma.masked_array(P, mask=[[0, 0], [0, 1]]), 5),
    "rest in words": lambda: T.from_topk(C, P, 5, log_rest=["a", "b"]),
    "rest in a column": lambda: T.from_topk(C, P, 5, log_rest=[[-1.2], [-2.3]]),
    "code beyond 64 bits": lambda: T.from_topk([[0, 2**70]], [[0.5, 0.2]], 2**80),
    "key beyond 64 bits": lambda: T.from_dicts([{2**70: 0.5}], 2**80),
    "no dicts": lambda: T.from_dicts(None, 5),
    "lists in dicts": lambda: T.from_dicts([{"a": [0.5, 0.2]}], 5),
    "lists in some dicts": lambda: T.from_dicts([{"a": [0.5, 0.2], "b": 0.1}], 5),
    "logits without classes": lambda: T.from_logits(np.zeros((2, 0))),
    "logits all impossible": lambda: T.from_logits([[-INF, -INF]]),
    "labels are a number": lambda: tl.ClassSpace(labels=3),  # type: ignore[arg-type]
    "labels before a number": lambda: tl.ClassSpace(["a", "b"], 5),  # type: ignore[arg-type]
    "labels that cannot be keys": lambda: tl.ClassSpace(labels=[["a"], ["b"]]),  # type: ignore[list-item]
    "sizes of different lengths": lambda: tl.ClassSpace([[3], [4, 5]]),
    "sets of a number": lambda: tl.LabelSets(3),  # type: ignore[arg-type]
    "support is a number": lambda: tl.LabelSets("ab", support=3),  # type: ignore[arg-type]
    "sets of what cannot be a key": lambda: tl.LabelSets([["a"]]),  # type: ignore[list-item]
    "a number for a set": lambda: tl.LabelSets("ab").encode([3]),
    "a matrix too wide": lambda: tl.LabelSets("ab").encode(np.ones((2, 3), int)),
    "a code too large": lambda: tl.LabelSets("ab").decode(99),
    "a code out of the support": lambda: tl.LabelSets("ab", support=["a"]).decode(5),
    "outcomes of different lengths": lambda: tl.score(coded(), [[1, 0], [1], [0], [1]]),
    "distribution as a dict": lambda: tl.expected_score(coded(), {0: 1.0}),
    "distribution as a word": lambda: tl.expected_score(coded(), "abc"),
    "truth of different lengths": lambda: tl.expected_score(coded(), [[0.5, 0.5], [1.0]]),
    "a set that is a number": lambda: tl.score(sets(), [1, 0, 1, 0]),
    "no set": lambda: tl.score(sets(), [{"a"}, None, {"a"}, {"a"}]),
    "a class that its case does not have": lambda: tl.expected_score(sized(), [[0.0] * 5 + [1.0]] * 4),
    "k is a word": lambda: coded().truncate("2"),  # type: ignore[arg-type]
    "k is infinite": lambda: T.from_proba([[0.5, 0.5]], k=INF),  # type: ignore[arg-type]
    "k is a list": lambda: T.from_proba([[0.5, 0.5]], k=[1]),  # type: ignore[arg-type]
    "k of logits is a word": lambda: T.from_logits([[0.5, 0.5]], k="1"),  # type: ignore[arg-type]
    "mass is a word": lambda: coded().truncate(mass="all"),  # type: ignore[arg-type]
    "penalty is a word": lambda: tl.score(coded(), [0] * 4, penalty="high"),  # type: ignore[arg-type]
    "penalty per case": lambda: tl.score(coded(), [0] * 4, penalty=np.ones(4)),  # type: ignore[arg-type]
    "ks is a number": lambda: tl.curve([[0.5, 0.5]], [0], ks=1),  # type: ignore[arg-type]
    "ks are words": lambda: tl.curve([[0.5, 0.5]], [0], ks=["a"]),  # type: ignore[list-item]
    "ks are halves": lambda: tl.curve([[0.5, 0.5]], [0], ks=[1.5]),  # type: ignore[list-item]
    "penalty of nothing": lambda: tl.scoring.default_penalty(None),
    "bound of nothing": lambda: tl.scoring.excess_bound(None),
    "worst of an array": lambda: tl.scoring.worst_excess([0.5]),
    "valid nothing": lambda: tl.lists.is_valid(None),  # type: ignore[arg-type]
    "calibrated batch": lambda: tl.lists.is_calibrated(coded(), [0.2] * 5),  # type: ignore[arg-type]
    "top k of words": lambda: tl.lists.top_k("ab", 1),
    "top k of rows": lambda: tl.lists.top_k([[0.5, 0.5]], 1),
    "top k, half a class": lambda: tl.lists.top_k([0.5, 0.5], 1.5),  # type: ignore[arg-type]
    "true lists, half a class": lambda: tl.lists.true_lists([0.5, 0.5], 1.5),  # type: ignore[arg-type]
    "mass in words": lambda: tl.lists.top_mass([0.5, 0.5], "most"),  # type: ignore[arg-type]
    "words majorize": lambda: tl.scoring.majorizes("a", "b"),
    "nothing majorizes": lambda: tl.scoring.majorizes(None, None),
    "no entropy": lambda: tl.Savage(None, None),  # type: ignore[arg-type]
    "entropy by name": lambda: tl.Savage("brier", lambda v, n: -2 * v),  # type: ignore[arg-type]
    "entropy that is a number": lambda: tl.Savage(lambda v, n: 0.5, lambda v, n: -2 * v),
    "gradient that is a number": lambda: tl.Savage(lambda v, n: 1 - (n * v * v).sum(axis=-1), lambda v, n: -2.0),
    "no function": lambda: tl.Separable(None, None),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", MISUSES)
def test_a_mistake_is_said_to_be_one(name: str) -> None:
    """Neither a warning, nor a result, nor an error of numpy or of Python."""
    with pytest.raises(tl.TopListError, match=r"[.?]$") as caught:
        MISUSES[name]()
    assert "NoneType" not in str(caught.value)
    assert "is not iterable" not in str(caught.value)


def test_a_message_is_short_however_many_classes_there_are() -> None:
    """Three thousand digits help nobody, and Python refuses to write more than 4,300."""
    for size in (2**10000, 10**5000):
        lists = T.from_labels([0], size)
        for use in (lists.padded, lambda lists=lists: tl.score(lists, [-1])):
            with pytest.raises(tl.TopListError) as caught:
                use()
            assert len(str(caught.value)) < 200


def test_every_error_is_a_value_error_of_one_family() -> None:
    """One `except` catches all."""
    for kind in (tl.ShapeError, tl.ConfidenceError, tl.MassError, tl.ClassError, tl.OutcomeError):
        assert issubclass(kind, tl.CaseError)
    for kind in (tl.CaseError, tl.SpaceError, tl.RuleError):
        assert issubclass(kind, tl.TopListError)
    assert issubclass(tl.ImproperRuleError, tl.RuleError)
    assert issubclass(tl.TopListError, ValueError)


BESIDE = "outcomes for lists on a device are one array of 3 codes beside them."
ONE_LIBRARY = "outcomes for lists on a device are integer codes, in an array of the same library."
ON_NUMPY = "repair lists before they go to the device, or build them from numpy arrays."


def device_lists(lib: Library, **options: Any) -> Any:
    return T.from_topk(lib.array([[0, 1]] * 3), lib.array([[0.5, 0.25]] * 3), **{"space": 5} | options)


DEVICE: dict[str, tuple[Callable[[Library], Any], type[tl.TopListError], str]] = {
    "flat": (lambda lib: T.from_topk(lib.array([0, 1]), lib.array([0.5, 0.25]), 5), tl.ShapeError,
             "classes (2,) and confidences (2,) must be two arrays of the same (cases, k) shape."),
    "widths": (lambda lib: T.from_topk(lib.array([[0, 1]]), lib.array([[0.5]]), 5), tl.ShapeError,
               "classes (1, 2) and confidences (1, 1) must be two arrays of the same (cases, k) shape."),
    "float codes": (lambda lib: T.from_topk(lib.array([[0.0]]), lib.array([[0.5]]), 5), tl.ShapeError,
                    "classes must be integer codes, not "),
    "whole confidences": (lambda lib: T.from_topk(lib.array([[0]]), lib.array([[1]]), 5), tl.ShapeError,
                          "confidences must be floating-point numbers, not "),
    "two libraries": (lambda lib: T.from_topk(np.array([[0]]), lib.array([[0.5]]), 5), tl.ShapeError,
                      "arrays of one library are needed, not of "),
    "sizes": (lambda lib: device_lists(lib, space=[5, 5]), tl.ShapeError, "2 sizes for 3 cases. One per case."),
    "rests": (lambda lib: device_lists(lib, log_rest=lib.array([-1.0, -1.0])), tl.ShapeError,
              "2 log_rest for 3 cases. One per case."),
    "ids": (lambda lib: device_lists(lib, ids=["a", "b"]), tl.ShapeError, "2 ids for 3 cases. One per case."),
    "rest": (lambda lib: device_lists(lib, log_rest=lib.array(np.log([0.25, 0.5, 0.25]))), tl.MassError,
             f"case 1: the listed mass 0.75 and the given rest mass 0.5 do not add up to 1. {REST}"),
    "percent": (lambda lib: device_lists(lib, scale="percent"), tl.TopListError, ON_NUMPY),
    "normalize": (lambda lib: device_lists(lib, normalize=True), tl.TopListError, ON_NUMPY),
    "duplicates": (lambda lib: device_lists(lib, duplicates="sum"), tl.TopListError, ON_NUMPY),
    "outcome below zero": (lambda lib: tl.score(device_lists(lib), lib.array([0, -1, 1])), tl.OutcomeError,
                           f"case 1: {outside(-1, 5)}"),
    "outcomes outside": (lambda lib: tl.score(device_lists(lib), lib.array([0, 2**40, 5])), tl.OutcomeError,
                         f"case 1: {outside(2**40, 5)}{ONE_MORE}"),
    "outcome NaN": (lambda lib: tl.score(device_lists(lib), lib.array([0.0, NAN, 1.0])), tl.ShapeError, ONE_LIBRARY),
    "outcomes in a list": (lambda lib: tl.score(device_lists(lib), [0, 1, 3]), tl.ShapeError, ONE_LIBRARY),
    "too few outcomes": (lambda lib: tl.score(device_lists(lib), lib.array([0, 1])), tl.ShapeError, BESIDE),
    "a column of outcomes": (lambda lib: tl.score(device_lists(lib), lib.array([[0]] * 3)), tl.ShapeError, BESIDE),
    "penalty": (lambda lib: tl.score(device_lists(lib), lib.array([0, 1, 2]), penalty=-1), tl.TopListError,
                "the penalty for invalid lists is zero or more, not -1."),
    **{name: (lambda lib, use=use: use(device_lists(lib)), tl.TopListError, "this works on lists in memory, not on ")
       for name, use in {
           "expected score": lambda lists: tl.expected_score(lists, [0.2] * 5),
           "divergence": lambda lists: tl.divergence(lists, [0.2] * 5),
           "curve": tl.curve,
           "accuracy": lambda lists: tl.accuracy(lists, lists.classes[:, 0]),
           "ranks": lambda lists: tl.ranks(lists, lists.classes[:, 0]),
           "worst excess": tl.scoring.worst_excess,
           "excess bound": tl.scoring.excess_bound,
       }.items()},
}  # fmt: skip


@pytest.mark.parametrize("name", LIBRARIES)
def test_arrays_of_other_libraries_are_refused_in_the_words_of_numpy(name: str) -> None:
    with library(name) as lib:
        for row, (listed, values, m, kind, problem, remedy) in LISTS.items():
            classes = lib.array(np.array([listed if i in (1, 3) else (0, 1, 2)[: len(listed)] for i in range(4)]))
            t = np.array([values if i in (1, 3) else (0.5, 0.3, 0.2)[: len(listed)] for i in range(4)])
            for dtype in (np.float32, np.float64):
                with pytest.raises(kind) as caught:
                    T.from_topk(classes, lib.array(t.astype(dtype)), m)
                assert str(caught.value) == f"case 1: {problem} {remedy}{ONE_MORE}", row
        for row, (call, expected, said) in DEVICE.items():
            with pytest.raises(tl.TopListError) as refused:
                call(lib)
            assert (type(refused.value), str(refused.value)[: len(said)]) == (expected, said), row


@pytest.mark.parametrize("name", LIBRARIES)
def test_codes_on_a_device_are_compared_as_integers(name: str) -> None:
    """Outcome 257 is not class 1, as in eight bits, and 2**24 + 1 not 2**24, as in single precision."""
    with library(name) as lib:
        t, y = [[0.5, 0.25]] * 3, [257, 0, 256]
        narrow = T.from_topk(lib.array(np.array([[0, 1]] * 3, np.uint8)), lib.array(t), 300)
        wide = T.from_topk([[0, 1]] * 3, t, 300)
        assert lib.numpy(tl.score(narrow, lib.array(y))).tolist() == pytest.approx(tl.score(wide, y).tolist())
        for m in (2**24 + 1, 10**9 + 7):
            single = lib.array(np.array(t, np.float32))
            last = T.from_topk(lib.array([[m - 1, 0]] * 3), single, m)
            assert lib.numpy(tl.score(last, lib.array([m - 1] * 3))).tolist() == pytest.approx([0.3125] * 3, abs=1e-6)
            with pytest.raises(tl.ClassError):
                T.from_topk(lib.array([[m, 0]] * 3), single, m)
            with pytest.raises(tl.OutcomeError):
                tl.score(last, lib.array([0, m, 0]))
