"""What a report shows of single cases is the same from files and from memory, and that of a plain loop."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist as tl
from tests import flat
from tests.evaluation.factories import batch
from tests.evaluation.shapes import LABELS, M, as_lists, predictions
from tests.evaluation.tables import LAYOUTS, SPACE, World
from tests.evaluation.test_files import holes
from toplist.evaluation.case_details import CaseDetails
from toplist.inference.results import PairCases
from toplist.inference.score_difference import split
from toplist.report.html import Page

OPTIONS: dict[str, dict[str, str]] = {
    "plain": {},
    "groups": {"weight": "worth", "group": "group"},
    "clusters": {"weight": "worth", "cluster": "team", "group": "group"},
    "time": {"weight": "worth", "time": "when"},
}


def records(board: tl.Leaderboard) -> dict[str, Any]:
    """All that is made of cases for a report; issues also say whether a file keeps what its layout declares."""
    details, results = board.details(), board.comparison
    calibration = details.calibration(results, seed=0)
    return {
        "exhibits": [asdict(replace(one, issues=())) for one in board._exhibits(details)],
        "breakdowns": [asdict(one) for one in details.breakdowns(results, board._intervals)],
        "against": [asdict(one) for one in details.against(results)],
        "curves": {name: one.curve.tolist() for name, one in calibration.curves.items()},
        "decompositions": {name: asdict(one) for name, one in calibration.decompositions.items()},
        "judged": {name: asdict(one) for name, one in calibration.judged.items()},
    }


def apart(a: Any, b: Any, path: str = "") -> list[str]:
    """Where two records differ by more than rounding."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return [one for key in a for one in apart(a[key], b[key], f"{path}.{key}")]
    if isinstance(a, list | tuple) and isinstance(b, list | tuple) and len(a) == len(b):
        return [one for at, (x, y) in enumerate(zip(a, b, strict=True)) for one in apart(x, y, f"{path}[{at}]")]
    same = a == b
    if isinstance(a, float) and isinstance(b, float):
        same = math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) or (math.isnan(a) and math.isnan(b))
    return [] if same else [f"{path}: {a!r} and {b!r}"]


def columns(world: World, at: Any, options: dict[str, str]) -> dict[str, Any]:
    known = {"worth": world.weight, "group": world.group, "team": world.cluster, "when": world.when}
    return {option: known[name][at] for option, name in options.items()}


def from_files(world: World, folder: Path, **options: Any) -> tl.Leaderboard:
    return flat.compare(world.paths(folder), str(folder / "truth.parquet"), space=SPACE, **options)


def in_memory(world: World, at: Any, **options: Any) -> tl.Leaderboard:
    ids = [world.ids[i] for i in at]
    lists = {name: tl.TopLists.from_dicts(world.dicts(name, at), SPACE, ids=ids) for name in LAYOUTS}
    return flat.compare(lists, [LABELS[c] for c in world.y[at]], **options)


@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.parametrize("seed", [None, 5], ids=["in step", "joined"])
def test_files_and_memory_make_the_same_records(kind: str, seed: int | None, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    drawn = 10 * list(OPTIONS).index(kind) + (seed or 0)
    world, rng = World(drawn, 150), np.random.default_rng(drawn)
    if seed is not None:  # ties come in the order of the rows
        world.rows["long"] = [World._some(rng, k) for k in rng.integers(1, 5, 150)]
    world.write(tmp_path, seed=seed)
    at = np.arange(150) if seed is None else np.random.default_rng(seed).permutation(150)
    world.rows["long"] = [dict(sorted(row.items(), key=lambda one: -one[1])) for row in world.rows["long"]]
    files = records(from_files(world, tmp_path, **OPTIONS[kind]))
    memory = records(in_memory(world, at, **columns(world, at, OPTIONS[kind])))
    assert len(files["against"]) == len(LAYOUTS) - 1
    assert len(files["breakdowns"]) == 1 + ("group" in OPTIONS[kind])
    assert apart(files, memory) == []


@pytest.mark.parametrize("seed", [None, 5], ids=["in step", "joined"])
def test_a_truth_in_several_files_makes_the_records_of_the_same_truth_in_one(seed: int | None, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    pq = pytest.importorskip("pyarrow.parquet")
    world, parts = World(3, 150), tmp_path / "parts"
    world.write(tmp_path, seed=seed)
    one = records(from_files(world, tmp_path))
    parts.mkdir()
    whole = pq.read_table(tmp_path / "truth.parquet")
    for at, lo in enumerate(range(0, 150, 60)):
        pq.write_table(whole.slice(lo, 60), parts / f"{at}.parquet")
    several = records(flat.compare(world.paths(tmp_path), str(parts), space=SPACE))
    for made in (one, several):  # of cases with the same score, those in the first rows of a file are shown
        for exhibit in made["exhibits"]:
            exhibit["worst"] = [case["predictions"][0]["score"] for case in exhibit["worst"]]
            del exhibit["invalid"]
    assert apart(one, several) == []


@pytest.mark.parametrize("missing", ["error", "pairwise", "common", "uniform", "worst", "baseline"])
def test_neither_batches_nor_threads_show(missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("duckdb")
    arrow = pytest.importorskip("toplist.io.readers.arrow")
    world = World(3, 120)
    if missing != "error":
        holes(world, 3)
    world.write(tmp_path)
    options: dict[str, Any] = {"missing": missing, "group": "group"}
    options |= {"baseline": "wide"} if missing == "baseline" else {}
    want = records(from_files(world, tmp_path, **options))
    for step, workers in ((17, 1), (41, 3)) if missing == "error" else ((17, 3),):
        monkeypatch.setenv("TOPLIST_THREADS", str(workers))
        monkeypatch.setattr(arrow, "batch_rows", lambda width, step=step: step)
        assert apart(records(from_files(world, tmp_path, **options)), want) == []


@pytest.mark.parametrize("missing", ["pairwise", "common", "worst"])
def test_pairs_of_models_that_lack_cases_are_of_the_cases_of_both(missing: str, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    world = World(4, 120)
    holes(world, 4)
    world.write(tmp_path)
    board = from_files(world, tmp_path, missing=missing)
    for pair in board.details().against(board.comparison):
        has = [np.all([world.has[name] for name in names], axis=0) for names in ((pair.a, pair.b), LAYOUTS)]
        anybody = np.any([world.has[name] for name in LAYOUTS], axis=0)
        assert pair.cases == (has[0] if missing == "pairwise" else has[1] if missing == "common" else anybody).sum()
        for case in (*pair.for_a, *pair.for_b):
            place = world.ids.index(case.case)
            assert has[0][place]
            assert case.outcome == LABELS[world.y[place]]
            if missing != "worst":
                everybody = LAYOUTS if missing == "pairwise" else [n for n in LAYOUTS if has[1][place]]
                assert case.models == sum(world.has[name][place] for name in everybody)


def brute(details: CaseDetails, pair: PairCases, lists: dict[str, tl.TopLists], y: Any, w: Any) -> None:
    a, b = (tl.score(lists[name], y) for name in (pair.a, pair.b))
    right = [np.array([tl.accuracy(one[i : i + 1], y[i : i + 1]) for i in range(len(y))]) for one in lists.values()]
    first, second = (right[list(lists).index(name)] > 0.5 for name in (pair.a, pair.b))
    counts = [(first & second).sum(), (first & ~second).sum(), (~first & second).sum(), (~first & ~second).sum()]
    assert [pair.both_right, pair.only_a_right, pair.only_b_right, pair.both_wrong] == counts
    assert [pair.a_better, pair.b_better, pair.equal] == [(a < b).sum(), (a > b).sum(), (a == b).sum()]
    zero = np.zeros(len(y))
    whole = split(a, b, zero, zero, rule="brier", most=5, weights=w)
    assert pair.turning == whole.turning
    for cases, want in ((pair.for_a, whole.favour_a), (pair.for_b, whole.favour_b)):
        assert [int(case.case) for case in cases] == [one.case for one in want]
        for case, one in zip(cases, want, strict=True):
            mine, theirs = case.predictions
            assert (mine.model, theirs.model) == (pair.a, pair.b)
            assert (mine.score, theirs.score) == (one.a, one.b)
            assert case.outcome == str(y[one.case])
            assert case.models == len(lists)
            assert case.right == pytest.approx(sum(each[one.case] for each in right))
            listed = lists[pair.a][one.case].confidences
            assert [t for _, t in mine.listed] == sorted(listed.values(), reverse=True)[:3]
    assert details.names == tuple(lists)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_pairs_are_those_of_a_plain_count(seed: int, weighted: bool) -> None:
    made, y = predictions(seed, 40)
    w = np.random.default_rng(seed).choice([0.5, 1.0, 3.0], 40) if weighted else None
    board = tl.compare(made, tl.Truth(y, weight=w), space=M)
    details = board.details()
    lists = {name: as_lists(name, what) for name, what in made.items()}
    found = details.against(board.comparison)
    assert [pair.b for pair in found] == [row.name for row in board][1:]
    assert {pair.a for pair in found} == {board[0].name}
    for pair in found:
        brute(details, pair, lists, y, w)


def test_of_many_models_the_first_twelve_are_compared_with_the_leader() -> None:
    rng = np.random.default_rng(1)
    board = tl.compare({f"m{i:02d}": rng.dirichlet(np.ones(3), 20) for i in range(20)}, rng.integers(0, 3, 20))
    assert [pair.b for pair in board.details().against(board.comparison)] == [row.name for row in board][1:13]


def test_one_model_is_compared_with_nobody_and_has_no_significant_cells() -> None:
    p, y = np.random.default_rng(0).dirichlet(np.ones(3), 50), np.arange(50) % 3
    board = tl.compare({"only": p}, y)
    found = records(board)
    assert found["against"] == []
    (by,) = found["breakdowns"]
    assert not np.any(by["significant"])
    assert list(found["curves"]) == ["only"]


def test_one_case_makes_a_page_of_records() -> None:
    found = records(tl.compare({"a": np.array([[0.7, 0.3]]), "b": np.array([[0.2, 0.8]])}, [0]))
    assert found["breakdowns"] == []
    assert [(pair["cases"], len(pair["for_a"]), len(pair["for_b"])) for pair in found["against"]] == [(1, 1, 0)]


def test_a_soft_truth_has_cases_without_a_true_class() -> None:
    lists, truth = batch("soft", 2, 30)
    board = tl.compare({"a": lists, "b": lists.truncate(1)}, truth)
    found = records(board)
    assert (found["breakdowns"], found["curves"], found["decompositions"]) == ([], {}, {})
    (pair,) = found["against"]
    assert [pair[name] for name in ("both_right", "only_a_right", "only_b_right", "both_wrong")] == [0] * 4
    assert pair["cases"] == 30
    for case in (*pair["for_a"], *pair["for_b"], *found["exhibits"][0]["worst"]):
        assert (case["right"], case["models"]) == (0.0, 0)
        assert all(one["true"] is None and math.isnan(one["right"]) for one in case["predictions"])


def test_a_soft_truth_in_files_is_that_in_memory(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(5)
    made = {name: rng.dirichlet(np.ones(3), 12) for name in ("p", "q", "truth")}
    for name, p in made.items():
        rows = "".join(f"c{i},{','.join(map(repr, row.tolist()))}\n" for i, row in enumerate(p))
        (tmp_path / f"{name}.csv").write_text(f"case,a,b,c\n{rows}")
    paths = {name: tmp_path / f"{name}.csv" for name in made}
    space = tl.ClassSpace(labels=["a", "b", "c"])
    files = tl.compare({"p": paths["p"], "q": paths["q"]}, paths["truth"], space=space)
    ids = [f"c{i}" for i in range(12)]
    lists = {name: tl.TopLists.from_proba(p, space, ids=ids) for name, p in made.items()}
    memory = tl.compare({"p": lists["p"], "q": lists["q"]}, lists["truth"])
    assert apart(records(files), records(memory)) == []


def test_infinite_scores_are_the_largest_advantages() -> None:
    board = tl.compare({"sure": [0, 1, 1], "shy": np.full((3, 2), 0.5)}, [0, 1, 0], rules=["log"])
    (pair,) = board.details().against(board.comparison)
    assert (pair.a, pair.b) == ("shy", "sure")
    assert [one.predictions[1].score for one in pair.for_a] == [math.inf]
    assert len(pair.for_b) == 2


def test_scores_that_are_the_same_up_to_rounding_are_ties_and_no_case_decides() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 400)
    p = rng.dirichlet(np.ones(4), 400)
    again = np.exp(np.log(p))
    again /= again.sum(axis=1, keepdims=True)
    board = tl.compare({"a": p, "again": again}, y, space=4, rules="brier")
    assert np.any(board.scores["a"]["brier"] != board.scores["again"]["brier"])
    (pair,) = board.details().against(board.comparison)
    assert (pair.a_better, pair.b_better, pair.equal, pair.turning) == (0, 0, 400, 0)
    assert (pair.for_a, pair.for_b) == ((), ())


def test_a_prediction_that_ties_for_the_first_place_is_not_right() -> None:
    """Neither model is right where it predicts nothing: accuracy gives it half a case."""
    y = np.arange(40) % 2
    right = np.where(np.eye(2)[y] == 1, 0.6, 0.4)
    board = tl.compare({"ties": np.full((40, 2), 0.5), "right": right}, y, space=2, rules="brier")
    (pair,) = board.details().against(board.comparison)
    assert (pair.a, pair.both_right, pair.only_a_right, pair.only_b_right, pair.both_wrong) == ("right", 0, 40, 0, 0)


def test_curves_are_of_the_tied_and_of_the_last_two() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 400)
    y = (p.cumsum(axis=1) < rng.random((400, 1))).sum(axis=1)
    noise = {f"m{i}": (1 - i / 12) * p + i / 12 * rng.dirichlet(np.ones(3), 400) for i in range(11)}
    board = tl.compare(noise, y)
    members = board.comparison.confidence_set.members if board.comparison.confidence_set else ()
    found = board.details().calibration(board.comparison, seed=0).curves
    want = {*members[:4], board[-1].name, board[-2].name}
    assert set(found) == want
    assert list(found) == [row.name for row in board if row.name in want]
    assert all(one.of == "top" and one.band is not None and one.band.level == 0.9 for one in found.values())


def test_the_number_of_classes_of_each_case_may_differ(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    rows = [("x", 3, "cat"), ("y", 4, "dog"), ("z", 6, "cat"), ("v", 5, "owl")]
    (tmp_path / "t.csv").write_text("case,n,outcome\n" + "".join(f"{c},{n},{o}\n" for c, n, o in rows))
    for name, first in (("p", "dog"), ("q", "cat")):
        lines = "".join(f"{c},{o},{t}\n" for c, _, _ in rows for o, t in ((first, 0.6), ("owl", 0.3)))
        (tmp_path / f"{name}.csv").write_text(f"case,class,confidence\n{lines}")
    truth = tl.Truth(tmp_path / "t.csv", n_classes="n")
    board = tl.compare({"p": tmp_path / "p.csv", "q": tmp_path / "q.csv"}, truth)
    found = records(board)
    (by,) = found["breakdowns"]
    assert dict(zip(by["groups"], by["cases"], strict=True)) == {"cat": 2, "dog": 1, "owl": 1}
    one = next(one for one in found["exhibits"] if one["name"] == "p")
    assert [(c["true"], c["predicted"], c["cases"]) for c in one["confusions"]] == [
        ("cat", "dog", 2),
        ("owl", "dog", 1),
    ]


def test_a_report_shows_all_records_and_the_date_that_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jinja2", reason="reports need jinja2")
    written: list[Page] = []
    monkeypatch.setattr("toplist.report.html.write", lambda page, path: written.append(page))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    made, y = predictions(3, 40)
    board = tl.compare(made, y, space=M)
    board.report(tmp_path / "a.html")
    board.report(tmp_path / "b.html", title="Mine")
    first, second = written
    details, calibration = board.details(), board.details().calibration(board.comparison, seed=0)
    assert first.provenance.written == "1970-01-02"
    assert first.breakdowns == details.breakdowns(board.comparison, board._intervals)
    assert first.against == details.against(board.comparison)
    assert first.decompositions == calibration.decompositions
    assert list(first.curves) == list(calibration.curves)
    assert [one.name for one in first.exhibits] == [row.name for row in board]
    assert second.title == "Mine"
    assert first.title == Page(board.comparison).title
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    board.report(tmp_path / "c.html")
    assert abs(date.fromisoformat(written[2].provenance.written) - date.today()) <= timedelta(days=1)
