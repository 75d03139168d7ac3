"""Public names of a package that are loaded when they are first used: listed once, in the package's stub."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

_IMPORT = re.compile(r"^from (\S+) import (\([^)]*\)|[^\n]*)", re.MULTILINE)


def attach(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package, from the names that its `__init__.pyi` re-exports."""
    stub = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    home = {name: module for module, names in _IMPORT.findall(stub) for name in re.findall(r"(\w+) as \1\b", names)}

    def get(name: str) -> object:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        own = home[name] == package  # a module of the package itself
        value = import_module(f"{package}.{name}") if own else getattr(import_module(home[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted(home), sorted(home)
