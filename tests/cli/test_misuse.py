"""What a newcomer gets wrong: one sentence on stderr, a code that means something, never a traceback."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.run_cli import complaints
from tests.cli.run_cli import toplist_here as toplist

MISTAKES = sorted((Path(__file__).parents[1] / "golden/commands/errors").glob("*.txt"))


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda path: path.stem)
def test_one_clear_sentence(mistake: Path) -> None:
    """Of what the goldens store: nothing is printed or written but the problem."""
    stored = mistake.read_text(encoding="utf-8")
    *_, code = re.findall(r"^exit code (\d)$", stored, re.MULTILINE)
    assert code in "12"
    assert re.findall(r"^--- (.*)$", stored, re.MULTILINE) == ["stderr"]
    assert "Traceback" not in stored
    told = stored.partition("--- stderr\n")[2]
    if not told.startswith("Usage: "):
        assert len(complaints(told).splitlines()) == 1
        assert complaints(told).startswith("toplist: ")


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
