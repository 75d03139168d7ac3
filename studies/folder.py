"""Where the original files are; the project holds none of them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]


def default() -> Path:
    """The folder that TOPLIST_DATA names; without it, `shared/data` beside the project."""
    return Path(os.environ.get("TOPLIST_DATA", ROOT.parent / "shared" / "data"))


def absent(data: Path, files: Iterable[str]) -> str:
    """Why a study cannot run; empty where it can."""
    if not data.is_dir():
        return f"there is no folder {data}: name it with --data or TOPLIST_DATA"
    lacking = [name for name in files if not (data / name).is_file()]
    return f"{', '.join(lacking)} not in {data}" if lacking else ""
