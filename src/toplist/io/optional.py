"""What only files need, imported in one place: their absence is one clear sentence."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from toplist.errors import TopListError


@cache
def need(module: str) -> Any:
    """A module of the `files` extra."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise TopListError(f"files and frames need {package}: pip install 'toplist[files]'.") from None
