"""The GitHub action declares what it uses, and its steps run under bash with what they are given."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from toplist.cli import demo

yaml = pytest.importorskip("yaml", reason="needs PyYAML")
ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
INSTALL, GATE = ACTION["runs"]["steps"]
USED = re.compile(r"\$\{\{\s*inputs\.([\w-]+)\s*\}\}")
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


def test_every_input_is_declared_described_and_used() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert set(USED.findall(text)) == set(ACTION["inputs"])
    assert all(one["description"].endswith(".") for one in ACTION["inputs"].values())
    required = {name for name, one in ACTION["inputs"].items() if one.get("required")}
    assert required == {"new", "baseline", "max-loss"}
    assert all(isinstance(one["default"], str) for name, one in ACTION["inputs"].items() if name not in required)


def test_no_input_enters_a_script_but_through_the_environment() -> None:
    """What is written into a script is run; a variable is not."""
    assert ACTION["runs"]["using"] == "composite"
    for step in (INSTALL, GATE):
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]
        names = set(re.findall(r"\$\{?([A-Z]+_[A-Z_]+)", step["run"])) | set(
            re.findall(r'environ\["(\w+)"', step["run"])
        )
        assert names - {"GITHUB_OUTPUT"} == set(step["env"])


def run(step: dict[str, Any], given: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """A step as a runner runs it; inputs that are not given have their defaults."""
    defaults = {name: one.get("default", "") for name, one in ACTION["inputs"].items()}
    known = {
        name: USED.sub(lambda found: {**defaults, **given}[found[1]], value).replace(
            "${{ github.action_path }}", str(ROOT)
        )
        for name, value in step["env"].items()
    }
    here = f"{folder / 'bin'}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, **known, "PATH": here, "GITHUB_OUTPUT": str(folder / "output")}
    env["GITHUB_STEP_SUMMARY"] = str(folder / "summary.md")
    bash = [str(shutil.which("bash")), "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(bash, cwd=folder, env=env, capture_output=True, text=True, check=False)


def stub(folder: Path, name: str) -> Path:
    """A command that notes its arguments, one per line."""
    (folder / "bin").mkdir(exist_ok=True)
    path = folder / "bin" / name
    path.write_text(f'#!/bin/sh\nfor word in "$@"; do echo "$word" >> "{folder}/words"; done\n')
    path.chmod(0o755)
    return folder / "words"


@needs_bash
@pytest.mark.parametrize(("version", "what"), [("", f"{ROOT}[cli]"), ("0.1.0", "toplist[cli]==0.1.0")])
def test_the_action_installs_itself_or_the_version_that_is_asked_for(version: str, what: str, tmp_path: Path) -> None:
    words = stub(tmp_path, "python")
    done = run(INSTALL, {"version": version}, tmp_path)
    assert done.returncode == 0, done.stderr
    assert words.read_text().splitlines() == ["-m", "pip", "install", "--quiet", what]


@needs_bash
def test_arguments_arrive_as_they_were_given(tmp_path: Path) -> None:
    words = stub(tmp_path, "toplist")
    hostile = 'a "file"; $(touch run) `touch run`'
    given = {"new": hostile, "baseline": "b.json", "max-loss": "0.01", "args": "--group 'a site' -o \"j x.xml\""}
    done = run(GATE, given, tmp_path)
    assert done.returncode == 0, done.stderr
    told = ["gate", hostile, "--baseline", "b.json", "--max-loss", "0.01", "--group", "a site", "-o", "j x.xml"]
    assert words.read_text().splitlines() == told
    assert not (tmp_path / "run").exists()
    words.unlink()
    assert run(GATE, {**given, "args": "", "truth": "y.csv", "classes": "3", "per-case": "1"}, tmp_path).returncode == 0
    assert words.read_text().splitlines() == [*told[:6], "--truth", "y.csv", "--classes", "3", "--per-case", "1"]


@needs_bash
def test_the_gate_runs_and_says_its_verdict(tmp_path: Path) -> None:
    place = shutil.copytree(demo.folder(), tmp_path / "data")
    old, new = demo.PREDICTIONS["py3langid"], demo.PREDICTIONS["cld2"]
    given = {"new": new, "baseline": old, "truth": demo.TRUTH, "classes": demo.CLASSES, "max-loss": "0.001"}
    done = run(GATE, given, place)
    assert done.returncode == 3, done.stderr
    assert (place / "output").read_text() == "verdict=fail\n"
    assert (place / "summary.md").read_text(encoding="utf-8").startswith("**FAIL**")
