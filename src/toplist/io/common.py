"""Codes that several predictors share, and the way back from codes to names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.errors import ClassError, FileError, OutcomeError, TopListError
from toplist.io.batches import Batch
from toplist.io.coding import Coder, Codes, _numeric, _text, _whole
from toplist.io.columns import Column, as_arrow, as_numpy
from toplist.io.optional import need
from toplist.io.showing import several


@dataclass(frozen=True, slots=True)
class Names:
    """What codes are called; whole numbers, where there is no `known` column of names, are their own names."""

    known: Column | None
    fixed: bool = False  # whether they are called so in every batch

    def of(self, codes: NDArray[Any]) -> Column:
        """The names of classes, as a column of Arrow."""
        if self.known is None:
            return as_arrow(np.ascontiguousarray(codes, np.int64))
        return self.known.take(as_arrow(np.ascontiguousarray(codes, np.int64)))


@dataclass(slots=True)
class CommonCoder(Coder):
    """Codes for the classes of any number of sources at once; see `Coder`."""

    def together(
        self, batches: Sequence[Batch], names: Sequence[tuple[str, ...]], truth: bool = False
    ) -> tuple[list[Codes], Names]:
        """The codes of each batch, and what they are called. With `truth`, the first batch is what happened."""
        values = [self.values(batch, columns) for batch, columns in zip(batches, names, strict=True)]
        whole = [_is_whole(one) for one in values]
        if self._labels is not None:
            errors = [OutcomeError if truth and not at else ClassError for at in range(len(values))]
            codes = [self._places(*each) for each in zip(values, batches, errors, strict=True)]
            named = self.integers and all(whole) and not _numeric(self._labels)
            return codes, Names(None if named else self._labels, fixed=True)
        if self.integers and all(whole):
            pairs = zip(values, batches, strict=True)
            return [_whole(one, batch) if len(one) else np.zeros(0, np.int64) for one, batch in pairs], Names(None)
        pa = need("pyarrow")
        if self.integers:
            odd = batches[whole.index(False)].source
            raise FileError(odd, "classes are text here, but whole numbers in the lines before.")
        texts = [_text(one) for one in values]
        every = pa.concat_arrays(texts).dictionary_encode()
        self._count(every.dictionary, batches[-1])
        what = ["the outcome" if truth and not at else "class" for at in range(len(texts))]
        self._note(every.dictionary, tuple(zip(texts, batches, what, strict=True)), typed=any(whole), wide=any(names))
        ends = np.cumsum([len(one) for one in values])
        order = as_numpy(need("pyarrow.compute").sort_indices(every.dictionary)).astype(np.int64)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))  # in the order of their names, so that ties are the same in any batch
        known = every.dictionary.take(as_arrow(order))
        parts = np.split(place[as_numpy(every.indices)], ends[:-1])
        return parts, Names(known if self.sets is None else self._sets(known))

    def _sets(self, canonical: Column) -> Column:
        """Label sets with the delimiter, which no label may have in it."""
        pa, pc = need("pyarrow"), need("pyarrow.compute")
        odd = canonical.filter(pc.match_substring(canonical, self.sets))
        if len(odd):
            raise TopListError(f"{several(self._written(odd[:1]))}: a label has the delimiter {self.sets!r} in it.")
        return pa.array(self._written(canonical), pa.string())


def _is_whole(values: Any) -> bool:
    return not len(values) or need("pyarrow").types.is_integer(values.type)
