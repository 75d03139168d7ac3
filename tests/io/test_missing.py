"""Cases that some do not have: who lacks what is said, and nothing gets lost without being counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.io.boards import hard_truth
from tests.io.files import LAYOUTS, save
from tests.io.strategies import Drawn, brier, chance, draw
from toplist.errors import AlignmentError
from toplist.evaluation.compare import compare

N = 30
FORMS = ("lists.parquet", "long.csv", "scattered.parquet", "wide.csv", "ranked.jsonl")


@pytest.fixture
def drawn() -> Drawn:
    return draw(11, N)


def _write(drawn: Drawn, at: list[int], path: Path, *, strangers: int = 0) -> Path:
    """Some of the cases, and some that the truth does not have."""
    some = drawn.take([*at, *range(strangers)])
    some = replace(some, ids=[*some.ids[: len(at)], *(10_000 + i for i in range(strangers))])
    layout = path.name.partition(".")[0]
    return save(LAYOUTS[layout](some, chance(0)), path)


def _mean(drawn: Drawn, at: list[int]) -> float:
    scores = brier(drawn)
    return float(sum(scores[i] for i in at) / len(at))


@pytest.mark.parametrize("form", FORMS)
def test_an_error_says_who_lacks_what_and_who_has_what_nobody_asked_for(
    form: str, drawn: Drawn, tmp_path: Path
) -> None:
    truth = hard_truth(drawn, tmp_path / "y.csv")
    whole = _write(drawn, list(range(N)), tmp_path / form)
    short = _write(drawn, list(range(2, N)), tmp_path / f"{form.replace('.', '.short.', 1)}")
    with pytest.raises(AlignmentError) as error:
        compare({"whole": whole, "short": short}, truth, space=drawn.m)
    first, second = (repr(str(case)) for case in drawn.ids[:2])
    assert f"short lacks 2 cases ({first}, {second})" in str(error.value)
    assert "whole" not in str(error.value)
    more = _write(drawn, list(range(N)), tmp_path / f"{form.replace('.', '.more.', 1)}", strangers=1)
    with pytest.raises(AlignmentError, match=r"more has 1 case \('?10000'?\) that the truth lacks"):
        compare({"more": more}, truth, space=drawn.m)


@pytest.mark.parametrize("form", FORMS)
def test_common_compares_what_all_have_and_counts_what_it_leaves_out(form: str, drawn: Drawn, tmp_path: Path) -> None:
    truth = hard_truth(drawn, tmp_path / "y.parquet")
    a, b = list(range(20)), list(range(10, N))
    board = compare(
        {
            "a": _write(drawn, a, tmp_path / form, strangers=3),
            "b": _write(drawn, b, tmp_path / form.replace(".", ".b.", 1)),
        },
        truth,
        space=drawn.m,
        missing="common",
    )
    both = list(range(10, 20))
    assert (board.comparison.cases, board.comparison.compared) == (N, 10)
    assert [row.cases for row in board] == [10, 10]
    assert board["a"].scores["brier"].mean.value == pytest.approx(_mean(drawn, both), rel=1e-14)
    origins = {origin.name: origin for origin in board.comparison.sources}
    assert (origins["a"].cases, origins["a"].left_out, origins["a"].filled) == (20, 13, 0)
    assert (origins["b"].cases, origins["b"].left_out, origins["b"].filled) == (20, 10, 0)


@pytest.mark.parametrize("form", FORMS)
def test_reject_takes_an_absent_prediction_for_the_empty_list(form: str, drawn: Drawn, tmp_path: Path) -> None:
    truth = hard_truth(drawn, tmp_path / "y.jsonl")
    there = list(range(0, N, 2))
    board = compare(
        {
            "half": _write(drawn, there, tmp_path / form),
            "all": _write(drawn, list(range(N)), tmp_path / form.replace(".", ".b.", 1)),
        },
        truth,
        space=drawn.m,
        missing="uniform",
    )
    emptied = replace(drawn, lists=[one if at in there else {} for at, one in enumerate(drawn.lists)])
    assert [row.cases for row in board] == [N, N]
    assert board["half"].scores["brier"].mean.value == pytest.approx(_mean(emptied, list(range(N))), rel=1e-14)
    assert board["half"].metrics["mean_length"].value == sum(map(len, emptied.lists)) / N
    origins = {origin.name: origin for origin in board.comparison.sources}
    assert (origins["half"].cases, origins["half"].filled, origins["half"].left_out) == (len(there), N - len(there), 0)
    assert (origins["all"].cases, origins["all"].filled) == (N, 0)


@pytest.mark.parametrize("form", FORMS)
def test_pairwise_scores_everybody_on_what_they_predicted(form: str, drawn: Drawn, tmp_path: Path) -> None:
    truth = hard_truth(drawn, tmp_path / "y.csv")
    a, b = list(range(20)), list(range(10, N))
    board = compare(
        {"a": _write(drawn, a, tmp_path / form), "b": _write(drawn, b, tmp_path / form.replace(".", ".b.", 1))},
        truth,
        space=drawn.m,
        missing="pairwise",
    )
    assert board.comparison.compared == N
    for name, at in (("a", a), ("b", b)):
        assert (board[name].cases, board[name].missing) == (20, 10)
        assert board[name].scores["brier"].mean.value == pytest.approx(_mean(drawn, at), rel=1e-14)


@pytest.mark.parametrize("missing", ["error", "common", "uniform", "pairwise"])
def test_nothing_is_missing_where_nothing_is_missing(missing: str, drawn: Drawn, tmp_path: Path) -> None:
    truth = hard_truth(drawn, tmp_path / "y.csv")
    whole = _write(drawn.shuffled(1), list(range(N)), tmp_path / "long.csv")
    board = compare({"whole": whole}, truth, space=drawn.m, missing=missing)
    (origin,) = board.comparison.sources
    assert (board.comparison.compared, origin.cases, origin.filled, origin.left_out) == (N, N, 0, 0)
    assert board["whole"].scores["brier"].mean.value == pytest.approx(_mean(drawn, list(range(N))), rel=1e-14)


def test_a_long_truth_whose_rows_are_apart_is_brought_together(tmp_path: Path) -> None:
    """Each case is believed to be what the predictions say: the score is the entropy."""
    path = tmp_path / "soft.csv"
    path.write_text("case,class,confidence\n1,a,.5\n2,b,1\n1,c,.5\n")
    copy = tmp_path / "copy.csv"
    copy.write_bytes(path.read_bytes())
    board = compare({"same": path}, copy, space=4, rules="brier")
    assert board["same"].cases == 2
    assert board["same"].scores["brier"].mean.value == 0.25
