"""`toplist gate`: what GitHub shows, and what is not written over."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.cli.run_cli import toplist_here
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


def scored(place: Path, *words: object) -> CompletedProcess[str]:
    return toplist_here("score", BAD, *GIVEN, *words, cwd=place)


def test_nothing_that_is_read_is_written_over(place: Path) -> None:
    for name in ("base.parquet", "again.parquet"):
        assert scored(place, "-o", name).returncode == 0
    assert (place / "again.parquet").read_bytes() == (place / "base.parquet").read_bytes()
    shutil.copy(place / "base.parquet", place / "base.json")
    for words in (("-o", "base.json"), ("-o", demo.CLASSES)):
        assert gate(place, GOOD, "base.json", "--max-loss", 0.01, *words).returncode == 2


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
