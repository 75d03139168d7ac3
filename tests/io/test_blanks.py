"""What lacks its class or its confidence, beside tests/transcripts/blanks.txt: in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import toplist as tl


def test_blanks_are_about_files() -> None:
    with pytest.raises(tl.TopListError, match="blanks are about files and frames"):
        tl.compare({"it": [{"a": 0.5}]}, ["a"], space=5, read=tl.ReadOptions(blanks="drop"))


def test_blanks_are_left_out_of_lists_where_that_is_said_and_counted(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("class1,percent1,class2,percent2\na,60,b,\nb,70,a,20\n")
    with pytest.raises(tl.FileError, match=r"the confidence is blank. Fill it in, or pass blanks='drop'"):
        tl.read_lists(tmp_path / "people.csv", 3, scale="percent")
    lists = tl.read_lists(tmp_path / "people.csv", 3, scale="percent", blanks="drop")
    assert lists.sizes.tolist() == [1, 2]
    assert lists.repairs["blanks left out"] == 1
