"""What the JSON of a leaderboard looks like, for those who read it."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of `records.as_dict`.

    >>> schema()["title"]
    'toplist.leaderboard/1'
    """
    text = files("toplist.report").joinpath("leaderboard.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
