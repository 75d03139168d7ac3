"""Files and frames whose classes are sets of labels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests.io.boards import only
from toplist import ClassSpace, LabelSets, TopLists
from toplist.cli.app import app
from toplist.errors import FileError, SpaceError, TopListError
from toplist.evaluation.compare import compare
from toplist.evaluation.transform import truncate_file

NAMES = ["sun", "sea", "rain"]
LISTS: list[Mapping[Any, float]] = [
    {frozenset({"sun", "sea"}): 0.7, frozenset({"sun"}): 0.2},
    {frozenset({"rain"}): 0.6},
]
HAPPENED = [{"sea", "sun"}, {"rain"}]
A = "case,class,confidence\n1,sun;sea,0.7\n1,sun,0.2\n2,rain,0.6\n"
Y = "case,outcome\n1,sea;sun\n2,rain\n"


def _said(*args: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(args))
    return result.exit_code, result.stdout or result.output


def _brier(made: Any) -> float:
    return float(made.scores["brier"].mean.value)


def _in_memory(space: LabelSets, lists: Any = LISTS, happened: Any = HAPPENED) -> float:
    (row,) = compare({"m": TopLists.from_dicts(lists, space)}, happened)
    return _brier(row)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name, text in (("a.csv", A), ("y.csv", Y), ("labels.txt", "\n".join(NAMES))):
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("space", [ClassSpace(labels=NAMES), ClassSpace(8, NAMES), LabelSets(NAMES), 8])
def test_spaces_that_mean_the_same_score_the_same(space: Any, place: Path) -> None:
    assert _brier(only(place / "a.csv", place / "y.csv", space=space, set_separator=";")) == _in_memory(
        LabelSets(NAMES)
    )


def test_a_number_of_sets_that_the_labels_do_not_make_is_an_error(place: Path) -> None:
    with pytest.raises(SpaceError, match="3 labels make 8 label sets, not 9"):
        only(place / "a.csv", place / "y.csv", space=ClassSpace(9, NAMES), set_separator=";")
    with pytest.raises(SpaceError, match="'sun;sea' has the separator ';' in it"):
        only(place / "a.csv", place / "y.csv", space=ClassSpace(labels=["sun;sea", "sun"]), set_separator=";")


def test_sets_outside_the_space_are_errors(place: Path) -> None:
    with pytest.raises(FileError, match=r"the label set 'sea;sun' is not in the support"):
        only(place / "a.csv", place / "y.csv", space=LabelSets(NAMES, support=[{"sun"}, {"rain"}]), set_separator=";")
    (place / "y.csv").write_text("case,outcome\n1,{}\n2,rain\n")
    with pytest.raises(FileError, match=r"y.csv, row 1: the empty set is not a class"):
        only(place / "a.csv", place / "y.csv", space=LabelSets(NAMES, empty=False), set_separator=";")


def test_text_for_sets_needs_a_delimiter(place: Path) -> None:
    with pytest.raises(FileError, match=r"'sun;sea' is one text: say what .* labels, as in set_separator=';'"):
        only(place / "a.csv", place / "y.csv", space=LabelSets(NAMES))


def test_numbers_stay_codes_of_sets() -> None:
    lists = pd.DataFrame({"case": [1, 1, 2], "class": [3, 1, 4], "p": [0.7, 0.2, 0.6]})
    truth = pd.DataFrame({"case": [1, 2], "outcome": [3, 4]})
    assert _brier(only(lists, truth, space=LabelSets(NAMES))) == _in_memory(LabelSets(NAMES))
    named = pd.DataFrame({"case": [1, 2], "outcome": [["sun", "sea"], ["rain"]]})
    with pytest.raises(FileError, match="codes go with codes"):
        only(lists, named, space=LabelSets(NAMES))


def test_messages_about_frames_write_sets_as_people_do() -> None:
    frame = pl.DataFrame({"case": [1], "classes": [[["sun", "sea"], ["sea", "sun"]]], "p": [[0.7, 0.2]]})
    with pytest.raises(FileError, match=r"class 'sun;sea' is listed twice"):
        only(frame, pl.DataFrame({"case": [1], "outcome": [["rain"]]}), space=8, set_separator=";")


def test_converted_sets_can_be_read_again(place: Path) -> None:
    (place / "a.csv").write_text(A + "3,{},0.5\n")
    code, said = _said("convert", str(place / "a.csv"), str(place / "a.parquet"), "--read", "set_separator=;")
    assert code == 0, said
    assert pq.read_table(place / "a.parquet")["classes"].to_pylist() == [["sea;sun", "sun"], ["rain"], ["{}"]]


def test_lists_of_labels_are_written_as_lists_of_labels(tmp_path: Path) -> None:
    classes = [[["sun", "sea"], ["rain"]], [["rain", "sea"], []]]
    frame, space = pl.DataFrame({"case": [1, 2], "classes": classes, "p": [[0.6, 0.2], [0.5, 0.1]]}), LabelSets(NAMES)
    truncate_file(frame, tmp_path / "out.parquet", k=2, space=space)
    truth = pl.DataFrame({"case": [1, 2], "outcome": [["rain"], ["sea", "rain"]]})
    assert _brier(only(tmp_path / "out.parquet", truth, space=space)) == _brier(only(frame, truth, space=space))
    with pytest.raises(TopListError, match="list of labels, which CSV cannot hold"):
        truncate_file(frame, tmp_path / "out.csv", k=2, space=space)


@given(st.lists(st.sets(st.sampled_from(NAMES)), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_labels_does_not_matter(happened: list[set[str]], chance: Any) -> None:
    def written(one: set[str]) -> str:
        return ";".join(chance.sample(sorted(one), len(one))) or "{}"

    ids = list(range(len(happened)))
    truth = pl.DataFrame({"case": ids, "outcome": list(map(written, happened))})
    lists = pl.DataFrame({"case": ids, "class": list(map(written, happened)), "p": [0.5] * len(ids)})
    row = only(lists, truth, space=ClassSpace(labels=NAMES), set_separator=";")
    assert (row.metrics["accuracy"].value, _brier(row)) == (1, pytest.approx(0.25 + 7 * (0.5 / 7) ** 2, rel=1e-14))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_of_zeros_and_ones_has_a_column_per_label(frame: Any) -> None:
    space = LabelSets(NAMES)
    lists = TopLists.from_dicts(LISTS, space)
    y = frame({"rain": [0, 1], "sea": [1, 0], "sun": [1, 0]})
    (row,) = compare({"m": lists}, y)
    assert _brier(row) == _in_memory(space)
    (row,) = compare({"m": y}, y, space=space)
    assert (_brier(row), row.metrics["accuracy"].value) == (0, 1)
    (row,) = compare({"m": y}, np.array([[1, 1, 0], [0, 0, 1]]), space=space)
    assert _brier(row) == 0


def test_other_frames_are_no_indicators() -> None:
    lists = TopLists.from_dicts(LISTS, LabelSets(NAMES))
    for odd in ({"rain": [0, 1], "sea": [1, 0], "moon": [1, 0]}, {"rain": [0, 2], "sea": [1, 0], "sun": [1, 0]}):
        with pytest.raises(TopListError, match="label sets, which a table"):
            compare({"m": lists}, pd.DataFrame(odd))
