"""What only files need, imported in one place: their absence is one clear sentence."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from toplist.errors import ResourceError, TopListError


@cache
def need(module: str) -> Any:
    """A module of the `files` extra."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        if isinstance(error, ModuleNotFoundError) or error.name is None:
            raise TopListError(f"files and frames need {package}: pip install 'toplist[files]'.") from None
        raise ResourceError(f"{package} is installed, but cannot be loaded: {str(error).rstrip('.')}.") from None
