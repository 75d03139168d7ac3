"""One study: adapt the files, then run the command on them as a person would."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from studies.adapt import Study


@dataclass(frozen=True, slots=True)
class Board:
    """What one command printed; `table` and `record` are empty where it failed."""

    name: str
    command: str
    status: int
    table: str
    record: str
    complaint: str


Command = Callable[[Sequence[str], Path], subprocess.CompletedProcess[str]]


def in_a_process(words: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """The command in a folder."""
    return subprocess.run(
        [_program(), *words], cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False
    )


def run(study: Study, data: Path, out: Path, command: Command = in_a_process) -> list[Board]:
    """Write the files of a study into a folder and compare them there, once per board."""
    out.mkdir(parents=True, exist_ok=True)
    study.adapt(data, out)
    return [compare(name, words, out, command) for name, words in study.boards.items()]


def compare(name: str, words: str, folder: Path, command: Command) -> Board:
    """`toplist compare` with these words, in this folder."""
    made = (f"{name}.json", f"{name}.txt")
    for old in made:
        (folder / old).unlink(missing_ok=True)
    extra = ["--json", "--quiet", "--output", made[1]]
    done = command(["compare", *_expanded(words, folder), *extra], folder)
    table = folder / made[1]
    if done.returncode == 0:
        (folder / made[0]).write_text(done.stdout, encoding="utf-8")
    return Board(
        name,
        f"toplist compare {words}",
        done.returncode,
        table.read_text(encoding="utf-8") if table.exists() else "",
        done.stdout,
        done.stderr,
    )


def _program() -> str:
    """The command that belongs to this Python."""
    beside = str(Path(sys.executable).parent)
    found = shutil.which("toplist", path=beside) or shutil.which("toplist")
    if found is None:
        raise FileNotFoundError("the command toplist is not installed: pip install 'toplist[cli]'")
    return found


def _expanded(words: str, folder: Path) -> list[str]:
    """Patterns as a shell expands them."""
    out: list[str] = []
    for word in shlex.split(words):
        out += sorted(p.relative_to(folder).as_posix() for p in folder.glob(word)) if "*" in word else [word]
    return out
