"""Processes of this machine: how they end, and what a script needs to use them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines import toys
from tests.engines.conftest import ROOT
from toplist.engines import Local
from toplist.errors import ResourceError, TopListError

SCRIPT = """
import sys
from tests.engines import toys
from toplist.engines import Local

tasks = [f"{sys.argv[1]} a b".encode()] * 4
print(Local(workers=2).reduce(toys.wait_and_count, toys.add_counts, tasks, lambda done, total: None).decode())
"""
"""A script without a guard for `multiprocessing`."""


@pytest.fixture
def script(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A run with two workers that have begun, and wait."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, str(path), str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        wait_until(lambda: len(workers(tmp_path)) == 2)
        yield run
        (tmp_path / "go").touch()


def workers(folder: Path) -> list[int]:
    return [int(path.stem) for path in folder.glob("*.began")]


def wait_until(condition: object, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has waited for has ended, too."""
    try:
        return "(zombie)" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return False


def test_a_script_needs_no_guard(script: subprocess.Popen[str], tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    output, errors = script.communicate(timeout=60)
    assert (output, errors) == ('{"a": 4, "b": 4}\n', "")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_the_run(script: subprocess.Popen[str], tmp_path: Path, how: signal.Signals) -> None:
    script.send_signal(how)
    _, errors = script.communicate(timeout=60)
    assert ("KeyboardInterrupt" in errors) == (how == signal.SIGINT)
    wait_until(lambda: not any(is_alive(pid) for pid in workers(tmp_path)))


def test_tasks_under_way_are_done_before_a_lost_worker_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match=r"the local engine lost the worker .* \(it ended with signal 9\)"):
        Local(workers=2).reduce(toys.marks_or_dies, toys.add_counts, [b"kill", f"{tmp_path}".encode()], ignored)
    assert (tmp_path / "done").exists()


def test_threads_are_shared_among_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPLIST_THREADS", "6")
    counts = toys.decode(Local(workers=2).reduce(toys.count_threads, toys.add_counts, [b""] * 2, ignored))
    assert counts == {"threads=3": 2}


def test_what_a_task_prints_is_no_result(capfd: pytest.CaptureFixture[str]) -> None:
    assert Local(workers=2).reduce(toys.print_and_count, toys.add_counts, [b"a", b"b"], ignored)
    assert capfd.readouterr().out == ""


def test_temporary_files_of_a_shuffle_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for split, failing in ((toys.split_words, False), (toys.split_and_fail, True)):
        try:
            Local(workers=1).shuffle(split, toys.count_bucket, toys.add_counts, [b"a b", b"c"], toys.BUCKETS, ignored)
        except TopListError:
            assert failing
        assert not list(tmp_path.iterdir())


def ignored(done: int, total: int) -> None:
    """Progress that nobody sees."""
