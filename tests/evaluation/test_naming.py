"""Names of cases and classes are those that people gave, however codes were made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import toplist as tl
from tests.evaluation.factories import shown

pa = pytest.importorskip("pyarrow", reason="files need pyarrow")

LISTS = [{"cat": 0.1, "dog": 0.8}, {"owl": 0.5, "fox": 0.2, "cat": 0.1, "dog": 0.05}]
TWO, FIRST, SECOND = {"case": ["x", "y"]}, ("dog", "cat"), ("owl", "fox", "cat")
TEXT = {"outcome": ["cat", "owl"]}
WIDE = {"cat": [0.125, 0.375], "dog": [0.875, 0.625]}
ANIMALS = ["emu", "owl", "fox", "dog", "cat"]
SETS = {"space": 8, "read": tl.ReadOptions(set_separator=";")}
SOFT = {"classes": [["cat", "dog"], ["fox"]], "confidences": [[0.25, 0.75], [1.0]]}


def lists(*rows: dict[Any, float]) -> dict[str, Any]:
    """Lists as columns of a table."""
    return {"classes": [list(row) for row in rows], "confidences": [list(row.values()) for row in rows]}


# predictions, truth, options; the worst cases with their outcomes and listed classes; true classes taken for others
TABLES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], list[Any], list[Any]]] = {
    "text is named as in the file": (
        lists(*LISTS) | TWO, TEXT | TWO, {"space": 9},
        [("x", "cat", FIRST), ("y", "owl", SECOND)], [("cat", "dog")],
    ),
    "without ids, cases go by the row of the truth": (
        lists(*LISTS), TEXT, {"space": 9}, [("row 1", "cat", FIRST), ("row 2", "owl", SECOND)], [("cat", "dog")],
    ),
    "labels that are known beforehand keep their names": (
        lists(*LISTS) | TWO, {"outcome": ["cat", "emu"]} | TWO, {"space": ANIMALS},
        [("x", "cat", FIRST), ("y", "emu", SECOND)], [("cat", "dog"), ("emu", "owl")],
    ),
    "numbers are their own names": (
        lists({7: 0.6, 3: 0.4}), {"outcome": [5]}, {"space": 9}, [("row 1", "5", ("7", "3"))], [("5", "7")],
    ),
    "places of labels are named by the labels": (
        lists({"fox": 0.6, "emu": 0.3}), {"outcome": [1]}, {"space": ANIMALS},
        [("row 1", "owl", ("fox", "emu"))], [("owl", "fox")],
    ),
    "columns are named whatever order the labels have": (
        {"cat": [0.125], "dog": [0.25], "fox": [0.625]}, {"outcome": ["dog"]}, {"space": ["fox", "dog", "cat"]},
        [("row 1", "dog", ("fox", "dog", "cat"))], [("dog", "fox")],
    ),
    "columns are named without labels": (
        WIDE, TEXT, {"space": 9}, [("row 1", "cat", FIRST), ("row 2", "owl", FIRST)], [("cat", "dog"), ("owl", "dog")],
    ),
    "codes that are counted within cases find their names": (
        lists(*LISTS) | TWO, TEXT | TWO | {"m": [3, 5]}, {"n_classes": "m"},
        [("x", "cat", FIRST), ("y", "owl", SECOND)], [("cat", "dog")],
    ),
    "columns of classes by case find their names": (
        WIDE, TEXT | {"m": [2, 4]}, {"n_classes": "m"},
        [("row 1", "cat", FIRST), ("row 2", "owl", FIRST)], [("cat", "dog"), ("owl", "dog")],
    ),
    "duplicates that are summed find their names": (
        {"classes": [["cat", "dog", "cat"]], "confidences": [[0.25, 0.375, 0.25]]}, {"outcome": ["dog"]},
        {"space": 9, "read": tl.ReadOptions(duplicates="sum")}, [("row 1", "dog", ("cat", "dog"))], [("dog", "cat")],
    ),
    "label sets have their labels in order": (
        lists({"a;b": 0.6, "c": 0.2}), {"outcome": ["b;a"]}, SETS, [("row 1", "a;b", ("a;b", "c"))], [],
    ),
    "label sets in any order are one class": (
        lists({"a;b": 0.6, "c": 0.2}, {"b;a": 0.6}, {"b;a": 0.9}), {"outcome": ["c", "c", "b;a"]}, SETS,
        [("row 2", "c", ("a;b",)), ("row 1", "c", ("a;b", "c")), ("row 3", "a;b", ("a;b",))], [("c", "a;b")],
    ),
    "a soft truth names its most likely class": (
        lists(*LISTS) | TWO, SOFT | TWO, {"space": 9},
        [("y", "fox (1)", SECOND), ("x", "dog (0.75)", FIRST)], [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("claim", TABLES)
def test_names_are_those_of_the_tables(claim: str) -> None:
    predictions, truth, options, worst, confused = TABLES[claim]
    about = tl.Truth(pa.table(truth), n_classes=options.get("n_classes"))
    given = {name: value for name, value in options.items() if name != "n_classes"}
    board = tl.compare({"A": pa.table(predictions)}, about, rules="brier", **given)
    (exhibit,) = board.details().exhibits
    cases = [(one.case, one.outcome, tuple(name for name, _ in one.predictions[0].listed)) for one in exhibit.worst]
    assert cases == worst
    assert [(one.true, one.predicted) for one in exhibit.confusions] == confused


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
