"""Temporary folders end with their process; what a killed one leaves is removed by the next, and nothing else is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from toplist import _files
from toplist._files import allocate, disk_full_explained, temporary_folder
from toplist.errors import ResourceError

HOLD = """
import sys, time
from toplist._files import temporary_folder
with temporary_folder() as place:
    (place / "data").write_text("predictions")
    print(place, flush=True)
    time.sleep(60)
"""
USE = "from toplist._files import temporary_folder\nwith temporary_folder() as place: print(place)"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def holding() -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout as told:
        return process, Path(told.readline().strip())


def test_the_next_process_removes_what_a_killed_one_left_and_nothing_else(home: Path) -> None:
    dead, left = holding()
    alive, kept = holding()
    others = [home / "toplist-mine", home / "other"]
    for other in others:
        other.mkdir()
        (other / "data").write_text("not temporary")
    (home / "toplist-link").symlink_to(others[0])
    try:
        dead.send_signal(signal.SIGKILL)
        dead.wait()
        assert (left / "data").exists()
        subprocess.run([sys.executable, "-c", USE], check=True, capture_output=True)
        assert not left.exists()
        assert (kept / "data").read_text() == "predictions"
        assert all((other / "data").exists() for other in others)
        assert (home / "toplist-link").is_symlink()
    finally:
        alive.kill()
        alive.wait()


def test_a_folder_is_private_and_gone_in_the_end(home: Path) -> None:
    with temporary_folder() as place:
        assert place.parent == home
        assert place.stat().st_mode & 0o777 == 0o700
        (place / "deep").mkdir()
        (place / "deep" / "data").write_text("x")
    assert os.listdir(home) == []
    with pytest.raises(KeyboardInterrupt), temporary_folder() as place:
        raise KeyboardInterrupt
    assert os.listdir(home) == []


def test_without_locks_there_are_folders_that_nobody_sweeps(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Unlocked:
        LOCK_EX = LOCK_NB = 0

        @staticmethod
        def flock(*_: object) -> None:
            raise OSError(37, "No locks available")

    monkeypatch.setattr(_files, "_fcntl", Unlocked)
    with temporary_folder() as place:
        assert os.listdir(place) == []
        subprocess.run([sys.executable, "-c", USE], check=True, capture_output=True)
        assert place.exists()
    assert os.listdir(home) == []


def test_a_file_to_be_mapped_has_all_its_bytes_on_disk(tmp_path: Path) -> None:
    allocate(tmp_path / "a", 1 << 20)
    found = (tmp_path / "a").stat()
    assert found.st_size == 1 << 20
    assert found.st_blocks * 512 >= 1 << 20
    assert not np.memmap(tmp_path / "a", np.uint8, "r+").any()


def test_a_full_disk_is_one_sentence_with_the_remedy() -> None:
    with (
        pytest.raises(ResourceError, match=r"there is no room for temporary files \(No space .*Let TMPDIR name"),
        disk_full_explained(),
    ):
        raise OSError(28, "detail of a library")
    with pytest.raises(PermissionError), disk_full_explained():
        raise PermissionError(13, "Permission denied")
