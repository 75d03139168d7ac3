"""The command as people run it, in a process of its own or within this one."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

_READING = re.compile(
    r"; (case id in|no case id, so matched by position)|: .*(hard labels in|classes? in )"
    r"|: outcomes in .* of these predictions"
)
TOPLIST = Path(sys.executable).with_name("toplist")


def complaints(stderr: str) -> str:
    """What a command says beside the lines on how it reads each file."""
    return "".join(line for line in stderr.splitlines(keepends=True) if not _READING.search(line))


def toplist(*words: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run it and look at everything it says."""
    known = dict(os.environ)  # not what readline, which pytest loads, adds to it for other processes: a width
    return subprocess.run([TOPLIST, *map(str, words)], cwd=cwd, capture_output=True, text=True, check=False, env=known)


def toplist_here(*words: object, cwd: Path | None = None, encoding: str = "utf-8") -> subprocess.CompletedProcess[str]:
    """The same within this process, which takes a tenth of the time: for what is read and said, not for how it ends."""
    from toplist.cli import main

    given, before = [os.fsdecode(w) if isinstance(w, bytes) else str(w) for w in words], Path.cwd()
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="") for _ in range(2))
    code: object = None
    with redirect_stdout(out), redirect_stderr(err), mock.patch.object(sys, "argv", [str(TOPLIST), *given]):
        os.chdir(before if cwd is None else cwd)
        try:
            main()
        except SystemExit as end:
            code = end.code
        finally:
            os.chdir(before)
    assert code is None or isinstance(code, int), code
    return subprocess.CompletedProcess(given, code or 0, _text(out), _text(err))


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    written = stream.buffer.getvalue()  # type: ignore[attr-defined]
    return str(written, stream.encoding)
