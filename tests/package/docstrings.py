"""Checks the docstrings of all public names against the NumPy style: `python -m tests.package.docstrings`.

Public are the names in the `__init__.pyi` of toplist and of its packages, those of the modules of `integrations`, and
the public methods of the classes among them. numpydoc finds the faults; `CHECKS` says which of its checks apply to
what. Those of mere style (capital letters, periods, infinitives, See Also) are not used.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

import toplist

SOURCE = Path(toplist.__file__).parent
ALWAYS = {"GL01", "GL05", "GL06", "GL07", "GL08", "GL10", "SS01", "SS04", "SS06"}
"""There is a summary, on one line, and the sections are those of the standard, in its order."""
PARAMETERS = {"PR01", "PR02", "PR03", "PR04", "PR05", "PR06", "PR07", "PR10"}
"""Every parameter has a type and a description, in the order of the signature, and no other one has.

Parameters that a function shares with another one may be one entry, "lists, y, space", that says "As for `other`": they
need no types and may stand out of order."""
_SHARED = re.compile(r"\b(as (for|in|of)|those of) `", re.IGNORECASE)
RETURNS = {"RT01", "RT03", "YD01"}
EXAMPLES = {"EX01"}
CHECKS = {
    "function": ALWAYS | PARAMETERS | RETURNS | EXAMPLES,
    "class": ALWAYS | PARAMETERS | EXAMPLES,
    "result": ALWAYS,  # made by the library: its fields are under Attributes, which `_fields` checks
    "method": ALWAYS | PARAMETERS | RETURNS,  # with sections; one that is a single paragraph needs no more
    "short method": ALWAYS,
    "error": ALWAYS,  # and enumerations
}
INTERNAL = {
    "TopLists": {"checked"},
    "DeviceLists": {"bits", "flags", "ids", "log_rest", "signed_rest", "xp"},
    "TrueLists": {"log_beyond", "p", "space"},
}
"""Fields that are no part of what a class shows; its properties and methods give what they hold."""
_NAMES = re.compile(r"\b(\w+) as \1\b")


@dataclass(frozen=True)
class Offence:
    """A fault of one docstring."""

    package: str
    name: str
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.name}: {self.code} {self.message}"


def public_names() -> Iterator[tuple[str, str]]:
    """Package and qualified name of each public object, once, where it is deepest."""
    found: dict[int, tuple[str, str]] = {}
    for package, name in _listed():
        value = _load(name)
        if not isinstance(value, ModuleType) and callable(value):
            found.setdefault(id(value), (package, name))
    yield from sorted(found.values())


def _listed() -> Iterator[tuple[str, str]]:
    """The names in the stubs, packages below toplist first, and those of public packages without a stub."""
    # That of io lists what other packages of toplist use, not what users do.
    stubs = sorted(
        set(SOURCE.rglob("__init__.pyi")) - {SOURCE / "io" / "__init__.pyi"}, key=lambda stub: (-len(stub.parts), stub)
    )
    for stub in stubs:
        package = ".".join(("toplist", *stub.parent.relative_to(SOURCE).parts))
        for name in _NAMES.findall(stub.read_text(encoding="utf-8")):
            value = getattr(import_module(package), name)
            if not isinstance(value, ModuleType):
                yield _room(package), f"{package}.{name}"
            elif not _has_stub(value):
                yield from ((_room(value.__name__), f"{value.__name__}.{inner}") for inner in value.__all__)
    for module in sorted((SOURCE / "integrations").glob("[!_]*.py")):
        name = f"toplist.integrations.{module.stem}"
        yield from ((_room(name), f"{name}.{inner}") for inner in import_module(name).__all__)


def _load(name: str) -> Any:
    root, *parts = name.split(".")
    return functools.reduce(getattr, parts, sys.modules[root])


def _has_stub(module: ModuleType) -> bool:
    return not hasattr(module, "__all__") or Path(str(module.__file__)).with_suffix(".pyi").exists()


def _room(name: str) -> str:
    """The package of a dotted name, without what lies inside it."""
    return ".".join(name.split(".")[:2])


def offences() -> list[Offence]:
    """All faults, by package and name."""
    return [fault for package, name in public_names() for fault in faults(package, name)]


def faults(package: str, name: str) -> Iterator[Offence]:
    """What is wrong with the docstring of one public name, and with those of its methods."""
    value = _load(name)
    home = _room(getattr(value, "__module__", package))
    room = home if home.startswith("toplist.") and package == "toplist" else package
    kind = _kind(value)
    yield from (Offence(room, name, *fault) for fault in _faults_of(name, CHECKS[kind]))
    if kind == "result":
        yield from (Offence(room, name, *fault) for fault in _fields(value))
    if inspect.isclass(value):
        for method in _methods(value):
            inner = f"{name}.{method}"
            checks = CHECKS["method" if _has_sections(inspect.getattr_static(value, method)) else "short method"]
            yield from (Offence(room, inner, *fault) for fault in _faults_of(inner, checks))


def _faults_of(name: str, checks: set[str]) -> list[tuple[str, str]]:
    try:
        found = [fault for fault in validate(name)["errors"] if fault[0] in checks]
        shared = _shared(_load(name))
    except ValueError as error:  # a section twice, or one that cannot be parsed
        return [("GL06", str(error).splitlines()[0])]
    excused = {f'Parameter "{one}" has no type' for one in shared}
    return [(code, text) for code, text in found if text not in excused and not (shared and code == "PR03")]


def _shared(value: Any) -> set[str]:
    """Parameters that are described by a reference to another function."""
    given = get_doc_object(value)["Parameters"]
    return {
        name for names, kind, text in given if not kind and _SHARED.search(" ".join(text)) for name in names.split(", ")
    }


def _kind(value: object) -> str:
    if not inspect.isclass(value):
        return "function"
    if issubclass(value, BaseException | Enum):
        return "error"
    return "result" if "Attributes\n" in inspect.cleandoc(value.__doc__ or "") else "class"


def _fields(value: type) -> Iterator[tuple[str, str]]:
    """Fields of a result that its Attributes leave out, or that have no type or no description."""
    given = {
        name: (kind, text) for names, kind, text in get_doc_object(value)["Attributes"] for name in names.split(", ")
    }
    hidden = INTERNAL.get(value.__name__, set())
    fields = [name for name in getattr(value, "__dataclass_fields__", {}) if name[0] != "_" and name not in hidden]
    if missing := [name for name in fields if name not in given]:
        yield "PR01", f"Attributes {missing} not documented"
    for name, (kind, text) in given.items():
        if not kind and name in fields:
            yield "PR04", f'Attribute "{name}" has no type'
        if not "".join(text) and name in fields:
            yield "PR07", f'Attribute "{name}" has no description'


def _methods(value: type) -> list[str]:
    """Public methods and properties that a class of this package defines for itself or inherits from one of it."""
    root = value.__module__.partition(".")[0]
    ours = [base for base in value.__mro__ if base.__module__.partition(".")[0] == root]
    names = {name for base in ours for name in vars(base)}
    return sorted(name for name in names if _is_documented(name, inspect.getattr_static(value, name)))


def _is_documented(name: str, member: object) -> bool:
    kinds = (property, functools.cached_property, classmethod, staticmethod)
    return not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, kinds))


def _has_sections(member: object) -> bool:
    text = inspect.cleandoc(getattr(member, "__doc__", None) or "")
    return "\n---" in text


def main() -> int:
    """Print the faults by package; how many there are is the exit status."""
    found = offences()
    for package, count in sorted(Counter(fault.package for fault in found).items()):
        print(f"\n{package}: {count}")
        print(*(f"  {fault}" for fault in found if fault.package == package), sep="\n")
    return min(len(found), 1)


if __name__ == "__main__":
    sys.exit(main())
