"""The command as people run it: a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOPLIST = Path(sys.executable).with_name("toplist")


def toplist(*words: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run it and look at everything it says."""
    return subprocess.run([TOPLIST, *map(str, words)], cwd=cwd, capture_output=True, text=True, check=False)
