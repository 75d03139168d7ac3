"""The command: what it prints, how it ends and what it writes, for some four hundred invocations.

A stored text begins with the line of its command, `$ toplist score lists.parquet -t y.csv -c 5`, and may have several.
To add one, write that line to a new file below `commands`, and let `--update-goldens` write the rest.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import typer.main

import toplist
from tests.cli.run_cli import toplist_here
from tests.golden.command_files import write_tables
from tests.golden.command_producers import write_producers
from tests.golden.conftest import Golden
from toplist.cli import demo
from toplist.cli.app import app

COLUMNS = 100
VERSION = re.compile(rf"\b{re.escape(toplist.__version__)}\b")
NOW = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?")
STORED = Path(__file__).parent / "commands"
LEFT_OUT = ("COLUMNS", "FORCE_COLOR", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "TOPLIST_MEMORY")
TEXT = (".md", ".tex", ".txt", ".xml")
COMMAND = re.compile(r"^\$ toplist (.*)$", re.MULTILINE)
INVOCATIONS = {
    str(path.relative_to(STORED).with_suffix("")): COMMAND.findall(path.read_text(encoding="utf-8"))
    for path in sorted(STORED.rglob("*.txt"))
    if path.parent.name != "help"
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all files; a command's own files are taken out of it again."""
    place = tmp_path_factory.mktemp("commands")
    write_tables(place)
    write_producers(place)
    return place


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """One width, no colours, and nothing of the machine."""
    for name in LEFT_OUT:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.mark.parametrize("name", INVOCATIONS)
def test_a_command_says_and_writes_what_it_did(name: str, home: Path, golden: Golden) -> None:
    before, parts, values = set(files_of(home)), [], {}
    for at, line in enumerate(INVOCATIONS[name], 1):
        words = shlex.split(line)
        done = toplist_here(*words, cwd=home)
        out = done.stdout
        if "--json" in words and out.startswith(("{", "[")):
            values["stdout" if at == 1 else f"stdout {at}"] = json.loads(out, parse_constant=pytest.fail)
            out = "(JSON)\n"
        parts.append(f"$ toplist {line}\nexit code {done.returncode}\n")
        parts += [
            f"--- {stream}\n{plain(text, home)}" for stream, text in (("stdout", out), ("stderr", done.stderr)) if text
        ]
    for path in sorted(set(files_of(home)) - before):
        written = home / path
        if path.endswith(TEXT):
            parts.append(f"--- {path}\n{plain(written.read_text(encoding='utf-8'), home)}")
        else:
            parts.append(f"--- {path}\n")
            value = parsed(written)
            if value is not None:
                values[path] = value
        written.unlink()
    golden.text(f"commands/{name}.txt", "".join(part if part.endswith("\n") else f"{part}\n" for part in parts))
    if values:
        golden.json(f"commands/{name}.json", masked(values, home))


def commands() -> dict[str, Any]:
    """Every command, by its words."""
    tree: Any = typer.main.get_command(app)
    words: dict[str, Any] = {"": tree}
    for name, command in tree.commands.items():
        words |= {f"{name} {inner}": one for inner, one in getattr(command, "commands", {}).items()} or {name: command}
    return words


@pytest.mark.parametrize("name", commands())
def test_the_help_of_a_command_names_every_option(name: str, golden: Golden) -> None:
    """Options and what is said of them are stored, not how the installed version of typer draws them."""
    command, lines = commands()[name], []
    for parameter in command.params:
        flags = ", ".join([*parameter.opts, *parameter.secondary_opts])
        panel = getattr(parameter, "rich_help_panel", None)
        default = "" if parameter.default in (None, False) or callable(parameter.default) else f" [{parameter.default}]"
        said = re.sub(r"One of .*?;", "One of PRODUCERS;", parameter.help or "")
        lines.append(f"{flags} {parameter.metavar or ''}{f' ({panel})' if panel else ''}{default}\n    {said}\n")
    golden.text(
        f"commands/help/{help_name(name)}.txt",
        "\n".join([command.help, *lines, command.epilog or ""]),
    )
    done = toplist_here(*name.split(), "--help")
    assert done.returncode == 0
    assert all(flag in done.stdout for parameter in command.params for flag in parameter.opts if flag.startswith("--"))


def test_nothing_is_stored_of_what_is_not_run() -> None:
    assert {path.stem for path in (STORED / "help").iterdir()} == set(map(help_name, commands()))
    assert [path for path in STORED.rglob("*.json") if not path.with_suffix(".txt").exists()] == []


def help_name(name: str) -> str:
    """The words of a command as the name of a file."""
    return name.replace(" ", "-") or "toplist"


def files_of(home: Path) -> Iterator[str]:
    """Every file, by its path from the folder."""
    for folder, _, names in os.walk(home):
        yield from (os.path.relpath(os.path.join(folder, name), home) for name in names)


def parsed(path: Path) -> Any:
    """What a file holds, as a value of JSON; nothing for pages, figures and partial results."""
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    if path.suffix not in (".json", ".jsonl", ".csv"):
        return None
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".csv":
        return [{key: number(value) for key, value in row.items()} for row in csv.DictReader(io.StringIO(text))]
    return json.loads(text) if path.suffix == ".json" else [json.loads(line) for line in text.splitlines()]


def number(text: str) -> Any:
    """A number where it is one with a point or an exponent: others are compared as text."""
    return float(text) if re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", text) and not text.isdigit() else text


def masked(value: Any, home: Path) -> Any:
    """A value without what depends on the place and the version."""
    if isinstance(value, dict):
        return {key: "N" if key == "bytes" else masked(inner, home) for key, inner in value.items()}
    if isinstance(value, list):
        return [masked(inner, home) for inner in value]
    return plain(value, home) if isinstance(value, str) else value


def plain(text: str, home: Path) -> str:
    """Text without what depends on the place, and errors of usage without the box around them."""
    text = text.replace(str(home), "HOME").replace(str(demo.folder()), "DEMO")
    text = re.sub(r"(Usage: |Try ')[^']*?toplist", r"\1toplist", text)  # however the tests were started
    text = VERSION.sub("VERSION", NOW.sub("NOW", text))
    text = re.sub(r"\([\d,]+ bytes\)", "(N bytes)", text)  # partial results may be written otherwise
    if "╭" not in text:
        return text
    before, _, box = text.partition("╭")
    inside = " ".join(line.strip("│ ") for line in box.splitlines() if line.startswith("│"))
    return f"{before}{' '.join(inside.split())}\n"
