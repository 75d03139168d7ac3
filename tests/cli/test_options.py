"""The options of the commands are the fields of the records, with the same names and the same help texts."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperOption
from typer.testing import CliRunner

import toplist as tl
from toplist import cli
from toplist.cli import choices
from toplist.cli.app import app
from toplist.cli.options import RENAMED
from toplist.cli.output import flag_of
from toplist.evaluation.transform import fit_recalibrator, fit_weights, truncate_file
from toplist.inference.settings import Inference
from toplist.io.options import ReadOptions, Truth
from toplist.io.producers import PRODUCERS
from toplist.postprocess.recalibration import RECALIBRATORS
from toplist.scoring.rules import ORDINAL_RULES, RULES

COMMANDS: dict[str, Any] = {
    **{name: one for name, one in typer.main.get_command(app).commands.items() if name != "recalibrate"},  # type: ignore[attr-defined]
    **typer.main.get_command(app).commands["recalibrate"].commands,  # type: ignore[attr-defined]
}
READING = [name for name in COMMANDS if name not in ("demo", "merge")]
TRUTHFUL = ["compare", "partial", "plan", "score", "diagnose", "fit", "pool", "truncate", "gate"]


def options(command: str) -> dict[str, TyperOption]:
    return {flag: one for one in COMMANDS[command].params if isinstance(one, TyperOption) for flag in one.opts}


def help_of(record: Any) -> dict[str, str]:
    return {one.name: one.metadata["help"] for one in fields(record) if "help" in one.metadata}


def test_every_command_is_here() -> None:
    assert set(READING) == {*TRUTHFUL, "check", "convert", "apply"}


def test_every_read_option_is_an_option_or_a_key_of_every_command_that_reads_files() -> None:
    keys = COMMANDS["check"].epilog
    for command in READING:
        found = options(command)
        for name, text in help_of(ReadOptions).items():
            flag = found.get(flag_of(name))
            assert (flag.help or "").startswith(text) if flag else "--read" in found and f"{name}: {text}" in keys
        panels = {found[flag].rich_help_panel for flag in ("--from", "--where", "--normalize", "--read")}
        assert panels == {"Reading odd files"}
        assert "--level" not in found or found["--level"].rich_help_panel == "Statistics"


def test_the_first_screen_of_compare_is_short() -> None:
    every = [one for one in COMMANDS["compare"].params if isinstance(one, TyperOption)]
    panels = Counter(one.rich_help_panel for one in every)
    assert next(iter(panels)) == "What to compare"
    assert panels["What to compare"] <= 12
    assert panels.total() <= 30
    assert len(typer.main.get_command(app).commands) <= 13  # type: ignore[attr-defined]


@pytest.mark.parametrize("word", RENAMED)
def test_what_is_gone_answers_with_what_to_use(word: str) -> None:
    words = ["compare", "a.csv", word] if word.startswith("--") else [word]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    assert done.stderr == f"toplist: {word} is gone: use {RENAMED[word]}.\n"
    used = re.match(r"--(read )?[\w-]+|toplist [\w-]+", RENAMED[word])
    flags = {*options("compare"), *COMMANDS, "--producers", *(f"--read {one.name}" for one in fields(ReadOptions))}
    assert used is None or used[0].removeprefix("toplist ") in flags


@pytest.mark.parametrize("command", [name for name, one in COMMANDS.items() if name != "demo"])
def test_a_command_without_words_says_what_it_needs(command: str) -> None:
    done = CliRunner().invoke(app, ["recalibrate", command] if command in ("fit", "apply") else [command])
    assert isinstance(done.exception, SystemExit)
    assert done.exit_code == 2


def test_the_demo_needs_no_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, ["demo"]).exit_code == 0


def test_values_may_be_called_as_what_is_gone() -> None:
    done = CliRunner().invoke(app, ["compare", "record=a.csv", "--weight", "sql", "-t", "y.csv", "-c", "2"])
    assert "is gone" not in done.stderr
    assert "there is no such file" in done.stderr


def test_a_model_called_truth_has_no_options_of_its_own() -> None:
    done = CliRunner().invoke(app, ["compare", "truth=a.csv", "-t", "y.csv", "--read", "case=truth=id"])
    assert "a model is called truth as well. Give it another name: NAME=FILE." in done.stderr


@pytest.mark.parametrize("typed", [["--case", "an id"], ["--confidence=b=prob_*"], ["--by-position", "b.csv"]])
def test_an_option_that_is_gone_answers_whatever_is_typed_for_it(typed: list[str]) -> None:
    done = CliRunner().invoke(app, ["compare", "a.csv", *typed])
    name = typed[0].partition("=")[0]
    assert done.exit_code == 2
    assert done.stderr == f"toplist: {name} is gone: use {RENAMED[name]}.\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["case"], "say case=VALUE, or case=MODEL=VALUE for one file"),
        (["colum=x"], "the keys are layout, case, "),
        (["class-colum=x"], "Did you mean 'class_column'?"),
        (["by_position=yes"], "takes no value"),
        (["set_separator=;", "set_separator=|"], "given twice"),
        (["normalize=b"], "--read normalize=b: say one of 'a'."),
        (["scale=b=log"], "'b' is not among 'a'"),
        (["scale=log", "scale=percent"], "For one file, say --read scale=a=log."),
    ],
)
def test_keys_of_read_that_say_nothing_are_refused(words: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("case,class\n1,x\n")
    typed = [word for one in words for word in ("--read", one)]
    done = CliRunner().invoke(app, ["check", str(tmp_path / "a.csv"), *typed])
    assert done.exit_code == 2
    assert said in done.stderr


def test_help_names_every_producer_without_importing_one() -> None:
    told = options("compare")["--from"].help or ""
    assert all(name in told for name in PRODUCERS)
    code = "import sys; from toplist.cli import app; print([m for m in sys.modules if 'io.producers' in m])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_producers_are_listed_with_their_titles() -> None:
    told = CliRunner().invoke(app, ["--producers"]).stdout
    assert [line.split()[0] for line in told.splitlines()] == sorted(PRODUCERS)
    assert all(one.title in told for one in PRODUCERS.values())


def test_every_field_of_the_records_is_an_option_of_compare() -> None:
    found = options("compare")
    for name, text in {**help_of(Truth), **help_of(Inference)}.items():
        assert flag_of(name) in found
        if name != "n_classes":  # a number, labels, or a column of the truth: one flag for all of them
            assert (found[flag_of(name)].help or "").startswith(text)


def test_columns_of_the_truth_are_options_where_there_is_a_truth() -> None:
    for command in READING:
        found, columns = options(command), help_of(Truth)
        assert ("--truth" in found) == ("--outcome" in found) == (command in TRUTHFUL)
        for flag in ("--truth", *map(flag_of, columns)):
            if flag in found and flag != "--classes":
                assert found[flag].rich_help_panel in ("Truth and classes", "What to compare", None)


def test_every_field_of_a_record_has_a_help_text() -> None:
    for record in (ReadOptions, Truth, Inference):
        texts = help_of(record)
        assert {one.name for one in fields(record)} - texts.keys() <= {"data", "options"}
        assert all(text.endswith(".") for text in texts.values())


@pytest.mark.parametrize(
    ("command", "function", "renamed"),
    [
        ("compare", tl.compare, {"rules": "--rule"}),
        ("diagnose", tl.diagnose, {}),
        ("fit", fit_recalibrator, {}),
        ("pool", fit_weights, {"pool": "--geometric"}),
        ("truncate", truncate_file, {}),
    ],
)
def test_arguments_and_flags_have_the_same_names(
    command: str, function: Callable[..., Any], renamed: dict[str, str]
) -> None:
    taken = {"models", "model", "output", "truth", "inference", "read", "progress", "name", "space", "band_level"}
    found = options(command)
    for name in inspect.signature(function).parameters:
        if name not in taken:
            assert renamed.get(name, flag_of(name)) in found


def test_every_option_has_a_help_text_says_what_it_takes_and_is_there_once() -> None:
    for command in COMMANDS.values():
        every = [one for one in command.params if isinstance(one, TyperOption)]
        flags = [flag for one in every for flag in one.opts]
        assert len(set(flags)) == len(flags)
        for one in every:
            assert one.name == "help" or re.fullmatch(r"[A-Za-z0-9].*\.", one.help or "")
            assert one.name == "help" or (one.metavar == "") == bool(one.is_flag)


def test_no_function_takes_many_parameters() -> None:
    for path in Path(cli.__file__).parent.glob("*.py"):
        for one in ast.walk(ast.parse(path.read_text())):
            if isinstance(one, ast.FunctionDef):
                taken = one.args
                assert len([*taken.posonlyargs, *taken.args, *taken.kwonlyargs]) <= 12, one.name


RULES_OF: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("compare", "partial", "plan", "score", "gate"), (*RULES, *ORDINAL_RULES, "topbeta:BETA")),
    **dict.fromkeys(("fit", "truncate"), (*RULES, *ORDINAL_RULES)),
    "pool": ("brier", "log"),
}


def test_the_help_of_a_rule_names_every_rule_that_the_command_takes_and_no_other() -> None:
    every = {*RULES, *ORDINAL_RULES, "topbeta:BETA"}
    for command in [name for name in COMMANDS if "--rule" in options(name)]:
        told = set(re.findall(r"[\w:-]+", options(command)["--rule"].help or ""))
        assert told & every == {*RULES_OF[command]}


def test_classes_are_declared_to_be_in_order_where_a_rule_may_need_it_and_nowhere_else() -> None:
    """An option without effect is none."""
    needed = {name for name, rules in RULES_OF.items() if {*ORDINAL_RULES} <= {*rules}}
    assert {name for name in COMMANDS if "--ordinal" in options(name)} == needed


def test_names_that_options_take_are_those_of_the_library() -> None:
    """They are written down once more, so that help need not import what they name."""
    tables = {"RULES": RULES, "ORDINAL_RULES": ORDINAL_RULES, "RECALIBRATORS": RECALIBRATORS, "PRODUCERS": PRODUCERS}
    assert {name: getattr(choices, name) for name in tables} == {name: tuple(table) for name, table in tables.items()}


def test_help_imports_nothing_that_reads_or_computes() -> None:
    """What takes long to import waits until a command runs."""
    heavy = ("scipy", "pyarrow", "duckdb", "pandas", "matplotlib", "toplist.evaluation", "toplist.io.readers")
    script = f"import sys, toplist.cli.app; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_says_what_options_take_and_nothing_about_python() -> None:
    for command in (*COMMANDS, ""):
        words = ["recalibrate", command] if command in ("fit", "apply") else [command] if command else []
        told = CliRunner().invoke(app, [*words, "--help"], terminal_width=200).stdout
        assert told
        assert not re.search(r"<[a-z]|list\[|\}\.\.\.|default: \(", told)
