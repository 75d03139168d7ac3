"""Goldens: stored results; `pytest tests/golden --update-goldens` writes them anew, and the commit says why."""

import difflib
import json
import math
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
CLOSE = 1e-12  # numbers agree to it, relative to the larger one and absolutely: the last digits depend on the processor


class Golden:
    """Compares with stored values, or stores them."""

    def __init__(self, update: bool) -> None:
        self.update = update

    def text(self, name: str, text: str) -> None:
        """A text is as it was stored in `tests/golden/NAME`, to the letter."""
        stored = HERE / name
        if self.update:
            stored.parent.mkdir(parents=True, exist_ok=True)
            stored.write_text(text, encoding="utf-8")
            return
        expected = stored.read_text(encoding="utf-8")
        if text != expected:
            lines = difflib.unified_diff(expected.splitlines(), text.splitlines(), "stored", "now", lineterm="", n=1)
            pytest.fail(f"{name} differs; --update-goldens stores what is said now.\n" + "\n".join(list(lines)[:60]))

    def json(self, name: str, value: Any) -> None:
        """A value of JSON is as it was stored: keys and texts to the letter, numbers to 1e-12.

        It is stored anew only where it differs, so that last digits of another processor change no file.
        """
        stored = HERE / name
        value = json.loads(json.dumps(value))
        before = json.loads(stored.read_text(encoding="utf-8")) if stored.exists() or not self.update else None
        different = list(differences(before, value))
        if different and self.update:
            stored.parent.mkdir(parents=True, exist_ok=True)
            stored.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        elif different:
            pytest.fail(f"{name} differs; --update-goldens stores what is said now.\n" + "\n".join(different[:30]))


def differences(stored: Any, now: Any, path: str = "$") -> Any:
    """Where two values of JSON differ by more than rounding."""
    if isinstance(stored, dict) and isinstance(now, dict):
        for key in {**stored, **now}:
            if key in stored and key in now:
                yield from differences(stored[key], now[key], f"{path}.{key}")
            else:
                yield f"{path}.{key} is {'gone' if key in stored else 'new'}"
    elif isinstance(stored, list) and isinstance(now, list):
        if len(stored) != len(now):
            yield f"{path} has {len(now)} entries, not {len(stored)}"
        for at, (before, after) in enumerate(zip(stored, now, strict=False)):
            yield from differences(before, after, f"{path}[{at}]")
    elif isinstance(stored, float) and isinstance(now, float):
        same = stored == now or (math.isnan(stored) and math.isnan(now))
        if not (same or math.isclose(stored, now, rel_tol=CLOSE, abs_tol=CLOSE)):
            yield f"{path} is {now!r}, not {stored!r}"
    elif type(stored) is not type(now) or stored != now:
        yield f"{path} is {now!r}, not {stored!r}"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Stored values to compare with."""
    return Golden(request.config.getoption("--update-goldens"))
