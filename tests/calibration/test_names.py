"""The names of the room."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

from toplist import calibration


def test_every_name_is_there_and_in_order():
    assert calibration.__all__ == sorted(calibration.__all__) == dir(calibration)
    assert all(getattr(calibration, name).__module__.startswith("toplist.calibration.") for name in calibration.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        calibration.nothing  # noqa: B018


def test_no_file_hides_a_name():
    """Importing a file binds its name in the room."""
    files = {file.name for file in pkgutil.iter_modules(calibration.__path__)}
    assert not files & set(calibration.__all__)
    for file in files:
        importlib.import_module(f"toplist.calibration.{file}")
    assert callable(calibration.reliability)
