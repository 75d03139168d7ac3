"""Commands in the README and in the documentation run, in the folder of the demonstration."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from toplist import demo

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TOPLIST = Path(sys.executable).with_name("toplist")


def commands() -> list[tuple[str, str]]:
    blocks = [
        (page.name, block) for page in PAGES for block in re.findall(r"```console\n(.*?)```", page.read_text(), re.S)
    ]
    return [(page, line[2:]) for page, block in blocks for line in block.splitlines() if line.startswith("$ ")]


@pytest.mark.parametrize(("page", "command"), commands())
def test_the_command_runs(page: str, command: str, tmp_path: Path) -> None:
    folder = shutil.copytree(demo.folder(), tmp_path / "data")
    program, *words = shlex.split(command)
    assert program == "toplist"
    done = subprocess.run([TOPLIST, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not done.stderr


def test_there_are_commands_on_these_pages() -> None:
    assert {"README.md", "files.md", "leaderboard.md", "howto.md"} <= {page for page, _ in commands()}
