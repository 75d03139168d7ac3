"""Label sets with the logarithms of their probabilities, as top lists."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.labelsets import Book, LabelSets, Sets
from toplist.lists import TopLists, from_logs


def lists_of_sets(
    space: LabelSets,
    offsets: NDArray[Any],
    sets: Sets | tuple[NDArray[np.int64], Book | None],
    log_p: NDArray[np.float64],
    *,
    log_rest: NDArray[np.float64] | None = None,
    ids: Any = None,
) -> TopLists:
    """Top lists whose case i holds the sets offsets[i] to offsets[i + 1]; sets as they are, or as codes with a book."""
    if isinstance(sets, Sets):
        codes = space.encode(sets)
        book = Book.of(sets) if space.digests else None
    else:
        codes, book = sets
    known = space.with_book(book) if space.digests else space
    return from_logs(offsets, codes, log_p, known, log_rest=log_rest, ids=ids)
