"""torchmetrics and Lightning without what they look for when they are imported and do not need here.

Where torchvision is installed and made for another torch, as it is beside the CPU build of torch in these tests, their
import fails. And transformers takes seconds to import.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module, metadata
from types import ModuleType
from typing import Any
from unittest import mock

HIDDEN = ("torchvision", "transformers")


@contextmanager
def hidden() -> Iterator[None]:
    """Hide these from imports and from lists of what is installed."""
    usual = metadata.Distribution.from_name

    def found(name: str) -> Any:
        if name in HIDDEN:
            raise metadata.PackageNotFoundError(name)
        return usual(name)

    absent: dict[str, Any] = {name: None for name in HIDDEN if name not in sys.modules}
    sys.modules.update(absent)
    try:
        with mock.patch.object(metadata.Distribution, "from_name", found):
            yield
    finally:
        for name in absent:
            del sys.modules[name]


def imported(name: str) -> ModuleType:
    """A library, imported without them."""
    with hidden():
        return import_module(name)
