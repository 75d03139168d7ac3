"""Documents with a value somewhere that is not what it should be."""

import json
import math
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

JUNK = (
    *(None, True, -1, 7, 0.5, 1e9, math.nan, math.inf, 2**63, 10**400, "", "x", "\0", "\ud83d"),  # half a character
    *([], {}, [[]], [None], {"x": 1}),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values inside, from the outermost."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, one in inside for place in places(one, (*path, key)))]


@st.composite
def damaged(draw: Any, documents: Any) -> str:
    """One of the documents as JSON, with a value replaced by something else, left out, called otherwise or cut off."""
    document = deepcopy(draw(st.sampled_from(documents)))
    *outer, last = draw(st.sampled_from(places(document)[1:]))
    home = document
    for key in outer:
        home = home[key]
    way = draw(st.sampled_from(["replaced", "left out", "called otherwise"]))
    if way == "replaced":
        home[last] = deepcopy(draw(st.sampled_from(JUNK)))
    else:
        value = home.pop(last)
        if way == "called otherwise" and isinstance(home, dict):
            home["\ud83d"] = value  # half a character
    text = json.dumps(document)
    return text[: draw(st.integers(0, len(text)))] if draw(st.integers(0, 9)) == 0 else text
