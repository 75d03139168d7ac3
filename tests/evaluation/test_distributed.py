"""Whatever engine runs it, and however it is split, a comparison gives the same bytes, or says the same."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
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
from tests.evaluation.sequential import Sequential
from toplist import ClassSpace, LabelSets, ReadOptions, Source, Truth
from toplist.evaluation import distributed
from toplist.evaluation.jobs import Job
from toplist.evaluation.task_folder import MANIFEST
from toplist.scoring.rules import Power, Separable

Rows = list[dict[str, Any]]
N = 60


def said(run: Callable[[], tl.Leaderboard]) -> str:
    """The JSON of a leaderboard, or the error."""
    try:
        return json.dumps(run().to_dict())
    except tl.TopListError as error:
        return f"{type(error).__name__}: {error}"


def both(models: Any, truth: Any, *, size: int = 17, **options: Any) -> tuple[str, str]:
    """What a comparison says, and what it says in tasks of so many cases."""
    alone = said(lambda: tl.compare(models, truth, **options))
    return alone, said(lambda: tl.compare(models, truth, **options, engine=Sequential(task_cases=size, seed=size)))


def lists(ids: Any, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    return [
        {"case": i, "classes": [CLASSES[c] for c in rng.permutation(6)[:2]], "confidences": [0.5, 0.3]} for i in ids
    ]


def outcomes(ids: Any, seed: int = 9) -> Rows:
    rng = np.random.default_rng(seed)
    return [{"case": i, "outcome": CLASSES[rng.integers(6)]} for i in ids]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("seed", range(8))
def test_any_files_give_the_same_bytes_in_any_tasks(tmp_path: Path, seed: int) -> None:
    asked = design(tmp_path, seed)
    alone, split = both(asked.models, asked.truth, size=asked.task_cases, **asked.options)
    assert alone.startswith("{")
    assert split == alone


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


def test_files_that_leave_the_common_order_in_the_middle_are_matched_by_id(here: Path) -> None:
    rows = lists(range(N))
    write(here / "a.parquet", [*rows[:20], *rows[40:50], *rows[20:40], *rows[50:]])
    write(here / "y.parquet", outcomes(range(N)))
    alone, split = both({"a": "a.parquet"}, "y.parquet", size=10, space=6)
    assert split == alone
    assert alone.startswith("{")


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
    """Whatever buckets their ids fall into: model s has an order of its own, model t that of the truth."""
    shuffled = lists(np.random.default_rng(2).permutation(N).tolist())
    for at, sum_ in zip(rows, (1.2, 1.4), strict=True):
        shuffled[at]["confidences"] = [sum_ - 0.5, 0.5]
    straight = lists(range(N), 3)
    straight[7]["confidences"] = [0.9, 0.9]
    write(here / "s.parquet", shuffled)
    write(here / "t.parquet", straight)
    write(here / "y.parquet", outcomes(range(N)))
    alone, split = both({name: f"{name}.parquet" for name in models}, "y.parquet", space=6)
    assert f"{models[0]}.parquet, row {8 if models[0] == 't' else min(rows) + 1}:" in alone
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


def test_outcomes_that_predictions_carry_are_read_by_workers(here: Path) -> None:
    write(here / "a.csv", [row | {"class": CLASSES[row["case"] % 5]} for row in outcomes(range(N))])
    alone, split = both({"a": "a.csv"}, Truth("same", outcome="outcome"), space=6)
    assert split == alone
    assert alone.startswith("{")


def test_entries_of_very_wide_tables_survive_a_shuffle(here: Path) -> None:
    rng = np.random.default_rng(0)
    names = [f"k{j}" for j in range(2100)]
    p = rng.dirichlet(np.ones(len(names)), 12)
    lines = [",".join(["case", *names])]
    lines += [",".join([f"c{i}", *(f"{x:.9f}" if x > 3e-4 else "" for x in p[i])]) for i in range(12)]
    (here / "a.csv").write_text("\n".join(lines) + "\n")
    few = names[:300]
    rows = [{"case": f"c{i}", **{few[j]: p[i, j] for j in range(300) if p[i, j] > 3e-4}} for i in range(12)]
    (here / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    write(here / "y.csv", [{"case": f"c{i}", "outcome": f"k{i}"} for i in rng.permutation(12)])
    for model, space in (("a.csv", None), ("b.jsonl", ClassSpace(labels=few))):
        alone, split = both({"a": model}, "y.csv", size=2000, space=space, read=ReadOptions(layout="wide"))
        assert split == alone
        assert alone.startswith("{")


# Row groups


@pytest.mark.parametrize("seed", range(20))
def test_tasks_cover_all_rows_once_and_cut_few_row_groups(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 40, rng.integers(1, 30)).tolist()
    size, parts = int(rng.integers(1, 50)), int(rng.integers(1, 5))
    cuts = distributed._cuts(sum(groups), size, groups, parts)
    assert [row for lo, hi in cuts for row in range(lo, hi)] == list(range(sum(groups)))
    ends = np.cumsum([0, *groups])
    for lo, hi in pairwise(ends.tolist()):
        assert sum(first < hi and last > lo for first, last in cuts) <= parts
    for (lo, _), (_, hi) in pairwise(cuts):
        assert hi - lo > size or lo not in ends or hi not in ends, (
            "small row groups that follow each other are one task"
        )


@pytest.mark.parametrize(("rows", "tasks"), [(60, 4), (30, 8), (5, 12)])
def test_tasks_of_the_usual_size_are_row_groups(here: Path, rows: int, tasks: int, monkeypatch: Any) -> None:
    """Of few row groups, parts; the truth may have others."""
    monkeypatch.setattr(distributed, "_LEAST", 7)
    pq.write_table(pa.Table.from_pylist(lists(range(N))), here / "a.parquet", row_group_size=rows)
    pq.write_table(pa.Table.from_pylist(lists(range(N), 4)), here / "b.parquet", row_group_size=4)
    pq.write_table(pa.Table.from_pylist(outcomes(range(N))), here / "y.parquet", row_group_size=50)
    models, ran = {"a": "a.parquet", "b": "b.parquet"}, list[int]()
    found = tl.compare(
        models, "y.parquet", space=6, engine=Sequential(), progress=lambda what, done, total: ran.append(total or 0)
    )
    assert found.to_json() == tl.compare(models, "y.parquet", space=6).to_json()
    assert ran[0] == tasks


# What cannot be sent to workers


def test_what_is_in_memory_is_refused_with_the_remedy(here: Path) -> None:
    write(here / "y.parquet", outcomes(range(N)))
    frame = pa.Table.from_pylist(lists(range(N)))
    with pytest.raises(tl.TopListError, match=r"a is in memory.*write it to a Parquet file"):
        tl.compare({"a": frame}, "y.parquet", space=6, engine=Sequential())


def test_a_rule_made_of_functions_is_refused_with_the_remedy(here: Path) -> None:
    write(here / "y.parquet", outcomes(range(N)))
    write(here / "a.parquet", lists(range(N)))
    rule = Separable(lambda x: x * (1 - x), lambda x: 1 - 2 * x)
    with pytest.raises(tl.TopListError, match="made of functions"):
        tl.compare({"a": "a.parquet"}, "y.parquet", space=6, rules=rule, engine=Sequential())


SPACES = (
    6,
    math.inf,
    ClassSpace(2**20000),
    ClassSpace(labels=CLASSES),
    ClassSpace(9, labels=CLASSES),
    LabelSets(CLASSES, empty=False),
    LabelSets("abc", support=["a", "ab"]),
)


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_a_job_is_the_same_after_json(here: Path, space: Any) -> None:
    from toplist.evaluation.compare import Question
    from toplist.inference.settings import Inference
    from toplist.io.options import ReadRequest

    question = Question.of(("a",), ["log", Power(1.5)], (1, 5), "a", "common", math.inf, Inference(level=0.9))
    read = ReadOptions(ignore=("note",), answers={"a": ["A"]})
    job = Job.of(ReadRequest.of({"a": "a.csv"}, Truth("y.csv", weight="w", where="x=1"), read), space, question)
    again = Job.from_plain(json.loads(json.dumps(job.plain)))
    assert again.plain == job.plain
    assert (again.question, again.space, again.digest) == (job.question, job.space, job.digest)


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


# A folder of partial results


def board(folder: Path | str, size: int = 10, **options: Any) -> tuple[tl.Leaderboard, int]:
    """A leaderboard with partial results in a folder, and how many tasks were run for it."""
    ran: list[int] = []
    engine = Sequential(task_cases=size, partials=folder, **{k: v for k, v in options.items() if k == "on_error"})
    options = {"space": 6, **{k: v for k, v in options.items() if k != "on_error"}}
    models = options.pop("models", {"a": "a", "b": "b"})
    made = tl.compare(models, "y", engine=engine, progress=lambda what, done, total: ran.append(done), **options)
    return made, max(ran, default=0)


@pytest.fixture
def parts(here: Path) -> Path:
    """Two models and a truth, each in three files of twenty cases, in one order."""
    for name, make in (("a", lists), ("b", lambda ids: lists(ids, 5)), ("y", outcomes)):
        (here / name).mkdir()
        rows = make(range(N))
        for at in range(3):
            write(here / name / f"part-{at}.parquet", rows[20 * at : 20 * at + 20])
    return here


def test_a_second_run_does_only_what_is_missing(parts: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "toplist")
    first, ran = board("kept")
    files = sorted((parts / "kept").glob("range-*.tlp"))
    assert (ran, len(files)) == (6, 6)
    again, ran = board("kept")
    assert (again.to_dict(), ran) == (first.to_dict(), 0)
    files[0].unlink()
    files[1].write_bytes(files[1].read_bytes()[:-3])
    again, ran = board("kept")
    assert (again.to_dict(), ran) == (first.to_dict(), 2)
    assert "4 of 6 tasks were finished before, 2 are computed." in caplog.text
    assert json.loads((parts / "kept" / MANIFEST).read_text())["way"] == "in step"


def test_a_file_that_has_changed_is_read_again_and_no_other(parts: Path) -> None:
    board("kept")
    write(parts / "a" / "part-1.parquet", lists(range(20, 40), 77))
    found, ran = board("kept")
    assert ran == 2
    assert found.to_dict() == tl.compare({"a": "a", "b": "b"}, "y", space=6).to_dict()


def test_buckets_are_kept_and_computed_anew_where_any_file_changes(parts: Path) -> None:
    rows = lists(range(N), 4)
    write(parts / "p.parquet", [rows[i] for i in np.random.default_rng(0).permutation(N)])
    models = {"a": "a", "p": "p.parquet"}
    first, _ = board("kept", 20, models=models)
    files = sorted((parts / "kept").glob("bucket-*.tlp"))
    assert len(files) == 3
    files[1].unlink()
    again, ran = board("kept", 20, models=models)
    assert again.to_dict() == first.to_dict() == tl.compare(models, "y", space=6).to_dict()
    assert ran > 0
    assert board("kept", 20, models=models)[1] == 0
    write(parts / "a" / "part-1.parquet", lists(range(20, 40), 77))
    assert board("kept", 20, models=models)[0].to_dict() == tl.compare(models, "y", space=6).to_dict()


def test_a_folder_of_another_comparison_is_refused_with_the_remedy(parts: Path) -> None:
    board("kept")
    with pytest.raises(tl.TopListError, match=r"another comparison \(rules\). Name another folder"):
        board("kept", rules="log")
    with pytest.raises(tl.TopListError, match=r"another comparison \(other files of predictions, or read in another"):
        board("kept", models={"a": "a", "b": "a"})
    with pytest.raises(tl.TopListError, match=r"another comparison \(other classes, or in another order\). Name"):
        board("kept", space=7)
    board("named", space=ClassSpace(labels=CLASSES))
    with pytest.raises(tl.TopListError, match=r"another comparison \(other classes, or in another order\). Name"):
        board("named", space=ClassSpace(labels=CLASSES[::-1]))


def test_partial_results_are_not_written_into_a_folder_that_is_read(parts: Path) -> None:
    before = sorted(parts.rglob("*"))
    for folder in ("a", parts / "b" / "kept", "y/"):
        with pytest.raises(tl.TopListError, match=r"lies in the folder '\w', which is read"):
            board(folder)
    assert sorted(parts.rglob("*")) == before


@pytest.mark.parametrize("odd", [{"inputs": [1]}, {"tasks": 5}, {"question": None}])
def test_a_manifest_with_values_of_other_kinds_is_refused(parts: Path, odd: dict[str, Any]) -> None:
    board("kept")
    manifest = parts / "kept" / MANIFEST
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), **odd}))
    with pytest.raises(tl.TopListError, match="this is no manifest of toplist: name another folder"):
        board("kept")


def test_files_of_a_folder_are_named_as_without_an_engine(parts: Path) -> None:
    write(parts / "a" / "part-3.parquet", lists([7]))
    alone, split = both({"a": "a/", "b": "b"}, "y", space=6)
    assert "a/part-3.parquet, row 1: case 7 is there twice" in alone
    assert split == alone


# Files that cannot be read


def damage(path: Path, where: str) -> None:
    """Break the end of a Parquet file, which every reader looks at first, or the values in the middle."""
    data = bytearray(path.read_bytes())
    if where == "footer":
        data = data[:-20]
    else:
        data[4:200] = bytes(196)
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("where", ["footer", "middle"])
def test_a_damaged_file_is_named_after_everything_else_was_done(parts: Path, where: str) -> None:
    whole, _ = board("whole")
    damage(parts / "a" / "part-1.parquet", where)
    damage(parts / "b" / "part-2.parquet", where)
    with pytest.raises(tl.TopListError, match=r"2 files cannot be read.*a/part-1.*b/part-2.*on_error='skip'"):
        board("kept", 20)
    assert len(list((parts / "kept").glob("range-*.tlp"))) == 1
    write(parts / "a" / "part-1.parquet", lists(range(N))[20:40])
    write(parts / "b" / "part-2.parquet", lists(range(N), 5)[40:])
    found, ran = board("kept", 20)
    assert ran == 2
    assert found.to_dict() == whole.to_dict()


@pytest.mark.parametrize("where", ["footer", "middle"])
def test_what_is_skipped_is_left_out_for_all_models_and_listed(parts: Path, where: str) -> None:
    damage(parts / "a" / "part-1.parquet", where)
    found, _ = board("kept", 20, on_error="skip")
    (skipped,) = found.comparison.skipped
    assert skipped.file == "a/part-1.parquet"
    assert skipped.rows == (None if where == "footer" else 20)
    for name in "aby":
        (parts / name / "part-1.parquet").unlink()
    without = tl.compare({"a": "a", "b": "b"}, "y", space=6)
    assert found.comparison.compared == 40
    assert [row.scores for row in found] == [row.scores for row in without]


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_a_damaged_text_file_is_left_out_with_its_partners(here: Path, kind: str) -> None:
    for name, rows in (("a", [{"case": i, "class": "a"} for i in range(N)]), ("y", outcomes(range(N)))):
        (here / name).mkdir()
        for at in range(3):
            write(here / name / f"part-{at}.{kind}", rows[20 * at : 20 * at + 20])
    with (here / "a" / f"part-1.{kind}").open("a") as file:
        file.write('{"case": 1' if kind == "jsonl" else '1,"a')
    with pytest.raises(tl.TopListError, match=f"a/part-1.{kind}, row 21: "):
        board("kept", models={"a": "a"})
    found, _ = board("kept", models={"a": "a"}, on_error="skip")
    assert [one.file for one in found.comparison.skipped] == [f"a/part-1.{kind}"]
    assert found.comparison.compared == 40


@pytest.mark.parametrize("where", ["footer", "middle"])
def test_in_a_shuffle_lost_cases_are_left_out_for_all_models_or_refused(parts: Path, where: str) -> None:
    rows = lists(range(N), 4)
    write(parts / "p.parquet", [rows[i] for i in np.random.default_rng(0).permutation(N)])
    damage(parts / "a" / "part-1.parquet", where)
    models = {"a": "a", "p": "p.parquet"}
    with pytest.raises(tl.TopListError, match=r"a/part-1.parquet: this is no Parquet file"):
        board("kept", 20, models=models)
    assert not list((parts / "kept").glob("bucket-*.tlp"))
    for missing in ("error", "uniform"):
        with pytest.raises(tl.TopListError, match="goes with missing='common'"):
            board("other-" + missing, 20, models=models, missing=missing, on_error="skip")
    found, _ = board("common", 20, models=models, missing="common", on_error="skip")
    assert [one.file for one in found.comparison.skipped] == ["a/part-1.parquet"]
    (parts / "a" / "part-1.parquet").unlink()
    without = tl.compare(models, "y", space=6, missing="common")
    assert [row.scores for row in found] == [row.scores for row in without]


# Runs that are stopped


STOPPED = """
import errno, os, sys, time
import toplist as tl
from toplist import _files
from toplist.engines import Local

how = sys.argv[1]
finished = lambda: sum(name.endswith(".tlp") for name in os.listdir("kept"))

def progress(what, done, total):
    if how == "interrupted" and done >= 3:
        print("ready", flush=True)
        time.sleep(60)

def replaced(source, target, replace=os.replace):
    if target.endswith(".tlp") and finished() >= 3:
        raise OSError(errno.ENOSPC, "full")
    replace(source, target)

if how == "full":
    _files.os.replace = replaced
engine = Local(workers=2 if how == "interrupted" else 1, task_cases=3, partials="kept")
try:
    tl.compare({"a": "a", "b": "b"}, "y", space=6, engine=engine, progress=progress)
except tl.TopListError as error:
    print(error)
    sys.exit(3)
"""


@pytest.mark.parametrize("how", ["interrupted", "full"])
def test_what_was_finished_before_a_run_was_stopped_is_used_by_the_next(parts: Path, how: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", STOPPED, how], cwd=parts, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    if how == "interrupted":
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == (3 if how == "full" else -signal.SIGINT), err
    assert how == "interrupted" or "No space left on device" in out
    names = os.listdir(parts / "kept")
    finished = [name for name in names if name.endswith(".tlp")]
    assert len(finished) >= 3
    assert sorted(names) == sorted([MANIFEST, *finished])
    found, ran = board("kept", 3)
    assert ran == 21 - len(finished)
    assert found.to_dict() == tl.compare({"a": "a", "b": "b"}, "y", space=6).to_dict()
