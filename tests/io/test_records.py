"""Records as JSON: whole or not at all, and refused in one sentence where they are not JSON."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import toplist as tl
from toplist._files import from_json_number, read_json, to_json_number, write_json
from toplist.postprocess import Conformal, Recalibrator
from toplist.postprocess.combination import Stack

LOADERS = {"recalibrator": Recalibrator.load, "pool": Stack.load, "conformal": Conformal.load}
WRONG = {
    "empty": b"",
    "cut": b"{",
    "no text": b"\xff\xfe",
    "deep": b"[" * 100_000,
    "NaN": b'{"schema": NaN}',
    "endless": b"1" * 5000,
    "code": b"import os",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("load", LOADERS.values(), ids=LOADERS)
def test_files_that_are_not_json_are_refused_by_all_alike(load: Any, text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(text)
    with pytest.raises(tl.FileError, match=r"bad\.json: this is not JSON, so not "):
        load(path)


@pytest.mark.parametrize("load", [*LOADERS.values(), tl.AnswerSpace.of], ids=[*LOADERS, "answers"])
def test_a_field_that_is_there_twice_is_refused_by_all_alike(load: Any, tmp_path: Path) -> None:
    path = tmp_path / "twice.json"
    path.write_text('{"yes": ["Yes"], "no": ["No"], "yes": ["Y"]}')
    with pytest.raises(tl.FileError, match=r"twice\.json: the field 'yes' is there twice"):
        load(path)


@pytest.mark.parametrize("load", LOADERS.values(), ids=LOADERS)
def test_files_that_are_not_there_are_named_by_all_alike(load: Any, tmp_path: Path) -> None:
    with pytest.raises(tl.FileError, match=r"none\.json: there is no such file"):
        load(tmp_path / "none.json")
    with pytest.raises(tl.FileError, match="this cannot be read"):
        load(tmp_path)


def test_what_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    write_json(path, {"name": "caf\u00e9 \udcff"})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, {"name": math.nan})
    assert read_json(path, "a record") == {"name": "caf\u00e9 \udcff"}
    assert [one.name for one in tmp_path.iterdir()] == ["kept.json"]
    for where, said in ((tmp_path, "is a folder"), (tmp_path / "none" / "x.json", "there is no folder")):
        with pytest.raises(tl.TopListError, match=said):
            write_json(where, {})


@pytest.mark.parametrize("x", [0.0, -1.5, 1e308, math.inf, -math.inf])
def test_what_is_spelled_is_read_back(x: float) -> None:
    assert from_json_number(json.loads(json.dumps(to_json_number(x), allow_nan=False))) == x
