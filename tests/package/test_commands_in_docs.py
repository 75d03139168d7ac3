"""Commands in the README and in the documentation run, in the folder of the demonstration."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.run_cli import complaints, toplist_here
from toplist.cli import demo

ROOT = Path(__file__).parents[2]
PLAIN = re.compile(r"toplist [^|&;<>()$`\\*?\[\]{}~#!'\n]+")  # what every shell takes as it stands
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks() -> list[tuple[str, str]]:
    console = re.compile(r"```console\n(.*?)```", re.DOTALL)
    found = [(page.name, block) for page in PAGES for block in console.findall(page.read_text())]
    return [(page, re.sub(r"^\$ ", "", block, flags=re.MULTILINE)) for page, block in found]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(("page", "block"), blocks())
def test_the_commands_run(page: str, block: str, tmp_path: Path) -> None:
    folder = shutil.copytree(demo.folder(), tmp_path / "data")
    done = line_by_line(block, folder) if "<<" not in block else in_a_shell(block, folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not re.sub(r"^PASS .*\n", "", complaints(done.stderr), flags=re.MULTILINE)
    assert done.stderr  # how each file is read


def line_by_line(block: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """One line after the other up to the first that fails, without a process for each plain command."""
    out = err = ""
    for line in block.replace("\\\n", "").splitlines():
        plain = PLAIN.fullmatch(line)
        done = toplist_here(*shlex.split(line)[1:], cwd=folder) if plain else in_a_shell(line, folder)
        out, err = out + done.stdout, err + done.stderr
        if done.returncode:
            break
    return subprocess.CompletedProcess(block, done.returncode, out, err)


def in_a_shell(block: str, folder: Path) -> subprocess.CompletedProcess[str]:
    here = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        [str(shutil.which("bash")), "-euc", block], cwd=folder, env=here, capture_output=True, text=True, check=False
    )


def test_there_are_commands_on_these_pages() -> None:
    assert {"README.md", "files.md", "leaderboard.md", "howto.md"} <= {page for page, _ in blocks()}
    assert all("toplist" in block for _, block in blocks())
