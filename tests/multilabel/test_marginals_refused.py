"""Marginals are no distribution, and zeros and ones no outcome of a plain space: both are known by their looks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import toplist as tl
from toplist.lists.labelsets import Sets
from toplist.multilabel.set_decisions import mode_sets

NAMES = ["cat", "dog", "fox"]
SPACE = tl.LabelSets(NAMES)
P = np.array([[0.9, 0.8, 0.1], [0.2, 0.7, 0.6], [0.1, 0.1, 0.1]])
Y = np.array([[1, 1, 0], [0, 1, 1], [0, 0, 0]])
NAMED = [{"cat", "dog"}, {"dog", "fox"}, set()]
PLAIN = tl.TopLists.from_labels([0, 1, 2], 3)

BEST_SETS = (
    "3 columns for LabelSets(3 labels): one per label, not one for each of 8 sets. Probabilities per label are "
    "marginals: make lists of label sets with toplist.multilabel.best_sets(P, k, space)."
)
INDEPENDENT = (
    "Independent per-label scores (marginals) are not a distribution over classes: score label by label, or make lists "
    "of label sets with toplist.multilabel.best_sets. If these are unnormalised weights, pass normalize=True."
)
DISTRIBUTION = "A complete list is a distribution: correct it, or pass normalize=True to divide by the sum."
LABEL_SETS = (
    "Zeros and ones that do not sum to one are label sets: they need a space of label sets, LabelSets([...]), "
    "in which each set is a class."
)


def refusal(call: Any) -> tl.TopListError:
    with pytest.raises(tl.TopListError) as caught:
        call()
    return caught.value


# Marginals for a distribution over label sets


@pytest.mark.parametrize(
    "call",
    [
        lambda: tl.TopLists.from_proba(P, SPACE),
        lambda: tl.TopLists.from_proba(P.astype(np.float32), SPACE, k=2),
        lambda: tl.TopLists.from_proba(P.tolist(), SPACE, normalize=True),
        lambda: tl.TopLists.from_csr(sp.csr_matrix(P), SPACE),
        lambda: tl.TopLists.from_logits(np.log(P), SPACE),
        lambda: tl.TopLists.from_logits(np.log(P), SPACE, 2),
    ],
    ids=["proba", "float32", "nested", "csr", "logits", "top logits"],
)
def test_a_column_per_label_is_not_one_per_label_set(call: Any) -> None:
    """Not even divided by its sum."""
    error = refusal(call)
    assert str(error) == BEST_SETS
    assert isinstance(error, tl.ShapeError)


@pytest.mark.parametrize("form", [P, P.astype(np.float32), P.tolist(), sp.csr_matrix(P)], ids=type)
def test_marginals_are_refused_by_name_in_a_comparison(form: Any) -> None:
    assert str(refusal(lambda: tl.compare({"m": form}, Y, space=SPACE))) == f"m: {BEST_SETS}"


def test_with_a_support_its_sets_want_scores() -> None:
    space = tl.LabelSets(NAMES, support=NAMED[:2])
    assert str(refusal(lambda: tl.TopLists.from_proba(P, space))) == (
        "3 columns for LabelSets(3 labels, support of 2): one per label, not one for each of 2 sets. Probabilities per "
        "label are marginals: score the sets of the support, and list them with toplist.multilabel.support_sets."
    )


def test_a_column_per_class_is_a_distribution_though_it_is_also_one_per_label() -> None:
    """Three labels, a support of three sets: as many columns of either kind."""
    space = tl.LabelSets(NAMES, support=NAMED)
    lists = tl.TopLists.from_proba(np.eye(3), space)
    assert space.named(mode_sets(lists)) == NAMED
    board = tl.compare({"certain": np.eye(3), "sets": Y}, NAMED, space=space)
    assert [row.metrics["accuracy"].value for row in board] == [1.0, 1.0]
    assert str(refusal(lambda: tl.TopLists.from_proba(P, space))) == (
        f"case 0: all 3 classes are listed, but the confidences sum to 1.8. {INDEPENDENT} 2 more cases have the same "
        "problem."
    )


# Marginals for a distribution over plain classes


@pytest.mark.parametrize(
    ("p", "first"),
    [(P, 1.8), (P / 5, 0.36), (P[::-1], 0.3), (np.array([[0.9, 0.05, 0.05]] + [[0.9, 0.5, 0.7]] * 3), 2.1)],
    ids=["above one", "far below", "the first below", "one that sums to one"],
)
def test_sums_that_differ_widely_give_marginals_away(p: Any, first: float) -> None:
    error = refusal(lambda: tl.TopLists.from_proba(p))
    assert isinstance(error, tl.MassError)
    assert error.problem == f"all 3 classes are listed, but the confidences sum to {first:g}."
    assert error.remedy == INDEPENDENT
    assert error.more == 2
    ids = ["x", "y", "z", "u"][: len(p)]
    named = refusal(lambda: tl.TopLists.from_proba(p, ids=ids))
    assert isinstance(named, tl.MassError)
    assert error.case is not None
    assert (named.name, named.case, named.more) == (repr(ids[error.case]), error.case, error.more)


@pytest.mark.parametrize(
    ("p", "remedy"),
    [
        (np.full((3, 3), 0.32), DISTRIBUTION),
        (np.array([[0.5, 0.3, 0.2]] * 4 + [[0.5, 0.3, 0.1]]), DISTRIBUTION),
        (np.array([[0.5, 0.3, 0.2]] * 4 + [[0.5, 0.3, 0.24]]), DISTRIBUTION),
        (np.array([[0.5, 0.3, 0.1], [0.5, 0.1, 0.1]]), DISTRIBUTION),
        (np.array([[0.5, 0.3, 0.2]] * 4 + [[0.5, 0.3, 0.6]]), INDEPENDENT),
        (np.full((3, 3), 0.5), INDEPENDENT),
        (P[:1], INDEPENDENT),
    ],
    ids=["rounding", "one short", "one long", "cut off", "one far too long", "one factor", "one row"],
)
def test_sums_that_are_off_alike_or_once_keep_their_sentence(p: Any, remedy: str) -> None:
    error = refusal(lambda: tl.TopLists.from_proba(p))
    assert isinstance(error, tl.MassError)
    assert error.remedy == remedy


def test_distributions_in_other_units_are_not_taken_for_marginals() -> None:
    error = refusal(lambda: tl.TopLists.from_proba(np.log(P), scale="log"))
    assert isinstance(error, tl.MassError)
    assert error.remedy == INDEPENDENT
    percent = refusal(lambda: tl.TopLists.from_proba(100 * P, scale="percent"))
    assert isinstance(percent, tl.MassError)
    assert percent.remedy == INDEPENDENT


def test_the_remedy_for_marginals_works() -> None:
    """What the sentences say can be typed."""
    best_sets = pytest.importorskip("toplist.multilabel.sets").best_sets
    lists = best_sets(P, 2, SPACE)
    assert tl.score(lists, Y).shape == (3,)
    board = tl.compare({"m": lists}, Y, space=tl.LabelSets(NAMES))
    assert board["m"].cases == 3


def test_sigmoid_scores_by_name_are_refused_with_the_function() -> None:
    for space in (5, tl.ClassSpace(labels=NAMES)):
        assert str(refusal(lambda space=space: tl.TopLists.from_dicts([{"cat": 0.9, "dog": 0.8}], space))) == (
            f"case 0: the confidences sum to 1.7, which is above 1. {INDEPENDENT}"
        )


# Label sets for outcomes of a plain space


@pytest.mark.parametrize("kind", [int, bool, float, np.uint8])
def test_indicators_as_outcomes_of_a_plain_space_are_label_sets(kind: Any) -> None:
    y = Y.astype(kind)
    said = f"case 0: all 3 classes are listed, but the confidences sum to 2. {LABEL_SETS} 2 more cases have the same"
    assert str(refusal(lambda: tl.score(PLAIN, y))).startswith(said)
    assert str(refusal(lambda: tl.compare({"a": PLAIN}, y, space=3))).startswith(said)
    assert str(refusal(lambda: tl.compare({"a": PLAIN}, y[::-1], space=3))).startswith(
        "case 0: all 3 classes are listed, but the confidences sum to 0. There is nothing"
    )
    coded = tl.TopLists.from_labels([0, 1, 2], 8)
    assert str(refusal(lambda: tl.score(coded, y))) == f"3 columns for ClassSpace(8). {LABEL_SETS}"


def test_one_hot_outcomes_are_still_distributions() -> None:
    assert tl.score(PLAIN, np.eye(3)).tolist() == [0.0] * 3


def test_indicators_as_predictions_over_plain_classes_are_label_sets() -> None:
    said = f"s: case 0: all 3 classes are listed, but the confidences sum to 2. {LABEL_SETS}"
    assert str(refusal(lambda: tl.compare({"s": Y}, [0, 1, 2], space=3))).startswith(said)
    assert str(refusal(lambda: tl.compare({"s": NAMED}, [0, 1, 2], space=3))) == (
        "s: labels that are sets need a space of label sets. TopLists.from_labels(y, LabelSets(...))."
    )


# Label sets for hard predictions

FORMS: dict[str, Any] = {
    "integers": Y,
    "booleans": Y.astype(bool),
    "floats": Y.astype(float),
    "bytes": Y.astype(np.uint8),
    "nested": Y.tolist(),
    "csr": sp.csr_matrix(Y),
    "csc of floats": sp.csc_matrix(Y.astype(float)),
    "coo array": sp.coo_array(Y.astype(bool)),
    "sets": NAMED,
    "frozensets": tuple(map(frozenset, NAMED)),
    "tuples": [tuple(s) for s in NAMED],
    "lists": [sorted(s) for s in NAMED],
    "objects": np.array(NAMED, dtype=object),
    "Sets": Sets.from_indicators(Y),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("truth", [Y, NAMED, sp.csr_matrix(Y), Sets.from_indicators(Y)], ids=type)
def test_a_set_per_case_is_a_hard_prediction(form: Any, truth: Any) -> None:
    """In whatever form: the same as lists of one set with confidence one."""
    lists = tl.TopLists.from_dicts([{frozenset(s): 1.0} for s in NAMED], SPACE)
    board = tl.compare({"a": form, "b": lists}, truth, space=SPACE)
    assert board["a"].metrics["accuracy"].value == 1.0
    assert [mark.mean for mark in board["a"].scores.values()] == [mark.mean for mark in board["b"].scores.values()]
    wrong = tl.compare({"a": form}, [{"fox"}] * 3, space=SPACE)
    assert (wrong["a"].metrics["accuracy"].value, wrong["a"].scores["brier"].mean.value) == (0.0, 2.0)


@pytest.mark.parametrize("name", [name for name in FORMS if name != "nested"])
def test_hard_predictions_of_every_form_are_lists(name: str) -> None:
    want = tl.TopLists.from_dicts([{frozenset(s): 1.0} for s in NAMED], SPACE)
    assert tl.TopLists.from_labels(FORMS[name], SPACE) == want


@pytest.mark.parametrize("width", [62, 63, 159])
def test_hard_predictions_of_many_labels_know_their_sets(width: int) -> None:
    """Also where codes are digests: the lists bring the book."""
    y = np.random.default_rng(width).random((5, width)) < 0.05
    space = tl.LabelSets([f"label {i}" for i in range(width)])
    for form in (y, sp.csr_matrix(y), Sets.from_indicators(y)):
        lists = tl.TopLists.from_labels(form, space)
        assert isinstance(lists.space, tl.LabelSets)
        assert lists.space.sets_of(lists.classes) == Sets.from_indicators(y)
        board = tl.compare({"s": form}, y, space=space)
        assert board["s"].metrics["accuracy"].value == 1.0


def test_sets_in_a_list_go_by_their_places_not_by_their_names() -> None:
    """A batch of sets holds places; labels that are numbers too must not be mistaken for them."""
    space = tl.LabelSets([2, 1, 0])
    lists = tl.TopLists.from_labels(Sets.from_indicators(Y), space)
    assert [one.classes[0] for one in lists] == [{2, 1}, {1, 0}, set()]
    ragged = tl.TopLists.from_ragged([0, 1, 2, 3], Sets.from_indicators(Y), [0.5] * 3, space)
    assert [one.classes[0] for one in ragged] == [{2, 1}, {1, 0}, set()]


def test_what_is_neither_sets_nor_marginals_is_told_so() -> None:
    for form, said in (
        ([{"cta"}, {"dog"}, set()], "'cta' is not a label. Did you mean 'cat'?"),
        ([("cta",), ("dog",), ()], "'cta' is not a label. Did you mean 'cat'?"),
        (["cat", "dog", "fox"], "'cat' is one text, not a set of labels; take texts apart with space.split("),
        (Y[:, :2], "2 columns for LabelSets(3 labels). A distribution has a column for each label set; zeros and ones"),
    ):
        assert str(refusal(lambda form=form: tl.compare({"s": form}, Y, space=SPACE))).startswith(f"s: {said}")
    outside = refusal(lambda: tl.compare({"s": Y}, NAMED[:1] * 3, space=tl.LabelSets(NAMES, support=NAMED[:2])))
    assert str(outside) == "s: class set() is not in the support of the space."
    hard = refusal(lambda: tl.TopLists.from_proba(Y, SPACE))
    assert str(hard) == (
        "3 columns for LabelSets(3 labels): one per label, not one for each of 8 sets. "
        "Label sets as zeros and ones are hard predictions: TopLists.from_labels."
    )
