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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('["cat", null]', "labels are one per line"),
        ('["cat", true]', "labels are one per line"),
        ('{"0": "cat", "1": " ", "2": "dog"}', "the label of code 1 is blank"),
    ],
)
def test_a_label_of_json_that_is_none_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(FileError, match=said):
        read_labels(tmp_path / "c.json")


def test_the_row_of_a_label_counts_blank_lines(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("cat\n\ndog\ncat\n")
    with pytest.raises(FileError) as refused:
        read_labels(tmp_path / "c.txt")
    assert refused.value.row == 4
