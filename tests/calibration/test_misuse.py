"""What a newcomer tries with diagnose, and what is said to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import toplist as tl


def test_several_models_are_diagnosed_one_at_a_time() -> None:
    lists = tl.TopLists.from_labels([0, 1], 2)
    with pytest.raises(tl.TopListError, match="one model at a time"):
        tl.diagnose({"a": lists, "b": lists}, [0, 1])


def test_no_cases_are_no_crash() -> None:
    assert tl.diagnose(np.zeros((0, 3)), np.zeros(0, int)).cases == 0


def test_labels_that_are_numbers_are_not_taken_for_codes() -> None:
    rows, y = [{3: 0.6, 1: 0.3}, {2: 0.7}, {1: 0.5, 3: 0.4}] * 9, [3, 2, 3] * 9
    numbered = tl.diagnose(rows, y, space=tl.ClassSpace(labels=[3, 1, 2]))
    named = [{f"c{k}": v for k, v in row.items()} for row in rows]
    called = tl.diagnose(named, [f"c{one}" for one in y], space=tl.ClassSpace(labels=["c3", "c1", "c2"]))
    assert numbered.decomposition == called.decomposition
    assert numbered.bias == called.bias


def test_cases_that_one_file_lacks_are_an_error_or_left_aside(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="files need pyarrow")
    (tmp_path / "p.csv").write_text("case,class,confidence\n" + "".join(f"{i},a,0.75\n" for i in range(8)))
    (tmp_path / "y.csv").write_text("case,outcome\n" + "".join(f"{i},{'ab'[i % 4 == 0]}\n" for i in range(6)))
    with pytest.raises(tl.AlignmentError):
        tl.diagnose(tmp_path / "p.csv", tmp_path / "y.csv", space=3)
    found = tl.diagnose(tmp_path / "p.csv", tmp_path / "y.csv", space=3, missing="common")
    assert found.tested == 6
    with pytest.raises(tl.TopListError, match="missing is one of error, common"):
        tl.diagnose(tmp_path / "p.csv", tmp_path / "y.csv", space=3, missing="uniform")


def test_a_named_outcome_is_a_label_whatever_else_the_file_holds(tmp_path: Path) -> None:
    """One file with ranked columns and the truth is predictions to the one and outcomes to the other."""
    pytest.importorskip("pyarrow", reason="files need pyarrow")
    text = "class1,confidence1,class2,confidence2,true\n" + "a,0.6,b,0.3,a\nb,0.7,a,0.2,a\n" * 4
    (tmp_path / "both.csv").write_text(text)
    path = tmp_path / "both.csv"
    found = tl.diagnose(path, tl.Truth(path, outcome="true"), space=3)
    assert found.bias is not None
    assert found.bias.hit_rate == 0.5
    board = tl.compare({"people": path}, tl.Truth(path, outcome="true"), space=3)
    assert board["people"].metrics["accuracy"].value == 0.5


def test_figures_bear_the_name_of_the_model() -> None:
    lists, y = tl.TopLists.from_topk([[0]] * 40, [[0.8]] * 40, 3), [0] * 30 + [1] * 10
    assert tl.diagnose(lists, y, name="mine").plot("reliability").data.panels[0].name == "mine"
