"""Names of a package that are loaded when they are first used, so that importing it costs next to nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def deferred(
    package: str, home: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package, from the names that each module below `toplist` holds."""
    room = {name: module for module, names in home.items() for name in names}

    def get(name: str) -> object:
        if name not in room:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"toplist.{room[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted(room)
