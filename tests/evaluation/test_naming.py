"""Names of cases and classes are those that people gave, however codes were made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import toplist as tl
from tests.evaluation.factories import shown
from toplist.evaluation.case_details import FileNames
from toplist.evaluation.model_details import accumulate, finish
from toplist.inference.results import ModelDetails
from toplist.io.batches import Batch
from toplist.io.encoding import ClassEncoder
from toplist.io.lists import for_batch, lists_of
from toplist.lists.validation import Repairs
from toplist.scoring.case_scores import CaseScores
from toplist.scoring.rules import as_rule

pa = pytest.importorskip("pyarrow", reason="files need pyarrow")


def columns(rows: list[dict[Any, float]] | list[list[tuple[Any, float]]], ids: Any = None) -> Batch:
    """A batch of lists as a reader makes it."""
    pairs = [list(row.items()) if isinstance(row, dict) else row for row in rows]
    sizes = [len(row) for row in pairs]
    classes = pa.array([c for row in pairs for c, _ in row])
    t = np.array([t for row in pairs for _, t in row], float)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return Batch("a.csv", np.arange(1, len(rows) + 1), None if ids is None else pa.array(ids), offsets, classes, t)


def in_file(
    batch: Batch,
    truth: Batch,
    coder: ClassEncoder,
    *,
    names: tuple[str, ...] = (),
    soft: bool = False,
    sizes: Any = None,
    repairs: Repairs | None = None,
) -> ModelDetails:
    """What a batch of a file shows."""
    space = coder.space if sizes is None else tl.ClassSpace(sizes)
    assert space is not None
    codes, outcomes = coder.codes(batch, names, truth, ())
    lists = lists_of(batch, names, codes, space, repairs or Repairs())
    y = lists_of(truth, (), outcomes, space, Repairs()) if soft else outcomes
    rule = as_rule("brier")
    made = accumulate(
        lists,
        y,
        CaseScores.from_lists(lists, y, (rule,)),
        rule=rule,
        position=truth.rows,
        names=FileNames(batch, names, codes, truth, (), outcomes, coder.labels and space.labels, coder.sets),
    )
    return finish(made, "A", "brier")


def told(made: ModelDetails) -> list[Any]:
    return [(one.case, one.outcome, tuple(name for name, _ in one.predictions[0].listed)) for one in made.worst]


LISTS = [{"cat": 0.1, "dog": 0.8}, {"owl": 0.5, "fox": 0.2, "cat": 0.1, "dog": 0.05}]
WHAT = [("dog", "cat"), ("owl", "fox", "cat")]


def test_text_is_named_as_in_the_file() -> None:
    made = in_file(columns(LISTS, ["x", "y"]), columns([{"cat": 1}, {"owl": 1}]), ClassEncoder(tl.ClassSpace(9), False))
    assert told(made) == [("x", "cat", WHAT[0]), ("y", "owl", WHAT[1])]


def test_without_ids_cases_go_by_the_row_of_the_truth() -> None:
    made = in_file(columns(LISTS), columns([{"cat": 1}, {"owl": 1}]), ClassEncoder(tl.ClassSpace(9), False))
    assert [one.case for one in made.worst] == ["row 1", "row 2"]


def test_labels_that_are_known_beforehand_keep_their_names() -> None:
    coder = ClassEncoder(tl.ClassSpace(labels=["emu", "owl", "fox", "dog", "cat"]), False)
    made = in_file(columns(LISTS, ["x", "y"]), columns([{"cat": 1}, {"emu": 1}]), coder)
    assert told(made) == [("x", "cat", WHAT[0]), ("y", "emu", WHAT[1])]


def test_numbers_are_their_own_names() -> None:
    made = in_file(columns([{7: 0.6, 3: 0.4}]), columns([{5: 1}]), ClassEncoder(tl.ClassSpace(9), True))
    assert told(made) == [("row 1", "5", ("7", "3"))]


def test_columns_of_a_wide_file_are_named_whatever_order_the_labels_have() -> None:
    wide = Batch("a.csv", np.array([1]), None, np.array([0, 3]), None, np.array([0.1, 0.2, 0.7]))
    coder = ClassEncoder(tl.ClassSpace(labels=["fox", "dog", "cat"]), False)
    made = in_file(wide, columns([{"dog": 1}]), coder, names=("cat", "dog", "fox"))
    assert made.worst[0].predictions[0].listed == (("fox", 0.7), ("dog", 0.2), ("cat", 0.1))
    assert made.worst[0].outcome == "dog"


def test_codes_that_are_counted_within_cases_find_their_names() -> None:
    truth = columns([{"cat": 1}, {"owl": 1}])
    made = in_file(columns(LISTS, ["x", "y"]), truth, ClassEncoder(None, False), sizes=[3, 5])
    assert told(made) == [("x", "cat", WHAT[0]), ("y", "owl", WHAT[1])]
    wide = Batch("a.csv", np.array([1, 2]), None, np.array([0, 2, 4]), None, np.array([0.1, 0.9, 0.4, 0.6]))
    made = in_file(wide, truth, ClassEncoder(None, False), names=("cat", "dog"), sizes=[2, 4])
    assert told(made) == [("row 1", "cat", ("dog", "cat")), ("row 2", "owl", ("dog", "cat"))]


def test_duplicates_that_are_summed_find_their_names() -> None:
    batch = columns([[("cat", 0.2), ("dog", 0.3), ("cat", 0.2)]])
    repairs = Repairs(duplicates="sum")
    made = in_file(batch, columns([{"dog": 1}]), ClassEncoder(tl.ClassSpace(9), False), repairs=repairs)
    assert made.worst[0].predictions[0].listed == (("cat", 0.4), ("dog", 0.3))


def test_label_sets_are_named_as_in_the_file() -> None:
    coder = ClassEncoder(tl.ClassSpace(8), False, ";")
    made = in_file(columns([{"a;b": 0.6, "c": 0.2}]), columns([{"b;a": 1}]), coder)
    assert told(made) == [("row 1", "b;a", ("a;b", "c"))]


def test_a_soft_truth_names_its_most_likely_class() -> None:
    truth = columns([{"cat": 0.3, "dog": 0.7}, {}])
    made = in_file(columns(LISTS, ["x", "y"]), truth, ClassEncoder(tl.ClassSpace(9), False), soft=True)
    assert {(one.case, one.outcome) for one in made.worst} == {("x", "dog (0.7)"), ("y", "any class alike")}


def test_label_sets_in_memory_are_named_in_the_order_of_their_labels() -> None:
    space = tl.LabelSets(["b", "a", "c"])
    lists = tl.TopLists.from_dicts([{frozenset("ab"): 0.8, frozenset(): 0.1}], space)
    made = shown(lists, np.array([[0, 0, 1]])).worst[0]
    assert (made.outcome, [name for name, _ in made.predictions[0].listed]) == ("{c}", ["{a, b}", "{}"])


def test_label_sets_beyond_codes_that_tell_are_named_by_what_was_given() -> None:
    names = [f"label {i}" for i in range(70)]
    space = tl.LabelSets(names)
    lists = tl.TopLists.from_dicts([{frozenset(names[:2]): 0.8}], space)
    indicators = np.zeros((1, 70), int)
    indicators[0, [3, 69]] = 1
    assert shown(lists, indicators).worst[0].outcome == "{label 3, label 69}"


def test_many_names_of_one_case_are_those_of_single_codes() -> None:
    batch = columns([{"b": 0.4, "a": 0.3, "c": 0.1}, {"d": 0.5}])
    codes = np.array([7, 3, 5, 0])
    names = for_batch(batch, (), codes, batch, (), codes)
    asked = [5, 3, 9, 7]
    assert names.classes(0, asked) == ["c", "a", "9", "b"]
    assert names.classes(0, asked) == [names.classes(0, [code])[0] for code in asked]


def test_classes_of_many_cases_are_named_as_those_of_single_ones() -> None:
    """In every way that codes are made: of batches, of labels, of whole numbers, of columns, within cases."""
    truth = columns([{"cat": 1}, {"owl": 1}])
    wide = Batch("a.csv", np.array([1, 2]), None, np.array([0, 2, 4]), None, np.array([0.1, 0.9, 0.4, 0.6]))
    ways: list[tuple[Batch, tuple[str, ...], ClassEncoder]] = [
        (columns(LISTS), (), ClassEncoder(tl.ClassSpace(9), False)),
        (columns(LISTS), (), ClassEncoder(tl.ClassSpace(labels=["emu", "owl", "fox", "dog", "cat"]), False)),
        (columns(LISTS), (), ClassEncoder(None, False)),
        (wide, ("cat", "dog"), ClassEncoder(tl.ClassSpace(9), False)),
        (wide, ("cat", "dog"), ClassEncoder(None, False)),
    ]
    for batch, names, coder in ways:
        codes, outcomes = coder.codes(batch, names, truth, ())
        labels = None if coder.labels is None or coder.space is None else coder.space.labels
        made = FileNames(batch, names, codes, truth, (), outcomes, labels)
        own = codes if len(codes) > len(names) or not names else np.tile(codes, 2)
        case = np.repeat(np.arange(2), np.diff(batch.offsets))
        assert made.predicted(case, own) == [made.classes(at, [code])[0] for at, code in zip(case, own, strict=True)]
        assert made.outcomes(np.arange(2), outcomes) == ["cat", "owl"]


def test_whole_numbers_that_are_places_of_labels_are_named_by_the_labels() -> None:
    coder = ClassEncoder(tl.ClassSpace(labels=["emu", "owl", "fox"]), False)
    made = in_file(columns([{"fox": 0.6, "emu": 0.3}]), columns([{1: 1}]), coder)
    assert told(made) == [("row 1", "owl", ("fox", "emu"))]
    assert [(one.true, one.predicted) for one in made.confusions] == [("owl", "fox")]


def test_label_sets_in_any_order_are_one_class_in_confusions() -> None:
    coder = ClassEncoder(tl.ClassSpace(8), False, ";")
    batch = columns([{"a;b": 0.6, "c": 0.2}, {"b;a": 0.6}, {"b;a": 0.9}])
    made = in_file(batch, columns([{"c": 1}, {"c": 1}, {"b;a": 1}]), coder)
    assert [(one.true, one.predicted, one.cases) for one in made.confusions] == [("c", "a;b", 2)]
