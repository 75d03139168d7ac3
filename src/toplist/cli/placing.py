"""Where a command writes: in folders that are there, and never over what it reads."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from toplist.io.outputs import require_apart, require_place


def require_outputs(
    outputs: Iterable[Path | None], inputs: Iterable[str | Path | None], classes: str | None = None
) -> None:
    """Before any work: every output has a place, and is none of the inputs, nor the labels that --classes names."""
    asked = [path for path in outputs if path is not None]
    require_apart(asked, [*inputs, label_file(classes)])
    for path in asked:
        require_place(path)


def label_file(classes: str | None) -> str | None:
    """What --classes says, where it is a file."""
    word = (classes or "").strip()
    return word if os.path.isfile(word) else None
