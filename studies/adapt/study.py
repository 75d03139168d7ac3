"""What a study is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Study:
    """Original files, the function that adapts them, and the words after `toplist compare` for each board."""

    files: tuple[str, ...]
    adapt: Callable[[Path, Path], None]
    boards: Mapping[str, str]
