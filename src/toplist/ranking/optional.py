"""arch, which not everyone has: the stationary bootstrap, its block length, the model confidence set."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from toplist.errors import TopListError


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
