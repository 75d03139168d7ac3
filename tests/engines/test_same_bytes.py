"""The same files through every engine give the JSON of a plain comparison, byte for byte."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist as tl
from tests.cli.run_cli import toplist_here
from tests.engines import watched
from tests.engines.conftest import ENGINES
from tests.engines.killing import executor_of, killing
from toplist.engines import Engine

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("duckdb")

CASES, CLASSES = 60, 5
QUESTIONS: dict[str, tuple[dict[str, str], str]] = {
    "plain": ({}, "error"),
    "grouped": ({"group": "site"}, "error"),
    "clustered": ({"cluster": "patient"}, "error"),
    "weighted": ({"weight": "weight"}, "error"),
    "all at once": ({"group": "site", "cluster": "patient", "weight": "weight"}, "error"),
    "missing": ({}, "common"),
    "filled": ({"group": "site", "weight": "weight"}, "worst"),
}
"""Columns of the truth that are used, and what is done with missing cases."""
SHUFFLED = ["plain", "all at once", "missing", "filled"]
"""Questions that are asked of tables in different orders; cases are missing from one of them in the last two."""
IN_STEP = ["plain", "grouped", "clustered", "weighted", "all at once"]


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models and the truth in one order, and two models in orders of their own, one of them without some cases."""
    folder, rng = tmp_path_factory.mktemp("engines"), np.random.default_rng(17)
    cases = np.arange(CASES)
    truth = {
        "case": cases,
        "outcome": rng.integers(0, CLASSES, CASES),
        "site": rng.choice(["north", "south"], CASES),
        "patient": cases // 3,
        "weight": rng.integers(1, 4, CASES),
    }
    pq.write_table(pa.table(truth), folder / "truth.parquet", row_group_size=25)
    for name in ("first", "second"):
        write_lists(folder / f"{name}.parquet", cases, rng)
    mixed = rng.permutation(cases)
    write_lists(folder / "mixed.parquet", mixed, rng)
    write_lists(folder / "short.parquet", mixed[rng.random(CASES) < 0.8], rng)
    return folder


def write_lists(path: Path, cases: Any, rng: np.random.Generator) -> None:
    rows = [
        {"case": int(case), "classes": rng.permutation(CLASSES)[:2].tolist(), "confidences": [0.5, float(rest)]}
        for case, rest in zip(cases, rng.integers(1, 8, len(cases)) / 16, strict=True)
    ]
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=17)


def compared(folder: Path, question: str, other: str, engine: Engine | None = None) -> str:
    columns, missing = QUESTIONS[question]
    truth = tl.Truth(str(folder / "truth.parquet"), outcome="outcome", **({"cluster": ""} | columns))
    models = {name: str(folder / f"{name}.parquet") for name in ("first", other)}
    return str(tl.compare(models, truth, space=CLASSES, missing=missing, engine=engine).to_json())


@cache
def plain(folder: Path, question: str, other: str) -> str:
    """Without an engine."""
    return compared(folder, question, other)


def models_of(question: str) -> str:
    return "mixed" if QUESTIONS[question][1] == "error" else "short"


@pytest.fixture
def shuffles(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of buckets of each shuffle that the engine makes."""
    made: list[int] = []
    shuffle = type(engine).shuffle

    def counted(self: Engine, split: Any, finish: Any, merge: Any, tasks: Any, buckets: int, done: Any) -> bytes:
        made.append(buckets)
        return shuffle(self, split, finish, merge, tasks, buckets, done)

    monkeypatch.setattr(type(engine), "shuffle", counted)
    return made


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
@pytest.mark.parametrize("question", IN_STEP)
def test_tables_in_one_order_give_the_same_bytes_without_a_shuffle(
    engine: Engine, question: str, files: Path, shuffles: list[int]
) -> None:
    tasks = engine.with_options(task_cases=25)
    assert compared(files, question, "second", tasks) == plain(files, question, "second")
    assert not shuffles


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
@pytest.mark.parametrize("question", SHUFFLED)
def test_tables_in_any_order_give_the_same_bytes_by_a_shuffle(
    engine: Engine, question: str, files: Path, shuffles: list[int]
) -> None:
    tasks, other = engine.with_options(task_cases=25), models_of(question)
    assert compared(files, question, other, tasks) == plain(files, question, other)
    assert len(shuffles) == 1
    assert shuffles[0] > 1


@pytest.mark.parametrize("task_cases", [7, 25, 1000])
@pytest.mark.parametrize("other", ["second", "mixed", "short"])
def test_the_size_of_tasks_does_not_show(two_processes: Engine, task_cases: int, other: str, files: Path) -> None:
    question = "filled" if other == "short" else "all at once"
    assert compared(files, question, other, two_processes.with_options(task_cases=task_cases)) == plain(
        files, question, other
    )


ORDINAL = {"rules": ("rps", "rps-normalized", "ranked_log"), "space": tl.ClassSpace(CLASSES, ordinal=True)}
ENGINES_HERE = ["one process", "two processes"]


@pytest.mark.parametrize("engine", ENGINES_HERE, indirect=True)
@pytest.mark.parametrize("other", ["second", "mixed"])
def test_scores_of_ordered_classes_are_the_same_bytes(engine: Engine, other: str, files: Path) -> None:
    """In step and by a shuffle."""
    truth = tl.Truth(str(files / "truth.parquet"), outcome="outcome", cluster="", group="site", weight="weight")
    models = {name: str(files / f"{name}.parquet") for name in ("first", other)}
    parts, whole = (
        tl.compare(models, truth, engine=one, **ORDINAL).to_json() for one in (engine.with_options(task_cases=25), None)
    )
    assert parts == whole
    assert '"ranked_log"' in whole


def test_the_command_gives_the_same_bytes_with_an_order_of_classes(files: Path, tmp_path: Path) -> None:
    """With `--engine local` and without; the order of the labels counts."""
    (tmp_path / "rising.txt").write_text("\n".join(map(str, range(CLASSES))))
    (tmp_path / "mixed.txt").write_text("\n".join(map(str, [3, 0, 4, 1, 2])))
    pairs = [files / "first.parquet", files / "second.parquet", "--truth", files / "truth.parquet", "--cluster", ""]

    def printed(order: str, *more: str) -> str:
        words = ["--classes", tmp_path / order, "--ordinal", "--rule", "rps", "--rule", "ranked_log", "--json", *more]
        done = toplist_here("compare", *map(str, [*pairs, *words]))
        assert done.returncode == 0, done.stderr
        return done.stdout

    plain = printed("rising.txt")
    assert printed("rising.txt", "--engine", "local") == plain
    assert printed("mixed.txt") != plain


KILLED = [
    pytest.param("two processes", None, id="a local worker"),
    pytest.param("dask", None, id="a Dask worker"),
    pytest.param(
        "spark",
        executor_of,
        id="a Spark executor",
        marks=pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="parents are read from /proc"),
    ),
]
"""Engines, and whom to kill where that is not the process that runs a task."""


@pytest.mark.parametrize(("engine", "whom"), KILLED, indirect=["engine"])
@pytest.mark.parametrize("other", ["second", "mixed"], ids=["in step", "shuffled"])
def test_a_process_that_is_killed_in_the_middle_of_a_comparison_does_not_show(
    engine: Engine, whom: Any, other: str, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process is in the middle of a task, and at least one partial result is finished and some are not."""
    for name in ("run_task", "finish_bucket"):
        monkeypatch.setattr(f"toplist.evaluation.distributed.{name}", getattr(watched, name))
    tasks = engine.with_options(task_cases=10, partials=tmp_path)
    with killing(tmp_path, whom or (lambda pid: pid)) as killed:
        found = compared(files, "all at once", other, tasks)
    assert killed
    assert found == plain(files, "all at once", other)
    assert len(list(tmp_path.glob("*.tlp"))) >= CASES // 10
