"""What was learned and saved, brought back whatever it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from toplist._files import read_json
from toplist.errors import FileError
from toplist.postprocess import conformal
from toplist.postprocess.combination import stacking
from toplist.postprocess.recalibration import Recalibrator, state

_KINDS: dict[str, Any] = {
    state.SCHEMA: Recalibrator,
    stacking.SCHEMA: stacking.Stack,
    conformal.SCHEMA: conformal.Conformal,
}


def load(path: str | Path) -> Any:
    """The recalibrator, pool or conformal fit that was saved in a file; nothing in it is run.

    >>> import tempfile, toplist as tl
    >>> lists = tl.TopLists.from_dicts([{"a": 0.8, "b": 0.1}] * 8, 3)
    >>> path = Path(tempfile.mkdtemp()) / "mine.json"
    >>> tl.postprocess.Temperature().fit(lists, ["a", "a", "b", "c"] * 2).save(path)
    >>> type(load(path)).__name__
    'Temperature'
    """
    saved = read_json(path, "something that was saved")
    schema = saved.get("schema") if isinstance(saved, dict) else None
    if not isinstance(schema, str) or schema not in _KINDS:
        known = ", ".join(_KINDS)
        raise FileError(str(path), f"this is nothing that was saved here: its schema is none of {known}.")
    return _KINDS[schema].from_dict(saved)
