"""Transcripts: small files, commands on them, and all that these say. Each is named after what it claims.

A transcript is a section of a text file beside this one. Files stand before the commands that read them:

    == a class that is written twice is refused
    -- p.csv
    case,class,confidence
    1,cat,0.5
    1,cat,0.25
    $ toplist check p.csv -c 5 -q
    what the command prints
    ! what it prints to stderr
    + a file that it writes
    > a line of it, if it is CSV or JSON lines, with 12 digits of each number
    [1]

The last line is the exit code, unless it is 0. A file may have several names, with blanks between them. Files before
the first section are there in all of them. After a command with `--json`, `| path.of.a.value` shows that value alone.
`pytest tests/transcripts --update-goldens` writes what is said now.
"""

from __future__ import annotations

import difflib
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run_cli import toplist_here
from tests.golden.test_commands import COLUMNS, LEFT_OUT, plain

HERE = Path(__file__).parent
LISTS = (".csv", ".jsonl")  # of what is written, this is shown
SECTION = re.compile(r"^== ", re.MULTILINE)
DIGITS = re.compile(r"\d+\.\d{13,}(?:e-?\d+)?")  # the last ones depend on the machine
PART = re.compile(r"^(?=-- |\$ toplist )", re.MULTILINE)


def sections(path: Path) -> dict[str, str]:
    """The sections of a file by their titles; what stands before them has none."""
    before, *others = SECTION.split(path.read_text(encoding="utf-8"))
    return {"": before, **{title: text for title, _, text in (one.partition("\n") for one in others)}}


TITLES = [(path.stem, title) for path in sorted(HERE.glob("*.txt")) for title in sections(path) if title]


@pytest.mark.parametrize(("stem", "title"), TITLES)
def test_a_transcript_is_what_is_said(
    stem: str, title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    for name in LEFT_OUT:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    monkeypatch.setenv("NO_COLOR", "1")
    path = HERE / f"{stem}.txt"
    known = sections(path)
    again(known[""], tmp_path)
    now = again(known[title], tmp_path)
    if now != known[title] and request.config.getoption("--update-goldens"):
        known[title] = now
        path.write_text("== ".join([known.pop(""), *(f"{name}\n{text}" for name, text in known.items())]), "utf-8")
    elif now != known[title]:
        lines = difflib.unified_diff(known[title].splitlines(), now.splitlines(), "stored", "now", lineterm="", n=2)
        pytest.fail("--update-goldens stores what is said now.\n" + "\n".join(list(lines)[:60]))


def again(section: str, home: Path) -> str:
    """The same files and commands, and what the commands say now."""
    intro, *parts = PART.split(section)
    text = [intro]
    for part in parts:
        line, _, rest = part.partition("\n")
        if line.startswith("-- "):
            for file in map(home.joinpath, line.removeprefix("-- ").split(" ")):
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(rest, "utf-8", newline="")
            text.append(part)
        else:
            text.append(f"{line}\n{said(line.removeprefix('$ toplist '), home)}")
    return "".join(text).rstrip("\n") + "\n\n"


def said(line: str, home: Path) -> str:
    """What a command prints to either stream, and how it ends."""
    command, _, wanted = line.partition(" | ")
    before = set(home.rglob("*"))
    done = toplist_here(*shlex.split(command), cwd=home)
    out = done.stdout
    if wanted and out:
        out = ", ".join(f"{one:.12g}" if isinstance(one, float) else str(one) for one in at(json.loads(out), wanted))
    lines = plain(out, home).splitlines() + [f"! {one}".rstrip() for one in plain(done.stderr, home).splitlines()]
    for file in sorted(set(home.rglob("*")) - before):
        lines += [f"+ {file.relative_to(home)}"] if file.is_file() else []
        shown = (
            DIGITS.sub(lambda number: f"{float(number[0]):.12g}", file.read_text("utf-8"))
            if file.suffix in LISTS
            else ""
        )
        lines += [f"> {one}" for one in shown.splitlines()]
    lines += [f"[{done.returncode}]"] if done.returncode else []
    return "".join(f"{one.rstrip()}\n" for one in lines)


def at(value: Any, path: str) -> list[Any]:
    """The values at a path, of every element of lists on the way."""
    for name in path.split("."):
        elements = value if isinstance(value, list) else [value]
        value = [inner for one in elements for inner in (one[name] if isinstance(one[name], list) else [one[name]])]
    return list(value)
