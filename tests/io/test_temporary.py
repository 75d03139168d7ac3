"""Temporary folders end with what they are for, and a full disk is one sentence."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

from toplist._files import allocate, disk_full_explained, temporary_folder
from toplist.errors import ResourceError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


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
