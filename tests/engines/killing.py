"""Processes of workers that are killed in the middle of a task."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

SECONDS = 60.0
"""How long a task waits to be killed, and how long it is waited for."""


def wait_to_be_killed(folder: Path) -> None:
    """Say, in a file of a folder, which process has begun; go on when the file "go" is there."""
    (folder / f"{os.getpid()}.began").touch()
    deadline = time.monotonic() + SECONDS
    while not (folder / "go").exists() and time.monotonic() < deadline:
        time.sleep(0.01)


@contextmanager
def killing(folder: Path, whom: Callable[[int], int] = lambda pid: pid) -> Iterator[list[int]]:
    """Within this, the process that begins first is killed, or the one that it stands for; the others then go on."""
    killed: list[int] = []
    killer = threading.Thread(target=_kill_one, args=(folder, whom, killed))
    killer.start()
    try:
        yield killed
    finally:
        killer.join()


def _kill_one(folder: Path, whom: Callable[[int], int], killed: list[int]) -> None:
    deadline = time.monotonic() + SECONDS
    while not (began := sorted(folder.glob("*.began"))) and time.monotonic() < deadline:
        time.sleep(0.01)
    if began:
        process = whom(int(began[0].stem))
        assert process != os.getpid()
        os.kill(process, signal.SIGKILL)
        killed.append(process)
    (folder / "go").touch()


def executor_of(pid: int) -> int:
    """The Java process above the daemon that started a Python worker of Spark."""
    return _parent(_parent(pid))


def _parent(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[1])
