"""The names of the room."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

from toplist import diagnosis


def test_every_name_is_there_and_in_order():
    assert diagnosis.__all__ == sorted(diagnosis.__all__) == dir(diagnosis)
    assert all(getattr(diagnosis, name).__module__.startswith("toplist.diagnosis.") for name in diagnosis.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        diagnosis.nothing  # noqa: B018


def test_no_file_hides_a_name():
    """Importing a file binds its name in the room."""
    files = {file.name for file in pkgutil.iter_modules(diagnosis.__path__)}
    assert not files & set(diagnosis.__all__)
    for file in files:
        importlib.import_module(f"toplist.diagnosis.{file}")
    assert callable(diagnosis.reliability)
