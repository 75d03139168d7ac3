"""Which columns hold the classes and the confidences: found by names, types and first values, or named by the caller.

What could be read in two ways is refused, and the message says what to type for each of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, NoReturn, get_args

from toplist._files import need
from toplist._text import argument, did_you_mean, listed, quote
from toplist.io.columns import kind_of
from toplist.io.layout import Kind, Layout
from toplist.io.paths import Side, as_records, heads, resolve
from toplist.io.readers.column_types import is_any_list
from toplist.io.sources import Table, matching
from toplist.io.words import (
    CLASS,
    CONFIDENCE,
    NEITHER,
    PLACE,
    PREDICTED,
    RECORD_CLASS,
    STRONG_IDS,
    TRUTH,
    is_named,
    named,
    numbered,
    spelled,
    spelled_field,
)

_CODED = ("index", "idx", "class_id", "label_id", "category_id", "class_index")  # numbered: codes of classes
_OPTIONS = {"class": "class_column", "confidence": "confidence"}
_LONG = 30  # characters of a name that are shown
# Fields that tell cases apart, unlike ids that classes have as well.
_OF_CLASSES = ("id", "ids", "uid", "uuid", "guid", "key", "item", "item_id", "url")
_CASES = frozenset(STRONG_IDS).difference(_OF_CLASSES)
_DEPTH = 3  # objects inside of objects that are looked into


def require_columns(table: Table) -> None:
    """Columns that the caller names are there, and are not to be ignored as well; numbers are no names of columns."""
    options, names = table.options, [name.strip() for name in table.columns]
    codes = [str(code) for code in range(len(names))]  # of classes may be names of columns, in any order if of several
    are_codes = names == codes or (len(codes) > 2 and set(names) == set(codes))
    if table.reader.text and not are_codes and all(_is_number(name) for name in names):
        table.refuse(
            f"the first line holds nothing but numbers ({listed(names)}): is the header missing? Write the names of "
            "the columns into the first line."
        )
    asked = {"case": options.case}
    if options.records is None:
        asked |= {"class_column": options.class_column, "confidence": options.confidence}
    for what, wanted in [*asked.items(), *(("", name) for name in table.extra)]:
        if wanted is None or (what == "confidence" and "*" in wanted and matching(table.columns, wanted)):
            continue
        if wanted not in table.columns:
            field = _as_field(table, wanted) if what in _OPTIONS.values() else ""
            each = f" If files call it differently, name it for each: {argument(what, file='NAME')}." if what else ""
            near = field or did_you_mean(wanted, table.columns) or _there_are(table.columns)
            table.refuse(f"there is no column {quote(wanted)}.{near}{'' if table.truth else each}")
        if wanted in table.left_out:
            table.refuse(f"the column {quote(wanted)} is named, and to be ignored as well.")


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _as_field(table: Table, wanted: str) -> str:
    """That a name is that of a field, and what to type for it."""
    places = (place for name in table.columns for place, _ in _places_of(name, table.schema.field(name).type))
    place = next((place for place in places if resolve(table.schema, f"{place}.{wanted}") is not None), None)
    return (
        "" if place is None else f" It is a field of objects in {quote(place)}: say {argument('records', place)} too."
    )


def recognise(table: Table, case: str | None) -> Layout:
    """The layout of a table whose column of case ids is known, or an error that says what to type."""
    options = table.options
    settled = set(table.reader.parts) - {options.class_column, options.confidence}
    out = {case, table.reader.index, *table.extra, *table.left_out, *settled}
    free = [name for name in table.columns if name not in out]
    if table.truth and not named(free, (*TRUTH, *CLASS)):  # cases may be grouped by their outcome
        grouping = named(table.extra, (*TRUTH, *CLASS))[:1]
        free += [options.class_column] if options.class_column in table.extra else grouping
    layout = _Finding(table, case, free).layout()
    for what, used in (("class_column", layout.classes), ("confidence", layout.confidences)):
        name = getattr(options, what)
        path = name if options.records is None else f"{options.records}.{name}"
        if name is not None and path not in used and "*" not in name:
            say = "outcome" if table.truth else what
            table.refuse(f"{say}={name!r} has no effect: this is read as {layout.describe(aligned=False)}.")
    return layout


@dataclass(frozen=True, slots=True)
class _Finding:
    """The layouts that a table may have, one method for each; None where the columns for it are not there."""

    table: Table
    case: str | None
    free: list[str]

    def layout(self) -> Layout:
        """The first layout that fits; of a truth, a column with outcomes before everything else."""
        table, options = self.table, self.table.options
        kinds = get_args(Kind) if options.layout == "auto" else (options.layout,)
        if options.layout == "auto" and options.class_column is None and self._all_labels_are_columns():
            kinds = ("wide",)
        elif table.truth and options.confidence is None:
            if options.class_column is not None and "labels" in kinds:
                return self._layout("labels", [options.class_column])
            if options.layout == "auto" and (outcomes := named(self.free, TRUTH)):
                return self._outcomes(outcomes)
        if options.records is not None:
            return self._stated_records(options.records)
        if options.confidence is not None and "*" in options.confidence and "wide" in kinds:
            return self._pattern(options.confidence)
        layouts: Iterator[Layout | None] = (getattr(self, f"_{kind}")() for kind in kinds)
        return next(filter(None, layouts), None) or self._nothing()

    def _all_labels_are_columns(self) -> bool:
        """Whether there is a column for every class: columns that are called as the classes are."""
        labels = set(self.table.labels)
        inside = len(labels & set(self.free))
        return bool(labels) and (inside == len(labels) or inside > 1)

    def _outcomes(self, outcomes: Sequence[str]) -> Layout:
        """The column with outcomes, unless it is called y, as a class of a table with a column for each may be."""
        self._require_one(outcomes, "outcomes", "outcome")
        alone = len(self.free) < 2 or spelled(outcomes[0]) != "y"
        if not alone and all(self.table.look(name).within_one for name in self.free):
            self.table.refuse(
                f"the column {quote(outcomes[0])} may hold outcomes, or be a class of a table with a column for each. "
                f"Say {argument('outcome', outcomes[0])}, or declare the labels of all classes."
            )
        return self._layout("labels", outcomes)

    def _require_one(self, able: Sequence[str], what: str, option: str) -> None:
        """Refuse several columns for one role."""
        if len(able) > 1:
            self.table.refuse(f"{listed(able)} may all hold {what}. Say which: {_either(option, able)}.")

    def _lists(self) -> Layout | None:
        table = self.table
        columns = [name for name in self.free if table.is_list(name) and not table.is_object(name)]
        if table.truth and len(columns) == 1:
            return None  # one list per case and no confidences: a label set
        plain, nested = self._plain_lists(columns), self._nested()
        ways = _either("records", list(nested))
        if plain is not None and nested:
            table.refuse(
                f"lists are in {listed([*plain.classes, *plain.confidences])}, and in {listed(list(nested))} as well. "
                f"Say {ways}, or {argument('class_column', plain.classes[0])} and "
                f"{argument('confidence', plain.confidences[0])}."
            )
        self._require_one(list(nested), "predictions", "records")
        return plain or next(iter(nested.values()), None)

    def _plain_lists(self, columns: Sequence[str]) -> Layout | None:
        """Classes and confidences in a column of lists each: told apart by names, or else by types."""
        options, able = self.table.options, [name for name in columns if not is_named(name, TRUTH)]
        if not {options.class_column, options.confidence} <= {None, *columns}:
            return None
        confidences = [options.confidence] if options.confidence else named(columns, CONFIDENCE)
        classes = [options.class_column] if options.class_column else named(able, self._class_words)
        floating = [name for name in columns if _is_floating(self.table, name) and name not in classes]
        confidences = confidences or floating
        classes = classes or [name for name in able if name not in (*floating, *confidences)]
        self._require_one(confidences, "confidences", "confidence")
        self._require_one(classes, "classes", "class_column")
        return self._layout("lists", classes, confidences) if classes and confidences else None

    def _nested(self) -> dict[str, Layout]:
        """Lists inside of objects, and lists of objects, that can be nothing else; not where columns are named."""
        if self.table.options.class_column is not None or self.table.options.confidence is not None:
            return {}
        return {
            path: self._of_records(path, fields, fields.classes[0], fields.confidences[0])
            for path, fields in self._objects()
            if not fields.doubt
        }

    def _objects(self) -> list[tuple[str, ObjectFields]]:
        """The places where objects are that have a class and a confidence; outcomes are not among them."""
        able = [name for name in self.free if not is_named(name, TRUTH)]
        return [place for name in able for place in _objects_in(name, self.table.schema.field(name).type)]

    def _stated_records(self, records: str) -> Layout:
        """The objects that the caller names, with the fields that the caller names, or those with telling names."""
        table, options, schema = self.table, self.table.options, self.table.schema
        path = resolve(schema, records)
        if path is None:
            near = did_you_mean(records, table.columns) or _there_are(table.columns)
            table.refuse(f"there is no column or path {quote(records)}.{near}")
        fields = _fields_of(path.kind)
        if options.class_column is None and options.confidence is None and not (fields and fields.classes):
            keys, values = (f"{records}{side.value}" for side in Side)
            if resolve(schema, keys) is not None:
                return replace(self._layout("lists", [keys], [values]), records=records)
        if fields is None:
            inner = is_any_list(path.kind) and is_any_list(path.kind.value_type)
            hint = f" If the first of each is meant, say {argument('records', f'{records}[0]')}." if inner else ""
            table.refuse(
                f"{quote(records)} holds {kind_of(path.kind)}, but records are a list of objects, an object with a "
                f"list of classes and one of confidences, or an object whose keys are classes.{hint}"
            )
        names = []
        for role, able in (("class", fields.classes), ("confidence", fields.confidences)):
            given = getattr(options, _OPTIONS[role])
            if given is not None and resolve(schema, f"{records}.{given}") is None:
                near = did_you_mean(given, fields.names) or f" There are {listed(fields.names)}."
                table.refuse(f"there is no field {quote(given)} in {quote(records)}.{near}")
            if given is None and len(able) != 1:
                ways = _either(_OPTIONS[role], able or fields.names)
                table.refuse(f"which field of {quote(records)} holds the {role}? Say {ways}.")
            names.append(given or able[0])
        return self._of_records(records, fields, *names)

    def _of_records(self, records: str, fields: ObjectFields, *names: str) -> Layout:
        classes, confidences = ([f"{records}.{name}"] for name in names)
        layout = self._layout("lists", classes, confidences)
        return layout if fields.lists else replace(layout, records=records)

    def _ranked(self) -> Layout | None:
        options, table = self.table.options, self.table
        if options.layout == "auto" and (options.class_column or options.confidence):
            return None
        classes, confidences = numbered(self.free, self._class_words), numbered(self.free, CONFIDENCE)
        classes = classes or numbered(self.free, _CODED)
        if not classes or not confidences:
            return None
        for stems in (classes, confidences):
            if len(stems) > 1:
                firsts = [next(iter(columns.values())) for columns in stems.values()]
                left = ", ".join(argument("ignore", f"{stem}*") for stem in stems)
                table.refuse(
                    f"{listed(firsts)} are numbered, and only one kind of them can be used. Leave out: {left}."
                )
        ((class_stem, class_of),), ((confidence_stem, confidence_of),) = classes.items(), confidences.items()
        if class_of.keys() != confidence_of.keys():
            odd = min(class_of.keys() ^ confidence_of.keys())
            has, lacks = ("class", "confidence") if odd in class_of else ("confidence", "class")
            table.refuse(f"there is a {has} column number {odd}, but no {lacks} column with that number.")
        order = sorted(class_of)
        pair = [name for stem in (class_stem, confidence_stem) for name in self.free if spelled(name) == stem][:2]
        if len(pair) == 2:
            # label and p are the first on the list beside label_2 and p_2, or beside label.1 and p.1, as pandas writes
            # columns of the same name.
            if order[0] != 2 and not (order[0] == 1 and class_of[1].endswith(".1")):
                table.refuse(
                    f"{listed(pair)} have no number, unlike {quote(class_of[order[0]])} and those after it: are they "
                    f"the first on the list? Number them, or leave them out: {_left_out(pair)}."
                )
            class_of, confidence_of, order = {**class_of, -1: pair[0]}, {**confidence_of, -1: pair[1]}, [-1, *order]
        return self._layout("ranked", [class_of[at] for at in order], [confidence_of[at] for at in order])

    def _long(self) -> Layout | None:
        options, stated = self.table.options, self.table.options.layout == "long"
        scalar = [name for name in self.free if self.table.is_scalar(name)]
        confidences = [options.confidence] if options.confidence in scalar else named(scalar, CONFIDENCE)
        others = [name for name in scalar if name not in confidences]
        classes = [options.class_column] if options.class_column in others else named(others, self._class_words)
        if not classes and stated and len(others) == 1 and not is_named(others[0], TRUTH):
            classes = others
        if not classes and confidences and (stated or options.confidence in scalar):
            which = _either("class_column", others) or argument("class_column")
            self.table.refuse(
                f"confidences are in {listed(confidences)}, but which column holds the classes? Say {which}."
            )
        if not confidences and stated and classes:
            which = _either("confidence", [name for name in others if name not in classes]) or argument("confidence")
            self.table.refuse(f"classes are in {listed(classes)}, but which column holds the confidences? Say {which}.")
        if not confidences or not classes:
            return None
        self._require_one(confidences, "confidences", "confidence")
        self._require_one(classes, "classes", "class_column")
        # Without case ids, a row is a list of one class.
        return self._layout("ranked" if self.case is None else "long", classes, confidences)

    def _labels(self) -> Layout | None:
        table, given, stated = self.table, self.table.options.class_column, self.table.options.layout == "labels"
        sets, foreign = table.truth or table.sets, PREDICTED if table.truth else TRUTH
        able = [name for name in self.free if table.is_scalar(name) or (sets and table.is_list(name))]
        classes = [given] if given in able else named(able, self._class_words)
        if given is None:  # numbers that are no codes are those of a class of a wide table
            classes = [name for name in classes if not table.is_fraction(name)]
            if not classes and len(self.free) == 1:
                odd = {*named(able, foreign), *named(filter(table.is_scalar, able), CONFIDENCE), *table.labels}
                classes = [name for name in able if name not in odd and not table.is_fraction(name)]
        if not classes:
            return None
        self._require_one(classes, "the labels", "outcome" if table.truth else "class_column")
        label, others = classes[0], [name for name in self.free if name not in classes]
        # What has an outcome's name is an outcome.
        others = [name for name in others if table.is_fraction(name) or not is_named(name, TRUTH)]
        doubtful = [name for name in others if table.could_be_confidence(name)]
        if doubtful and not (stated and label == given):
            what, say = (
                ("outcomes", argument("outcome", label)) if table.truth else ("hard labels", _left_out(doubtful))
            )
            nested = [name for name in doubtful if not table.is_scalar(name)]
            other = (*nested, *doubtful)[0]
            typed = other if len(other) <= _LONG else ...
            how = argument("records" if nested else "confidence", typed, "truth" * table.truth)
            table.refuse(
                f"{quote(label)} may hold {what}, but {listed(doubtful)} may hold confidences. For {what} say {say}; "
                f"for a column per class say {_left_out([label])}; if {quote(other)} holds the confidences of "
                f"{quote(label)}, say {how}."
            )
        # Ranked labels, as competitions ask for them (MAP@k), would each be one class that is never the outcome.
        if not (sets or stated or table.labels) and (ranked := table.look(label).ranked):
            table.refuse(
                f"each value of {quote(label)} has {ranked} words, which change places from row to row. Ranked labels "
                "have no probabilities, so that no score can be had of them: write the first one alone, as a hard "
                f"label. If these are label sets, say {argument('set_separator', ' ')}; if each value is one label "
                f"with blanks in it, {argument('layout', 'labels')}."
            )
        return self._layout("labels", classes)

    def _wide(self) -> Layout | None:
        table, stated = self.table, self.table.options.layout == "wide"
        if table.options.class_column is not None and not stated:
            return None
        if table.labels:
            return self._wide_by_labels([name for name in self.free if table.is_scalar(name)], table.labels)
        # Where rows are matched by position, ids are left aside; elsewhere they are further columns.
        ids = {name for name in self.free if table.is_id(name)}
        numbers = [name for name in self.free if name not in ids and table.is_number(name)]
        known = {*numbers, *(ids if self.case is None else ())}
        others = [name for name in self.free if name not in known]
        if len(numbers) < (1 if stated else 2):
            return None
        if others and not stated and sum(map(table.could_be_confidence, numbers)) < 2:
            return None
        odd = [name for name in numbers if is_named(name, (*TRUTH, *CONFIDENCE, *NEITHER))]
        if table.space is not None and not table.space.per_case and table.space.size == len(numbers):
            odd = []
        if others or odd:
            self._refuse_further(numbers if others else [name for name in numbers if name not in odd], others or odd)
        # Columns such as prob_cat and prob_dog are confidences of cat and dog.
        head = f"{spelled(numbers[0]).partition('_')[0]}_"
        alike = len(numbers) > 1 and all(spelled(name).startswith(head) for name in numbers)
        if alike and head[:-1] in CONFIDENCE and not stated:
            rest = listed([name[len(head) :] for name in numbers[:3]])
            table.refuse(
                f"{listed(numbers)} begin alike. If the classes are {rest} and so on, say "
                f"{argument('confidence', f'{numbers[0][: len(head)]}*')}; if they are called as the columns are, say "
                f"{argument('layout', 'wide')}."
            )
        return self._layout("wide", numbers)

    def _wide_by_labels(self, scalar: list[str], labels: Collection[str]) -> Layout | None:
        """The columns that are called as the classes are; what others hold is no number."""
        if self.table.reader.unnamed and len(scalar) == len(labels):
            return self._layout("wide", scalar, names=list(labels))  # by their places
        classes = [name for name in scalar if name in labels]
        if not classes:
            return None
        nested = next((name for name in self.free if name in labels and name not in classes), None)
        if nested is not None:
            kind = kind_of(self.table.schema.field(nested).type)
            self.table.refuse(
                f"{listed(classes)} seem to be classes, a column each, and {quote(nested)} is called as one is, but "
                f"holds {kind}, not numbers."
            )
        further = [
            name for name in scalar if name not in labels and not is_named(name, (*CONFIDENCE, *TRUTH, *NEITHER))
        ]
        further = [name for name in further if self.table.look(name).number]
        if further and len(classes) < len(labels):
            near = did_you_mean(further[0], [label for label in labels if label not in classes])
            if near:
                self.table.refuse(f"the column {quote(further[0])} is not among the labels.{near}")
            self._refuse_further(classes, further)
        return self._layout("wide", classes)

    def _refuse_further(self, classes: Sequence[str], others: Sequence[str]) -> NoReturn:
        table, case = self.table, ""
        if self.case is None:
            keys = [n for n in others if table.is_scalar(n) and not table.is_fraction(n) and not table.look(n).blank]
            case = f" If it holds case ids, say {argument('case', keys[0])}." if keys else ""
        seem = f"{listed(classes)} seem to be classes, a column each, but " if classes else ""
        table.refuse(
            f"{seem}{listed(others)} {'is' if len(others) == 1 else 'are'} not clearly so. Leave out what is no "
            f"class: {_left_out(others)}; or name the columns of classes by a pattern, such as "
            f"{argument('confidence', 'prob_*')}, or declare the labels of all classes, or their number where it is "
            f"that of the columns.{case}"
        )

    def _pattern(self, pattern: str) -> Layout:
        """A column per class: the class is what the star of the pattern stands for."""
        if pattern.count("*") != 1 or any(mark in pattern for mark in "?["):
            self.table.refuse(
                f"{argument('confidence', pattern)}: a pattern for a column per class has one star, as prob_* has."
            )
        head, _, tail = pattern.partition("*")
        columns = [name for name in matching(self.free, pattern) if len(name) > len(head) + len(tail)]
        if not columns:
            self.table.refuse(f"no column matches {quote(pattern)}.{_there_are(self.table.columns)}")
        return self._layout("wide", columns, names=[name[len(head) : len(name) - len(tail)] for name in columns])

    def _nothing(self) -> NoReturn:
        table, layout, there_are = self.table, self.table.options.layout, _there_are(self.table.columns)
        looked = "" if layout == "auto" else f" for the layout {layout!r}"
        objects, outcomes = [name for name in self.free if table.is_object(name)], named(self.free, TRUTH)
        if objects:
            say = argument("outcome") if table.truth else f"{argument('class_column')} and {argument('confidence')}"
            table.refuse(
                f"{listed(objects)} holds objects.{self._how_objects(objects)} Or name other columns with {say}."
            )
        if table.truth:
            table.refuse(f"no column of outcomes was found{looked}: name it with {argument('outcome')}.{there_are}")
        if outcomes:
            table.refuse(
                f"the column {quote(outcomes[0])} has the name of an outcome, which is no prediction. If it holds "
                f"predictions, say {argument('class_column', outcomes[0])}.{there_are}"
            )
        values = any(_is_number(name) and 0 < float(name) < 1 for name in table.columns)
        header = " Is the header missing? The first line is taken for the names of the columns." if values else ""
        table.refuse(
            f"no columns of predictions were found{looked}: name them with {argument('class_column')} and, where there "
            f"are, {argument('confidence')}.{header}{there_are}"
        )

    def _how_objects(self, objects: Sequence[str]) -> str:
        """What to type where columns hold objects that are not predictions by themselves."""
        for path, fields in self._objects():
            say = f"{_either('class_column', fields.classes)}, {_either('confidence', fields.confidences)}"
            case = f"if it has the list of a case, say {argument('records', path)}, {say}."
            return f" In {quote(path)}, {fields.doubt}: {case}"
        schema = self.table.schema
        for name in objects:
            kind = schema.field(name).type
            if resolve(schema, f"{name}{Side.KEYS.value}") is not None:
                return f" If the keys of {quote(name)} are classes, say {argument('records', name)}."
            if is_any_list(kind) and is_any_list(kind.value_type) and _fields_of(kind.value_type) is not None:
                return f" If the first list of {quote(name)} is meant, say {argument('records', f'{name}[0]')}."
        return (
            f" If they are lists with an object for each class, say {argument('records', objects[0])}, with the fields "
            f"in {argument('class_column')} and {argument('confidence')}."
        )

    @property
    def _class_words(self) -> tuple[str, ...]:
        """Names of classes; in a truth, what is called a prediction is none."""
        return tuple(word for word in CLASS if not (self.table.truth and word in PREDICTED))

    def _layout(
        self, kind: Kind, classes: Sequence[str], confidences: Sequence[str] = (), names: Sequence[str] = ()
    ) -> Layout:
        extra, used = self.table.extra, {self.case, *classes, *confidences, *self.table.extra}
        every = self.table.columns
        paths = [name for name in used if name and name not in every]
        used |= {*self.table.reader.parts, *(head for name in paths for head, _ in heads(every, name))}
        left = tuple(name for name in every if name not in used)
        return Layout(kind, self.case, tuple(classes), tuple(confidences), extra, tuple(names), left)


def _is_floating(table: Table, name: str) -> bool:
    kind = table.schema.field(name).type.value_type
    return str(kind) in ("double", "float", "halffloat") or str(kind).startswith("decimal")


def _left_out(names: Sequence[str]) -> str:
    """What to type to leave columns out; very long names by their beginnings."""
    few = [argument("ignore", name if len(name) <= _LONG else f"{name[:_LONG]}*") for name in names[:4]]
    return ", ".join([*few, "..."] if len(names) > 4 else few)


def _either(what: str, names: Sequence[str]) -> str:
    return " or ".join(argument(what, name) for name in names[:4])


def _there_are(names: Sequence[str]) -> str:
    return f" The columns are {listed(names)}." if names else " There are no columns."


# Objects inside of columns: their fields by what their names mean, and whether they may be the list of a case


class ObjectFields(NamedTuple):
    """The fields of objects: those that may hold the class, those that may hold the confidence, and all of them."""

    classes: list[str]
    confidences: list[str]
    names: list[str]
    lists: bool  # whether one object holds lists, and not a list objects
    doubt: str  # why they are no predictions unless the caller says so


class _Field(NamedTuple):
    """A field of an object, or of an object inside of it."""

    path: str
    name: str
    kind: Any
    level: int


def _fields_of(kind: Any, name: str = "") -> ObjectFields | None:
    """The fields of a list of objects, or of an object of lists, that has this name; None for another type."""
    types, kind = need("pyarrow").types, as_records(kind)
    lists = types.is_struct(kind)
    if lists:
        every = [f for f in _fields(kind, 1) if is_any_list(f.kind) and not types.is_nested(f.kind.value_type)]
    elif is_any_list(kind) and types.is_struct(kind.value_type):
        every = [f for f in _fields(kind.value_type, _DEPTH) if not types.is_nested(f.kind)]
    else:
        return None
    clear = _telling(every, CLASS)
    classes, confidences = clear or _telling(every, RECORD_CLASS), _telling(every, CONFIDENCE)
    if len(classes) != 1 or len(confidences) != 1:
        doubt = "which of its fields is the class, and which the confidence, is not clear"
    elif not clear and spelled_field(confidences[0]) == "value":
        doubt = f"{quote(classes[0])} and {quote(confidences[0])} may be anything"
    else:
        doubt = "" if lists else _doubt(kind.value_type, name, (*classes, *confidences))
    return ObjectFields(classes, confidences, [field.path for field in every], lists, doubt) if every else None


def _objects_in(path: str, kind: Any, depth: int = _DEPTH) -> Iterator[tuple[str, ObjectFields]]:
    """The places in a column where objects are that have a class and a confidence."""
    for place, inner in _places_of(path, kind, depth):
        fields = _fields_of(inner, place)
        if fields is not None and fields.classes and fields.confidences:
            yield place, fields


def _places_of(path: str, kind: Any, depth: int = _DEPTH) -> Iterator[tuple[str, Any]]:
    """The paths to objects, and to lists of them, with their types."""
    types = need("pyarrow").types
    if types.is_nested(kind):
        yield path, kind
    if types.is_struct(kind):
        inside = (field for field in _fields(kind, depth) if types.is_nested(field.kind))
        yield from ((f"{path}.{field.path}", field.kind) for field in inside)


def _fields(kind: Any, depth: int, head: str = "", level: int = 1) -> Iterator[_Field]:
    """The fields of an object, with those of objects inside of it to some depth."""
    for at in range(kind.num_fields if level <= depth else 0):
        name, inner = kind.field(at).name, kind.field(at).type
        path = head + (name if name and not set(name) & set('.["') else f'"{name.replace(chr(34), chr(34) * 2)}"')
        yield _Field(path, name, inner, level)
        if need("pyarrow").types.is_struct(inner):
            yield from _fields(inner, depth, f"{path}.", level + 1)


def _telling(fields: Sequence[_Field], words: Sequence[str]) -> list[str]:
    """The fields with known names that are least deep inside."""
    telling = [field for field in fields if spelled_field(field.name) in words]
    return [field.path for field in telling if field.level == min(other.level for other in telling)]


def _doubt(kind: Any, name: str, used: Sequence[str]) -> str:
    """Why a list of such objects may be something else than the list of one case."""
    fields = {spelled_field(field.name): field for field in _fields(kind, 1)}
    place = next((field.name for word, field in fields.items() if word in PLACE), None)
    if place is not None:
        return f"{quote(place)} says where something is, so these may be several answers"
    case = next((field.name for word, field in fields.items() if word in _CASES), None)
    if case is not None:
        return f"{quote(case)} may tell cases apart, so each object may be a case of its own"
    for field in fields.values():
        if is_any_list(field.kind) and list(_objects_in("", field.kind, 0)):
            first = argument("records", f"{name}[0].{field.name}")
            return f"each object has a list of its own, in {quote(field.name)} (for that of the first, say {first})"
    words = set(map(spelled_field, used))
    if "token" in words and words & {"logprob", "log_prob", "log_probability"} and "top" not in spelled_field(name):
        return "these may be the tokens of a text, one after the other"
    return ""
