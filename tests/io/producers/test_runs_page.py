"""The commands on the page about evaluation runs work on runs that lm-evaluation-harness and inspect_ai wrote."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.run_cli import toplist_here
from tests.io.producers.real import written_by

PAGE = Path(__file__).parents[3] / "docs" / "runs.md"
COMMANDS = [
    line
    for block in re.findall(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    for line in block.splitlines()
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs of each program."""
    home = tmp_path_factory.mktemp("runs")
    runs = written_by("lm_eval", "tests.io.producers.lm_eval_runs", tmp_path_factory)
    logs = written_by("inspect_ai", "tests.io.producers.inspect_runs", tmp_path_factory)
    (home / "logs").mkdir()
    for name, log, quality in (("runA", "base", "weak"), ("runB", "tuned", "strong")):
        shutil.copytree(runs / quality, home / name)
        (one,) = (logs / quality).glob("*.eval")
        shutil.copy(one, home / "logs" / f"{log}.eval")
    return home


def test_the_commands_work_one_after_the_other(place: Path) -> None:
    for command in COMMANDS:
        words = shlex.split(command)
        assert words[0] == "toplist"
        done = toplist_here(*words[1:], cwd=place)
        assert done.returncode == 0, (command, done.stderr)
        assert done.stdout, command


def test_the_page_shows_how_the_runs_are_read(place: Path) -> None:
    (told,) = re.findall(r"```text\n(runA/: .*)\n```", PAGE.read_text(encoding="utf-8"))
    assert told in toplist_here("compare", "runA/", cwd=place).stderr.splitlines()
