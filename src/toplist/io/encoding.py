"""Names of classes as codes, batch by batch, for one model or several, and codes as names.

Scoring needs to tell the classes of a case apart: no name becomes a Python object.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from toplist._files import need
from toplist._text import argument, listed, near_duplicates, quote
from toplist._typing import Bools, Codes
from toplist.errors import ClassError, FileError, OutcomeError, SpaceError, TopListError
from toplist.io.batches import Batch
from toplist.io.columns import Column, as_arrow, as_numpy, is_list, plain, truths
from toplist.io.sources import OpenTable
from toplist.lists import TopLists
from toplist.lists.labelsets import LabelSets
from toplist.lists.space import ClassSpace, as_space, require_declared_order, show_size
from toplist.lists.toplists import join

_TRACKED = 1_000_000  # numbers of classes up to which the names that occur are counted
_KEPT = 100_000  # names up to which they are told to those who read other cases
_UNIT = "\x1f"  # between the labels of a set, except in messages and files
_EMPTY = "{}"  # the empty set, where a blank is no class
EMPTY_REMEDY = f"The empty set is written {_EMPTY}."
_NUMBER = r"^-?(0|[1-9]\d*)(\.0+)?$"  # a code, or a code as a column with gaps writes it; 007 is a name
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
    what: str
    name: str

    def error(self, problem: str) -> FileError:
        """What is wrong with it, and where."""
        return FileError(self.source, f"{self.what} {quote(self.name)} {problem}", row=self.row or None)


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
            min((one for one in (self.plain, other.plain) if one is not None), default=None),
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


@dataclass(slots=True)
class ClassEncoder:
    """Codes for the classes of sources that belong together: predictions, and the truth.

    With the labels of all classes, codes are their places. Whole numbers are their own codes. Other names are
    numbered batch by batch; where the number of classes differs per case, case by case.
    """

    space: ClassSpace | None  # None: sizes per case
    integers: bool  # whether every source has whole numbers for classes
    sets: str | None = None
    _labels: Any = field(init=False, default=None)
    _members: frozenset[str] | None = field(init=False, default=None)
    _supported: frozenset[tuple[str, ...]] | None = field(init=False, default=None)
    _seen: Any = field(init=False, default=None)
    _source: str = field(init=False, default="")  # where names were counted last
    _numbers: NamesSeen = field(init=False, default_factory=NamesSeen)  # without the names themselves
    _lock: Lock = field(init=False, default_factory=Lock)

    def __post_init__(self) -> None:
        if self.space is not None and self.space.labels is not None and self.sets is None:
            self._labels = need("pyarrow").array([str(label) for label in self.space.labels])
        if isinstance(self.space, LabelSets):
            self._members = frozenset(str(name).strip() for name in self.space.names)

    @property
    def labels(self) -> Any:
        """The labels of all classes, or None."""
        return self._labels

    def codes(
        self, lists: Batch, names: tuple[str, ...], truth: Batch, truth_names: tuple[str, ...]
    ) -> tuple[Codes, Codes]:
        """The codes of the listed classes of predictions and of the truth; of the columns, where all are listed."""
        (mine, theirs), _ = self._encoded((lists, truth), (names, truth_names), truth=1)
        return mine, theirs

    def together(
        self, batches: Sequence[Batch], names: Sequence[tuple[str, ...]], truth: bool = False
    ) -> tuple[list[Codes], ClassNames]:
        """The codes of each batch, and what they are called. With `truth`, the first batch holds the outcomes."""
        codes, known = self._encoded(batches, names, truth=0 if truth else None)
        if self._labels is not None:
            are_codes = self.integers and known is None and not _numeric(self._labels)
            return codes, ClassNames(None if are_codes else self._labels, fixed=True)
        if known is None:
            return codes, ClassNames(None)
        if self.integers:
            odd = next(batch for batch in batches if not _are_whole(batch.classes))
            raise FileError(odd.source, "classes are text here, but whole numbers in the lines before.")
        order = as_numpy(need("pyarrow.compute").sort_indices(known)).astype(np.int64)
        place = np.argsort(order)  # in the order of their names, so that ties are the same in any batch
        known = known.take(as_arrow(order))
        return [place[one] for one in codes], ClassNames(known if self.sets is None else self._sets(known))

    def _encoded(
        self, batches: Sequence[Batch], columns: Sequence[tuple[str, ...]], truth: int | None
    ) -> tuple[list[Codes], Column | None]:
        """The codes of each batch, and the names that they number, where that is no fixed number."""
        pa = need("pyarrow")
        values = [self.values(batch, names) for batch, names in zip(batches, columns, strict=True)]
        whole = [_are_whole(names) for names in values]
        if self._labels is not None:
            errors = [OutcomeError if at == truth else ClassError for at in range(len(batches))]
            codes = [self._known_places(*each) for each in zip(values, batches, errors, strict=True)]
            return codes, None if all(whole) else self._labels
        if self.integers and all(whole):
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
        self._count(encoded.dictionary, batches[0 if truth else -1])
        what = ["the outcome" if at == truth else "class" for at in range(len(batches))]
        sides = tuple(zip(texts, batches, what, strict=True))
        self._note(encoded.dictionary, sides, typed=any(typed), wide=any(columns))
        codes = np.split(as_numpy(encoded.indices).astype(np.int64), np.cumsum([len(one) for one in texts])[:-1])
        if self.space is not None:
            return codes, encoded.dictionary
        codes = [np.tile(own, len(b)) if b.classes is None else own for own, b in zip(codes, batches, strict=True)]
        case = np.concatenate([np.repeat(np.arange(len(b)), np.diff(b.offsets)) for b in batches])
        ends = np.cumsum([len(own) for own in codes])[:-1]
        return np.split(within_case(case, np.concatenate(codes)), ends), encoded.dictionary

    def own_codes(self, lists: Batch, names: tuple[str, ...]) -> Codes:
        """The codes of predictions alone, where nothing is compared."""
        return self._encoded([lists], [names], truth=None)[0][0]

    def values(self, batch: Batch, names: tuple[str, ...]) -> Any:
        """The names of the classes: all that are listed, or those of the columns where every column is."""
        pa = need("pyarrow")
        values = pa.array(names, pa.string()) if batch.classes is None else batch.classes
        if self.sets is not None or (self._members is not None and is_list(values.type)):
            return self._canonical(values, batch)
        if self._members is not None:
            self._require_codes(values, batch)
        if batch.classes is None:
            return values
        if pa.types.is_struct(batch.classes.type):
            raise FileError(batch.source, "classes are text or numbers, not objects.")
        if pa.types.is_nested(batch.classes.type):
            raise FileError(
                batch.source,
                f"a class is a list of labels: say that classes are label sets ({argument('set_separator', ';')}).",
            )
        if pa.types.is_floating(batch.classes.type):
            _require_digits(batch)
        return batch.classes

    def _canonical(self, values: Any, batch: Batch) -> Any:
        """Label sets as text that is the same however their labels were ordered; all labels are known ones."""
        pa = need("pyarrow")
        inner = values.type.value_type if is_list(values.type) else values.type
        if pa.types.is_nested(inner):
            raise FileError(batch.source, "the labels of a set are text or numbers, not lists or objects.")
        parts, which = _taken_apart(values, self.sets or "")
        if which.null_count:
            at = int(np.flatnonzero(truths(which.is_null()))[0])
            problem = "a label is null." if values[at].is_valid else "a label set is null: the empty set is written []."
            raise _error(problem, at, batch)
        for place, one in enumerate(parts if self._members is not None else ()):
            problem = self._foreign(one)
            if problem:
                raise _error(problem, which.to_pylist().index(place), batch)
        return pa.array([_UNIT.join(one) for one in parts], pa.string()).take(which)

    def _foreign(self, parts: tuple[str, ...]) -> str:
        """Why a set is none of the classes, or nothing."""
        space, members = cast("LabelSets", self.space), self._members or frozenset()
        odd = next((part for part in parts if part not in members), None)
        if odd is not None:
            near = ClassSpace(labels=sorted(members)).suggest(odd) if len(odd) < 100 else ""
            return f"the label {quote(odd)} is not among the {len(members):,} labels. {near}".rstrip()
        if not parts and not space.empty:
            return "the empty set is not a class of this space; allow it with empty=True."
        if space.support is not None and parts not in self._support():
            return f"the label set {quote((self.sets or ';').join(parts) or _EMPTY)} is not in the support."
        return ""

    def _support(self) -> frozenset[tuple[str, ...]]:
        if self._supported is None:
            sets = cast("LabelSets", self.space).support or ()
            self._supported = frozenset(tuple(sorted(str(label).strip() for label in one)) for one in sets)
        return self._supported

    def _require_codes(self, values: Any, batch: Batch) -> None:
        """Without a delimiter, text that is not the number of a class may be any set."""
        pa, pc = need("pyarrow"), need("pyarrow.compute")
        if not len(values) or not pa.types.is_string(plain(values).type):
            return
        codes = pc.all(pc.match_substring_regex(plain(values), r"^\s*\d+\s*$")).as_py()
        if not codes or any(name.isdigit() for name in self._members or ()):
            first = next((one for one in values.to_pylist() if not str(one).strip().isdigit()), values[0].as_py())
            raise FileError(
                batch.source,
                f"classes are label sets, but {quote(first)} is one text: say what stands between labels, as in "
                f"{argument('set_separator', ';')}, or give lists of labels.",
            )

    def _written(self, canonical: Any) -> list[str]:
        """Classes with the separator between their labels."""
        names = canonical.to_pylist()
        return names if self.sets is None else [name.replace(_UNIT, self.sets) or _EMPTY for name in names]

    def _sets(self, canonical: Column) -> Column:
        """Label sets with the delimiter, which no label may have in it."""
        pa, pc = need("pyarrow"), need("pyarrow.compute")
        odd = canonical.filter(pc.match_substring(canonical, self.sets))
        if len(odd):
            raise TopListError(f"{listed(self._written(odd[:1]))}: a label has the separator {self.sets!r} in it.")
        return pa.array(self._written(canonical), pa.string())

    def places(self, values: Any, batch: Batch) -> tuple[Codes, Bools]:
        """The places of names among the labels, or whole numbers, which are places; and which are none."""
        pc = need("pyarrow.compute")
        if need("pyarrow").types.is_integer(values.type) and not _numeric(self._labels):
            codes = _whole(values, batch)
            return codes, (codes < 0) | (codes >= len(self._labels))
        found = pc.index_in(_text(values), value_set=self._labels)
        return as_numpy(pc.fill_null(found, -1)).astype(np.int64), truths(found.is_null())

    def _known_places(self, values: Any, batch: Batch, error: Any) -> Codes:
        codes, unknown = self.places(values, batch)
        space = cast("ClassSpace", self.space)
        if unknown.any() and (space.complete or error is ClassError):
            raise _unknown(values, int(np.flatnonzero(unknown)[0]), batch, space, error)
        return codes

    def finish(self) -> None:
        """After the last batch: more names than classes; numbers in text that are no codes, where all are numbers."""
        problem = self.crowded() or self.stray()
        if problem is not None:
            raise problem

    def crowded(self) -> SpaceError | None:
        """More names than classes, which may show in no single case; or nothing."""
        size = math.inf if self.space is None else self.space.size
        if self._seen is None or len(self._seen) <= size:
            return None
        return SpaceError(f"{self._source}: {_too_many(sorted(self._written(self._seen)), size)}")

    def stray(self) -> TopListError | None:
        """Numbers that are no codes, or nothing."""
        return replace(self.seen, names=()).problem(math.inf if self.space is None else self.space.size)

    @property
    def seen(self) -> NamesSeen:
        """What is known of the names, to be put together with those of other cases."""
        few = self._seen is not None and len(self._seen) <= _KEPT
        names = tuple(sorted(self._written(self._seen))) if few else ()
        return NamesSeen(names, named=True) if self.sets is not None else replace(self._numbers, names=names)

    def _note(self, names: Any, sides: Sequence[tuple[Any, Batch, str]], *, typed: bool, wide: bool) -> None:
        """Remember whether all names are numbers, and the first that is no code.

        `typed`: they are numbers in some file; `wide`: some file has a column for each class, which says what it is
        called.
        """
        if self._numbers.named or self.sets is not None or not len(names):
            return
        pa, pc = need("pyarrow"), need("pyarrow.compute")
        if not pc.all(pc.match_substring_regex(names, _NUMBER)).as_py():
            with self._lock:
                self._numbers += NamesSeen(named=True)
            return
        size = math.inf if self.space is None else self.space.size
        pointed = truths(pc.match_substring(names, "."))
        values, low = _as_numbers(names), 0 if typed or size < math.inf else -math.inf
        size = min(size, _MOST) if typed else size
        with_point, without = names.filter(pa.array(pointed)), names.filter(pa.array(~pointed))
        odd = names.filter(pa.array(~((values >= low) & (values < size))))
        seen = NamesSeen(
            plain=pc.min_max(without)["min"].as_py(),
            pointed=_first(with_point, sides) if len(with_point) else None,
            outside=_first(odd, sides) if len(odd) and not wide else None,
        )
        with self._lock:
            self._numbers += seen  # whichever batch comes first

    def _count(self, names: Any, batch: Batch) -> None:
        """Remember the names, of which there are no more than classes in any batch."""
        size = math.inf if self.space is None else self.space.size
        if size > _TRACKED:
            return
        pa, pc = need("pyarrow"), need("pyarrow.compute")
        if len(names) > size:
            last = int(batch.rows.max())  # long tables are grouped in any order
            raise SpaceError(f"{batch.source}, by row {last:,}: {_too_many(self._written(names), size)}")
        with self._lock:
            self._seen = names if self._seen is None else pc.unique(pa.concat_arrays([self._seen, names]))
            self._source, count = batch.source, len(self._seen)
        # Threads share batches in any order: only after the last one does the sentence not depend on it. Files in
        # which every row has a name of its own are not read to their end.
        if count > size + _KEPT:
            raise cast("SpaceError", self.crowded())


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


def _as_numbers(names: Any) -> NDArray[Any]:
    """Names that are whole numbers, as numbers, however large."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    whole = pc.replace_substring_regex(names, r"\.0+$", "")
    try:
        return as_numpy(pc.cast(whole, pa.int64()))
    except pa.ArrowInvalid:
        return np.array([int(name) for name in whole.to_pylist()], dtype=object)


def _first(odd: Any, sides: Sequence[tuple[Any, Batch, str]]) -> NamePlace | None:
    """Where one of these names stands first."""
    pc = need("pyarrow.compute")
    for values, batch, what in sides:
        found = np.flatnonzero(truths(pc.is_in(values, value_set=odd)))
        if len(found):
            at = int(found[0])
            source, row = _place(at, batch)
            return NamePlace(row or 0, source, what, values[at].as_py())
    return None


def has_integers(source: OpenTable) -> bool:
    """Whether the classes of a source are whole numbers."""
    types = need("pyarrow").types
    if source.layout.kind == "wide":
        return False
    kinds = [source.reader.schema.field(name).type for name in source.layout.classes]
    kinds = [kind.value_type if types.is_nested(kind) and hasattr(kind, "value_type") else kind for kind in kinds]
    return all(types.is_integer(kind) for kind in kinds)


def label_sets(values: Any, delimiter: str) -> Any:
    """Label sets as text with this delimiter that is the same however their labels were ordered."""
    parts, which = _taken_apart(values, delimiter)
    odd = next((part for one in parts for part in one if delimiter in part), None)
    if odd is not None:
        raise TopListError(f"the label {quote(odd)} has the separator {delimiter!r} in it: choose another one.")
    return need("pyarrow").array([delimiter.join(one) or _EMPTY for one in parts], "string").take(which)


@contextmanager
def empty_set_explained(sets: str | None) -> Iterator[None]:
    """Says how the empty set is written, where a class is blank and may have been meant to be it."""
    try:
        yield
    except FileError as error:
        blank = "the class is blank."
        if sets is None or not error.problem.startswith(blank):
            raise
        raise FileError(error.source, f"{blank} {EMPTY_REMEDY}", row=error.row) from None


def _taken_apart(values: Any, delimiter: str) -> tuple[list[tuple[str, ...]], Any]:
    """The labels of every different set in order, and for each value which set it is; null where a label is."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    nested = is_list(values.type)
    text = pc.binary_join(pc.cast(values, pa.list_(pa.string())), _UNIT) if nested else _text(values)
    encoded, mark = text.dictionary_encode(), _UNIT if nested else delimiter
    parts = [
        () if not nested and one.strip() == _EMPTY else tuple(sorted({part.strip() for part in one.split(mark)} - {""}))
        for one in encoded.dictionary.to_pylist()
    ]
    return parts, encoded.indices


def _numeric(labels: Any) -> bool:
    pc = need("pyarrow.compute")
    return bool(pc.any(pc.match_substring_regex(labels, r"^[+-]?\d+$")).as_py())


def _text(values: Any) -> Any:
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    values = plain(values)
    return values if pa.types.is_string(values.type) else pc.cast(values, pa.string())


def _whole(values: Any, batch: Batch) -> Codes:
    numbers = as_numpy(plain(values))
    if numbers.dtype == np.uint64 and len(numbers) and int(numbers.max()) >= _MOST:
        at = int(np.argmax(numbers))
        problem = (
            f"class {int(numbers[at])} is too large for a code: codes are below 2**63. Write such classes as text."
        )
        raise _error(problem, at, batch)
    whole: Codes = numbers.astype(np.int64, copy=False)
    return whole


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


def _unknown(values: Any, at: int, batch: Batch, space: ClassSpace, error: Any) -> FileError:
    name = values[at].as_py()
    what = "the outcome" if error is OutcomeError else "class"
    labels = space.labels or ()
    known = f"the {len(labels):,} labels" if space.complete else "the labels"
    hint = space.suggest(name) if len(str(name)) < 100 else ""
    return _error(f"{what} {quote(name)} is not among {known}. {hint}".rstrip(), at, batch)


def _place(at: int, batch: Batch) -> tuple[str, int | None]:
    """The file and the row of the case that has this entry; columns have none."""
    if batch.classes is None:
        return batch.source, None
    return batch.place(int(np.searchsorted(batch.offsets, at, side="right")) - 1)


def _error(problem: str, at: int, batch: Batch) -> FileError:
    source, row = _place(at, batch)
    return FileError(source, problem, row=row)


@dataclass(frozen=True, slots=True)
class ClassNames:
    """What codes are called; whole numbers, where there is no `known` column of names, are their own names."""

    known: Column | None
    fixed: bool = False  # whether they are called so in every batch

    def of(self, codes: NDArray[Any]) -> Column:
        """The names of classes, as a column of Arrow."""
        if self.known is None:
            return as_arrow(np.ascontiguousarray(codes, np.int64))
        return self.known.take(as_arrow(np.ascontiguousarray(codes, np.int64)))


def _are_whole(values: Any) -> bool:
    return values is not None and (not len(values) or need("pyarrow").types.is_integer(values.type))


class Gathering:
    """The lists of several models and the outcomes; a code means one class in all batches."""

    def __init__(self, space: ClassSpace, members: int) -> None:
        self.space = space.unnamed()
        self.parts: list[list[tuple[TopLists, Codes]]] = [[] for _ in range(members)]
        self.outcomes: list[Codes] = []
        self.cases = 0
        self._seen: Any = None

    def add(self, lists: Sequence[TopLists], outcomes: Codes | None, names: ClassNames) -> None:
        """The next cases."""
        code = self._renumber(names)
        for parts, one in zip(self.parts, lists, strict=True):
            parts.append((one, code[one.classes] if code is not None else one.classes))
        if outcomes is not None:
            self.outcomes.append(outcomes if code is None else code[outcomes])
        self.cases += len(lists[0])

    def all(self) -> tuple[list[TopLists], Codes]:
        """The lists of each model, and the outcomes, of all batches."""
        y = np.concatenate(self.outcomes) if self.outcomes else np.zeros(0, np.int64)
        return [joined(parts, self.space) for parts in self.parts], y

    def _renumber(self, names: ClassNames) -> Codes | None:
        """The code of each name over all batches; None where codes are that already."""
        if names.known is None or names.fixed:
            return None
        pa, pc = need("pyarrow"), need("pyarrow.compute")
        known = names.known.slice(0, 0) if self._seen is None else self._seen
        new = names.known.filter(pc.is_null(pc.index_in(names.known, value_set=known)))
        self._seen = pa.concat_arrays([known, new])
        codes: Codes = as_numpy(pc.index_in(names.known, value_set=self._seen)).astype(np.int64)
        return codes


def joined(parts: Sequence[tuple[TopLists, NDArray[Any]]], space: ClassSpace) -> TopLists:
    """One batch of several, each with the codes of its classes."""
    kind = np.int32 if space.size < 2**31 else np.int64
    return join([one for one, _ in parts], [codes.astype(kind, copy=False) for _, codes in parts], space)
