"""Files that the programs themselves wrote: made once for all tests that read them, also by several workers."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

WAIT = 300  # seconds


def written_by(package: str, module: str, factory: pytest.TempPathFactory) -> Path:
    """The folder that `python -m MODULE FOLDER` fills; skips where the package that it runs is not installed."""
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    base = factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    home, done = base / f"real_{package}", base / f"real_{package}.done"
    try:
        home.mkdir()
    except FileExistsError:  # another test, or another worker
        limit = time.monotonic() + WAIT
        while not done.exists():
            assert time.monotonic() < limit, f"{module} did not finish"
            time.sleep(0.1)
    else:
        made = subprocess.run([sys.executable, "-m", module, str(home)], capture_output=True, text=True, check=False)
        done.write_text(made.stderr)
        assert made.returncode == 0, made.stderr
    return home
