"""`toplist gate` and `toplist record`: verdicts as exit codes, files, and what GitHub shows."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from subprocess import CompletedProcess
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.cli.run_cli import complaints, toplist, toplist_here
from toplist.cli import demo

PAGE = Path(__file__).parents[2] / "docs" / "gate.md"
GIVEN = ("--truth", demo.TRUTH, "--classes", demo.CLASSES)
GOOD, BAD = demo.PREDICTIONS["py3langid"], demo.PREDICTIONS["cld2"]


@pytest.fixture(autouse=True)
def _no_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The files of the demonstration."""
    return Path(shutil.copytree(demo.folder(), tmp_path / "data"))


def gate(place: Path, new: str, old: str, *words: object) -> CompletedProcess[str]:
    return toplist_here("gate", new, "--baseline", old, *GIVEN, *words, cwd=place)


def parsed(path: Path) -> ElementTree.Element:
    return ElementTree.fromstring(path.read_bytes())  # noqa: S314  it was written here


CODES = [
    (GOOD, BAD, ("--max-loss", 0.01), 0, "PASS"),
    (BAD, GOOD, ("--max-loss", 0.01), 3, "FAIL"),
    (GOOD, BAD, ("--max-loss", 0.01, "--per-case", 0.5), 3, "FAIL"),
    (BAD, GOOD, ("--max-loss", 0.06), 4, "INCONCLUSIVE"),
    (BAD, GOOD, ("--max-loss", 0.06, "--inconclusive", "fail"), 3, "INCONCLUSIVE"),
    (BAD, GOOD, ("--max-loss", 0.06, "--inconclusive", "pass"), 0, "INCONCLUSIVE"),
    (GOOD, GOOD, ("--max-loss", 0.01), 2, ""),
    (GOOD, f"same={GOOD}", ("--max-loss", 0.01), 0, "PASS"),
]


@pytest.mark.parametrize(("new", "old", "words", "code", "verdict"), CODES)
def test_the_verdict_is_the_exit_code(
    new: str, old: str, words: tuple[object, ...], code: int, verdict: str, place: Path
) -> None:
    done = gate(place, new, old, *words)
    assert done.returncode == code, done.stderr
    assert done.stdout.startswith(f"{verdict}: ") if verdict else not done.stdout
    assert bool(complaints(done.stderr)) == (code == 2)


REFUSED = [
    (("--max-loss", 0), 2, "--max-loss is a finite number above zero"),
    (("--max-loss", 0.1, "--per-case", -1), 2, "--per-case is a finite number above zero"),
    (("--max-loss", 0.1, "--max-loss-group", 0.1), 2, "--max-loss-group goes with --group"),
    (("--max-loss", 0.1, "--level", 0.5), 2, "level is above one half"),
    (("--max-loss", 0.1, "--missing", "worst"), 2, "--missing is error, common or uniform here"),
    (("--max-loss", 0.1, "--inconclusive", "maybe"), 2, "--inconclusive is pass or fail here"),
    (("--max-loss", 0.1, "-o", "summary.docx"), 2, "--output is .json, .md, .xml, .txt or .html"),
    (("--max-loss", 0.1, "-o", "none/summary.md"), 2, "there is no folder"),
]


@pytest.mark.parametrize(("words", "code", "said"), REFUSED)
def test_what_cannot_be_meant_is_refused_before_anything_is_read(
    words: tuple[object, ...], code: int, said: str, place: Path
) -> None:
    done = gate(place, GOOD, BAD, *words)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr


def test_several_files_are_written_and_say_the_same(place: Path) -> None:
    outputs = ["s.md", "j.xml", "g.json", "t.txt", "h.html"]
    done = gate(
        place, f"new={GOOD}", f"old={BAD}", "--max-loss", 0.01, "--per-case", 1, *(f"-o{one}" for one in outputs)
    )
    assert done.returncode == 3
    assert (place / "t.txt").read_text(encoding="utf-8") == done.stdout
    summary = (place / "s.md").read_text(encoding="utf-8").splitlines()
    assert summary[0] == "**FAIL**: new loses more than 1 to old in 7 cases."
    assert len(summary) <= 12
    assert summary[-1].startswith("- Reproduce: `toplist gate new=")
    saved = json.loads((place / "g.json").read_text())
    assert (saved["verdict"], [one["verdict"] for one in saved["checks"]]) == ("fail", ["pass", "fail"])
    (suite,) = parsed(place / "j.xml")
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert "FAIL: new loses" in (place / "h.html").read_text(encoding="utf-8")
    printed = json.loads(gate(place, f"new={GOOD}", f"old={BAD}", "--max-loss", 0.01, "--per-case", 1, "--json").stdout)
    assert {**printed, "command": ""} == {**saved, "command": ""}


def test_an_inconclusive_check_is_a_failed_or_a_skipped_test_case_as_the_exit_code_has_it(place: Path) -> None:
    for words, found in (
        ((), "failure"),
        (("--inconclusive", "fail"), "failure"),
        (("--inconclusive", "pass"), "skipped"),
    ):
        gate(place, BAD, GOOD, "--max-loss", 0.06, "-o", "j.xml", *words)
        assert parsed(place / "j.xml").find(f".//{found}") is not None


def test_the_summary_is_appended_to_the_file_that_github_names(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = place / "step.md"
    page.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    gate(place, GOOD, BAD, "--max-loss", 0.01, "--no-summary")
    assert page.read_text() == "before\n"
    gate(place, GOOD, BAD, "--max-loss", 0.01)
    gate(place, GOOD, BAD, "--max-loss", 0.01)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n**PASS**: ")
    assert text.count("**PASS**") == 2
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(place))
    done = gate(place, GOOD, BAD, "--max-loss", 0.01)
    assert done.returncode == 0
    assert "GITHUB_STEP_SUMMARY" in done.stderr


def test_a_record_takes_the_place_of_the_predictions_whatever_it_is_called(place: Path) -> None:
    done = toplist_here("record", BAD, *GIVEN, "-o", "base.json", cwd=place)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Scores of 500 cases in base.json\n"
    shutil.copy(place / "base.json", place / "kept.parquet")
    words = ("--max-loss", 0.01, "--per-case", 1, "--group", "script", "--max-loss-group", 0.2, "--json")
    known = json.loads(gate(place, GOOD, f"old={BAD}", *words).stdout)
    for record in ("base.json", "kept.parquet"):
        found = json.loads(gate(place, GOOD, f"old={record}", *words).stdout)
        assert {**found, "command": ""} == {**known, "command": ""}
    assert gate(place, GOOD, "base.json", "--max-loss", 0.01).stdout.startswith(
        "PASS: py3langid is not worse than base by"
    )
    again = toplist_here("record", BAD, *GIVEN, "-o", "again.json", "--json", cwd=place)
    assert json.loads(again.stdout)["bytes"] == len((place / "base.json").read_bytes())
    assert (place / "again.json").read_bytes() == (place / "base.json").read_bytes()


def test_a_record_that_does_not_match_or_is_damaged_is_a_sentence_and_exit_code_1(place: Path) -> None:
    toplist_here("record", BAD, *GIVEN, "-o", "base.json", cwd=place)
    text = (place / "base.json").read_text()
    (place / "damaged.json").write_text(text.replace('"af-0002", "2d52968e", 2.0', '"af-0002", "2d52968e", 1.0'))
    (place / "cut.json").write_text(text[:-100])
    (place / "future.json").write_text(text.replace("record/1", "record/9"))
    said = {
        "damaged.json": "this record is damaged",
        "cut.json": "not JSON, so not a record of scores, or not all of it",
        "future.json": "this record has the format toplist.record/9",
    }
    for name, words in said.items():
        done = gate(place, GOOD, name, "--max-loss", 0.01)
        assert done.returncode == 1
        assert words in done.stderr
    done = gate(place, GOOD, "base.json", "--max-loss", 0.01, "--rule", "log")
    assert (done.returncode, "has scores by brier, not by log" in done.stderr) == (1, True)
    outcomes = (place / demo.TRUTH).read_text().replace("af-0001,af", "af-0001,de")
    (place / demo.TRUTH).write_text(outcomes)
    done = gate(place, GOOD, "base.json", "--max-loss", 0.01)
    assert (done.returncode, "other outcomes" in done.stderr) == (1, True)


def test_nothing_that_is_read_is_written_over(place: Path) -> None:
    toplist_here("record", BAD, *GIVEN, "-o", "base.json", cwd=place)
    for words in (("-o", "base.json"), ("-o", demo.CLASSES)):
        assert gate(place, GOOD, "base.json", "--max-loss", 0.01, *words).returncode == 2
    assert toplist_here("record", BAD, *GIVEN, "-o", "scores.csv", cwd=place).returncode == 2
    assert toplist_here("record", BAD, *GIVEN, "-o", BAD, cwd=place).returncode == 2


def test_options_for_one_of_the_two_go_by_its_name(place: Path) -> None:
    rng = np.random.default_rng(0)
    p, names = rng.dirichlet(np.ones(3), size=60).round(6), np.array(["red", "green", "blue"])
    for name, scale, digits in (("a", 1, 6), ("b", 100, 4)):
        rows = [",".join(f"{scale * share:.{digits}f}" for share in row) for row in p.tolist()]
        (place / f"{name}.csv").write_text("\n".join([",".join(names), *rows, ""]))
    (place / "truth3.csv").write_text("\n".join(["label", *names[rng.integers(0, 3, 60)], ""]))
    given = ("--truth", "truth3.csv", "--max-loss", 0.01, "--normalize")
    done = toplist_here("gate", "a.csv", "--baseline", "b.csv", *given, "--scale", "b=percent", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "identical, list by list" in done.stdout


def test_the_command_ends_as_it_should_in_a_process_of_its_own(place: Path) -> None:
    words = ("gate", BAD, "--baseline", GOOD, *GIVEN, "--max-loss", "0.06", "-q")
    done = toplist(*words, cwd=place)
    assert (done.returncode, done.stderr) == (4, "")
    assert "4 a gate is inconclusive" in " ".join(toplist_here("--help").stdout.split())


def test_output_on_the_page_of_gates_is_what_the_command_prints(place: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    (shown,), (summary,) = (
        re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) for kind in ("text", "markdown")
    )
    words = ("gate", f"new={GOOD}", "-b", f"old={BAD}", "-t", demo.TRUTH, "-c", demo.CLASSES, "--max-loss", 0.01)
    assert toplist_here(*words, cwd=place).stdout == shown
    toplist_here(*words, "--per-case", 1, "-o", "summary.md", cwd=place)
    written = (place / "summary.md").read_text(encoding="utf-8")
    assert written.partition("Reproduce")[0] == summary.partition("Reproduce")[0]
    assert written.partition("`toplist gate")[2] == summary.partition("`toplist gate")[2]


def test_outcomes_may_be_in_the_predictions_and_what_else_the_truth_has_is_no_matter_for_a_record(place: Path) -> None:
    rng = np.random.default_rng(0)
    for name, scale in (("a", 0.9), ("b", 0.8)):
        rows = [
            {"id": i, "classes": ["x", "z"], "confidences": [scale * p, 0.1], "gold": "xz"[i % 3 == 0], "time": "noon"}
            for i, p in enumerate(rng.random(60).round(3).tolist())
        ]
        (place / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    given = ("--truth", "same", "--outcome", "gold", "--classes", 3)
    assert toplist_here("record", "b.jsonl", *given, "-o", "b.json", cwd=place).returncode == 0
    limits = ("--max-loss", 0.5, "--time", "", "--json")
    known, found = (
        toplist_here("gate", "a.jsonl", "-b", f"old={old}", *given, *limits, cwd=place) for old in ("b.jsonl", "b.json")
    )
    assert found.returncode == 0, found.stderr
    assert {**json.loads(found.stdout), "command": ""} == {**json.loads(known.stdout), "command": ""}


def test_cases_that_are_missing_are_refused_with_the_choices_there_are(place: Path) -> None:
    lines = (place / BAD).read_text().splitlines(keepends=True)
    (place / "few.tsv").write_text("".join(lines[:-3]))
    done = gate(place, "few.tsv", GOOD, "--max-loss", 0.5)
    assert done.returncode == 1
    assert "few lacks 3 cases" in done.stderr
    assert done.stderr.endswith(
        "--missing common (cases that all have), or uniform (what a missing prediction counts as).\n"
    )
    assert (
        "few: 3 missing predictions taken as uniform"
        in gate(place, "few.tsv", GOOD, "--max-loss", 0.5, "--missing", "uniform").stdout
    )
