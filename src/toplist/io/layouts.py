"""Which columns hold the cases, the classes and the confidences: found by names and types, or named by the caller."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from toplist.errors import FileError, TopListError
from toplist.io.optional import need
from toplist.io.showing import several, shown
from toplist.spelling import meant, nearest

# In the order in which they are tried: told apart by types first, then by numbers in names, then by names.
Kind = Literal["lists", "ranked", "long", "labels", "wide"]
KINDS = get_args(Kind)

# Names that people use, the most telling first.
CASE = (
    "case", "case_id", "id", "ids", "cases", "example_id", "sample_id", "instance_id", "question_id", "image_id",
    "doc_id", "item_id", "row_id", "uid", "uuid", "key", "example", "sample", "instance", "question", "image", "item",
    "qid", "index",
)  # fmt: skip
CLASS = (
    "class", "label", "outcome", "truth", "true_class", "true_label", "target", "category", "y", "y_true", "gold",
    "answer", "prediction", "predicted", "predicted_class", "predicted_label", "pred", "y_pred", "language", "lang",
    "species", "token", "output_type_id", "classes", "labels",
)  # fmt: skip
CONFIDENCE = (
    "confidence", "probability", "prob", "p", "score", "proba", "conf", "value", "percent", "logprob", "log_prob",
    "confidences", "probabilities", "probs", "scores",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Hints:
    """What the caller says about a table; None is to be found."""

    layout: str = "auto"
    case: str | None = None
    classes: str | None = None
    confidences: str | None = None
    labels: Collection[str] | None = None  # the names of the classes, where they are known
    extra: tuple[str, ...] = ()  # further columns to keep
    truth: bool = False
    sets: str | None = None  # classes are label sets, written with this delimiter or as lists
    blanks: str = "error"  # what lacks its class or its confidence is an error, or is left out: "drop"


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a table by what they mean."""

    kind: Kind
    case: str | None  # None: cases are told apart by their row
    classes: tuple[str, ...]
    confidences: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """All of them, each once."""
        return list(dict.fromkeys([*filter(None, [self.case]), *self.classes, *self.confidences, *self.extra]))


def recognise(schema: Any, source: str, hints: Hints, *, text: bool) -> Layout:
    """The layout of a table, or an error that says what was looked for."""
    if hints.layout not in ("auto", *KINDS):
        raise TopListError(f"a layout is {', '.join(KINDS)} or auto, not {hints.layout!r}.{_near(hints.layout, KINDS)}")
    try:
        names = [str(name) for name in schema.names]
    except UnicodeDecodeError:
        raise FileError(source, "the name of a column is not UTF-8 text.") from None
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise FileError(source, f"the column {shown(twice)} is there twice.")
    for wanted in filter(None, (hints.case, hints.classes, hints.confidences, *hints.extra)):
        if wanted not in names:
            raise FileError(source, f"there is no column {shown(wanted)}.{_near(wanted, names) or _there_are(names)}")
    case = hints.case or _case(names, hints.labels or ())
    free = [name for name in names if name != case and name not in hints.extra]
    if hints.truth and _first(free, CLASS) is None:  # what happened may also be what cases are grouped by
        free += filter(None, [hints.classes if hints.classes in hints.extra else _first(hints.extra, CLASS)])
    found = _Table(schema, source, hints, case, free, text)
    kinds = KINDS if hints.layout == "auto" else (hints.layout,)
    if hints.truth and hints.layout == "auto" and hints.confidences is None and hints.classes in free:
        kinds = ("labels", *KINDS)  # a named outcome is a label; other columns are not about it
    if hints.layout == "auto" and hints.classes is None and len(set(hints.labels or ()) & set(free)) > 1:
        kinds = ("wide", *KINDS)  # columns that are called as classes are, even one that is called y
    for kind in kinds:
        layout = _FINDERS[kind](found)
        if layout is not None:
            return layout
    what = "an outcome" if hints.truth else "predictions"
    looked = "any layout" if hints.layout == "auto" else f"the layout {hints.layout!r}"
    flag = "--outcome" if hints.truth else "--class and --confidence"
    raise FileError(source, f"no columns for {looked} of {what}: name them with {flag}.{_there_are(names)}")


@dataclass(frozen=True, slots=True)
class _Table:
    schema: Any
    source: str
    hints: Hints
    case: str | None
    free: list[str]
    text: bool

    def is_list(self, name: str) -> bool:
        types, kind = need("pyarrow").types, self.schema.field(name).type
        return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))

    def is_number(self, name: str) -> bool:
        types, kind = need("pyarrow").types, self.schema.field(name).type
        return bool(types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind) or types.is_null(kind))

    def is_confidence(self, name: str) -> bool:
        """Whether this can be no class: by its name, or as a number with a fraction."""
        types, kind = need("pyarrow").types, self.schema.field(name).type
        return _first([name], CONFIDENCE) is not None or types.is_floating(kind) or types.is_decimal(kind)

    def layout(self, kind: Kind, classes: Sequence[str], confidences: Sequence[str] = ()) -> Layout:
        return Layout(kind, self.case, tuple(classes), tuple(confidences), self.hints.extra)


def _lists(table: _Table) -> Layout | None:
    hints = table.hints
    listed = [name for name in table.free if table.is_list(name)]
    if hints.truth and hints.confidences is None and len(listed) == 1 and hints.classes in (None, listed[0]):
        return None  # one list per case and no confidences: a label set
    floats = need("pyarrow").types
    numbers = [n for n in listed if floats.is_floating(table.schema.field(n).type.value_type)]
    classes = hints.classes if hints.classes in listed else _first([n for n in listed if n not in numbers], CLASS)
    rest = [n for n in listed if n not in numbers]
    classes = classes or (rest[0] if len(rest) == 1 else None)
    confidences = hints.confidences if hints.confidences in listed else _first(numbers, CONFIDENCE)
    confidences = confidences or (numbers[0] if len(numbers) == 1 else None)
    if classes is None or confidences is None:
        # Whole numbers on both sides, or nothing but empty lists: only the names can tell.
        others = [n for n in listed if n not in (classes, confidences)]
        classes = classes or _first(others, CLASS)
        confidences = confidences or _first([n for n in others if n != classes], CONFIDENCE)
    return table.layout("lists", [classes], [confidences]) if classes and confidences else None


def _ranked(table: _Table) -> Layout | None:
    classes, confidences = _numbered(table.free, CLASS), _numbered(table.free, CONFIDENCE)
    if not classes or not confidences:
        return None
    if classes.keys() != confidences.keys():
        odd = min(classes.keys() ^ confidences.keys())
        has, lacks = ("class", "confidence") if odd in classes else ("confidence", "class")
        raise FileError(table.source, f"there is a {has} column number {odd}, but no {lacks} column with that number.")
    order = sorted(classes)
    return table.layout("ranked", [classes[i] for i in order], [confidences[i] for i in order])


def _numbered(names: Sequence[str], stems: Sequence[str]) -> dict[int, str]:
    """Columns such as class_1, class_2 by their number."""
    found: dict[int, str] = {}
    for stem in stems:
        for name in names:
            match = re.fullmatch(re.escape(stem) + r"[ _.-]?(\d{1,6})", name.strip().lower())
            if match:
                found[int(match.group(1))] = name
        if found:
            return found
    return found


def _long(table: _Table) -> Layout | None:
    hints = table.hints
    scalar = [name for name in table.free if not table.is_list(name)]
    confidence = hints.confidences if hints.confidences in scalar else _first(scalar, CONFIDENCE)
    others = [name for name in scalar if name != confidence]
    named = hints.classes if hints.classes in others else _first(others, CLASS)
    if named is None and confidence is not None and len(others) == 1 and hints.layout == "long":
        named = others[0]
    if confidence is None or named is None or table.case is None:
        return None
    return table.layout("long", [named], [confidence])


def _labels(table: _Table) -> Layout | None:
    hints = table.hints
    scalar = [n for n in table.free if not table.is_list(n) or (hints.truth or hints.sets is not None)]
    named = hints.classes if hints.classes in scalar else _first(scalar, CLASS)
    if named is not None and named != hints.classes and not hints.truth and table.is_confidence(named):
        named = None  # a class of a wide table that happens to be called y
    if named is None and len(scalar) == 1 and (hints.labels is None or scalar[0] not in hints.labels):
        named = None if table.is_confidence(scalar[0]) else scalar[0]
    return None if named is None else table.layout("labels", [named])


def _wide(table: _Table) -> Layout | None:
    hints = table.hints
    scalar = [name for name in table.free if not table.is_list(name)]
    if hints.labels is not None:
        _require_no_typo(scalar, hints.labels, table.source)
        scalar = [name for name in scalar if name in hints.labels]
    elif not table.text and not all(table.is_number(name) for name in scalar):
        return None
    enough = 1 if hints.layout == "wide" or hints.labels is not None else 2
    return table.layout("wide", scalar) if len(scalar) >= enough else None


def _require_no_typo(names: Sequence[str], labels: Collection[str], source: str) -> None:
    """Columns that are no class are left alone, unless a class without a column is called almost the same."""
    without = {label.strip().casefold(): label for label in labels if label not in set(names)}
    if len(without) < len(labels):
        for name in [name for name in names if name not in labels][:20]:
            near = nearest(name, without.values(), 0.8)
            if near is not None:
                raise FileError(
                    source, f"the column {shown(name)} is not among the labels. Did you mean {shown(near)}?"
                )


_FINDERS = {"lists": _lists, "long": _long, "wide": _wide, "ranked": _ranked, "labels": _labels}


def _case(names: Sequence[str], labels: Collection[str]) -> str | None:
    """The column with case ids; a class that is called id, as Indonesian is, is none where all classes are columns."""
    others = [name for name in names if name not in labels]
    wide = bool(labels) and len(names) - len(others) == len(labels)
    return _first(others, CASE) or (None if wide else _first(names, CASE))


def _first(names: Sequence[str], known: Sequence[str]) -> str | None:
    by_name = {name.strip().lower(): name for name in reversed(names)}
    return next((by_name[name] for name in known if name in by_name), None)


def _near(name: str, known: Sequence[str]) -> str:
    return meant(name, known, shown)


def _there_are(names: Sequence[str]) -> str:
    return f" The columns are {several(names)}." if names else " There are no columns."
