"""What the caller says about the data: how tables are read, a model's predictions, the truth."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from toplist._files import as_remote
from toplist._text import did_you_mean
from toplist._typing import Blanks, Duplicates, Scale
from toplist.errors import TopListError

if TYPE_CHECKING:  # the command makes its options from these records, and its help waits for nothing else
    from toplist.lists.validation import Repairs

TRUTH = "truth"  # the name of the truth among the files
SAME = "same"  # a truth that predictions carry
MISSING = ("error", "common", "pairwise", "uniform", "worst", "baseline")  # for cases that a model lacks
LayoutName = Literal["auto", "lists", "ranked", "long", "labels", "wide"]
Norm = Literal["none", "chars", "bytes", "tokens", "unconditional"]  # of log-likelihoods of whole answers
_CHOICES: dict[str, tuple[Any, ...]] = {
    "by_position": (True, False),
    "normalize": (True, False),
    "layout": get_args(LayoutName),
    "scale": get_args(Scale),
    "duplicates": get_args(Duplicates),
    "blanks": get_args(Blanks),
    "norm": get_args(Norm),
}
_VALUES = ("scale", "normalize", "duplicates")  # about values: they have an effect in memory too
_COMMON = ("by_position", "set_separator")  # one for all files of a call
_INHERITED = ("ignore", *_COMMON)  # what the truth takes from `read`: the other options are about predictions


def _help(text: str) -> dict[str, str]:
    return {"help": text}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How tables are read. The defaults find everything that names, types and first values of columns tell.

    Parameters
    ----------
    layout : {"auto", "lists", "ranked", "long", "labels", "wide"}, default "auto"
        How predictions lie in the table; found by default.
    case : str, optional
        The column with case ids.
    class_column : str, optional
        The column with classes.
    confidence : str, optional
        The column with confidences, or a pattern such as "prob_*" for a column per class.
    ignore : str or sequence of str, default ()
        Columns, or patterns of columns, that are not about predictions.
    by_position : bool, default False
        Match rows by their position, whatever ids there are.
    set_separator : str, optional
        Classes are label sets, written with this separator; the labels of the space are those the sets are made of.
    scale : {"probability", "percent", "log"}, default "probability"
        The scale of confidences.
    normalize : bool, default False
        Divide confidences by their sum where it is too large.
    duplicates : {"error", "sum"}, default "error"
        What to do about a class that is listed twice.
    blanks : {"error", "drop"}, default "error"
        What to do about a class without a confidence, or a confidence without a class.
    producer : str, default "auto"
        The program that wrote the files, such as "lm-eval"; by default it is recognised by what only its files have.
        "none" reads them as plain tables.
    records : str, optional
        The column, or the path inside nested objects, with a list of objects per case; `class_column` and `confidence`
        are then paths inside these objects.
    where : str or sequence of str, default ()
        Conditions such as "output_type=pmf" that rows fulfil, all of them.
    answers : AnswerSpace, mapping or path, optional
        Of language models: the answers, with the tokens that each may be written as.
    position : int or str, default 0
        Of language models: the token of the answer, by its number, or as the first one after a text.
    norm : {"none", "chars", "bytes", "tokens", "unconditional"}, default "none"
        Of evaluation harnesses: what log-likelihoods of answers are divided by, or reduced by.

    Raises
    ------
    TopListError
        If a value is none of those above.

    Examples
    --------
    >>> ReadOptions(scale="percent", ignore="comment").ignore
    ('comment',)
    """

    layout: LayoutName = field(
        default="auto", metadata=_help("Layout: lists, long, wide, ranked or labels; detected by default.")
    )
    case: str | None = field(default=None, metadata=_help("Column with case ids."))
    class_column: str | None = field(default=None, metadata=_help("Column with classes."))
    confidence: str | None = field(
        default=None,
        metadata=_help("Column with confidences, or a pattern such as 'prob_*' for one column per class."),
    )
    ignore: str | Sequence[str] = field(
        default=(), metadata=_help("Column, or pattern of columns, to ignore; may be repeated.")
    )
    by_position: bool = field(default=False, metadata=_help("Match rows by position, not by case id."))
    set_separator: str | None = field(
        default=None, metadata=_help("Classes are label sets with this separator; {} is the empty set.")
    )
    scale: Scale = field(default="probability", metadata=_help("Scale of confidences: probability, percent or log."))
    normalize: bool = field(
        default=False, metadata=_help("Divide the confidences of a list by their sum where it exceeds 1.")
    )
    duplicates: Duplicates = field(
        default="error", metadata=_help("Classes listed twice: refuse them, or add up their confidences.")
    )
    blanks: Blanks = field(
        default="error",
        metadata=_help("Entries without a class or a confidence: refuse them, or drop them."),
    )
    producer: str = field(default="auto", metadata=_help("Program that wrote the files; recognised by default."))
    records: str | None = field(
        default=None, metadata=_help("Column or nested path with a list of objects per case, such as results.")
    )
    where: str | Sequence[str] = field(default=(), metadata=_help("Use only rows with COLUMN=VALUE; may be repeated."))
    answers: Any = field(default=None, metadata=_help("JSON file with the answers and the tokens of each."))
    position: int | str = field(
        default=0, metadata=_help("Token of the answer: its number, or a text such as 'ANSWER:' that precedes it.")
    )
    norm: Norm = field(
        default="none",
        metadata=_help(
            "Log-likelihoods of answers: none, or divided by chars, bytes or tokens, or less the unconditional one."
        ),
    )

    def __post_init__(self) -> None:
        for what, allowed in _CHOICES.items():
            value = getattr(self, what)
            if not isinstance(value, type(allowed[0])) or value not in allowed:
                words = list(map(str, allowed))
                near = did_you_mean(value, words) if isinstance(value, str) else _by_file(what, value)
                *most, last = map(repr, allowed)
                raise TopListError(f"{what} is {', '.join(most)} or {last}, not {value!r}.{near}")
        for what in ("case", "class_column", "confidence", "records"):
            _require_column(what, getattr(self, what))
        if not isinstance(self.producer, str) or not self.producer:
            raise TopListError(f"producer is the name of a program, 'auto' or 'none', not {self.producer!r}.")
        if isinstance(self.position, bool) or not isinstance(self.position, int | str):
            raise TopListError(f"position is the number of a token, or the text before it, not {self.position!r}.")
        if self.set_separator is not None and not (isinstance(self.set_separator, str) and self.set_separator):
            raise TopListError(f"set_separator is text between labels, such as ';', not {self.set_separator!r}.")
        object.__setattr__(self, "ignore", _texts("ignore", "names columns to leave out", self.ignore))
        object.__setattr__(self, "where", _texts("where", "has conditions such as 'column=value'", self.where))

    @property
    def repairs(self) -> Repairs:
        """What is repaired in lists."""
        from toplist.lists.validation import Repairs  # noqa: PLC0415

        return Repairs(
            scale=self.scale,
            normalize=self.normalize,
            duplicates=self.duplicates,
            blanks=self.blanks,
        )

    @property
    def names_producer(self) -> bool:
        """Whether it is said which producer the data come from, so that they may be anything that it reads."""
        return self.producer not in ("auto", "none")

    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        every = {option.name: (getattr(self, option.name), option.default) for option in fields(self)}
        return {name: value for name, (value, default) in every.items() if value != default}


class Source:
    """The predictions of one model, with read options of their own.

    Parameters
    ----------
    data : path, table or array-like
        Whatever `compare` takes as the predictions of a model.
    **options
        Fields of `ReadOptions`; what is not given comes from `read`.

    Examples
    --------
    >>> Source("new.csv", scale="percent", normalize=True)
    Source('new.csv', scale='percent', normalize=True)
    """

    __slots__ = ("data", "options")

    def __init__(self, data: Any, /, **options: Any) -> None:
        self.data = _located(data)
        self.options: Mapping[str, Any] = _checked(options, "Source", data)

    def __repr__(self) -> str:
        return f"Source({', '.join([repr(self.data), *(f'{k}={v!r}' for k, v in self.options.items())])})"

    def read(self, default: ReadOptions) -> ReadOptions:
        """The options of this source over those for all."""
        return replace(default, **self.options)


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Truth:
    """Outcomes, and what is known of the cases beside them: columns of a table, or arrays in memory.

    Parameters
    ----------
    data : path, table or array-like
        One outcome per case, or a distribution over the classes per case; or "same": the outcomes that the files of
        predictions carry, which have to agree.
    outcome : str, optional
        The column with outcomes.
    weight, group, cluster, time : str or array-like, optional
        How much each case counts, the group in whose table it is shown too, the cluster to which it belongs, and when
        it was. A column of a table that is called cluster or time is found; "" says that it is to be ignored.
    n_classes : str, optional
        The column with the number of classes of each case.
    **options
        Fields of `ReadOptions` for this table. Of `read`, the truth takes `ignore`, `by_position` and `set_separator`.

    Raises
    ------
    TopListError
        If a name is empty, or columns and arrays are mixed.

    Examples
    --------
    >>> Truth("y.csv", cluster="patient", weight="w").weight
    'w'
    >>> Truth([0, 1, 1], weight=[1, 2, 1]).cluster is None
    True
    """

    data: Any
    outcome: str | None = field(default=None, metadata=_help("Column of the truth with outcomes."))
    weight: Any = field(default=None, metadata=_help("Column of the truth with case weights."))
    group: Any = field(
        default=None, metadata=_help("Column of the truth with groups of cases, which are also compared one by one.")
    )
    cluster: Any = field(
        default=None,
        metadata=_help("Column of the truth with clusters of dependent cases; a column named cluster is used."),
    )
    time: Any = field(
        default=None, metadata=_help("Column of the truth with times of cases; a column named time is used.")
    )
    n_classes: str | None = field(
        default=None, metadata=_help("Column of the truth with the number of classes of each case.")
    )
    options: Mapping[str, Any] = field(default_factory=dict)

    def __init__(
        self,
        data: Any,
        /,
        *,
        outcome: str | None = None,
        weight: Any = None,
        group: Any = None,
        cluster: Any = None,
        time: Any = None,
        n_classes: str | None = None,
        **options: Any,
    ) -> None:
        about = {"weight": weight, "group": group, "cluster": cluster, "time": time, "n_classes": n_classes}
        for what, value in {"data": _located(data), "outcome": outcome, **about}.items():
            object.__setattr__(self, what, value)
        object.__setattr__(self, "options", _checked(options, "Truth", data))
        for what, column in (("weight", weight), ("group", group)):
            if isinstance(column, str) and not column.strip() and not (self.is_carried and what == "group"):
                raise TopListError(f"{what} names a column of the truth: what is given is empty.")
        _require_column("outcome", outcome)
        _require_column("n_classes", n_classes)
        if outcome is not None and options.get("class_column") is not None:
            raise TopListError("outcome and class_column are the same column of the truth: give one of them.")
        for what in ("scale", "duplicates", "blanks"):
            if what in options:
                raise TopListError(f"{what} is about predictions: it has no effect on the truth.")
        about = {what: value for what, value in about.items() if value is not None}
        if data is None and (outcome is not None or about):
            first = next(iter(about)) if outcome is None else "outcome"
            raise TopListError(f"{first} is about cases with an outcome: give the outcomes too.")
        named = [what for what, value in about.items() if isinstance(value, str) and value]
        arrays = [what for what, value in about.items() if not isinstance(value, str)]
        if named and arrays:
            raise TopListError(
                f"{named[0]} names a column and {arrays[0]} is an array: give columns of a table, or arrays in memory."
            )

    @property
    def is_carried(self) -> bool:
        """Whether the outcomes are those that predictions carry."""
        return isinstance(self.data, str) and self.data == SAME

    @property
    def is_separate(self) -> bool:
        """Whether the outcomes are given by themselves, not carried by predictions."""
        return self.data is not None and not self.is_carried

    @property
    def columns(self) -> dict[str, Any]:
        """What is known beside the outcomes, by its name."""
        return {what: getattr(self, what) for what in ("weight", "group", "cluster", "time", "n_classes")}

    def read(self, default: ReadOptions) -> ReadOptions:
        """The options of the truth: its own, and those of `default` that are about all files."""
        return replace(ReadOptions(**{what: getattr(default, what) for what in _INHERITED}), **self.options)

    def with_data(self, data: Any) -> Truth:
        """The same truth in another form."""
        return self if data is self.data else Truth(data, outcome=self.outcome, **self.columns, **self.options)

    def require_columns(self) -> None:
        """Beside a table, all that is known of the cases is in its columns."""
        for what, value in self.columns.items():
            if value is not None and not isinstance(value, str):
                raise TopListError(f"with files and frames, {what} names a column of the truth.")

    def require_arrays(self) -> None:
        """In memory there are no columns."""
        for what, value in {"outcome": self.outcome, **self.columns}.items():
            if isinstance(value, str) and value:
                remedy = "give one value per case"
                if what == "n_classes":
                    remedy = "the numbers of classes go with the space, as in space=[3, 4, 3]"
                raise TopListError(f"{what}={value!r} names a column, but the outcomes are in memory: {remedy}.")


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """Models and truth as the caller gave them, each with its read options."""

    models: Mapping[str, Any]
    options: Mapping[str, ReadOptions]
    truth: Truth
    truth_options: ReadOptions

    @classmethod
    def of(cls, models: Mapping[str, Any], truth: Any, read: ReadOptions) -> ReadRequest:
        """Each source with its options over those of `read`."""
        sources = {str(name): as_source(data) for name, data in models.items()}
        about = as_truth(truth)
        if not isinstance(read, ReadOptions):
            raise TopListError(f"read is a ReadOptions, not {type(read).__name__}.")
        common: dict[str, Any] = {}  # the options that are one for all files, wherever they are given
        for options in (read.given(), *(source.options for source in sources.values()), about.options):
            for what in _COMMON:
                if what in options and options[what] != common.setdefault(what, options[what]):
                    raise TopListError(
                        f"{what} is the same for all files: give it once, as read=ReadOptions({what}=...)."
                    )
        base = replace(read, **common)
        by_model = {name: source.read(base) for name, source in sources.items()}
        return cls({name: source.data for name, source in sources.items()}, by_model, about, about.read(base))

    def with_data(self, models: Mapping[str, Any], outcomes: Any) -> ReadRequest:
        """The same request for the same data in another form."""
        return replace(self, models=models, truth=self.truth.with_data(outcomes))

    @property
    def paths(self) -> list[str]:
        """The files that are named, the truth last."""
        every = (*self.models.values(), None if self.truth.is_carried else self.truth.data)
        return [os.fspath(data) for data in every if isinstance(data, str | os.PathLike)]

    @property
    def repairs(self) -> dict[str, Repairs]:
        """What is repaired in the lists of each model."""
        return {name: options.repairs for name, options in self.options.items()}

    @property
    def truth_normalized(self) -> bool:
        """Whether a truth that is a distribution per case is normalized: as it says, or else where all models are."""
        given: bool | None = self.truth.options.get("normalize")
        return all(options.normalize for options in self.options.values()) if given is None else given

    @property
    def set_separator(self) -> str | None:
        """The separator of labels in sets, the same for all."""
        return self.truth_options.set_separator

    def require_memory(self) -> None:
        """Of what is no file or frame, only the values can be read in several ways."""
        are_lists = all(map(_is_made, self.models.values()))
        for options in self.options.values():
            idle = next((what for what in options.given() if are_lists or what not in _VALUES), None)
            if idle == "blanks":
                raise TopListError("blanks are about files and frames: leave out of lists in memory what is not known.")
            if idle in _VALUES:
                raise TopListError(f"{idle} has no effect on lists that are made: give it where they are made.")
            if idle is not None:
                raise TopListError(f"{idle} is about files and frames: it has no effect with predictions in memory.")
        for idle in self.truth.options:
            raise TopListError(f"{idle} is about files and frames: it has no effect with outcomes in memory.")
        self.truth.require_arrays()

    def require_outcomes(self) -> None:
        """Predictions in memory carry no outcomes."""
        if self.truth.data is None:
            raise TopListError("what are the outcomes? Predictions in memory carry none: give them as truth.")


def _located(data: Any) -> Any:
    """Data as they are given; a URL as a path, which does not show what is secret in it."""
    remote = as_remote(data) if isinstance(data, str | os.PathLike) else None
    return data if remote is None else remote


def as_source(value: Any) -> Source:
    """Predictions with their options; none of their own if they are plain."""
    return value if isinstance(value, Source) else Source(value)


def as_truth(value: Any) -> Truth:
    """Outcomes as a `Truth`."""
    return value if isinstance(value, Truth) else Truth(value)


def _is_made(data: Any) -> bool:
    """Whether these are lists already."""
    from toplist.lists import TopList, TopLists  # noqa: PLC0415

    return isinstance(data, TopLists | TopList)


def _checked(options: Mapping[str, Any], kind: str, data: Any) -> dict[str, Any]:
    """Options that `ReadOptions` has, with values that it takes."""
    if isinstance(data, Source | Truth):
        raise TopListError(f"a {kind} is made of data, not of a {type(data).__name__}.")
    if options and kind == "Source" and _is_made(data):
        raise TopListError(f"{next(iter(options))} has no effect on lists that are made: give it where they are made.")
    known = [option.name for option in fields(ReadOptions)]
    odd = next((name for name in options if name not in known), None)
    if odd is not None:
        raise TypeError(f"{kind}() has no option {odd!r}.{did_you_mean(odd, known)}")
    checked = ReadOptions(**options)
    return {name: getattr(checked, name) for name in options}


def _texts(what: str, meaning: str, value: Any) -> tuple[str, ...]:
    """One text or several as several."""
    every = (value,) if isinstance(value, str) else value
    if isinstance(every, Mapping) or not isinstance(every, Iterable):
        raise TopListError(f"{what} {meaning}, not {value!r}.{_by_file(what, value)}")
    for text in (texts := tuple(every)):
        if not isinstance(text, str):
            raise TopListError(f"{what} {meaning}, not {text!r}.")
    return texts


def _require_column(what: str, value: Any) -> None:
    if value is not None and not isinstance(value, str):
        raise TopListError(f"{what} is the name of a column, not {value!r}.{_by_file(what, value)}")
    if value == "":
        raise TopListError(f"{what} is empty: name a column, or leave it out.")


def _by_file(what: str, value: Any) -> str:
    """The remedy for options that are meant for one file of several."""
    return f" What is about one file goes with it: Source(data, {what}=...)." if isinstance(value, Mapping) else ""
