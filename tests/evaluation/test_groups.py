"""Groups: blanks are a group, and too many are refused with a remedy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import toplist as tl
from toplist.errors import AlignmentError
from toplist.io.truth import MOST_GROUPS


def test_blanks_are_a_group_in_files_and_in_memory(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="files need pyarrow")
    names = ["", "(blank)", "a", "", "a"]
    (tmp_path / "p.csv").write_text("case,x,y\n" + "".join(f"{i},0.6,0.4\n" for i in range(5)))
    rows = "".join(f"{i},x,{name}\n" for i, name in enumerate(names))
    (tmp_path / "t.csv").write_text("case,outcome,of\n" + rows)
    board = tl.compare({"p": tmp_path / "p.csv"}, tl.Truth(tmp_path / "t.csv", group="of"), space=2)
    found = {section.group: section.cases for section in board.groups}
    given = [name or None for name in names]
    memory = tl.compare({"p": np.full((5, 2), 0.5)}, tl.Truth([0] * 5, group=given))
    assert found == {section.group: section.cases for section in memory.groups}
    assert found == {"(blank)": 3, "a": 2}


def test_too_many_groups_are_refused() -> None:
    n = MOST_GROUPS + 1
    with pytest.raises(AlignmentError, match="group by a column with fewer values"):
        tl.compare({"p": np.full((n, 2), 0.5)}, tl.Truth(np.zeros(n, int), group=np.arange(n)))
