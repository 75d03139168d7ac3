"""Tests of kernels run where there is no GPU too: in Triton's interpreter, which a process must be started with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton", reason="Triton is not installed")


def test_kernels_pass_their_tests_in_the_interpreter(pytestconfig: pytest.Config) -> None:
    folder = Path(__file__).parent / "kernels"
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-n", "0", str(folder)]
    if (cases := pytestconfig.getoption("--cases")) is not None:
        command += ["--cases", str(cases)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        command, env={**environment, "TRITON_INTERPRET": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert " passed" in done.stdout
