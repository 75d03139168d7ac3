"""What must come of a table, by the rules of the documentation: read, refuse, or open where they do not say.

It looks at names and at what values were made to be, never at files, and shares nothing with the package.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.io.recognition import vocabulary
from tests.io.recognition.tables import CLASSES, FRACTIONS, NESTED, TEXT, WHOLE, Column, Table, World
from tests.io.recognition.vocabulary import IDS, PREDICTED, plain

NAME = "it"  # the model


@dataclass(frozen=True)
class Combination:
    """A prediction and a truth, how they are written, and what is asked for."""

    id: str
    world: World
    prediction: Table
    truth: Table
    form: str = "csv"  # csv, jsonl, parquet or frame
    options: dict[str, Any] = field(default_factory=dict)
    labels: bool = False  # whether the labels of all classes are declared, or only their number
    same: bool = False  # whether one file is both
    truth_as: str = "table"  # or list, array, series, where frames are compared


@dataclass(frozen=True)
class Reason:
    """Why a combination is not simply read; the message names one of the columns and one of the options."""

    why: str
    columns: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    open: bool = False


@dataclass(frozen=True)
class Decision:
    """read, refuse or open; for what reasons; and whether rows are matched by position."""

    verdict: str
    reasons: tuple[Reason, ...]
    by_position: bool

    @property
    def why(self) -> str:
        return "; ".join(reason.why for reason in self.reasons)


@dataclass
class _Read:
    """One table as it is read: which columns are used, and what speaks against it."""

    used: list[str] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)
    layout: str = ""

    def refuse(self, why: str, columns: Iterable[Column | str] = (), options: Sequence[str] = ()) -> _Read:
        names = tuple(c if isinstance(c, str) else c.name for c in columns)
        self.reasons.append(Reason(why, names, tuple(options)))
        return self

    def doubt(self, why: str) -> None:
        self.reasons.append(Reason(why, open=True))


def decide(combination: Combination) -> Decision:
    """What the rules say."""
    one = combination
    asked = _Asked(one.options)
    told: list[Reason] = _missing(one, asked)
    prediction, truth = _seen(one.prediction, one.form), _seen(one.truth, one.form)
    if one.same and asked.outcome is None:
        told.append(Reason("the same file without an outcome", (), ("outcome",)))
    left = {NAME: _without(prediction, asked.ignored(NAME)), "truth": _without(truth, asked.ignored("truth"))}
    if one.same and asked.outcome is not None:
        left[NAME] = _without(left[NAME], [asked.outcome])
    if one.truth_as != "table":  # a series has an index, and no names
        left["truth"] = [c for c in left["truth"] if c.index]
    chosen, id_reasons, settled = _ids(one, left, asked)
    told += id_reasons
    free = {key: [c for c in columns if c.name != chosen.get(key) and not c.index] for key, columns in left.items()}
    read = _predictions(free[NAME], asked, NAME, one)
    known = _truth(free["truth"], asked, one) if one.truth_as == "table" else _Read(layout="labels")
    told += [*read.reasons, *known.reasons]
    by_position = not chosen
    if by_position and not settled:
        told += _position(one, free, {NAME: read, "truth": known})
    if by_position and read.layout == "long" and not one.prediction.rows_are_cases:
        told.append(Reason("several rows per case, but no ids"))
    refused = [reason for reason in told if not reason.open]
    verdict = "refuse" if refused else "open" if told else "read"
    return Decision(verdict, tuple(refused or told), by_position)


def expected(combination: Combination, decision: Decision) -> float:
    """The right mean Brier score: rows that belong together, or rows side by side where that is how they are read."""
    one = combination
    if not decision.by_position or len(one.prediction.cases) != len(one.truth.cases):
        return float(one.world.brier())
    return float(one.world.brier(list(zip(one.prediction.cases, one.truth.cases, strict=True))))


# Options


@dataclass(frozen=True)
class _Asked:
    options: dict[str, Any]

    def of(self, option: str, key: str) -> tuple[str | None, bool]:
        """What an option says of a file, and whether it was said of this file alone."""
        value = self.options.get(option)
        if isinstance(value, dict):
            return value.get(key), True
        return value, False

    def ignored(self, key: str) -> list[str]:
        value, _ = self.of("ignore", key)
        return [] if value is None else [value] if isinstance(value, str) else list(value)

    @property
    def outcome(self) -> str | None:
        return self.options.get("outcome")

    @property
    def position(self) -> bool:
        return bool(self.options.get("by_position"))


def _missing(one: Combination, asked: _Asked) -> list[Reason]:
    """Options for files and columns that are not there."""
    names = {NAME: one.prediction.names, "truth": one.truth.names}
    told = []
    for option in ("case", "class_column", "confidence", "ignore", "layout"):
        value = one.options.get(option)
        if isinstance(value, dict) and set(value) - set(names):
            told.append(Reason(f"{option} for nobody", tuple(set(value) - set(names)), (option,)))
        for key in names if option != "layout" else ():
            given, alone = asked.of(option, key)
            for column in [] if given is None else [given] if isinstance(given, str) else given:
                where = names[key] if alone else [*names[NAME], *names["truth"]]
                if not any(_fits(column, name) for name in where):
                    told.append(Reason(f"no column {column}", (column,)))
    if asked.outcome is not None and asked.outcome not in names["truth"]:
        told.append(Reason(f"no column {asked.outcome}", (asked.outcome,)))
    return told


def _fits(pattern: str, name: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), name) is not None


def _without(columns: Sequence[Column], patterns: Sequence[str]) -> list[Column]:
    return [c for c in columns if not any(_fits(pattern, c.name) for pattern in patterns)]


# What a column may be


def _seen(table: Table, form: str) -> list[Column]:
    """Columns with what a format keeps of them: dates and booleans of CSV are text."""
    lost = {"csv": ("date", "bool"), "jsonl": ("date",)}.get(form, ())
    return [Column(c.name, "text" if c.kind in lost else c.kind, c.values, c.index) for c in table.columns]


def _kind(column: Column) -> str:
    return vocabulary.kind(column.name)


def _could_be_confidence(column: Column) -> bool | None:
    """Whether a column beside a label may hold its confidence; None where the rules do not say."""
    if _kind(column) == "confidence":
        return True
    may = column.kind in ("unit", "percent", "log", "whole", "one-hot", "code", "blank", *NESTED)
    if _kind(column) == "never" and may:
        return False if column.kind in ("whole", "one-hot", "code") else None
    if _kind(column) == "truth" and may:
        return None  # never a prediction, but it looks like a confidence
    return None if column.kind == "bool" else may


# Ids


def _ids(one: Combination, left: dict[str, list[Column]], asked: _Asked) -> tuple[dict[str, str], list[Reason], bool]:
    """The id column of each file, what speaks against it, and whether position is settled."""
    taken = {key: _named(key, asked) for key in left}
    can = {key: [c for c in columns if c.name not in taken[key]] for key, columns in left.items()}
    best = {key: _best(columns) for key, columns in can.items()}
    if asked.position:
        if any(c.kind in WHOLE for key in can for c in can[key] if _kind(c) == "free" and c.kind == "serial"):
            return {}, [Reason("numbers that may be ids, read by position", open=True)], True
        for key, name in best.items():
            left[key][:] = [c for c in left[key] if c.name != name and not c.index]
        if not any(best.values()) and not _candidates(one, can):
            return {}, [Reason("by position, where there are no ids", open=True)], True
        return {}, [], True
    given = {key: asked.of("case", key) for key in left}
    if any(name for name, _ in given.values()):
        chosen = {key: name or best[key] for key, (name, _) in given.items()}
        told = []
        for key, (name, alone) in given.items():
            if name and name not in [c.name for c in left[key]] and not alone:
                told.append(Reason(f"{name} is not in every file", open=True))
        if not all(chosen.values()):
            told.append(
                Reason("an id for some files only", tuple(filter(None, chosen.values())), ("case", "by_position"))
            )
        return {key: name for key, name in chosen.items() if name}, told, True
    indexed = {key: [c for c in columns if c.index] for key, columns in can.items()}
    if any(indexed.values()):
        if all(indexed.values()):
            return {key: columns[0].name for key, columns in indexed.items()}, [], True
        if one.truth_as in ("list", "array"):
            return {}, [Reason("an index beside a list", open=True)], True
        if all(indexed[key] or best[key] for key in can):
            return (
                {key: (indexed[key][0].name if indexed[key] else str(best[key])) for key in can},
                [Reason("an index here, a column there", open=True)],
                True,
            )
        return {}, [Reason("an index on one side only", (), ("case", "by_position"))], True
    shared = [name for name in IDS if all(name in map(plain, (c.name for c in columns)) for columns in can.values())]
    if shared:
        return (
            {key: next(c.name for c in columns if plain(c.name) == shared[0]) for key, columns in can.items()},
            [],
            True,
        )
    if all(best.values()):
        return {key: str(name) for key, name in best.items()}, _same_ids(one, best), True
    candidates = _candidates(one, can)
    if len(candidates) == 1:
        return dict.fromkeys(can, candidates[0]), [], True
    if candidates:
        return {}, [Reason("two columns that may be ids", tuple(candidates), ("case",))], True
    if any(best.values()) and one.truth_as != "table":
        left[NAME][:] = [c for c in left[NAME] if c.name != best[NAME]]
        return {}, [Reason("ids beside a list", open=True)], True
    if any(best.values()):
        return {}, [Reason("ids in some files only", tuple(filter(None, best.values())), ("case", "by_position"))], True
    return {}, [], False


def _named(key: str, asked: _Asked) -> set[str]:
    named = {asked.of(option, key)[0] for option in ("class_column", "confidence")}
    return {name for name in (*named, asked.outcome if key == "truth" else None) if name}


def _best(columns: Sequence[Column]) -> str | None:
    known = sorted((IDS.index(plain(c.name)), c.name) for c in columns if plain(c.name) in IDS)
    return known[0][1] if known else None


def _same_ids(one: Combination, best: dict[str, str | None]) -> list[Reason]:
    """Ids of other names are the same only if their values are."""
    tables = {NAME: one.prediction, "truth": one.truth}
    values = [{str(v) for c in tables[key].columns if c.name == name for v in c.values} for key, name in best.items()]
    return [] if values[0] == values[1] else [Reason("ids that have nothing in common")]


def _candidates(one: Combination, can: dict[str, list[Column]]) -> list[str]:
    """Columns of one name, of no other meaning, unique where a row is a case."""
    shared = set.intersection(*({plain(c.name) for c in columns} for columns in can.values()))
    found = []
    for name in sorted(shared):
        both = {key: next(c for c in columns if plain(c.name) == name) for key, columns in can.items()}
        rows = {NAME: one.prediction.rows_are_cases, "truth": one.truth.rows_are_cases}
        plausible = all(c.kind not in (*FRACTIONS, *NESTED, "blank") for c in both.values())
        unique = all(len(set(map(str, c.values))) == len(c.values) for key, c in both.items() if rows[key])
        if vocabulary.kind(name) in ("free", "never") and plausible and unique:
            found.append(both[NAME].name)
    return found


def _position(one: Combination, free: dict[str, list[Column]], read: dict[str, _Read]) -> list[Reason]:
    """Rows are matched by position only where no column might have been an id."""
    told = []
    for key, columns in free.items():
        explained = [*read[NAME].used, *read["truth"].used] if one.same else read[key].used
        for c in columns:
            if c.name in explained:
                continue
            if _kind(c) in ("truth", "never", "class", "confidence") or c.kind in ("blank", "date", "bool", *NESTED):
                told.append(Reason(f"{c.name} is left where there is no id", open=True))
            elif c.kind in TEXT or c.kind in WHOLE:
                told.append(Reason(f"{c.name} may be an id", (c.name,), ("case", "by_position", "ignore")))
    return told


# Predictions and truths


def _predictions(free: list[Column], asked: _Asked, key: str, one: Combination) -> _Read:
    """The layout of a table, by the first rule that holds."""
    read = _Read()
    label, pattern = asked.of("class_column", key)[0], asked.of("confidence", key)[0]
    names = [c.name for c in free]
    label = label if label in names else None
    layout = asked.of("layout", key)[0] if key == NAME else None
    if pattern is not None and "*" in pattern and any(_fits(pattern, name) for name in names):
        read.used, read.layout = [name for name in names if _fits(pattern, name)], "wide"
        return read
    confidence = pattern if pattern in names else None
    barred = () if key == NAME else PREDICTED
    labels = [c for c in free if _kind(c) == "class" and plain(c.name) not in barred and c.kind not in NESTED]
    labels = [c for c in free if c.name == label] if label else labels
    values = [c for c in free if _kind(c) == "confidence" and c.kind not in NESTED]
    values = [c for c in free if c.name == confidence] if confidence else values
    nested = [c for c in free if c.kind in ("list", "texts")]
    ranked = [
        c for c in free if re.search(r"[a-z]_?\d$", c.name) and vocabulary.kind(re.sub(r"_?\d$", "", c.name)) != "free"
    ]
    if layout is not None:
        return _as_asked(read, layout, free, labels, values, nested, ranked, one)
    if _lists(read, nested, free):
        return read
    if ranked:
        read.used, read.layout = [c.name for c in ranked], "ranked"
        if any(_kind(c) in ("class", "confidence") for c in free if c not in ranked):
            read.doubt("class or confidence names beside ranked columns")
        return read
    if one.labels and set(CLASSES) <= set(names):
        return _wide(read, free, one, labels)
    if confidence and not labels:
        read.doubt("a confidence is named, but no class is known")
    if values and labels:
        return _long(read, labels, values, free, one)
    if len(labels) == 1 or (len(free) == 1 and _kind(free[0]) != "truth" and plain(free[0].name) not in barred):
        return _labels(read, labels[0] if labels else free[0], free, one)
    if len(labels) > 1:
        return read.refuse("two columns with classes", labels, ("class_column", "ignore"))
    return _wide(read, free, one, labels)


def _lists(read: _Read, nested: list[Column], free: list[Column]) -> bool:
    """Lists of classes beside lists of confidences."""
    roles = {
        "class": [c for c in nested if _kind(c) == "class"],
        "confidence": [c for c in nested if _kind(c) == "confidence"],
    }
    if not all(roles.values()):
        return False
    read.layout, read.used = "lists", [c.name for both in roles.values() for c in both]
    for role, columns in roles.items():
        if len(columns) > 1:
            read.refuse(f"two lists for a {role}", columns, ("class_column", "confidence", "ignore"))
    others = [c for c in free if c.name not in read.used]
    if any(c.kind in ("list", "texts") for c in others):
        read.doubt("another list")
    if any(_kind(c) in ("class", "confidence") for c in others):
        read.doubt("class or confidence names beside lists")
    return True


def _long(read: _Read, labels: list[Column], values: list[Column], free: list[Column], one: Combination) -> _Read:
    read.layout, read.used = "long", [c.name for c in (*labels, *values)]
    if len(labels) > 1:
        return read.refuse("two columns with classes", labels, ("class_column", "ignore"))
    if len(values) > 1:
        return read.refuse("two columns with confidences", values, ("confidence", "ignore"))
    if values[0].kind not in ("unit", "one-hot", one.options.get("scale")):
        return read.refuse("confidences that are none")
    if labels[0].kind not in ("label", "code", "text", "constant"):
        read.doubt("classes of an odd kind")
    if any(c.kind in NESTED for c in free):
        read.doubt("lists or structs beside a label and its confidence")
    return read


def _labels(read: _Read, label: Column, free: list[Column], one: Combination) -> _Read:
    read.layout, read.used = "labels", [label.name]
    if label.kind not in (*TEXT, "code"):
        if _wide_columns(free, one) and len(free) > 1:
            return _number_under_class_name(read, label, free, one)
        return read.refuse("classes that are none", [label])
    others = [c for c in free if c is not label]
    doubts = {c.name: _could_be_confidence(c) for c in others}
    if any(doubts.values()):
        return read.refuse(
            "labels beside what may be confidences",
            [name for name, may in doubts.items() if may],
            ("confidence", "ignore", "layout"),
        )
    if None in doubts.values():
        read.doubt("a column of which the rules do not say whether it may be a confidence")
    if label.kind == "code" and len(free) == 1 and _kind(label) != "class":
        read.doubt("codes under an unknown name")
    return read


def _number_under_class_name(read: _Read, label: Column, free: list[Column], one: Combination) -> _Read:
    """A wide table with a class that is called label, token or the like."""
    read.layout, read.used = "wide", [c.name for c in free]
    if len(free) == len(CLASSES):
        read.doubt("a wide table with a class name among its classes")
        return read
    return read.refuse(
        "numbers under a class name",
        [c for c in free if c.name not in CLASSES],
        ("ignore", "layout", "class_column", "confidence"),
    )


def _wide_columns(free: list[Column], one: Combination) -> bool:
    return all(c.number or c.kind == "blank" for c in free)


def _wide(read: _Read, free: list[Column], one: Combination, labels: list[Column]) -> _Read:
    read.layout, read.used = "wide", [c.name for c in free]
    if len(free) < 2:
        return read.refuse("nothing to predict", free)
    if one.labels and set(CLASSES) <= {c.name for c in free}:
        read.used = list(CLASSES)
        if labels or any(_kind(c) == "class" for c in free):
            read.doubt("a label beside declared classes")
        return read
    odd = [c for c in free if not (c.number or c.kind == "blank")]
    odd += [c for c in free if c not in odd and _kind(c) in ("truth", "confidence", "never")]
    if odd and (len(free) != len(CLASSES) or any(not c.number for c in odd)):
        return read.refuse("a further column in a wide table", odd, ("ignore", "class_column", "confidence", "layout"))
    if _prefixed(free):
        return read.refuse("all columns have a prefix", free, ("confidence",))
    if one.labels:
        return read.refuse("columns that are no declared class", [c for c in free if c.name not in CLASSES])
    foreign = [c for c in free if c.kind in ("percent", "log", "large", "whole", "big", "serial")]
    if foreign:
        return read.refuse("numbers that are no confidences")
    if len(free) > len(CLASSES):
        extras = [c for c in free if c.name not in CLASSES]
        if any(c.kind != "blank" for c in extras):
            return read.refuse("more classes than there are, or a sum above one")
        read.doubt("a blank column in a wide table")
    return read


def _prefixed(free: list[Column]) -> bool:
    stems = {c.name.partition("_")[0] for c in free if "_" in c.name}
    return all("_" in c.name for c in free) and len(stems) == 1 and vocabulary.kind(next(iter(stems))) == "confidence"


def _as_asked(
    read: _Read,
    layout: str,
    free: list[Column],
    labels: list[Column],
    values: list[Column],
    nested: list[Column],
    ranked: list[Column],
    one: Combination,
) -> _Read:
    """A layout that is named is the one that is tried."""
    if layout == "lists":
        return read if _lists(read, nested, free) else read.refuse("no lists")
    if layout == "ranked":
        read.layout, read.used = layout, [c.name for c in ranked]
        return read if ranked else read.refuse("no ranks")
    if layout == "long":
        return _long(read, labels, values, free, one) if labels and values else read.refuse("no class or no confidence")
    if layout == "wide":
        return _wide(read, free, one, labels)
    if not labels:
        return read.refuse("no labels")
    if values or nested or any(_could_be_confidence(c) is not False for c in free if c not in labels):
        read.doubt("labels are asked for beside what may be confidences")
    read.layout, read.used = "labels", [labels[0].name]
    return read


def _truth(free: list[Column], asked: _Asked, one: Combination) -> _Read:
    """What happened: the column that is named, or that has a truth's name; else as in predictions."""
    read = _Read(layout="labels")
    if asked.outcome is not None:
        read.used = [asked.outcome]
        return read
    named = [c for c in free if _kind(c) == "truth"]
    if len(named) > 1:
        return read.refuse("two outcomes", named, ("outcome", "ignore"))
    if named:
        read.used = [named[0].name]
        return read
    if len(free) == 1 and plain(free[0].name) in PREDICTED:
        return read.refuse("predictions are no outcome", free, ("outcome",))
    known = _predictions(free, asked, "truth", one)
    known.reasons = [replace(r, options=(*r.options, "outcome") if r.options else ()) for r in known.reasons]
    if known.layout not in ("labels", "") and not known.reasons and not _sums_to_one(one, known):
        known.refuse("distributions that do not sum to one")
    return known


def _sums_to_one(one: Combination, known: _Read) -> bool:
    if known.layout != "long":
        return all(sum(truth.values()) == 1 for truth in one.world.truth)
    (values,) = (c.values for c in one.truth.columns if c.name == known.used[1])
    sums = dict.fromkeys(one.truth.cases, 0.0)
    for case, value in zip(one.truth.cases, values, strict=True):
        sums[case] += value
    return set(sums.values()) == {1.0}
