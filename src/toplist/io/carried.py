"""The truth that predictions carry: the outcomes of all models, united by case, and refused where they differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import need
from toplist._text import argument, did_you_mean, listed, quote
from toplist.errors import AlignmentError, FileError, SpaceError, TopListError
from toplist.io.columns import as_arrow, as_numpy, blanks, identifiers, kind_of, plain, text_if_none, truths
from toplist.io.options import SAME, TRUTH, Truth
from toplist.io.producers.base import CLUSTER, GROUP, N_CLASSES
from toplist.io.readers import Reader, TableChunk
from toplist.io.recognition.layout import Layout
from toplist.io.sources import OpenTable
from toplist.lists.space import ClassSpace

_GROUPS = range(2, 31)  # how many there are where they are shown without being asked for
_FOUND = {"cluster": CLUSTER, "time": "time", "group": GROUP}  # columns that are used where they are called so


@dataclass(frozen=True, slots=True)
class CarriedTruth:
    """The truth as a table, which of its columns are what, and the numbers of classes that cases have."""

    table: OpenTable
    outcomes: Any  # Arrow
    columns: Mapping[str, str | None]  # weight, group, cluster, time, n_classes
    sizes: frozenset[int] = frozenset()

    def require_one_space(self) -> None:
        """Say why there is no number of classes for all cases, though there is one for each."""
        if self.sizes:
            low, high = min(self.sizes), max(self.sizes)
            each = f"{low:,} classes each, but not the same ones" if low == high else f"{low:,} to {high:,} classes"
            raise SpaceError(
                f"{self.table.path}: cases have {each}, and files are changed with one set of classes for all cases. "
                "Give the cases of one task alone."
            )

    def one_space(self, sources: Sequence[OpenTable]) -> ClassSpace | None:
        """The classes, where all cases have the same: one number of them, and no more names than that in all."""
        return _one_space(sources, self.sizes, self.outcomes.unique().to_pylist())


def space_of_producers(sources: Sequence[OpenTable]) -> ClassSpace | None:
    """The classes that producers know, where all cases have the same; None where they do not say."""
    if not all(source.produced is not None and N_CLASSES in source.reader.schema.names for source in sources):
        return None
    pieces = (piece for source in sources for piece in source.pieces([N_CLASSES]))
    sizes = frozenset(size for piece in pieces for size in _whole_numbers(piece.table.column(0)))
    return _one_space(sources, sizes)


def _one_space(sources: Sequence[OpenTable], sizes: frozenset[int], names: Iterable[Any] = ()) -> ClassSpace | None:
    if len(sizes) != 1:
        return None
    (size,), pc = sizes, need("pyarrow.compute")
    seen = set(map(str, names))
    for source in sources:
        for piece in source.pieces(source.layout.classes):
            seen.update(map(str, pc.unique(pc.list_flatten(piece.table.column(0))).to_pylist()))
            if len(seen) > size:
                return None
    return ClassSpace(size)


def carried_truth(
    sources: Sequence[OpenTable], about: Truth, *, find: Sequence[str] = (), keep: Sequence[str] = ()
) -> CarriedTruth:
    """The outcomes that models carry, and what else they know of their cases.

    Where the truth is "same", the models that carry outcomes give them; where none is given, all models have to.
    `find` may hold "cluster", "time" and "group": columns with these names are used unless the caller names others, or
    none (""). Numbers of classes that a producer knows are used where no column is named. In memory are ids, outcomes
    and these columns, nothing else.
    """
    able = [source for source in sources if source.outcome is not None]
    if not able or (about.data is None and len(able) < len(sources)):
        raise TopListError(_not_carried(sources, able))
    found = _columns_found(able, about, find)
    columns: dict[str, str | None] = {what: value or found.get(what) for what, value in about.columns.items()}
    extra = tuple(dict.fromkeys(filter(None, (*columns.values(), *keep))))
    cases = _united([_Cases.of(source, extra) for source in able])
    unresolved = 0
    if all(source.produced is not None for source in able):
        cases, unresolved = _resolved(cases)
    _require_all(cases)
    if "group" in found and not _are_groups(cases.column(GROUP)):
        columns["group"], extra = None, tuple(name for name in extra if name != GROUP)
    first = able[0]
    layout = Layout("labels", first.layout.case, (str(first.outcome),), extra=extra)
    reader = _TruthReader(listed([source.path for source in able], 3, str), cases)
    told = f"outcomes in {quote(first.outcome)} of these predictions"
    told += f"; also used: {listed(extra)}" if extra else ""
    told += f"; {unresolved:,} cases without an outcome are left out" if unresolved else ""
    sizes = frozenset() if columns["n_classes"] is None else _whole_numbers(cases.column(columns["n_classes"]))
    return CarriedTruth(OpenTable(TRUTH, reader, layout, truth=True, told=told), cases.outcome, columns, sizes)


def _not_carried(sources: Sequence[OpenTable], able: Sequence[OpenTable]) -> str:
    """What to say where there is no truth: whose outcomes are lacking, and what to type."""
    lacking = [source.path for source in sources if source not in able]
    own = f"{argument('truth', SAME)} {argument('outcome')}"
    if able:
        ways = f"{argument('truth', SAME)} to take those of {listed([source.name for source in able], 3, str)} alone"
    else:
        ways = f"{own} if they are in a column of the predictions"
    return (
        f"what are the outcomes? {listed(lacking, 3, str)} {'carries' if len(lacking) == 1 else 'carry'} none that "
        f"can be recognised. Give a file with them, {argument('truth')}, or pass {ways}."
    )


def _columns_found(able: Sequence[OpenTable], about: Truth, find: Sequence[str]) -> dict[str, str]:
    """The columns that are used without being named, in all tables that carry outcomes."""
    named = any((about.cluster, about.time))
    found = {
        what: name
        for what, name in _FOUND.items()
        if what in find and getattr(about, what) is None and not (named and what != "group") and _all_have(able, name)
    }
    if "group" in found and not all(source.produced is not None for source in able):
        del found["group"]  # what shows groups changes the board: of a plain table, the column is named
    if about.n_classes is None and all(source.produced is not None for source in able) and _all_have(able, N_CLASSES):
        found["n_classes"] = N_CLASSES
    return found


def _all_have(able: Sequence[OpenTable], name: str) -> bool:
    return all(name in source.reader.schema.names and name != source.outcome for source in able)


def _are_groups(column: Any) -> bool:
    """Whether values make a few groups, of several cases each on average."""
    many = need("pyarrow.compute").count_distinct(column).as_py()
    return many in _GROUPS and many < len(column)


def _whole_numbers(column: Any) -> frozenset[int]:
    """The values of a column of numbers of classes; whoever counts classes says what is wrong with others."""
    values = need("pyarrow.compute").unique(column).to_pylist()
    return frozenset(values) if all(isinstance(value, int) for value in values) else frozenset()


@dataclass(frozen=True, slots=True)
class _Cases:
    """What a source knows of its cases, each once: ids (None: rows are cases), outcomes and further columns."""

    source: OpenTable
    ids: Any  # Arrow
    columns: Mapping[str, Any]  # the outcome first, under its name in the first source
    places: NDArray[np.int64]  # of the file of each case among `files`
    rows: NDArray[np.int64]
    files: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: str) -> Any:
        return self.columns[name]

    @property
    def outcome(self) -> Any:
        return next(iter(self.columns.values()))

    @classmethod
    def of(cls, source: OpenTable, extra: Sequence[str]) -> _Cases:
        """Read the columns, and keep the first row of every case; rows of one case that differ are refused."""
        names = [str(source.outcome), *extra]
        lacking = next((name for name in names if name not in source.reader.schema.names), None)
        if lacking is not None:
            known = source.reader.schema.names
            near = did_you_mean(lacking, known) or f" The columns are {listed(known)}."
            raise FileError(source.path, f"there is no column {quote(lacking)}.{near}")
        case = source.layout.case
        parts: dict[str, list[Any]] = {name: [] for name in names}
        ids, rows, places = [], [], []
        files: list[str] = []
        for piece in source.pieces(list(dict.fromkeys([*filter(None, [case]), *names]))):
            if not files or files[-1] != piece.source:
                files.append(piece.source)
            numbers = piece.row_numbers
            rows.append(numbers)
            places.append(np.full(len(numbers), len(files) - 1))
            if case is not None:
                ids.append(identifiers(piece.table.column(case), piece.source, numbers))
            for name in names:
                parts[name].append(_scalar(piece.table.column(name), name, piece.source))
        if not rows:
            raise FileError(source.path, "there are no cases.")
        made = cls(
            source,
            _joined(ids) if case is not None else None,
            {name: _joined(part) for name, part in parts.items()},
            np.concatenate(places),
            np.concatenate(rows),
            tuple(files),
        )
        return made if case is None else made._once()

    def _once(self) -> _Cases:
        """The same with the first row of every case; rows of a long table repeat what is known."""
        codes = as_numpy(self.ids.dictionary_encode().indices)
        _, first, which = np.unique(codes, return_index=True, return_inverse=True)
        if len(first) == len(codes):
            return self
        for name, column in self.columns.items():
            odd = np.flatnonzero(_differ(column, column.take(as_arrow(first[which]))))
            if len(odd):
                at = int(odd[0])
                values = f"{quote(column[at].as_py())} and {quote(column[int(first[which[at]])].as_py())}"
                raise FileError(
                    self.files[self.places[at]],
                    f"case {quote(self.ids[at].as_py())} has {values} in {quote(name)}.",
                    row=int(self.rows[at]),
                )
        return self.take(np.sort(first))

    def take(self, at: NDArray[np.int64]) -> _Cases:
        """Some of the cases."""
        chosen = as_arrow(at)
        columns = {name: column.take(chosen) for name, column in self.columns.items()}
        ids = None if self.ids is None else self.ids.take(chosen)
        return replace(self, ids=ids, columns=columns, places=self.places[at], rows=self.rows[at])

    def with_types(self, ids: Any, kinds: Sequence[Any]) -> _Cases:
        """The same with these types."""
        columns = {n: c.cast(kind) for (n, c), kind in zip(self.columns.items(), kinds, strict=True)}
        return replace(self, ids=None if self.ids is None else self.ids.cast(ids), columns=columns)


def _scalar(column: Any, name: str, source: str) -> Any:
    """A column with one value per case, as what it is; bytes of it that belong to others are not kept."""
    values = text_if_none(plain(column))
    if need("pyarrow").types.is_nested(values.type):
        raise FileError(source, f"{quote(name)} holds {kind_of(values.type)}, not one value per case.")
    return values


def _joined(parts: Sequence[Any]) -> Any:
    """Columns one after the other, as text where their types differ."""
    pa = need("pyarrow")
    kinds = {part.type for part in parts}
    return pa.concat_arrays([part.cast(_common(list(kinds))) for part in parts] if len(kinds) > 1 else parts)


def _common(kinds: Sequence[Any]) -> Any:
    """A type for values of several: numbers stay numbers."""
    pa = need("pyarrow")
    if len(set(kinds)) == 1:
        return kinds[0]
    if all(pa.types.is_integer(kind) for kind in kinds):
        return pa.int64()
    return pa.float64() if all(pa.types.is_integer(k) or pa.types.is_floating(k) for k in kinds) else pa.string()


def _differ(one: Any, other: Any) -> NDArray[np.bool_]:
    """Where two columns have values that are not the same; what is blank in one of them is the same as anything."""
    pc = need("pyarrow.compute")
    return truths(pc.fill_null(pc.not_equal(one, other), False))


def _united(every: Sequence[_Cases]) -> _Cases:
    """The cases of all, those of the first before the others; what they say of a case has to be the same."""
    pa = need("pyarrow")
    ids = None if every[0].ids is None else _common([one.ids.type for one in every])
    columns = zip(*(one.columns.values() for one in every), strict=True)
    kinds = [_common([column.type for column in same]) for same in columns]
    known, *others = [one.with_types(ids, kinds) for one in every]
    for other in others:
        if ids is None and len(other) != len(known):
            raise AlignmentError(
                f"without case ids, all files need the same number of rows: {known.source.path} has {len(known):,}, "
                f"{other.source.path} has {len(other):,}. Give every file a column with case ids."
            )
        places = np.arange(len(known)) if ids is None else _places(other.ids, known.ids)
        there, new = np.flatnonzero(places >= 0), np.flatnonzero(places < 0)
        filled = {}
        for (name, own), theirs in zip(known.columns.items(), other.columns.values(), strict=True):
            column, matched = theirs.take(as_arrow(there)), as_arrow(places[there])
            odd = np.flatnonzero(_differ(own.take(matched), column))
            if len(odd):
                raise AlignmentError(_disagreement(known, other, name, places[there][odd], there[odd]))
            filled[name] = pa.concat_arrays([_filled(own, places[there], column), theirs.take(as_arrow(new))])
        known = replace(
            known,
            ids=None if ids is None else pa.concat_arrays([known.ids, other.ids.take(as_arrow(new))]),
            columns=filled,
            places=np.concatenate((known.places, other.places[new] + len(known.files))),
            rows=np.concatenate((known.rows, other.rows[new])),
            files=(*known.files, *other.files),
        )
    return known


def _resolved(cases: _Cases) -> tuple[_Cases, int]:
    """The cases with an outcome, and how many have none: producers know of questions that are still open."""
    at = np.flatnonzero(~blanks(cases.outcome))
    if len(at) in (0, len(cases)):
        return cases, 0
    some = as_arrow(at)
    ids = None if cases.ids is None else cases.ids.take(some)
    columns = {name: column.take(some) for name, column in cases.columns.items()}
    kept = replace(cases, ids=ids, columns=columns, places=cases.places[at], rows=cases.rows[at])
    return kept, len(cases) - len(at)


def _places(ids: Any, known: Any) -> NDArray[np.int64]:
    """Where each id stands among those that are known; -1 where it does not."""
    pc = need("pyarrow.compute")
    return as_numpy(pc.fill_null(pc.index_in(ids, value_set=known), -1)).astype(np.int64)


def _filled(own: Any, places: NDArray[np.int64], theirs: Any) -> Any:
    """A column with its blanks filled by what another one says of the same cases."""
    pc = need("pyarrow.compute")
    if not own.null_count:
        return own
    at = np.full(len(own), -1)
    at[places] = np.arange(len(places))
    return pc.coalesce(own, theirs.take(need("pyarrow").array(at, mask=at < 0)))


def _disagreement(known: _Cases, other: _Cases, name: str, mine: NDArray[np.int64], theirs: NDArray[np.int64]) -> str:
    """That two models say different things of the same case: which, what, where, and what to do about it."""
    where = known.files[known.places[mine[0]]], other.files[other.places[theirs[0]]]
    place = int(theirs[0])
    case = f"row {other.rows[place]:,}" if other.ids is None else f"case {quote(other.ids[place].as_py())}"
    is_outcome = name == next(iter(known.columns))
    own = list(known.columns).index(name)
    values = [quote(list(one.columns.values())[own][int(at)].as_py()) for one, at in ((known, mine[0]), (other, place))]
    more = f" ({len(mine):,} such cases)" if len(mine) > 1 else ""
    what = "the outcome" if is_outcome else quote(name)
    remedy = f"Give the outcomes in a file of their own, {argument('truth')}."
    if not is_outcome and name in _FOUND.values():
        remedy = f"Leave it out with {argument(next(w for w, n in _FOUND.items() if n == name), '')}."
    return f"{what} of {case} is {values[0]} in {where[0]} and {values[1]} in {where[1]}{more}. {remedy}"


def _require_all(cases: _Cases) -> None:
    """Every case has an outcome."""
    lacking = np.flatnonzero(blanks(cases.outcome))
    if len(lacking):
        at = int(lacking[0])
        of = "" if cases.ids is None else f" of case {quote(cases.ids[at].as_py())}"
        more = f" ({len(lacking):,} such cases)" if len(lacking) > 1 else ""
        raise FileError(
            cases.files[cases.places[at]],
            f"there is no outcome{of}{more}. Leave such rows out with {argument('where')}, or give the outcomes in a "
            f"file of their own, {argument('truth')}.",
            row=int(cases.rows[at]),
        )


class _TruthReader(Reader):
    """The united cases as a table, with the file and the row that each of them comes from."""

    paths = ()

    def __init__(self, name: str, cases: _Cases) -> None:
        case = cases.source.layout.case
        ids = {} if case is None else {case: cases.ids}
        self.name, self.rows, self.cases = name, len(cases), cases
        self.batch = need("pyarrow").record_batch({**cases.columns, **ids})

    @property
    def schema(self) -> Any:
        """Names and types."""
        return self.batch.schema

    def pieces(self, columns: Sequence[str]) -> Iterator[TableChunk]:
        """The named columns, with the rows of the file or, where there are several, numbered through all of them."""
        cases, chosen = self.cases, self.batch.select(list(columns))
        used = np.unique(cases.places)
        one = len(used) == 1
        yield TableChunk(cases.files[used[0]] if one else self.name, 0, chosen, cases.rows if one else None)
