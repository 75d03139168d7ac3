"""A uniform number for each case that does not depend on its batch, its place or the machine."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats
from toplist.lists import TopLists
from toplist.lists.labelsets import LabelSets

Words = NDArray[np.uint64]


def uniform_by_case(lists: TopLists, seed: int, *, by_id: bool) -> Floats:
    """One number in [0, 1) per case: a hash of the seed, of its list and, with `by_id`, of its id.

    The list counts as a set of classes with confidences. Classes count by their labels, where they have some: the codes
    of labels that a batch has met depend on the batch.

    >>> a, b = (TopLists.from_dicts(rows, 5) for rows in ([{"x": 0.5}, {"y": 0.7, "x": 0.1}], [{"x": 0.1, "y": 0.7}]))
    >>> bool(uniform_by_case(a, 3, by_id=False)[1] == uniform_by_case(b, 3, by_id=False)[0])
    True
    """
    words = _mix(_class_words(lists) ^ _mix((lists.normalized_confidences + 0.0).view(np.uint64)))
    filled = lists.sizes > 0
    rows = np.zeros(len(lists), np.uint64)
    if filled.any():
        rows[filled] = np.add.reduceat(words, lists.offsets[:-1][filled])
    rows = _mix(rows ^ _words([seed])[0])
    if by_id and lists.ids is not None:
        rows = _mix(rows ^ _words(lists.ids.tolist()))
    return (rows >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _class_words(lists: TopLists) -> Words:
    codes, space = lists.classes, lists.space
    if space.labels is None or isinstance(space, LabelSets):
        return _mix(codes.astype(np.int64).view(np.uint64))
    met, place = np.unique(codes, return_inverse=True)
    return _words(space.decode(int(code)) for code in met)[place]


def _words(values: Iterable[Any]) -> Words:
    """A word of 64 bits for each value, by what it is called: 7 and "7" are the same."""
    digests = b"".join(blake2b(str(value).encode(errors="surrogatepass"), digest_size=8).digest() for value in values)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def _mix(x: Words) -> Words:
    """Every bit of the result depends on every bit of the argument (splitmix64)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
