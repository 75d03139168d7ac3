"""arch, which not everyone has: the stationary bootstrap, its block length, the model confidence set."""

from __future__ import annotations

import importlib
from typing import Any

from toplist.errors import TopListError


def arch() -> Any:
    """`arch.bootstrap`, or one clear sentence."""
    try:
        return importlib.import_module("arch.bootstrap")
    except ImportError:
        raise TopListError(
            "the stationary bootstrap and the model confidence set need arch: pip install 'toplist[report]'."
        ) from None
