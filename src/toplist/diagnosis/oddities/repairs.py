"""Which oddities are seen to by a repair that was asked for, so that they stand against nothing."""

from __future__ import annotations

from typing import Final

from toplist.lists.door import Repairs

_MASSES: Final = (
    "above one",
    "mass above one",
    "incomplete distribution",
    "looks like percent",
    "looks like marginals",
)
_BLANKS: Final = ("class without a confidence", "confidence without a class")


def seen_to(repairs: Repairs) -> frozenset[str]:
    """The kinds that repairs take care of.

    >>> sorted(seen_to(Repairs(duplicates="sum")))
    ['class twice']
    """
    return frozenset(
        (
            *(_MASSES if repairs.normalize else ()),
            *(("class twice",) if repairs.duplicates == "sum" else ()),
            *(_BLANKS if repairs.blanks == "drop" else ()),
        )
    )
