"""The command as people run it: a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

_READING = re.compile(r"; (case id in|no case id, so matched by position)|: .*(hard labels in|classes? in )")
TOPLIST = Path(sys.executable).with_name("toplist")


def complaints(stderr: str) -> str:
    """What a command says beside the lines on how it reads each file."""
    return "".join(line for line in stderr.splitlines(keepends=True) if not _READING.search(line))


def toplist(*words: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run it and look at everything it says."""
    return subprocess.run([TOPLIST, *map(str, words)], cwd=cwd, capture_output=True, text=True, check=False)
