"""Packages that only some pages need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from toplist.errors import TopListError


def load(module: str, remedy: str) -> Any:
    """The module, or an error that says what to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise TopListError(remedy) from error
