"""Names of classes as codes, batch by batch, for one model or several, and codes as names.

Scoring needs to tell the classes of a case apart: no name becomes a Python object.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from toplist._files import need
from toplist._text import argument, listed, near_duplicates, quote
from toplist._typing import Codes
from toplist.errors import ClassError, FileError, OutcomeError, SpaceError, TopListError
from toplist.io.batches import Batch
from toplist.io.columns import Column, as_arrow, as_numpy, is_list, plain, truths
from toplist.io.sources import OpenTable
from toplist.lists.labelsets import LabelSets
from toplist.lists.space import ClassSpace, as_space, require_declared_order, show_size

_TRACKED = 1_000_000  # numbers of classes up to which the names that occur are counted
_KEPT = 100_000  # names up to which they are told to those who read other cases
_UNIT = "\x1f"  # between the labels of a set, where files have lists of them
_EMPTY = "{}"  # the empty set, where a blank is no class
EMPTY_REMEDY = f"The empty set is written {_EMPTY}."
_NUMBER = r"^-?(0|[1-9]\d{0,299})(\.0+)?$"  # a code, or a code as a column with gaps writes it; 007 is a name
_MOST = 2**63  # codes are below this
_EXACT = 2.0**53  # doubles below this are whole numbers to the last digit


def space_in_files(space: Any, sets: str | None) -> ClassSpace:
    """The space whose classes files name: label sets are made of the labels, ordered classes are numbers from 0 on.

    >>> space_in_files(ClassSpace(labels=["sun", "sea", "rain"]), ";").size
    8
    >>> space_in_files(ClassSpace(3, ordinal=True), None).labels
    ('0', '1', '2')
    """
    known = as_space(space)
    if known.ordinal and known.labels is None and not known.per_case:
        return ClassSpace([str(code) for code in range(int(known.size))], ordinal=True)
    if sets is None or known.labels is None or known.per_case:
        return known
    labels = tuple(map(str, known.labels))
    odd = next((label for label in labels if sets and sets in label), None)
    if odd is not None:
        raise SpaceError(
            f"the label {quote(odd)} has the separator {sets!r} in it: where classes are label sets, give the labels "
            "that the sets are made of, one by one."
        )
    if not known.complete and known.size != 2 ** len(labels):
        raise SpaceError(
            f"{len(labels):,} labels make {show_size(2 ** len(labels))} label sets, not {show_size(known.size)}: "
            "declare the labels alone, or the number of sets alone."
        )
    return LabelSets(labels)


@dataclass(frozen=True, slots=True, order=True)
class NamePlace:
    """A name and where it stands; that in the earlier row comes first."""

    row: int
    source: str
    name: str  # with what it is called

    def error(self, problem: str) -> FileError:
        """What is wrong with it, and where."""
        return FileError(self.source, f"{self.name} {problem}", row=self.row or None)


@dataclass(frozen=True, slots=True)
class NamesSeen:
    """The names of the classes of some cases, as far as they tell something together with those of other cases."""

    names: tuple[str, ...] = ()  # the different ones, where they are few enough to be kept
    named: bool = False  # whether some name is no number: then all are names
    plain: str | None = None  # a number without a decimal point
    pointed: NamePlace | None = None  # the first with one
    outside: NamePlace | None = None  # the first that is no code

    def __add__(self, other: NamesSeen) -> NamesSeen:
        """Those of the cases of both."""
        return NamesSeen(
            tuple(sorted({*self.names, *other.names})),
            self.named or other.named,
            min(filter(None, (self.plain, other.plain)), default=None),
            min(filter(None, (self.pointed, other.pointed)), default=None),  # however batches are shared among threads
            min(filter(None, (self.outside, other.outside)), default=None),
        )

    def problem(self, size: Any) -> TopListError | None:
        """What makes these no names of so many classes, or nothing."""
        if len(self.names) > size:
            return SpaceError(_too_many(self.names, size))
        if self.named:
            return None
        if self.pointed is not None and self.plain is not None:
            return self.pointed.error(
                f"is written with a decimal point, but {quote(self.plain)} is not: these would be different classes. "
                "Write whole numbers in all files."
            )
        if self.outside is None:
            return None
        upto = f" (0 to {size - 1})" if size < 10**12 else ""
        where = f"is outside the space of {show_size(size)} classes{upto}" if size < math.inf else "is not a class"
        return self.outside.error(
            f"{where}: whole numbers are codes from 0. Declare the right number of classes or, if these are names, "
            "give all of them as labels."
        )


class ClassEncoder:
    """Codes for the classes of sources that belong together: predictions, and the truth.

    With the labels of all classes, codes are their places. Whole numbers are their own codes. Other names are
    numbered batch by batch by Arrow's dictionary encoding; where the number of classes differs per case, case by case.
    Without a `space` it does. What is not `strict` gives classes that are no labels codes beyond these, and leaves
    more names than classes to `problem`.
    """

    def __init__(
        self, space: ClassSpace | None, sources: Sequence[OpenTable], sets: str | None = None, *, strict: bool = True
    ) -> None:
        self.space, self.sets, self.strict = space, sets, strict
        self.stranger: FileError | None = None  # the error of the first class that is no label, where it is not raised
        self.labels: Column | None = None
        self.size: Any = math.inf if space is None else space.size
        self.integers = sets is None and all(map(has_integers, sources))
        if space is not None and space.labels is not None and sets is None:
            self.labels = need("pyarrow").array([str(label) for label in space.labels])
        self._by_name = self.labels is not None and _any_numeric(self.labels)  # then numbers are names, not places
        self._members: frozenset[str] | None = None
        self._support: frozenset[tuple[str, ...]] | None = None
        if isinstance(space, LabelSets):
            self._members = frozenset(str(name).strip() for name in space.names)
            if space.support is not None:
                self._support = frozenset(tuple(sorted(str(label).strip() for label in one)) for one in space.support)
        self._path = ""  # of what names were counted in last
        self._names: Any = None  # those that occurred, where they are counted
        self._numbers = NamesSeen()  # without the names themselves
        self._lock = Lock()

    def encode(
        self, batches: Sequence[Batch], columns: Sequence[tuple[str, ...]], truth: int | None = None
    ) -> tuple[list[Codes], Column | None]:
        """The codes of each batch and the names that they number, where codes are not their own names.

        Codes are those of listed classes, or of the `columns` of a wide table where all are listed. `truth` is the
        place of the batch with outcomes.
        """
        pa = need("pyarrow")
        values = [self._values(batch, names) for batch, names in zip(batches, columns, strict=True)]
        whole = self.integers and all(map(_are_whole, values))
        if self.labels is not None:
            errors = [OutcomeError if at == truth else ClassError for at in range(len(batches))]
            codes = [self._places(*side) for side in zip(values, batches, errors, strict=True)]
            return codes, None if whole and not self._by_name else self.labels
        if whole:
            return [_whole(names, batch) for names, batch in zip(values, batches, strict=True)], None
        if self.space is not None:
            require_declared_order(self.space)
        typed = [pa.types.is_integer(names.type) and len(names) > 0 for names in values]
        if self._members is not None and self.sets is None and any(typed):
            other = next((at for at, names in enumerate(values) if len(names) and not typed[at]), None)
            if other is not None:
                sources = [batches[at].source for at in sorted((other, typed.index(True)))]
                problem = f"codes go with codes, and label sets with label sets: {sources[1]} differs."
                raise FileError(sources[0], problem)
        texts = [_text(names) for names in values]
        encoded = pa.concat_arrays(texts).dictionary_encode()
        what = ["the outcome" if at == truth else "class" for at in range(len(batches))]
        self._see(encoded.dictionary, list(zip(texts, batches, what, strict=True)), typed=any(typed), wide=any(columns))
        codes = np.split(as_numpy(encoded.indices).astype(np.int64), np.cumsum([len(names) for names in texts])[:-1])
        if self.space is not None:
            return codes, encoded.dictionary
        codes = [np.tile(own, len(b)) if b.classes is None else own for own, b in zip(codes, batches, strict=True)]
        case = np.concatenate([np.repeat(np.arange(len(b)), np.diff(b.offsets)) for b in batches])
        ends = np.cumsum([len(own) for own in codes])[:-1]
        return np.split(within_case(case, np.concatenate(codes)), ends), encoded.dictionary

    def in_order(
        self, batches: Sequence[Batch], columns: Sequence[tuple[str, ...]], truth: int | None = None
    ) -> tuple[list[Codes], Column | None]:
        """The same, numbered in the order of the names, so that ties are the same in any batch."""
        codes, names = self.encode(batches, columns, truth)
        if names is None or names is self.labels:
            return codes, names
        if self.integers:
            odd = next(batch for batch in batches if not _are_whole(batch.classes))
            raise FileError(odd.source, "classes are text here, but whole numbers in the lines before.")
        order = as_numpy(need("pyarrow.compute").sort_indices(names)).astype(np.int64)
        place, names = np.argsort(order), names.take(as_arrow(order))
        if self.sets is None and any(batch.classes is not None and is_list(batch.classes.type) for batch in batches):
            names = need("pyarrow").array([[] if name == _EMPTY else name.split(_UNIT) for name in names.to_pylist()])
        return [place[own] for own in codes], names

    def _values(self, batch: Batch, names: tuple[str, ...]) -> Any:
        """The names of the classes: all that are listed, or those of the columns where every column is."""
        types, values = need("pyarrow").types, batch.classes
        if values is None:
            values = need("pyarrow").array(names, "string")
        if self.sets is not None or (self._members is not None and is_list(values.type)):
            return self._label_sets(values, batch)
        if self._members is not None:
            self._require_codes(values, batch)
        if types.is_struct(values.type):
            raise FileError(batch.source, "classes are text or numbers, not objects.")
        if types.is_nested(values.type):
            raise FileError(
                batch.source,
                f"a class is a list of labels: say that classes are label sets ({argument('set_separator', ';')}).",
            )
        if types.is_floating(values.type):
            _require_digits(batch)
        return values

    def _label_sets(self, values: Any, batch: Batch) -> Any:
        """Label sets as text that is the same however their labels were ordered; all labels are known ones."""
        inner = values.type.value_type if is_list(values.type) else values.type
        if need("pyarrow").types.is_nested(inner):
            raise FileError(batch.source, "the labels of a set are text or numbers, not lists or objects.")
        parts, which = _taken_apart(values, self.sets or _UNIT)
        if which.null_count:
            at = int(np.flatnonzero(truths(which.is_null()))[0])
            problem = "a label is null." if values[at].is_valid else "a label set is null: the empty set is written []."
            raise _error(problem, at, batch)
        for place, labels in enumerate(parts if self._members is not None else ()):
            problem = self._foreign(labels)
            if problem:
                raise _error(problem, which.to_pylist().index(place), batch)
        return _joined(parts, self.sets or _UNIT).take(which)

    def _foreign(self, parts: tuple[str, ...]) -> str:
        """Why a set is none of the classes, or nothing."""
        space, members = cast("LabelSets", self.space), self._members or frozenset()
        odd = next((part for part in parts if part not in members), None)
        if odd is not None:
            near = ClassSpace(labels=sorted(members)).suggest(odd) if len(odd) < 100 else ""
            return f"the label {quote(odd)} is not among the {len(members):,} labels. {near}".rstrip()
        if not parts and not space.empty:
            return "the empty set is not a class of this space; allow it with empty=True."
        if self._support is not None and parts not in self._support:
            return f"the label set {quote((self.sets or ';').join(parts) or _EMPTY)} is not in the support."
        return ""

    def _require_codes(self, values: Any, batch: Batch) -> None:
        """Without a delimiter, text that is not the number of a class may be any set."""
        pc, names = need("pyarrow.compute"), plain(values)
        if not len(names) or not need("pyarrow").types.is_string(names.type):
            return
        odd = names.filter(pc.invert(pc.match_substring_regex(names, r"^\s*\d+\s*$")))
        if len(odd) or any(name.isdigit() for name in self._members or ()):
            first = (odd if len(odd) else names)[0].as_py()
            raise FileError(
                batch.source,
                f"classes are label sets, but {quote(first)} is one text: say what stands between labels, as in "
                f"{argument('set_separator', ';')}, or give lists of labels.",
            )

    def _places(self, values: Any, batch: Batch, error: Any) -> Codes:
        """The places of names among the labels, or whole numbers, which are places."""
        pc, space = need("pyarrow.compute"), cast("ClassSpace", self.space)
        if need("pyarrow").types.is_integer(values.type) and not self._by_name:
            codes = _whole(values, batch)
        else:
            codes = as_numpy(pc.fill_null(pc.index_in(_text(values), value_set=self.labels), -1)).astype(np.int64)
        unknown = (codes < 0) | (codes >= len(space.labels or ()))
        if not unknown.any() or not (space.complete or error is ClassError):
            return codes
        at = int(np.argmax(unknown))
        name, what = values[at].as_py(), "the outcome" if error is OutcomeError else "class"
        labels = f"the {len(space.labels or ()):,} labels" if space.complete else "the labels"
        hint = space.suggest(name) if len(str(name)) < 100 else ""
        stranger = _error(f"{what} {quote(name)} is not among {labels}. {hint}".rstrip(), at, batch)
        if self.strict:
            raise stranger
        self.stranger = self.stranger or stranger
        further = len(space.labels or ()) + as_numpy(plain(values).dictionary_encode().indices).astype(np.int64)
        return np.where(unknown, further, codes)

    def finish(self) -> None:
        """After the last batch: more names than classes; numbers in text that are no codes, where all are numbers."""
        problem = self.problem()
        if problem is not None:
            raise problem

    def problem(self) -> TopListError | None:
        """What is wrong with all names together, which may show in no single case; or nothing."""
        if self._names is not None and len(self._names) > self.size:
            return SpaceError(f"{self._path}: {_too_many(sorted(_shown(self._names)), self.size)}")
        return self._numbers.problem(self.size)

    @property
    def seen(self) -> NamesSeen:
        """What is known of the names, to be put together with those of other cases."""
        few = self._names is not None and len(self._names) <= _KEPT
        return replace(self._numbers, names=tuple(sorted(_shown(self._names))) if few else ())

    def _see(self, names: Column, sides: Sequence[tuple[Column, Batch, str]], *, typed: bool, wide: bool) -> None:
        """Remember the different names of a batch: how many there are and, where all are numbers, what is odd.

        `typed`: they are numbers in some file; `wide`: some file has a column for each class, which says what it is
        called.
        """
        pa, pc, size = need("pyarrow"), need("pyarrow.compute"), self.size
        if size <= _TRACKED:
            batch = next(batch for _, batch, what in sides if what == "class")
            if len(names) > size and self.strict:
                last = int(batch.rows.max())  # long tables are grouped in any order
                raise SpaceError(f"{batch.source}, by row {last:,}: {_too_many(_shown(names), size)}")
            with self._lock:
                self._path = batch.source
                self._names = names if self._names is None else pc.unique(pa.concat_arrays([self._names, names]))
                crowded = self.problem() if self.strict and len(self._names) > size + _KEPT else None
            # Threads share batches in any order: only after the last one does the sentence not depend on it. Files in
            # which every row has a name of its own are not read to their end.
            if crowded is not None:
                raise crowded
        if self._numbers.named or not len(names):
            return
        if self.sets is not None or not pc.all(pc.match_substring_regex(names, _NUMBER)).as_py():
            seen = NamesSeen(named=True)
        else:
            pointed, values = pc.match_substring(names, "."), pc.cast(names, pa.float64())
            low, high = 0.0 if typed or size < math.inf else -math.inf, min(size, _MOST if typed else 2**1023)
            odd = names.filter(pc.or_(pc.less(values, low), pc.greater_equal(values, float(high))))
            with_point = names.filter(pointed)
            seen = NamesSeen(
                plain=pc.min_max(names.filter(pc.invert(pointed)))["min"].as_py(),
                pointed=_first(with_point, sides) if len(with_point) else None,
                outside=_first(odd, sides) if len(odd) and not wide else None,
            )
        with self._lock:
            self._numbers += seen  # whichever batch comes first


def _too_many(names: Sequence[str], size: Any) -> str:
    """What to say of more names than classes."""
    pairs = near_duplicates(names)
    alike = "; ".join(f"{quote(one)} and {quote(other)}" for one, other in pairs[:3])
    which = f"{alike} differ only in case or blanks" if pairs else listed(sorted(names[-3:]))
    remedy = "Write a class in one way in all files." if pairs else "Declare the right number of classes."
    return (
        f"{len(names):,} different classes have been named ({'' if pairs else 'among them '}{which}), but there are "
        f"only {show_size(size)}. {remedy}"
    )


def _require_digits(batch: Batch) -> None:
    """Numbers with a point that are classes have all their digits; whole numbers beyond 64 bits are read as such."""
    numbers = as_numpy(plain(batch.classes))
    large = np.flatnonzero(~(np.abs(numbers) < _EXACT))
    if len(large):
        at = int(large[0])
        problem = f"class {numbers[at]:g} is a number whose last digits are lost. Write such classes as text."
        raise _error(problem, at, batch)


def _first(odd: Any, sides: Sequence[tuple[Any, Batch, str]]) -> NamePlace | None:
    """Where one of these names stands first."""
    pc = need("pyarrow.compute")
    for values, batch, what in sides:
        found = np.flatnonzero(truths(pc.is_in(values, value_set=odd)))
        if len(found):
            at = int(found[0])
            source, row = _place(at, batch)
            return NamePlace(row or 0, source, f"{what} {quote(values[at].as_py())}")
    return None


def has_integers(source: OpenTable) -> bool:
    """Whether the classes of a source are whole numbers."""
    types = need("pyarrow").types
    if source.layout.kind == "wide":
        return False
    kinds = [source.reader.schema.field(name).type for name in source.layout.classes]
    kinds = [kind.value_type if types.is_nested(kind) and hasattr(kind, "value_type") else kind for kind in kinds]
    return all(types.is_integer(kind) for kind in kinds)


def label_sets(values: Any, separator: str) -> Any:
    """Label sets as text with this separator that is the same however their labels were ordered."""
    parts, which = _taken_apart(values, separator)
    return _joined(parts, separator).take(which)


def _joined(parts: Sequence[tuple[str, ...]], separator: str) -> Column:
    return need("pyarrow").array([separator.join(labels) or _EMPTY for labels in parts], "string")


def _shown(names: Column) -> list[str]:
    """Names as messages have them."""
    return [name.replace(_UNIT, ";") for name in names.to_pylist()]


def _taken_apart(values: Any, separator: str) -> tuple[list[tuple[str, ...]], Any]:
    """The labels of every different set in order, and for each value which set it is; null where a label is."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    nested = is_list(values.type)
    text = pc.binary_join(pc.cast(values, pa.list_(pa.string())), _UNIT) if nested else _text(values)
    encoded, mark = text.dictionary_encode(), _UNIT if nested else separator
    parts = [
        ()
        if not nested and name.strip() == _EMPTY
        else tuple(sorted({part.strip() for part in name.split(mark)} - {""}))
        for name in encoded.dictionary.to_pylist()
    ]
    odd = next((label for labels in parts if nested for label in labels if separator in label), None)
    if odd is not None:
        raise TopListError(f"the label {quote(odd)} has the separator {separator!r} in it: choose another one.")
    return parts, encoded.indices


def _any_numeric(labels: Any) -> bool:
    pc = need("pyarrow.compute")
    return bool(pc.any(pc.match_substring_regex(labels, r"^[+-]?\d+$")).as_py())


def _text(values: Any) -> Any:
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    values = plain(values)
    return values if pa.types.is_string(values.type) else pc.cast(values, pa.string())


def _whole(values: Any, batch: Batch) -> Codes:
    numbers = as_numpy(plain(values))
    large = np.flatnonzero(numbers >= np.uint64(_MOST)) if numbers.dtype == np.uint64 else np.zeros(0, np.intp)
    if len(large):
        problem = (
            f"class {numbers[large[0]]} is too large for a code: codes are below 2**63. Write such classes as text."
        )
        raise _error(problem, int(large[0]), batch)
    return numbers.astype(np.int64, copy=False)


def within_case(case: NDArray[Any], codes: Codes) -> Codes:
    """Codes that start from zero in each case, in the order of the given ones.

    >>> within_case(np.array([0, 0, 1, 1, 0]), np.array([7, 3, 9, 9, 7]))
    array([1, 0, 0, 0, 1])
    """
    order = np.lexsort((codes, case))
    new_case, new = np.ones(len(order), bool), np.ones(len(order), bool)
    new_case[1:] = np.diff(case[order]) != 0
    new[1:] = new_case[1:] | (np.diff(codes[order]) != 0)
    place = np.cumsum(new) - 1
    out = np.empty(len(order), np.int64)
    out[order] = place - np.maximum.accumulate(np.where(new_case, place, 0))
    return out


def _place(at: int, batch: Batch) -> tuple[str, int | None]:
    """The file and the row of the case that has this entry; columns have none."""
    if batch.classes is None:
        return batch.source, None
    return batch.place(int(np.searchsorted(batch.offsets, at, side="right")) - 1)


def _error(problem: str, at: int, batch: Batch) -> FileError:
    source, row = _place(at, batch)
    return FileError(source, problem, row=row)


def _are_whole(values: Any) -> bool:
    return values is not None and (not len(values) or need("pyarrow").types.is_integer(values.type))
