"""What is installed, for a bug report."""

from __future__ import annotations

import platform
import sys
from importlib import metadata

from toplist.core import kernel

_COMPANIONS = ("numpy", "scipy", "narwhals", "array-api-compat", "pyarrow", "duckdb", "matplotlib", "jinja2")


def version() -> str:
    """The version of this installation."""
    return metadata.version("toplist")


def versions() -> dict[str, str]:
    """Names and versions of what takes part."""
    found = {"toplist": version(), "kernel": "native (C++)" if kernel.NATIVE else "pure Python (array API)"}
    found["threads"] = str(kernel.threads())
    found["python"] = sys.version.split()[0]
    found["platform"] = platform.platform()
    for name in _COMPANIONS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def show_versions() -> None:
    """Print what is installed, and which kernel is in use, for a bug report.

    Examples
    --------
    >>> import toplist as tl
    >>> tl.show_versions()  # doctest: +ELLIPSIS
               toplist: ...
    """
    for name, what in versions().items():
        print(f"{name:>18}: {what}")
