"""Which columns hold the classes and the confidences: found by names, types and first values, or named by the caller.

What could be read in two ways is refused, and the message says what to type for each of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, get_args

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
_ROLES = {"class_column": "class", "confidence": "confidence"}
_LONG = 30  # characters of a name that are shown
# Fields that tell cases apart, unlike ids that classes have as well.
_OF_CLASSES = ("id", "ids", "uid", "uuid", "guid", "key", "item", "item_id", "url")
_CASES = frozenset(STRONG_IDS).difference(_OF_CLASSES)
_DEPTH = 3  # objects inside of objects that are looked into


def require_columns(table: Table) -> None:
    """Columns that the caller names are there, and are not to be ignored as well; numbers are no names of columns."""
    _require_header(table)
    options = table.options
    inside = () if options.records is not None else (options.class_column, options.confidence)
    for wanted in filter(None, (options.case, *inside, *table.extra)):
        if wanted == options.confidence and "*" in wanted and wanted not in table.columns:
            if not matching(table.columns, wanted):
                table.refuse(f"no column matches {quote(wanted)}.{_there_are(table.columns)}")
        elif wanted not in table.columns:
            near = _as_field(table, wanted) or did_you_mean(wanted, table.columns) or _there_are(table.columns)
            table.refuse(f"there is no column {quote(wanted)}.{near}{_for_one(table, wanted)}")
        elif wanted in table.left_out:
            table.refuse(f"the column {quote(wanted)} is named, and to be ignored as well.")


def _require_header(table: Table) -> None:
    """Numbers are no names of columns, unless they are the codes of classes."""
    names = [name.strip() for name in table.columns]
    codes = [str(code) for code in range(len(names))]
    named_so = names == codes or (len(codes) > 2 and set(names) == set(codes))
    if table.reader.text and not named_so and all(_is_number(name) for name in names):
        table.refuse(
            f"the first line holds nothing but numbers ({listed(names)}): is the header missing? Write the names of "
            "the columns into the first line."
        )


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _as_field(table: Table, wanted: str) -> str:
    """That a name is that of a field, and what to type for it."""
    if wanted not in (table.options.class_column, table.options.confidence):
        return ""
    for name in table.columns:
        for place, _ in _places_of(name, table.schema.field(name).type):
            if resolve(table.schema, f"{place}.{wanted}") is not None:
                return f" It is a field of the objects in {quote(place)}: say {argument('records', place)} too."
    return ""


def _for_one(table: Table, wanted: str) -> str:
    """That columns may be named for each file, where one was named for all of them."""
    what = next((what for what in ("case", *_ROLES) if wanted == getattr(table.options, what)), None)
    if table.truth or what is None:
        return ""
    return f" If files call it differently, name it for each: {argument(what, file='NAME')}."


def recognise(table: Table, case: str | None) -> Layout:
    """The layout of a table whose column of case ids is known, or an error that says what to type."""
    options = table.options
    settled = set(table.reader.parts) - {options.class_column, options.confidence}
    out = {case, table.reader.index, *table.extra, *table.left_out, *settled}
    free = [name for name in table.columns if name not in out]
    if table.truth and not named(free, (*TRUTH, *CLASS)):  # cases may be grouped by their outcome
        grouping = named(table.extra, (*TRUTH, *CLASS))[:1]
        free += [options.class_column] if options.class_column in table.extra else grouping
    finding = _Finding(table, case, free)
    layout = finding.truth() if table.truth else finding.prediction()
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

    def prediction(self) -> Layout:
        """The layout of predictions."""
        options = self.table.options
        if options.records is not None:
            return self._stated_records(options.records)
        if options.confidence is not None and "*" in options.confidence and options.layout in ("auto", "wide"):
            return self._pattern(options.confidence)
        if options.layout == "auto" and self._all_labels_are_columns():
            return self._wide() or self._nothing()
        for kind in get_args(Kind) if options.layout == "auto" else (options.layout,):
            layout: Layout | None = getattr(self, f"_{kind}")()
            if layout is not None:
                return layout
        return self._nothing()

    def truth(self) -> Layout:
        """The layout of the truth: a column with outcomes before everything else."""
        options = self.table.options
        if options.confidence is not None:
            return self.prediction()
        if options.class_column is not None and options.layout in ("auto", "labels"):
            return self._layout("labels", [options.class_column])
        if options.layout != "auto" or self._all_labels_are_columns():
            return self.prediction()
        outcomes = named(self.free, TRUTH)
        if not outcomes:
            return self.prediction()
        self._require_one(outcomes, "outcomes", "outcome")
        if self._is_one_hot(outcomes[0]):
            self.table.refuse(
                f"the column {quote(outcomes[0])} may hold outcomes, or be a class of a table with a column for each. "
                f"Say {argument('outcome', outcomes[0])}, or declare the labels of all classes."
            )
        return self._layout("labels", outcomes)

    def _is_one_hot(self, name: str) -> bool:
        """Whether a column that is called y may be a class: all columns are numbers from 0 to 1."""
        if spelled(name) != "y" or len(self.free) < 2 or not all(map(self.table.is_scalar, self.free)):
            return False
        return all(self.table.look(column).within_one for column in self.free)

    def _all_labels_are_columns(self) -> bool:
        """Whether there is a column for every class: columns that are called as the classes are."""
        labels = set(self.table.labels)
        inside = len(labels & set(self.free))
        return bool(labels) and self.table.options.class_column is None and (inside == len(labels) or inside > 1)

    def _lists(self) -> Layout | None:
        table = self.table
        columns = [name for name in self.free if table.is_list(name) and not table.is_object(name)]
        if table.truth and len(columns) == 1:
            return None  # one list per case and no confidences: a label set
        plain, nested = self._plain_lists(columns), self._nested()
        ways = " or ".join(argument("records", path) for path in nested)
        if plain is not None and nested:
            table.refuse(
                f"lists are in {listed([*plain.classes, *plain.confidences])}, and in {listed(list(nested))} as well. "
                f"Say {ways}, or {argument('class_column', plain.classes[0])} and "
                f"{argument('confidence', plain.confidences[0])}."
            )
        if len(nested) > 1:
            table.refuse(f"{listed(list(nested))} may all hold predictions. Say which: {ways}.")
        return plain or next(iter(nested.values()), None)

    def _plain_lists(self, columns: Sequence[str]) -> Layout | None:
        """Classes and confidences in a column of lists each: told apart by types, or else by names."""
        options, table = self.table.options, self.table
        for given, words, what in (
            (options.confidence, CONFIDENCE, "confidences"),
            (options.class_column, self._class_words, "classes"),
        ):
            if given is None:
                self._require_one(named(columns, words), what)
        floating = [name for name in columns if _is_floating(table, name)]
        others = [name for name in columns if name not in floating and not is_named(name, TRUTH)]
        confidence = self._one(options.confidence, floating, CONFIDENCE, "confidences", columns)
        classes = self._one(options.class_column, others, self._class_words, "classes", columns)
        if classes is None or confidence is None:  # whole numbers on both sides, or empty lists: names can tell
            rest = [name for name in columns if name not in (classes, confidence) and not is_named(name, TRUTH)]
            classes = classes or next(iter(named(rest, self._class_words)), None)
            confidence = confidence or next(iter(named([n for n in rest if n != classes], CONFIDENCE)), None)
        if classes is None or confidence is None or classes == confidence:
            return None
        return self._layout("lists", [classes], [confidence])

    def _one(
        self, given: str | None, able: list[str], words: Sequence[str], what: str, columns: Sequence[str]
    ) -> str | None:
        """The column for one role: as given, the only one, or the only one with a known name."""
        if given is not None:
            return given if given in columns else None
        telling = able if len(able) <= 1 else named(able, words)
        self._require_one(telling or able, what)
        return next(iter(telling), None)

    def _require_one(self, able: Sequence[str], what: str, option: str = "") -> None:
        """Refuse several columns for one role."""
        if len(able) > 1:
            option = option or {"classes": "class_column", "confidences": "confidence"}[what]
            self.table.refuse(f"{listed(able)} may all hold {what}. Say which: {_either(option, able)}.")

    def _nested(self) -> dict[str, Layout]:
        """Lists inside of objects, and lists of objects, that can be nothing else; not where columns are named."""
        if self.table.options.class_column is not None or self.table.options.confidence is not None:
            return {}
        certain = {path: fields for path, fields in self._objects() if not fields.doubt}
        return {
            path: self._of_records(path, fields.classes[0], fields.confidences[0], fields)
            for path, fields in certain.items()
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
        class_field = self._field(records, "class_column", fields.classes, fields)
        confidence = self._field(records, "confidence", fields.confidences, fields)
        return self._of_records(records, class_field, confidence, fields)

    def _field(self, records: str, what: str, able: list[str], fields: ObjectFields) -> str:
        """The field of records for one role: as given, or the only one with a telling name."""
        given: str | None = getattr(self.table.options, what)
        if given is not None and resolve(self.table.schema, f"{records}.{given}") is None:
            near = did_you_mean(given, fields.names) or f" There are {listed(fields.names)}."
            self.table.refuse(f"there is no field {quote(given)} in {quote(records)}.{near}")
        if given is None and len(able) != 1:
            ways = _either(what, able or fields.names)
            self.table.refuse(f"which field of {quote(records)} holds the {_ROLES[what]}? Say {ways}.")
        return able[0] if given is None else given

    def _of_records(self, records: str, class_field: str, confidence: str, fields: ObjectFields) -> Layout:
        layout = self._layout("lists", [f"{records}.{class_field}"], [f"{records}.{confidence}"])
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
                some = [next(iter(columns.values())) for columns in stems.values()]
                left = ", ".join(argument("ignore", f"{stem}*") for stem in stems)
                table.refuse(f"{listed(some)} are numbered, and only one kind of them can be used. Leave out: {left}.")
        ((class_stem, class_of),), ((confidence_stem, confidence_of),) = classes.items(), confidences.items()
        if class_of.keys() != confidence_of.keys():
            odd = min(class_of.keys() ^ confidence_of.keys())
            has, lacks = ("class", "confidence") if odd in class_of else ("confidence", "class")
            table.refuse(f"there is a {has} column number {odd}, but no {lacks} column with that number.")
        order = sorted(class_of)
        first = self._first_pair((class_stem, confidence_stem), class_of[order[0]], order[0])
        return self._layout(
            "ranked",
            [*first[:1], *(class_of[i] for i in order)],
            [*first[1:], *(confidence_of[i] for i in order)],
        )

    def _first_pair(self, stems: Sequence[str], numbered_: str, lowest: int) -> list[str]:
        """A pair without a number beside label_2 and p_2, or beside label.1 and p.1 as pandas writes it."""
        pair = [next((n for n in self.free if spelled(n) == stem), "") for stem in stems]
        if not all(pair):
            return []
        if lowest == 2 or (lowest == 1 and numbered_.endswith(".1")):
            return pair
        return self.table.refuse(
            f"{listed(pair)} have no number, unlike {quote(numbered_)} and those after it: are they the first on the "
            f"list? Number them, or leave them out: {argument('ignore', pair[0])}, {argument('ignore', pair[1])}."
        )

    def _long(self) -> Layout | None:
        options, stated = self.table.options, self.table.options.layout == "long"
        scalar = [name for name in self.free if self.table.is_scalar(name)]
        confidences = [options.confidence] if options.confidence in scalar else named(scalar, CONFIDENCE)
        others = [name for name in scalar if name not in confidences]
        classes = [options.class_column] if options.class_column in others else named(others, self._class_words)
        if not classes and stated and len(others) == 1 and not is_named(others[0], TRUTH):
            classes = others
        if not classes and (options.confidence in scalar or (stated and confidences)):
            which = _either("class_column", others) if others else argument("class_column")
            self.table.refuse(
                f"confidences are in {listed(confidences)}, but which column holds the classes? Say {which}."
            )
        if not confidences and stated and classes:
            which = _either("confidence", [name for name in others if name not in classes])
            self.table.refuse(f"classes are in {listed(classes)}, but which column holds the confidences? Say {which}.")
        if not confidences or not classes:
            return None
        self._require_one(confidences, "confidences")
        self._require_one(classes, "classes")
        # Without case ids, a row is a list of one class.
        return self._layout("ranked" if self.case is None else "long", classes, confidences)

    def _labels(self) -> Layout | None:
        table, given, stated = self.table, self.table.options.class_column, self.table.options.layout == "labels"
        sets = table.truth or table.sets
        able = [name for name in self.free if table.is_scalar(name) or (sets and table.is_list(name))]
        classes = [given] if given in able else named(able, self._class_words)
        if given is None:
            classes = [name for name in classes if not table.is_fraction(name)]  # a class of a wide table
            if not classes and len(self.free) == 1 and able and not self._is_no_label(able[0]):
                classes = able
        if not classes:
            return None
        self._require_one(classes, "the labels", "outcome" if table.truth else "class_column")
        doubtful = [name for name in self.free if name not in classes and self._is_doubtful(name)]
        if doubtful and not (stated and given in classes):
            self._refuse_labels(classes[0], doubtful)
        if not (sets or stated or table.labels) and table.is_scalar(classes[0]):
            self._require_no_ranks(classes[0])
        return self._layout("labels", classes)

    def _require_no_ranks(self, name: str) -> None:
        """Ranked labels, as competitions ask for them (MAP@k), would each be one class that is never the outcome."""
        count = self.table.look(name).ranked
        if count:
            self.table.refuse(
                f"each value of {quote(name)} has {count} words, which change places from row to row. Ranked labels "
                "have no probabilities, so that no score can be had of them: write the first one alone, as a hard "
                f"label. If these are label sets, say {argument('set_separator', ' ')}; if each value is one label "
                f"with blanks in it, {argument('layout', 'labels')}."
            )

    def _is_no_label(self, name: str) -> bool:
        unfit = self.table.is_scalar(name) and (self.table.is_fraction(name) or is_named(name, CONFIDENCE))
        foreign = is_named(name, PREDICTED if self.table.truth else TRUTH)
        return unfit or foreign or name in self.table.labels

    def _is_doubtful(self, name: str) -> bool:
        """Whether a column beside a label may hold confidences. What has an outcome's name is an outcome."""
        if is_named(name, TRUTH) and not self.table.is_fraction(name):
            return False
        return self.table.could_be_confidence(name)

    def _refuse_labels(self, label: str, doubtful: Sequence[str]) -> NoReturn:
        what, few = quote(label), _left_out(doubtful)
        if self.table.truth:
            self.table.refuse(
                f"{what} may hold outcomes, but {listed(doubtful)} may hold confidences. For outcomes say "
                f"{argument('outcome', label)}; for a distribution per case say "
                f"{argument('confidence', doubtful[0], 'truth')}, "
                f"or {argument('ignore', label)} for a column per class."
            )
        nested = [name for name in doubtful if not self.table.is_scalar(name)]
        if nested:
            otherwise = f"for lists of objects say {argument('records', nested[0])}"
        elif len(doubtful) == 1 and len(doubtful[0]) <= _LONG:
            otherwise = f"if it is the confidence of {what}, say {argument('confidence', doubtful[0])}"
        else:
            otherwise = f"for a column per class say {argument('ignore', label)}; if one is the confidence of {what}, "
            otherwise += f"say {argument('confidence')} with its name"
        self.table.refuse(
            f"{what} may be a hard label, but {listed(nested or doubtful)} may hold confidences. For hard labels say "
            f"{few}; {otherwise}."
        )

    def _wide(self) -> Layout | None:
        table, stated = self.table, self.table.options.layout == "wide"
        if table.options.class_column is not None and not stated:
            return None
        scalar = [name for name in self.free if table.is_scalar(name)]
        if table.labels:
            return self._wide_by_labels(scalar, table.labels)
        # Where rows are matched by position, ids are left aside; elsewhere they are further columns.
        named_ids = {name for name in scalar if table.is_id(name)}
        numbers = [name for name in scalar if name not in named_ids and table.is_number(name)]
        known = {*numbers, *(named_ids if self.case is None else ())}
        others = [name for name in self.free if name not in known]
        if len(numbers) < (1 if stated else 2):
            return None
        if others:
            if not stated and sum(map(table.could_be_confidence, numbers)) < 2:
                return None
            self._refuse_further(numbers, others)
        odd = [name for name in numbers if any(is_named(name, known) for known in (TRUTH, CONFIDENCE, NEITHER))]
        if odd and (table.space is None or table.space.per_case or table.space.size != len(numbers)):
            self._refuse_further([name for name in numbers if name not in odd], odd)
        self._require_no_prefix(numbers)
        return self._layout("wide", numbers)

    def _wide_by_labels(self, scalar: list[str], labels: Collection[str]) -> Layout | None:
        """The columns that are called as the classes are; what others hold is no number."""
        if self.table.reader.unnamed and len(scalar) == len(labels):
            return self._layout("wide", scalar, names=list(labels))  # by their places
        classes = [name for name in scalar if name in labels]
        if not classes:
            return None
        further = [
            name for name in scalar if name not in labels and not is_named(name, (*CONFIDENCE, *TRUTH, *NEITHER))
        ]
        further = [name for name in further if self.table.is_number(name) and not self.table.look(name).blank]
        if further and len(classes) < len(labels):
            near = did_you_mean(further[0], [label for label in labels if label not in classes])
            if near:
                self.table.refuse(f"the column {quote(further[0])} is not among the labels.{near}")
            self._refuse_further(classes, further)
        return self._layout("wide", classes)

    def _refuse_further(self, classes: Sequence[str], others: Sequence[str]) -> NoReturn:
        few = _left_out(others)
        ids = [name for name in others if self.case is None and self._is_key(name)]
        case = f" If it holds case ids, say {argument('case', ids[0])}." if ids else ""
        seem = f"{listed(classes)} seem to be classes, a column each, but " if classes else ""
        self.table.refuse(
            f"{seem}{listed(others)} {'is' if len(others) == 1 else 'are'} not clearly so. Leave out what is no "
            f"class: {few}; or name the columns of classes by a pattern, such as {argument('confidence', 'prob_*')}, "
            f"or declare the labels of all classes, or their number where it is that of the columns.{case}"
        )

    def _is_key(self, name: str) -> bool:
        return self.table.is_scalar(name) and not self.table.is_fraction(name) and not self.table.look(name).blank

    def _require_no_prefix(self, names: Sequence[str]) -> None:
        """Columns such as prob_cat and prob_dog are confidences of cat and dog."""
        heads = {spelled(name).partition("_")[0] for name in names}
        if len(names) < 2 or len(heads) > 1 or not heads & set(CONFIDENCE) or self.table.options.layout == "wide":
            return
        head = names[0][: len(next(iter(heads))) + 1]
        if all(name.startswith(head) and len(name) > len(head) for name in names):
            rest = listed([name[len(head) :] for name in names[:3]])
            self.table.refuse(
                f"{listed(names)} begin alike. If the classes are {rest} and so on, say "
                f"{argument('confidence', f'{head}*')}; if they are called as the columns are, say "
                f"{argument('layout', 'wide')}."
            )

    def _pattern(self, pattern: str) -> Layout:
        """A column per class: the class is what the star of the pattern stands for."""
        if pattern.count("*") != 1 or any(mark in pattern for mark in "?["):
            self.table.refuse(
                f"{argument('confidence', pattern)}: a pattern for a column per class has one star, as prob_* has."
            )
        head, _, tail = pattern.partition("*")
        columns = [
            name
            for name in self.free
            if name.startswith(head) and name.endswith(tail) and len(name) > len(head) + len(tail)
        ]
        if not columns:
            self.table.refuse(f"no column matches {quote(pattern)}.{_there_are(self.table.columns)}")
        classes = [name[len(head) : len(name) - len(tail)] for name in columns]
        return self._layout("wide", columns, names=classes)

    def _nothing(self) -> NoReturn:
        table, layout, there_are = self.table, self.table.options.layout, _there_are(self.table.columns)
        looked = "" if layout == "auto" else f" for the layout {layout!r}"
        objects = [name for name in self.free if table.is_object(name)]
        if objects:
            say = argument("outcome") if table.truth else f"{argument('class_column')} and {argument('confidence')}"
            self.table.refuse(
                f"{listed(objects)} holds objects.{self._how_objects(objects)} Or name other columns with {say}."
            )
        if table.truth:
            self.table.refuse(
                f"no column of outcomes was found{looked}: name it with {argument('outcome')}.{there_are}"
            )
        outcomes = named(self.free, TRUTH)
        if outcomes:
            self.table.refuse(
                f"the column {quote(outcomes[0])} has the name of an outcome, which is no prediction. If it holds "
                f"predictions, say {argument('class_column', outcomes[0])}.{there_are}"
            )
        self.table.refuse(
            f"no columns of predictions were found{looked}: name them with {argument('class_column')} and, where there "
            f"are, {argument('confidence')}.{_missing_header(table.columns)}{there_are}"
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


def _missing_header(names: Sequence[str]) -> str:
    """What to ask where the names of columns look like values."""
    values = any(_is_number(name) and 0 < float(name) < 1 for name in names)
    return " Is the header missing? The first line is taken for the names of the columns." if values else ""


def _left_out(names: Sequence[str]) -> str:
    """What to type to leave columns out; very long names by their beginnings."""
    few = [argument("ignore", name if len(name) <= _LONG else f"{name[:_LONG]}*") for name in names[:4]]
    return ", ".join([*few, "..."] if len(names) > 4 else few)


def _either(what: str, names: Sequence[str]) -> str:
    return " or ".join(argument(what, name) for name in names[:4])


def _there_are(names: Sequence[str]) -> str:
    return f" The columns are {listed(names)}." if names else " There are no columns."


# Objects inside of columns: their fields by what their names mean, and whether they may be the list of a case


@dataclass(frozen=True, slots=True)
class ObjectFields:
    """The fields of objects: those that may hold the class, those that may hold the confidence, and all of them."""

    classes: list[str]
    confidences: list[str]
    names: list[str]
    lists: bool  # whether one object holds lists, and not a list objects
    doubt: str = ""  # why they are no predictions unless the caller says so


def _fields_of(kind: Any, name: str = "") -> ObjectFields | None:
    """The fields of a list of objects, or of an object of lists, that has this name; None for another type."""
    pa = need("pyarrow")
    if not pa.types.is_nested(kind) and not pa.types.is_dictionary(kind):
        return None
    kind = as_records(kind)
    lists = pa.types.is_struct(kind)
    if lists:
        every = [
            field
            for field in _fields(kind, 1)
            if is_any_list(field.kind) and not pa.types.is_nested(field.kind.value_type)
        ]
    elif is_any_list(kind) and pa.types.is_struct(kind.value_type):
        every = [field for field in _fields(kind.value_type, _DEPTH) if not pa.types.is_nested(field.kind)]
    else:
        return None
    clear = _telling(every, CLASS)
    classes, confidences = clear or _telling(every, RECORD_CLASS), _telling(every, CONFIDENCE)
    doubt = "" if lists else _doubt(kind.value_type, name, classes, confidences)
    if len(classes) != 1 or len(confidences) != 1:
        doubt = "which of its fields is the class, and which the confidence, is not clear"
    elif not clear and spelled_field(confidences[0]) == "value":
        doubt = f"{quote(classes[0])} and {quote(confidences[0])} may be anything"
    names = [field.path for field in every]
    return ObjectFields(classes, confidences, names, lists, doubt) if names else None


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
    if depth and types.is_struct(kind):
        for field in _fields(kind, 1):
            yield from _places_of(f"{path}.{field.path}", field.kind, depth - 1)


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of an object, or of an object inside of it."""

    path: str
    name: str
    kind: Any
    level: int


def _fields(kind: Any, depth: int, head: str = "", level: int = 1) -> Iterator[_Field]:
    """The fields of an object, with those of objects inside of it to some depth."""
    for at in range(kind.num_fields):
        name, inner = kind.field(at).name, kind.field(at).type
        path = head + (name if name and not set(name) & set('.["') else f'"{name.replace(chr(34), chr(34) * 2)}"')
        yield _Field(path, name, inner, level)
        if level < depth and need("pyarrow").types.is_struct(inner):
            yield from _fields(inner, depth, f"{path}.", level + 1)


def _telling(fields: Sequence[_Field], words: Sequence[str]) -> list[str]:
    """The fields with known names that are least deep inside."""
    telling = [field for field in fields if spelled_field(field.name) in words]
    return [field.path for field in telling if field.level == min(other.level for other in telling)]


def _doubt(kind: Any, name: str, classes: Sequence[str], confidences: Sequence[str]) -> str:
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
    words = {spelled_field(path) for path in (*classes, *confidences)}
    if "token" in words and words & {"logprob", "log_prob", "log_probability"} and "top" not in spelled_field(name):
        return "these may be the tokens of a text, one after the other"
    return ""
