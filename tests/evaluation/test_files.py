"""Files are compared case by case: neither their order, nor their batches, nor the threads show in the last bit."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist as tl
from tests import flat
from tests.evaluation.tables import LAYOUTS, SPACE, World
from tests.inference.reference import Brute, agrees
from toplist.io.readers import arrow

pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")

WEIGHTED = {"weight": "worth", "group": "group"}
CLUSTERED = {"weight": "worth", "cluster": "team"}
TIMED = {"weight": "worth", "time": "when", "group": "group"}


def compare(world: World, folder: Path, **options: Any) -> tl.Leaderboard:
    made: dict[str, Any] = {"space": SPACE, "k": (1, 2), "baseline": "wide"} | options
    return flat.compare(world.paths(folder), str(folder / "truth.parquet"), **made)


def in_memory(world: World, at: Any, names: Any = LAYOUTS, **options: Any) -> tl.Leaderboard:
    """The same of lists in memory."""
    made: dict[str, Any] = {"space": SPACE, "k": (1, 2), "baseline": "wide"} | options
    return flat.compare({name: world.dicts(name, at) for name in names}, [SPACE.labels[c] for c in world.y[at]], **made)


def found(board: tl.Leaderboard) -> dict[str, Any]:
    """All but where it came from, and what columns are called."""
    made = board.to_dict()
    for name in ("sources", "truth_reading", "group", "cluster", "time", "weight"):
        made.pop(name)
    for name in (" by team", "given", "of when"):
        made["method"] = made["method"].replace(name, "")
    return made


def settled(board: tl.Leaderboard) -> dict[str, Any]:
    """The record, but for the last digits of intervals of relative scores, which alone do not come from exact sums."""
    made = board.to_dict()
    for section in (made["overall"], *made["groups"]):
        for one in (one for row in section["rows"] for one in row["scores"].values()):
            if one["relative"] is not None:
                one["relative"] |= {part: _rounded(one["relative"][part]) for part in ("low", "high", "error", "p")}
    return made


@pytest.mark.parametrize(
    "options",
    [{}, WEIGHTED, CLUSTERED, TIMED, *(WEIGHTED | {"missing": one} for one in ("common", "pairwise", "uniform"))],
    ids=["plain", "groups", "clusters", "time", "common", "pairwise", "uniform"],
)
def test_neither_order_nor_batches_nor_threads_show(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole record, file names and all, is the same to the last bit."""
    world = World(1, 200)
    if "missing" in options:
        holes(world, 5)
    world.write(tmp_path)
    want = compare(world, tmp_path, **options)
    for step, workers in ((17, 1), (64, 3)):
        monkeypatch.setenv("TOPLIST_THREADS", str(workers))
        monkeypatch.setattr(arrow, "batch_rows", lambda width, step=step: step)
        world.write(tmp_path)
        assert settled(compare(world, tmp_path, **options)) == settled(want)
        world.write(tmp_path, seed=step)
        shuffled = compare(world, tmp_path, **options)
        assert settled(shuffled) == settled(want)
        assert shuffled._intervals.tally == want._intervals.tally


@pytest.mark.parametrize("shuffled", [False, True], ids=["in step", "joined"])
def test_files_say_what_lists_in_memory_say(shuffled: bool, tmp_path: Path) -> None:
    """To the last bit: with weights, groups and clusters, whether the files have one order or none."""
    world = World(2, 200)
    world.write(tmp_path, seed=5 if shuffled else None)
    here = np.arange(200)
    for name in ("long",):  # files in this layout come out with the most confident class first
        world.rows[name] = [dict(sorted(row.items(), key=lambda one: -one[1])) for row in world.rows[name]]
    for mine, theirs in (
        ({}, {}),
        (WEIGHTED, {"weight": world.weight, "group": world.group}),
        (CLUSTERED, {"weight": world.weight, "cluster": world.cluster}),
        ({"penalty": math.inf, "rules": ["log", "spherical"]}, {"penalty": math.inf, "rules": ["log", "spherical"]}),
    ):
        files, lists = found(compare(world, tmp_path, **mine)), found(in_memory(world, here, **theirs))
        assert _without_wide(files) == _without_wide(lists)
        assert _rounded(files) == _rounded(lists)


def _without_wide(made: dict[str, Any]) -> dict[str, Any]:
    """A wide table is a dense matrix, whose rows are added up in another way than lists are."""
    out = {key: value for key, value in made.items() if key not in ("overall", "groups")}
    for section in (made["overall"], *made["groups"]):
        rows = {row["name"]: {k: v for k, v in row.items() if k != "scores"} for row in section["rows"]}
        for row in section["rows"]:
            rows[row["name"]]["scores"] = [
                {k: v for k, v in one.items() if k not in ("baseline_skill", "difference")}
                for one in row["scores"].values()
            ]
        rows.pop("wide")
        out[str(section["group"])] = rows
    return out


def _rounded(made: Any) -> Any:
    if isinstance(made, dict):
        return {key: _rounded(value) for key, value in made.items()}
    if isinstance(made, list):
        return [_rounded(value) for value in made]
    return round(made, 9) + 0.0 if isinstance(made, float) else made


def holes(world: World, seed: int) -> None:
    """Models lack cases, each its own; the dense one has all."""
    rng = np.random.default_rng(seed)
    for name in ("lists", "long", "labels"):
        world.has[name] = rng.random(len(world)) < 0.8


def scores(world: World, rule: str) -> tuple[Any, Any]:
    """Of all models and cases, and which of them count."""
    y = [SPACE.labels[c] for c in world.y]
    every = np.arange(len(world))
    made = [tl.score(tl.TopLists.from_dicts(world.dicts(name, every), SPACE), y, rule=rule) for name in LAYOUTS]
    return np.array(made), np.array([world.has[name] for name in LAYOUTS])


def test_common_cases_are_those_that_all_have(tmp_path: Path) -> None:
    world = World(4, 150)
    holes(world, 2)
    world.write(tmp_path, seed=3)
    common = np.flatnonzero(np.logical_and.reduce(list(world.has.values())))
    board = compare(world, tmp_path, missing="common", **WEIGHTED)
    weights = {"weight": world.weight[common], "group": world.group[common]}
    alone = found(in_memory(world, common, **weights))
    made = found(board)
    assert (board.comparison.cases, board.comparison.compared) == (150, len(common))
    assert _rounded({**made, "cases": 0, "compared": 0, "missing": ""}) == _rounded(
        {**alone, "cases": 0, "compared": 0, "missing": ""}
    )
    for one in board.comparison.sources:
        assert one.left_out == int(world.has[one.name].sum()) - len(common)


def test_a_missing_prediction_is_an_empty_list_if_uniform_ones_are_asked_for(tmp_path: Path) -> None:
    """In all but what a single case could lose, for which lists are read once more: those that are made up are not."""
    world = World(5, 150)
    holes(world, 3)
    world.write(tmp_path, seed=4)
    board = compare(world, tmp_path, missing="uniform", **CLUSTERED)
    for name in LAYOUTS:
        world.rows[name] = [row if there else {} for row, there in zip(world.rows[name], world.has[name], strict=True)]
    alone = in_memory(world, np.arange(150), weight=world.weight, cluster=world.cluster)
    files, lists = ({**found(one), "missing": ""} for one in (board, alone))
    for pair, other in zip(files["pairs"], lists["pairs"], strict=True):
        assert (pair.pop("lead"), pair.pop("by_chance")) == (None, None)
        other.pop("lead"), other.pop("by_chance")
    assert _rounded(files) == _rounded(lists)
    assert {one.name: one.filled for one in board.comparison.sources} == {
        name: int((~world.has[name]).sum()) for name in LAYOUTS
    }


def test_skill_over_other_classes_in_every_case_is_the_same_in_any_order_of_models(tmp_path: Path) -> None:
    """A model with a single case says nothing of what the empty list scores in the others."""
    (tmp_path / "y.csv").write_text("case,outcome,m\n0,0,3\n1,0,3\n2,0,7\n3,0,7\n")
    (tmp_path / "one.csv").write_text("case,class_1,confidence_1\n1,0,0.5\n")
    (tmp_path / "all.csv").write_text("case,class_1,confidence_1\n0,0,0.5\n1,0,0.4\n2,0,0.5\n3,0,0.3\n")
    truth, skill = tl.Truth(tmp_path / "y.csv", n_classes="m"), []
    for names in (("one", "all"), ("all", "one")):
        board = tl.compare({name: tmp_path / f"{name}.csv" for name in names}, truth, missing="pairwise")
        skill.append(board["all"].scores["brier"].skill)
    assert skill[0] == skill[1]


@pytest.mark.parametrize("rules", [["brier", "log"], ["log", "brier"]], ids=str)
def test_pairwise_comparisons_are_those_of_common_cases(rules: list[str], tmp_path: Path) -> None:
    """Brute force on the subsets: means, simultaneous differences to the leader, skill, relative skill, ranks."""
    world = World(6, 150)
    holes(world, 4)
    world.write(tmp_path, seed=5)
    board = compare(world, tmp_path, missing="pairwise", weight="worth", rules=rules)
    for r, rule in enumerate(rules):
        brute = Brute.of(*scores(world, rule), world.weight)
        if r == 0 and brute.all_finite:
            assert [row.name for row in board] == [LAYOUTS[a] for a in brute.order(pairwise=True)]
        leader = LAYOUTS.index(board[0].name)
        for a, name in enumerate(LAYOUTS):
            mark, row = list(board[name].scores.values())[r], board[name]
            assert (row.cases, row.missing) == (world.has[name].sum(), (~world.has[name]).sum())
            for got, want in ((mark.mean, brute.mean(a)), (mark.difference, brute.simultaneous(a, leader))):
                if got is None:
                    assert a == leader
                elif isinstance(want, tuple):
                    assert agrees(got, want, 1e-9)
                else:
                    assert got.value == pytest.approx(want, nan_ok=True)
            if brute.all_finite:
                assert mark.relative.value == pytest.approx(brute.relative(a), rel=1e-9)
            ratio = brute.ratio(a, LAYOUTS.index("wide"))
            assert ratio is not None
            if math.isnan(ratio):
                assert mark.baseline_skill is None
            else:
                assert mark.baseline_skill.value == pytest.approx(1 - ratio, rel=1e-9)


def test_whole_numbers_are_classes_without_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And so is text whose names nobody has declared: only how many there are."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    world = World(8, 120)
    monkeypatch.setattr(arrow, "batch_rows", lambda width: 11)
    boards = []
    for name in (int, lambda c: f"class {c}"):
        rows, order = world.rows["lists"], np.random.default_rng(1).permutation(120)
        truth = {"case": np.arange(120), "outcome": [name(int(c)) for c in world.y]}
        lists = {
            "case": order,
            "classes": [[name(c) for c in rows[i]] for i in order],
            "confidences": [list(rows[i].values()) for i in order],
        }
        for file, table in (("truth", truth), ("lists", lists)):
            pq.write_table(pa.table(table), tmp_path / f"{file}.parquet")
        boards.append(tl.compare({"a": tmp_path / "lists.parquet"}, tmp_path / "truth.parquet", space=50))
    alone = tl.compare({"a": world.rows["lists"]}, world.y, space=50)
    assert found(boards[0]) == found(boards[1]) == found(alone)


READERS = [
    ("pandas", "read_parquet"),
    ("polars", "read_parquet"),
    ("pyarrow.parquet", "read_table"),
    ("polars", "scan_parquet"),
]


@pytest.mark.parametrize(("package", "name"), READERS)
def test_frames_say_what_files_say(package: str, name: str, tmp_path: Path) -> None:
    read = getattr(pytest.importorskip(package), name)
    world = World(9, 80)
    world.write(tmp_path, seed=1)
    want = found(compare(world, tmp_path, **WEIGHTED))
    options: dict[str, Any] = {"space": SPACE, "k": (1, 2), "baseline": "wide"} | WEIGHTED
    frames = {name: read(path) for name, path in world.paths(tmp_path).items()}
    assert found(flat.compare(frames, read(tmp_path / "truth.parquet"), **options)) == want
