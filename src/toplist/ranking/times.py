"""Text that says when: only where its order as text is its order in time."""

from __future__ import annotations

import re
from collections.abc import Sequence

REMEDY = "write numbers, or dates that begin with the year, such as 2024-01-31"
_YEAR = re.compile(r"\d{4}(?!\d{3})", re.ASCII)


def untimely(values: Sequence[str]) -> str | None:
    """The first of these texts that may stand in the wrong place if they are sorted; None if all are in order.

    Dates that begin with the year and are equally long sort as they follow each other.

    >>> untimely(["2024-01-31", "2023-12-01"]), untimely(["2024-01-31", "31/1/2024"]), untimely(["2024-W5", "2024-W10"])
    (None, '31/1/2024', '2024-W10')
    """
    return next((text for text in values if not _YEAR.match(text) or len(text) != len(values[0])), None)
