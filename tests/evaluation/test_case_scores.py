"""Scores case by case, of one model and of a leaderboard; and a new column of the leaderboard in one place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import toplist as tl
from tests.report.html.parse_page import read
from toplist.scoring import case_scores
from toplist.scoring.case_scores import METRICS, CaseScores, Metric

LISTS = [{"a": 0.7, "b": 0.2}, {"b": 0.5}, {"a": 0.01, "b": 0.9}, {}]
Y = ["a", "c", "b", "a"]
ABOUT = {"weight": [1.0, 2.0, 1.0, 0.5], "group": ["x", "y", "x", "y"], "time": [1, 2, 2, 3]}


def files(folder: Path, order: list[int]) -> tuple[Path, Path]:
    """Three of the cases in this order, and the truth of all."""
    rows = [f"{i},{name},{p}" for i in order for name, p in LISTS[i].items()]
    (folder / "m.csv").write_text("\n".join(["case,class,confidence", *rows]) + "\n")
    truth = [f"{i},{y},{ABOUT['weight'][i]},{ABOUT['group'][i]}" for i, y in enumerate(Y) if i < 3]
    (folder / "y.csv").write_text("\n".join(["case,outcome,w,g", *truth]) + "\n")
    return folder / "m.csv", folder / "y.csv"


def test_every_case_has_the_scores_and_metrics_of_the_functions_for_them() -> None:
    found = tl.score_cases(LISTS, tl.Truth(Y, **ABOUT), space=4, rules=["brier", "log"], k=(1, 2))
    lists = tl.TopLists.from_dicts(LISTS, 4)
    for rule in ("brier", "log"):
        np.testing.assert_array_equal(found[rule], tl.score(lists, Y, rule=rule))
    assert np.mean(found["accuracy"]) == tl.accuracy(lists, Y)
    assert np.mean(found["top_2_error"]) == tl.top_k_error(lists, Y, k=2)
    assert found["weight"].tolist() == ABOUT["weight"]
    assert found["group"].tolist() == ABOUT["group"]
    assert found["time"].tolist() == ABOUT["time"]
    assert "brier_unpenalised" in found.columns()
    with pytest.raises(KeyError, match="'nothing' is not among 'brier', 'log', 'accuracy'"):
        found["nothing"]


def test_rows_can_be_taken_and_put_together_again() -> None:
    found = tl.score_cases(LISTS, tl.Truth(Y, **ABOUT), space=4)
    parts = [found.take([0, 1]), found.take(np.array([False, False, True, True]))]
    assert [len(part) for part in parts] == [2, 2]
    again = CaseScores.concat(parts)
    for name, column in found.columns().items():
        np.testing.assert_array_equal(again.columns()[name], column)


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]], ids=["in step", "joined"])
def test_files_give_what_memory_gives(order: list[int], tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    model, truth = files(tmp_path, order)
    found = tl.score_cases(model, tl.Truth(truth, weight="w", group="g"), space=4)
    want = tl.score_cases(LISTS[:3], Y[:3], space=4)
    for name in (*want.rules, *want.metrics):
        np.testing.assert_array_equal(found[name], want[name])
    assert [str(case) for case in found["case"].tolist()] == ["0", "1", "2"]
    assert found["weight"].tolist() == ABOUT["weight"][:3]
    assert found["group"].tolist() == ABOUT["group"][:3]


def test_frames_arrow_and_parquet_have_the_same_columns(tmp_path: Path) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    parquet = pytest.importorskip("pyarrow.parquet")
    found = tl.score_cases(LISTS, tl.Truth(Y, **ABOUT), space=4)
    found.to_parquet(tmp_path / "scores.parquet")
    tables = (found.to_pandas(), pandas.DataFrame(found.to_polars().to_dict(as_series=False)), found.to_arrow())
    tables = (*tables[:2], tables[2].to_pandas(), parquet.read_table(tmp_path / "scores.parquet").to_pandas())
    assert polars.DataFrame is type(found.to_polars())
    for table in tables:
        assert list(table.columns) == list(found.columns())
        for name, column in found.columns().items():
            assert table[name].tolist() == np.asarray(column).tolist()


@pytest.mark.parametrize("missing", ["pairwise", "common", "uniform"])
def test_a_leaderboard_has_the_scores_of_the_cases_that_each_model_has(missing: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    model, truth = files(tmp_path, [2, 0])
    board = tl.compare({"part": model}, truth, space=4, missing=missing)
    found = board.scores["part"]
    assert len(found) == {"pairwise": 2, "common": 2, "uniform": 3}[missing]
    assert np.mean(found["brier"]) == pytest.approx(board["part"].scores["brier"].mean.value, rel=1e-12)
    assert np.mean(found["coverage"]) == pytest.approx(board["part"].metrics["coverage"].value, rel=1e-12)
    assert board.scores is board.scores


def test_a_new_metric_is_one_entry_and_appears_everywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In rows, text, JSON under its schema, CSV and the page; from files that are joined, too."""
    jsonschema, _, _ = map(pytest.importorskip, ("jsonschema", "pyarrow", "jinja2"))
    from toplist.report.export import schema

    new = Metric("emptiness", "how empty", "lists that name nothing", lambda lists, ranks: lists.sizes == 0, "lower")
    monkeypatch.setattr(case_scores, "METRICS", (*METRICS, new))
    board = tl.compare({"a": LISTS, "b": ["a", "b", "c", "a"]}, Y, space=4)
    assert board["a"].metrics["emptiness"].value == 0.25
    assert board._intervals.tally.sums["emptiness"].tolist()[1] == 0
    assert "how empty" in board.to_text(400)
    assert "emptiness" in board.to_csv().split("\n")[0].split(",")
    jsonschema.Draft202012Validator(schema()).validate(board.to_dict())
    assert "how empty" in board.to_html(detail=True)
    board.report(tmp_path / "board.html")
    (head,) = (one for one in read((tmp_path / "board.html").read_text("utf-8")).every("th") if one.text == "how empty")
    assert head.attributes["data-best"] == "low", "what is better is a field of the metric, whatever its name"
    model, truth = files(tmp_path, [2, 0])
    joined = tl.compare({"part": str(model)}, str(truth), space=4, missing="uniform")
    assert joined["part"].metrics["emptiness"].value == pytest.approx(1 / 3)
    assert joined.scores["part"]["emptiness"].tolist() == [False, True, False]


def test_metrics_of_empty_lists_and_distributions_are_of_the_type_of_others() -> None:
    """Batches of a file of scores have the types of the first."""
    truth = tl.TopLists.from_dicts([{0: 0.5, 1: 0.5}], 4)
    empty, listed = (tl.score_cases(tl.TopLists.from_dicts([one], 4), truth).metrics for one in ({}, {0: 0.75}))
    assert {name: column.dtype for name, column in empty.items()} == {
        name: column.dtype for name, column in listed.items()
    }
