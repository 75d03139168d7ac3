"""What only files need, imported in one place: their absence is one clear sentence.

Packages that only some pages need.

arch, which not everyone has: the stationary bootstrap, its block length, the model confidence set.
"""

from __future__ import annotations

import importlib
import importlib.util
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


def load(module: str, remedy: str) -> Any:
    """The module, or an error that says what to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise TopListError(remedy) from error


def has_arch() -> bool:
    """Whether it is there."""
    return importlib.util.find_spec("arch") is not None


def arch() -> Any:
    """`arch.bootstrap`, or one clear sentence."""
    try:
        return importlib.import_module("arch.bootstrap")
    except ImportError:
        raise TopListError(
            "the stationary bootstrap and the model confidence set need arch: pip install 'toplist[report]'."
        ) from None
