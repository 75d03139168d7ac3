"""The page of producers: its table is complete, the tests that it rests on exist, and its commands can be typed."""

import re
import shlex
from itertools import pairwise

import pytest
from typer.testing import CliRunner

from tests.io.producers.checked import CHECKS, HERE, PAGE, TRANSCRIPTS, rows
from toplist.cli.app import app
from toplist.io.producers import PRODUCERS, load

TEXT = PAGE.read_text(encoding="utf-8")
COMMANDS = [line for block in re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()]


def test_every_producer_is_in_the_table_with_the_way_in_which_it_was_checked():
    found = {name.strip("`"): (title, kind) for name, title, kind, _ in rows(TEXT)}
    assert found == {name: (PRODUCERS[name].title, check.kind) for name, check in CHECKS.items()}
    assert CHECKS.keys() == PRODUCERS.keys()


def test_versions_are_given_where_a_package_was_run():
    for name, _, _, version in rows(TEXT):
        assert bool(re.match(r"\d", version)) == bool(CHECKS[name.strip("`")].package)


@pytest.mark.parametrize("name", CHECKS)
def test_the_test_of_a_producer_reads_what_the_table_says(name):
    check = CHECKS[name]
    folder = HERE if check.test.endswith(".py") else TRANSCRIPTS
    text = (folder / check.test).read_text(encoding="utf-8")
    assert not check.package or f'written_by("{check.imported}"' in text
    if check.damaged:
        damaged = (HERE / check.damaged).read_text(encoding="utf-8")
        assert "@given" in damaged
        assert check.damaged == check.test or f'"{name}"' in damaged


def test_every_producer_has_a_paragraph():
    described = set(re.findall(r"`--from ([\w-]+)`", TEXT))
    assert described - {"NAME", "none"} == PRODUCERS.keys()


@pytest.mark.parametrize("command", COMMANDS)
def test_the_options_of_each_command_exist_and_are_those_of_the_producer(command):
    words = shlex.split(command)
    assert words[0] == "toplist"
    said = CliRunner().invoke(app, [words[1], "--help"], env={"COLUMNS": "200"}).output
    flags = [word for word in words if word.startswith("--")]
    assert all(flag in said for flag in flags)
    if "--from" in words:
        producer = words[words.index("--from") + 1].rpartition("=")[2]
        keys = [after.partition("=")[0] for word, after in pairwise(words) if word == "--read"]
        assert {key for key in keys if key in ("norm", "answers", "position")} <= {*load(producer).options}
