"""Whatever engine runs it, and however it is split, a comparison gives the same bytes, or says the same."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import toplist as tl
from tests.evaluation.random_files import CLASSES, design, write
from tests.evaluation.sequential import sequential
from toplist import ClassSpace, Source, Truth
from toplist.evaluation import distributed
from toplist.scoring.rules import Power

Rows = list[dict[str, Any]]
N = 60


def said(run: Callable[[], tl.Leaderboard]) -> str:
    """The JSON of a leaderboard, or the error."""
    try:
        return json.dumps(run().to_dict())
    except tl.TopListError as error:
        return f"{type(error).__name__}: {error}"


def both(models: Any, truth: Any, *, size: int = 17, parts: bool | None = None, **options: Any) -> tuple[str, str]:
    """What a comparison says, and what it says in parts of so many cases, of which there must be several or not."""
    ran: list[int] = []
    alone = said(lambda: tl.compare(models, truth, **options))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_LEAST", "_LARGEST"):
            patch.setattr(distributed, name, size)
        split = said(lambda: tl.compare(models, truth, **options, engine=sequential(size, ran)))
    assert parts is None or any(count > 1 for count in ran) == parts
    return alone, split


def lists(ids: Any, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    return [
        {"case": i, "classes": [CLASSES[c] for c in rng.permutation(6)[:2]], "confidences": [0.5, 0.3]} for i in ids
    ]


def outcomes(ids: Any, seed: int = 9) -> Rows:
    rng = np.random.default_rng(seed)
    return [{"case": i, "outcome": CLASSES[rng.integers(6)]} for i in ids]


def labels(ids: Any) -> Rows:
    return [{"case": i % N, "class": CLASSES[i % 5], "half": i // N} for i in ids]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def parts(here: Path) -> Path:
    """Two models and a truth, each in three files of twenty cases, in one order."""
    for name, make in (("a", lists), ("b", lambda ids: lists(ids, 5)), ("y", outcomes)):
        (here / name).mkdir()
        rows = make(range(N))
        for at in range(3):
            write(here / name / f"part-{at}.parquet", rows[20 * at : 20 * at + 20])
    return here


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("in_step", [True, False], ids=["in one order", "in any order"])
def test_any_files_give_the_same_bytes_in_any_parts(tmp_path: Path, seed: int, in_step: bool) -> None:
    asked = design(tmp_path, seed, in_step=in_step)
    alone, split = both(asked.models, asked.truth, size=asked.task_cases, **asked.options)
    assert alone.startswith("{")
    assert split == alone


def test_rules_that_are_functions_weights_and_many_classes_reach_workers(here: Path) -> None:
    rows = [row | {"w": i % 4} for i, row in enumerate(outcomes(range(N)))]
    write(here / "y.parquet", rows)
    write(here / "a.parquet", lists(range(N)))
    for space in (math.inf, ClassSpace(2**20000), ClassSpace(labels=CLASSES), ClassSpace(CLASSES, ordinal=True)):
        rules = ("rps", Power(1.5)) if getattr(space, "ordinal", False) else ("log", Power(1.5))
        truth = Truth("y.parquet", weight="w")
        alone, split = both({"a": "a.parquet"}, truth, parts=True, space=space, rules=rules, penalty=0.5)
        assert alone.startswith("{")
        assert split == alone


def rows_by_class(ids: Any) -> Rows:
    return [{"case": i, "class": c, "confidence": p} for i in ids for c, p in (("a", 0.5), ("b", 0.25))]


@pytest.mark.parametrize(
    ("name", "rows", "options", "remark"),
    [
        ("a.parquet", lists(range(N - 1, -1, -1)), {}, "not hold the same cases in the same order. Sort each of them"),
        ("a.parquet", lists(range(N + 2)), {}, "not hold the same cases in the same order. Sort each of them"),
        ("a.parquet", rows_by_class(range(N)), {}, "a.parquet has a row per class, is filtered"),
        ("a.csv", labels(range(2 * N)), {"where": "half=0"}, "Write its cases to a Parquet file"),
    ],
)
def test_what_cannot_be_split_is_computed_here_and_said_with_the_remedy(
    here: Path, caplog: pytest.LogCaptureFixture, name: str, rows: Rows, options: Any, remark: str
) -> None:
    write(here / name, rows)
    write(here / "y.parquet", outcomes(range(N)))
    caplog.set_level("WARNING", "toplist")
    alone, split = both({"a": Source(name, **options)}, "y.parquet", space=6, missing="common")
    assert alone.startswith("{")
    assert split == alone
    (said_,) = caplog.messages
    assert said_.startswith("Computed on this machine, not by sequential: ")
    assert remark in said_


@pytest.mark.parametrize("at", [1, 30, 59])
@pytest.mark.parametrize("which", ["both", "model", "truth"])
def test_a_case_that_is_there_twice_is_refused_wherever_it_lies(here: Path, at: int, which: str) -> None:
    twice = list(range(N))
    twice[at] = twice[at // 2]
    write(here / "a.parquet", lists(twice if which != "truth" else range(N)))
    write(here / "y.parquet", outcomes(twice if which != "model" else range(N)))
    alone, split = both({"a": "a.parquet"}, "y.parquet", size=25, space=6, missing="common")
    assert "is there twice" in alone
    assert split == alone


def test_ids_in_any_order_are_unique_if_no_two_are_the_same(here: Path) -> None:
    ids = np.random.default_rng(3).permutation(N).tolist()
    write(here / "a.parquet", lists(ids))
    write(here / "y.parquet", outcomes(ids))
    alone, split = both({"a": "a.parquet"}, "y.parquet", space=6)
    assert split == alone
    assert alone.startswith("{")


def test_files_that_leave_the_common_order_in_the_middle_are_matched_by_id(
    here: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = lists(range(N))
    mixed = pa.Table.from_pylist([*rows[:20], *rows[40:50], *rows[20:40], *rows[50:]])
    pq.write_table(mixed, here / "a.parquet", row_group_size=10)
    write(here / "y.parquet", outcomes(range(N)))
    caplog.set_level("WARNING", "toplist")
    alone, split = both({"a": "a.parquet"}, "y.parquet", size=10, parts=True, space=6)
    assert split == alone
    assert alone.startswith("{")
    assert "Computed on this machine, not by sequential: the files do not hold" in caplog.text


@pytest.mark.parametrize("order", ["in step", "shuffled"])
def test_a_bad_value_is_named_with_its_file_and_row(here: Path, order: str) -> None:
    ids = list(range(N)) if order == "in step" else np.random.default_rng(2).permutation(N).tolist()
    rows = lists(ids)
    rows[33]["confidences"] = [0.9, 0.3]
    write(here / "a.parquet", rows)
    write(here / "y.parquet", outcomes(range(N)))
    alone, split = both({"a": "a.parquet"}, "y.parquet", space=6)
    assert "a.parquet, row 34" in alone
    assert split == alone


ORDERS = [("s", "t"), ("t", "s"), ("s",)]


@pytest.mark.parametrize("models", ORDERS, ids="-".join)
@pytest.mark.parametrize("rows", [(0, 59), (10, 11), (50, 5)], ids=str)
def test_of_several_bad_rows_the_first_of_the_first_model_is_named(
    here: Path, models: tuple[str, ...], rows: tuple[int, int]
) -> None:
    """The first in the order of the truth: model s has an order of its own, model t that of the truth."""
    order = np.random.default_rng(2).permutation(N).tolist()
    shuffled = lists(order)
    for at, sum_ in zip(rows, (1.2, 1.4), strict=True):
        shuffled[at]["confidences"] = [sum_ - 0.5, 0.5]
    straight = lists(range(N), 3)
    straight[7]["confidences"] = [0.9, 0.9]
    write(here / "s.parquet", shuffled)
    write(here / "t.parquet", straight)
    write(here / "y.parquet", outcomes(range(N)))
    alone, split = both({name: f"{name}.parquet" for name in models}, "y.parquet", space=6)
    assert f"{models[0]}.parquet, row {8 if models[0] == 't' else min(rows, key=order.__getitem__) + 1}:" in alone
    assert split == alone


@pytest.mark.parametrize("missing", ["error", "common", "uniform"])
@pytest.mark.parametrize("predicted", [0, 60])
def test_a_truth_without_cases_is_named(here: Path, missing: str, predicted: int) -> None:
    truth = pa.schema([("case", pa.int64()), ("outcome", pa.string())]).empty_table()
    model = pa.Table.from_pylist(lists(range(60))).slice(0, predicted)
    for name, table in (("y.parquet", truth), ("a.parquet", model)):
        pq.write_table(table, here / name)
    alone, split = both({"a": "a.parquet"}, "y.parquet", space=6, missing=missing)
    assert alone == split == "FileError: y.parquet: there are no cases."


def test_arrays_and_tables_without_ids_and_without_cases_are_named(here: Path) -> None:
    np.save("p.npy", np.zeros((0, 6)))
    np.save("y.npy", np.zeros(0, int))
    (here / "n.csv").write_text("class\n")
    (here / "y.csv").write_text("outcome\n")
    for model, truth in (("p.npy", "y.npy"), ("n.csv", "y.csv")):
        alone, split = both({"a": model}, truth, space=6)
        assert alone == split == f"FileError: {truth}: there are no cases."


@pytest.mark.parametrize(("ids", "missing"), [
    (range(5, N), "error"), (range(-3, 70), "error"), (range(900, 960), "error"), (range(900, 960), "common"),
    (range(50), "baseline"),
])  # fmt: skip
def test_cases_that_differ_are_counted_over_all_tasks(here: Path, ids: range, missing: str) -> None:
    write(here / "a.parquet", lists(ids))
    write(here / "b.parquet", lists(range(N), 1))
    write(here / "y.parquet", outcomes(range(N)))
    models = {"b": "b.parquet", "a": "a.parquet"}
    alone, split = both(models, "y.parquet", space=6, missing=missing, baseline="a")
    assert alone.startswith("AlignmentError")
    assert split == alone


def test_more_names_than_classes_are_refused_even_if_no_task_has_so_many(here: Path) -> None:
    names = [CLASSES[i // 15] for i in range(N)]
    write(here / "a.parquet", [{"case": i, "class": name} for i, name in enumerate(names)])
    write(here / "y.parquet", [{"case": i, "outcome": name} for i, name in enumerate(names)])
    alone, split = both({"a": "a.parquet"}, "y.parquet", size=15, space=3)
    assert "4 different classes have been named" in alone
    assert "4 different classes have been named" in split


def test_codes_with_and_without_a_decimal_point_are_refused_even_if_they_lie_in_different_tasks(here: Path) -> None:
    codes = ["1" if i < 30 else "1.0" for i in range(N)]
    write(here / "a.parquet", [{"case": i, "class": code} for i, code in enumerate(codes)])
    write(here / "y.parquet", [{"case": i, "outcome": code} for i, code in enumerate(codes)])
    alone, split = both({"a": "a.parquet"}, "y.parquet", size=30, space=3)
    assert "decimal point" in alone
    assert split == alone


def test_arrays_and_text_without_ids_are_matched_by_position(here: Path) -> None:
    rng = np.random.default_rng(0)
    np.save("p.npy", rng.dirichlet(np.ones(6), N))
    np.save("q.npy", rng.dirichlet(np.ones(6), N).astype(np.float32))
    np.savez("z.npz", probs=rng.dirichlet(np.ones(6), N))
    np.save("y.npy", rng.integers(0, 6, N))
    alone, split = both({"p": "p.npy", "q": "q.npy", "z": "z.npz"}, "y.npy")
    assert split == alone
    assert alone.startswith("{")
    write(here / "u.csv", [{"class": "a"}] * N)
    for rows in (N, N - 1):
        write(here / "y.csv", [{"outcome": CLASSES[i % 6]} for i in range(rows)])
        alone, split = both({"u": "u.csv"}, "y.csv", space=6)
        assert split == alone


@pytest.mark.parametrize("value", ["x", "nothing"])
def test_conditions_are_about_all_rows(here: Path, value: str) -> None:
    rows = [{"case": i, "class": CLASSES[i % 5], "kind": "x" if i % 3 else "z"} for i in range(90)]
    write(here / "a.csv", rows)
    write(here / "y.parquet", outcomes([i for i in range(90) if i % 3]))
    alone, split = both({"a": Source("a.csv", where=f"kind={value}")}, "y.parquet", space=6)
    assert split == alone
    assert ("60 of 90 rows" in alone) or "no row fulfils it" in alone


def test_outcomes_that_predictions_carry_are_read_as_a_whole(here: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("WARNING", "toplist")
    write(here / "a.csv", [row | {"class": CLASSES[row["case"] % 5]} for row in outcomes(range(N))])
    alone, split = both({"a": "a.csv"}, Truth("same", outcome="outcome"), space=6)
    assert split == alone
    assert alone.startswith("{")
    assert "is read as a whole. Write its cases" in caplog.text


# Row groups


@pytest.mark.parametrize("seed", range(20))
def test_parts_cover_all_rows_once_and_cut_few_row_groups(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 40, rng.integers(1, 30)).tolist()
    size = int(rng.integers(1, 50))
    for name in ("_LEAST", "_LARGEST"):
        monkeypatch.setattr(distributed, name, size)
    cuts = distributed._cuts(sum(groups), groups)
    assert [row for lo, hi in cuts for row in range(lo, hi)] == list(range(sum(groups)))
    ends = np.cumsum([0, *groups])
    for lo, hi in pairwise(ends.tolist()):
        assert len(groups) < 8 or sum(first < hi and last > lo for first, last in cuts) <= 1
    assert len(groups) >= 8 or len(cuts) <= 4 * len(groups)


@pytest.mark.parametrize(("rows", "tasks"), [(60, 4), (30, 8), (5, 8)])
def test_tasks_of_the_usual_size_are_row_groups(here: Path, rows: int, tasks: int, monkeypatch: Any) -> None:
    """Of few row groups, parts; the truth may have others."""
    monkeypatch.setattr(distributed, "_LEAST", 7)
    pq.write_table(pa.Table.from_pylist(lists(range(N))), here / "a.parquet", row_group_size=rows)
    pq.write_table(pa.Table.from_pylist(lists(range(N), 4)), here / "b.parquet", row_group_size=4)
    pq.write_table(pa.Table.from_pylist(outcomes(range(N))), here / "y.parquet", row_group_size=50)
    models, ran = {"a": "a.parquet", "b": "b.parquet"}, list[int]()
    board = tl.compare(models, "y.parquet", space=6, engine=sequential(0, ran))
    assert board.to_json() == tl.compare(models, "y.parquet", space=6).to_json()
    assert ran == [tasks]


# What cannot be sent to workers


def test_what_is_in_memory_is_refused_with_the_remedy(here: Path) -> None:
    write(here / "y.parquet", outcomes(range(N)))
    frame = pa.Table.from_pylist(lists(range(N)))
    with pytest.raises(tl.TopListError, match=r"a is in memory.*write it to a Parquet file"):
        tl.compare({"a": frame}, "y.parquet", space=6, engine=sequential(0, []))


# Workers that live on


def wide(classes: str, seed: int) -> Rows:
    proba = np.random.default_rng(seed).dirichlet(np.ones(len(classes)), N)
    return [{"case": f"k{i:02}", **dict(zip(classes, row.tolist(), strict=True))} for i, row in enumerate(proba)]


def test_files_that_have_changed_since_another_comparison_are_opened_again(here: Path) -> None:
    write(here / "y.parquet", [{"case": f"k{i:02}", "outcome": "uvt"[i % 3]} for i in range(N)])
    for seed, classes in enumerate(("uvt", "uvtq", "tuv")):
        write(here / "a.parquet", wide(classes, seed))
        alone, split = both({"a": Source("a.parquet", normalize=True)}, "y.parquet")
        assert split == alone
        assert json.loads(alone)["classes"] == str(len(classes))


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_parts_that_come_and_go_between_comparisons_are_noticed(parts: Path, gone: int) -> None:
    for change in ("none", "gone", "new"):
        for name, make in (("a", lists), ("b", lists), ("y", outcomes)):
            if change == "gone":
                (parts / name / f"part-{gone}.parquet").unlink()
            elif change == "new":
                write(parts / name / "part-00.parquet", make(range(N, N + 20)))
        alone, split = both({"a": "a", "b": "b"}, "y", space=6)
        assert split == alone
        assert json.loads(alone)["cases"] == {"none": 60, "gone": 40, "new": 60}[change]


def test_files_of_a_folder_are_named_as_without_an_engine(parts: Path) -> None:
    write(parts / "a" / "part-3.parquet", lists([7]))
    alone, split = both({"a": "a/", "b": "b"}, "y", space=6)
    assert "a/part-3.parquet, row 1: case 7 is there twice" in alone
    assert split == alone
