"""How outcomes and listed classes are written: a bounded look at the first cases."""

from __future__ import annotations

from typing import Any

import numpy as np

from toplist.evidence.naming import text
from toplist.io.columns import plain
from toplist.io.optional import need
from toplist.io.sources import Source
from toplist.labelsets import LabelSets
from toplist.lists import TopLists
from toplist.space import ClassSpace

_CASES = 100_000
_NAMES = 10_000


def in_file(source: Source, space: ClassSpace | None = None) -> list[str]:
    """The names of classes in the first cases of a file; a number is the label that it is the code of."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    labels = () if space is None or space.labels is None else space.labels
    found: dict[str, None] = dict.fromkeys(source.names)
    cases = 0
    for batch in source.batches(halves=True) if not found else ():
        values = plain(batch.classes) if batch.classes is not None else pa.array([], pa.string())
        values = values if pa.types.is_nested(values.type) else pc.unique(values)
        for value in values[:_NAMES].to_pylist():
            code = isinstance(value, int) and 0 <= value < len(labels)
            found[text(labels[value] if code else value)] = None
        cases += len(batch)
        if cases >= _CASES or len(found) >= _NAMES:
            break
    return list(found)


def in_lists(lists: TopLists) -> list[str]:
    """The names of the classes that the first lists have."""
    codes = np.unique(lists.classes[: int(lists.offsets[min(len(lists), _CASES)])])
    return [text(lists.space.decode(int(code))) for code in codes[:_NAMES]]


def of_outcomes(y: Any, space: ClassSpace) -> list[str]:
    """The names of the first outcomes."""
    if isinstance(y, TopLists):
        return in_lists(y)
    if isinstance(space, LabelSets):
        return []  # a set of labels is the same set however it is written
    values = y[:_CASES] if isinstance(y, list | tuple) else np.asarray(y)[:_CASES]
    if not isinstance(values, list | tuple) and values.ndim != 1:
        return []
    coded = space.labels is not None and not space.numbered
    whole = (int, np.integer)
    names = (space.decode(int(v)) if coded and isinstance(v, whole) else v for v in values)
    return list(dict.fromkeys(map(text, names)))[:_NAMES]
