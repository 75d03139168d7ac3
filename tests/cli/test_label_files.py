"""Files of labels that are not text as transcripts hold it; others are in tests/transcripts/files_of_labels.txt."""

from __future__ import annotations

from pathlib import Path

import pytest

from toplist.cli.options import read_labels
from toplist.errors import FileError


def test_lines_may_end_in_cr_and_lf(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_bytes(b"cat\r\ndog\r\n")
    assert read_labels(tmp_path / "c.txt") == ["cat", "dog"]


def test_labels_in_latin_1_are_refused_with_the_way_to_utf_8(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_bytes("caf\xe9\n".encode("latin-1"))
    with pytest.raises(FileError, match=r"not UTF-8 text\. Save it as UTF-8, .* iconv -f latin1 -t utf8"):
        read_labels(tmp_path / "c.txt")
