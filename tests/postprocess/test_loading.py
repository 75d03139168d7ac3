"""What was saved is brought back by one function, whatever it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import toplist as tl
from toplist.postprocess import Conformal, Stack, Temperature, load, stack


def cases() -> tuple[tl.TopLists, np.ndarray]:
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(4), 60)
    return tl.TopLists.from_proba(p).truncate(2), rng.integers(0, 4, 60)


def test_the_schema_says_what_it_is(tmp_path: Path) -> None:
    lists, y = cases()
    for made in (Temperature().fit(lists, y), stack({"a": lists, "b": lists}, y), Conformal().fit(lists, y)):
        made.save(tmp_path / "kept.json")
        back = load(tmp_path / "kept.json")
        assert type(back) is type(made)
        given = {"a": lists, "b": lists} if isinstance(made, Stack) else lists
        assert back.transform(given) == made.transform(given)


@pytest.mark.parametrize("text", ["[]", "{}", '{"schema": "toplist.leaderboard/1"}', '{"schema": 3}'])
def test_other_files_are_refused_with_what_could_be_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "other.json").write_text(text)
    with pytest.raises(tl.FileError, match=r"toplist\.recalibrator/1, toplist\.pool/1, toplist\.conformal/1"):
        load(tmp_path / "other.json")
