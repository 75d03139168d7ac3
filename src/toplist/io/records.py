"""Records in files: one object of JSON, written whole or not at all, and read without running anything in it."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toplist.errors import FileError
from toplist.io.outputs import write_bytes

_INFINITE = {"infinite": math.inf, "-infinite": -math.inf}


def write_json(path: str | os.PathLike[str], record: Mapping[str, Any]) -> None:
    """One object of JSON as a file, all of it or nothing."""
    text = json.dumps(record, indent=1, allow_nan=False)  # ASCII: names of files need not be text
    write_bytes(path, f"{text}\n".encode("ascii"))


def read_json(path: str | os.PathLike[str], what: str) -> Any:
    """What a file of JSON says; `what` it should hold, for the error."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_refuse)
    except FileNotFoundError:
        raise FileError(str(path), "there is no such file.") from None
    except OSError as error:
        raise FileError(str(path), f"this cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise FileError(str(path), f"this is not JSON, so not {what}.") from None


def spell(x: float) -> float | str | None:
    """A number as JSON has it: what is infinite is the word, and what does not exist is null.

    >>> spell(0.5), spell(math.inf), spell(-math.inf), spell(math.nan)
    (0.5, 'infinite', '-infinite', None)
    """
    if math.isfinite(x):
        return x
    return None if math.isnan(x) else "infinite" if x > 0 else "-infinite"


def unspell(value: Any) -> Any:
    """What `spell` was given, where it was infinite; anything else as it is.

    >>> unspell("infinite"), unspell(0.5)
    (inf, 0.5)
    """
    return _INFINITE.get(value, value) if isinstance(value, str) else value


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")
