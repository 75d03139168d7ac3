"""Saved recalibrators, stacks and conformal fits, read back by their schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from toplist._files import read_json
from toplist.errors import FileError
from toplist.postprocess import conformal
from toplist.postprocess.combination import weights
from toplist.postprocess.recalibration import Recalibrator, base

_KINDS: dict[str, Any] = {
    base.SCHEMA: Recalibrator,
    weights.SCHEMA: weights.Stack,
    conformal.SCHEMA: conformal.Conformal,
}


def load(path: str | Path) -> Any:
    """The recalibrator, stack or conformal fit that was saved in a file; no code in it is run.

    Parameters
    ----------
    path : str or Path
        A file that `save` wrote.

    Returns
    -------
    Recalibrator, Stack or Conformal
        With the same results, to the last bit.

    Raises
    ------
    FileError
        If the file is none of these.

    Examples
    --------
    >>> import tempfile
    >>> from toplist.postprocess import Temperature
    >>> path = Path(tempfile.mkdtemp()) / "mine.json"
    >>> Temperature().fit([[0.8, 0.2]] * 8, [0, 0, 1, 0] * 2).save(path)
    >>> type(load(path)).__name__
    'Temperature'
    """
    saved = read_json(path, "something that was saved")
    schema = saved.get("schema") if isinstance(saved, dict) else None
    if not isinstance(schema, str) or schema not in _KINDS:
        known = ", ".join(_KINDS)
        raise FileError(str(path), f"this is no recalibrator, stack or conformal fit: its schema is none of {known}.")
    return _KINDS[schema].from_dict(saved)
