"""Every test here runs once per array library that is installed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.lists.device.libraries import LIBRARIES, Library, library


@pytest.fixture(params=LIBRARIES)
def lib(request: pytest.FixtureRequest) -> Iterator[Library]:
    """An array library."""
    with library(request.param) as one:
        yield one
