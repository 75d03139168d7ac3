"""Packages that not everyone has: imported when they are used, and their absence is one sentence."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from toplist.errors import ResourceError, TopListError


@cache
def need(module: str) -> Any:
    """A module of the `files` extra."""
    package = module.partition(".")[0]
    try:
        return load(module, f"files and frames need {package}: pip install 'toplist[files]'.")
    except TopListError as failure:
        error = failure.__cause__
        if isinstance(error, ModuleNotFoundError) or not isinstance(error, ImportError) or error.name is None:
            raise failure from None
        raise ResourceError(f"{package} is installed, but cannot be loaded: {str(error).rstrip('.')}.") from None


def load(module: str, remedy: str) -> Any:
    """A module, or an error that says what to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise TopListError(remedy) from error
